#ifndef CMALLOC_SHIM_H
#define CMALLOC_SHIM_H

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/// Limits the number of heaps that threads take memory from (mallopt(3), M_ARENA_MAX). Swift's Glibc module lacks this call.
/// Does nothing with other C libraries.
static inline void CMalloc_limitArenas(int count) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, count);
#else
    (void)count;
#endif
}

/// Gives the system the memory that heaps keep and nobody uses (malloc_trim(3)), which otherwise stays with the process.
/// Does nothing with other C libraries.
static inline void CMalloc_trim(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

#endif
