#ifndef WORK_H
#define WORK_H

/* What an answer takes. */
#define TURNS 40000UL

void work(void);

#endif
