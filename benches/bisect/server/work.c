#include "work.h"

/* Each turn waits for the one before it, so that it takes as long wherever the compiler puts the loop. */
__attribute__((noinline, aligned(64))) void work(void)
{
    unsigned long value = 1;
    for (unsigned long turn = 0; turn < TURNS; turn++) {
        value = value * 0x9E3779B97F4A7C15UL ^ turn;
        __asm__ volatile("" : "+r"(value));
    }
}
