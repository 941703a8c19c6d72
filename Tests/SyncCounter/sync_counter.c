// Stands in front of the C library's fdatasync and fsync for everything in the test process, SQLite included,
// and counts the calls for each file.
#define _GNU_SOURCE
#include "SyncCounter.h"

#ifdef __linux__
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES 65536

static struct { ino_t inode; long count; } files[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/// The place of a file in the table; files beyond its size share the last place.
static int place(ino_t inode) {
    int index = 0;
    while (index < FILES - 1 && files[index].inode != 0 && files[index].inode != inode) index++;
    files[index].inode = inode;
    return index;
}

static void count(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return;
    pthread_mutex_lock(&lock);
    files[place(status.st_ino)].count++;
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) int fdatasync(int descriptor) {
    count(descriptor);
    return (int)syscall(SYS_fdatasync, descriptor);
}

__attribute__((visibility("default"))) int fsync(int descriptor) {
    count(descriptor);
    return (int)syscall(SYS_fsync, descriptor);
}

long sync_count(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return 0;
    pthread_mutex_lock(&lock);
    long result = files[place(status.st_ino)].count;
    pthread_mutex_unlock(&lock);
    return result;
}
#else
long sync_count(const char *path) { return -1; }
#endif
