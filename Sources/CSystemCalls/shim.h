#ifndef CSYSTEMCALLS_SHIM_H
#define CSYSTEMCALLS_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

#ifdef __GLIBC__
#include <malloc.h>
#endif

// Calls that Swift can't name: the C library declares them for C with GNU extensions only, or not at all.

// Calls that never wait for a disk, so that a thread which others need too can make them.

/// Reads from an offset what the system holds in memory of a file (preadv2(2), RWF_NOWAIT).
/// Returns how many bytes were read, fewer than wanted where the rest is not in memory; -1 where nothing is, or the system can't tell.
static inline ssize_t CSystemCalls_readCached(int file, void *bytes, size_t count, off_t offset) {
#if defined(__linux__) && defined(SYS_preadv2) && defined(__LP64__)
    struct iovec part = {bytes, count};
    const long without_waiting = 8;
    return syscall(SYS_preadv2, (long)file, &part, 1L, (long)offset, 0L, without_waiting);
#else
    (void)file, (void)bytes, (void)count, (void)offset;
    errno = ENOSYS;
    return -1;
#endif
}

/// Opens a file for reading if the system holds in memory all that this takes (openat2(2), RESOLVE_CACHED).
/// Returns -1 where it would have to wait, where the file can't be opened, or where the system can't tell.
static inline int CSystemCalls_openCached(const char *path) {
#if defined(__linux__) && defined(SYS_openat2)
    struct {
        uint64_t flags, mode, resolve;
    } how = {O_RDONLY | O_CLOEXEC, 0, 0x20};
    return (int)syscall(SYS_openat2, (long)AT_FDCWD, path, &how, (long)sizeof how);
#else
    (void)path;
    errno = ENOSYS;
    return -1;
#endif
}

// The memory of threads. These do nothing with other C libraries than glibc.

/// Limits the number of heaps that threads take memory from (mallopt(3), M_ARENA_MAX).
static inline void CSystemCalls_limitHeaps(int count) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, count);
#else
    (void)count;
#endif
}

/// Gives the system the memory that heaps keep and nobody uses (malloc_trim(3)), which otherwise stays with the process.
static inline void CSystemCalls_trimHeaps(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

#endif
