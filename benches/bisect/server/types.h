#ifndef TYPES_H
#define TYPES_H

#include <stddef.h>

/* How many types of files the server knows; it asks none of them for an answer. */
size_t types(void);

#endif
