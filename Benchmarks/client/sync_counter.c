// Counts the syncs of the process into which it is loaded (LD_PRELOAD): in the file that SYNC_COUNT_FILE names stand two numbers of eight
// bytes, the syncs of write-ahead logs and those of all other files.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t *counts;

__attribute__((constructor)) static void open_counts(void) {
    const char *path = getenv("SYNC_COUNT_FILE");
    int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, 16)) return;
    void *memory = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) counts = memory;
    close(file);
}

static void count(int descriptor) {
    if (!counts) return;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path);
    int is_log = length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
    __atomic_add_fetch(&counts[is_log ? 0 : 1], 1, __ATOMIC_RELAXED);
}

int fdatasync(int descriptor) {
    count(descriptor);
    return (int)syscall(SYS_fdatasync, descriptor);
}

int fsync(int descriptor) {
    count(descriptor);
    return (int)syscall(SYS_fsync, descriptor);
}
