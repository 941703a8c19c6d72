// Stands in front of the C library's fdatasync and fsync for everything in the test process, SQLite included,
// and counts the calls for each file.
#define _GNU_SOURCE
#include "SyncCounter.h"

#ifdef __linux__
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES 65536

static struct { ino_t inode; long count; int fails; } files[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/// The place of a file in the table; files beyond its size share the last place.
static int place(ino_t inode) {
    int index = 0;
    while (index < FILES - 1 && files[index].inode != 0 && files[index].inode != inode) index++;
    files[index].inode = inode;
    return index;
}

/// Counts a call, and says whether it is to fail.
static int fails(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return 0;
    pthread_mutex_lock(&lock);
    int index = place(status.st_ino);
    files[index].count++;
    int result = files[index].fails;
    files[index].fails = 0;
    pthread_mutex_unlock(&lock);
    if (result) errno = EIO;
    return result;
}

__attribute__((visibility("default"))) int fdatasync(int descriptor) {
    return fails(descriptor) ? -1 : (int)syscall(SYS_fdatasync, descriptor);
}

__attribute__((visibility("default"))) int fsync(int descriptor) {
    return fails(descriptor) ? -1 : (int)syscall(SYS_fsync, descriptor);
}

void sync_fail_next(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return;
    pthread_mutex_lock(&lock);
    files[place(status.st_ino)].fails = 1;
    pthread_mutex_unlock(&lock);
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
void sync_fail_next(const char *path) {}
#endif
