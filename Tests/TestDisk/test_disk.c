// Stands in front of the C library's open, read, write, ftruncate, fsync, unlink, rename and mkdir for everything in the test process.
#define _GNU_SOURCE
#include "TestDisk.h"

#ifdef __linux__
#include "disk_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DESCRIPTORS 65536

/// The file or folder of an open descriptor. A folder has the file -1 - its number.
struct descriptor { int watch, file; };

struct watch disk_watches[WATCHES];
/// 0 where nothing is watched, else the watch's number + 1.
static struct descriptor descriptors[DESCRIPTORS];
pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;

// MARK: Watching

static int watch_folder(const char *folder, bool is_tree) {
    pthread_mutex_lock(&disk_lock);
    int number = 0;
    while (number < WATCHES && disk_watches[number].is_used) number++;
    if (number < WATCHES) {
        struct watch *watch = &disk_watches[number];
        memset(watch, 0, sizeof *watch);
        watch->is_used = true;
        watch->is_tree = is_tree;
        watch->folders = calloc(1, sizeof *watch->folders);
        watch->folder_count = 1;
        snprintf(watch->folder, sizeof watch->folder, "%s", folder);
        watch->folder_length = strlen(watch->folder);
        while (watch->folder_length > 1 && watch->folder[watch->folder_length - 1] == '/') watch->folder[--watch->folder_length] = 0;
    }
    pthread_mutex_unlock(&disk_lock);
    return number < WATCHES ? number : -1;
}

int disk_watch(const char *folder) { return watch_folder(folder, false); }
int disk_watch_tree(const char *folder) { return watch_folder(folder, true); }

void disk_unwatch(int number) {
    pthread_mutex_lock(&disk_lock);
    struct watch *watch = &disk_watches[number];
    for (int index = 0; index < DESCRIPTORS; index++) {
        if (descriptors[index].watch == number + 1) descriptors[index].watch = 0;
    }
    for (long index = 0; index < watch->event_count; index++) free(watch->events[index].bytes);
    free(watch->events);
    free(watch->files);
    free(watch->folders);
    watch->is_used = false;
    pthread_mutex_unlock(&disk_lock);
}

static bool ends(const char *name, const char *suffix) {
    size_t length = strlen(name), end = strlen(suffix);
    return length >= end && strcmp(name + length - end, suffix) == 0;
}

/// The file of a name in a watched folder; entered when new.
static int file_index(struct watch *watch, const char *name, ino_t inode, bool is_new) {
    for (int index = watch->file_count - 1; index >= 0; index--) {
        struct file *file = &watch->files[index];
        if (!is_new && !file->is_gone && file->inode == inode && strcmp(file->name, name) == 0) return index;
    }
    watch->files = realloc(watch->files, sizeof(struct file) * (size_t)(watch->file_count + 1));
    struct file *file = &watch->files[watch->file_count];
    memset(file, 0, sizeof *file);
    snprintf(file->name, sizeof file->name, "%s", name);
    file->inode = inode;
    file->is_volatile = ends(name, "-shm");
    return watch->file_count++;
}

/// The watch in whose folder a path lies, and the name there: "" for the folder itself.
static struct watch *watch_of(const char *path, const char **name) {
    for (int number = 0; number < WATCHES; number++) {
        struct watch *watch = &disk_watches[number];
        if (!watch->is_used || strncmp(path, watch->folder, watch->folder_length) != 0) continue;
        const char *rest = path + watch->folder_length;
        while (*rest == '/') rest++;
        if ((!watch->is_tree && strchr(rest, '/') != NULL) || (*rest && path[watch->folder_length] != '/')) continue;
        *name = rest;
        return watch;
    }
    return NULL;
}

/// The number of a folder below the watched one; entered when new.
static int folder_index(struct watch *watch, const char *path) {
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') length--;
    for (int index = 0; index < watch->folder_count; index++) {
        if (strlen(watch->folders[index]) == length && strncmp(watch->folders[index], path, length) == 0) return index;
    }
    watch->folders = realloc(watch->folders, sizeof *watch->folders * (size_t)(watch->folder_count + 1));
    snprintf(watch->folders[watch->folder_count], sizeof *watch->folders, "%.*s", (int)length, path);
    return watch->folder_count++;
}

/// The number of the folder that a name stands in.
static int folder_of(struct watch *watch, const char *name) {
    char path[128];
    const char *slash = strrchr(name, '/');
    snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - name) : 0, name);
    return folder_index(watch, path);
}

static void append(struct watch *watch, enum event_kind kind, int file, long offset, long length, const void *bytes) {
    bool is_folder = kind == made_folder || kind == folder_synced;
    if (!watch->records || (!is_folder && watch->files[file].is_volatile)) return;
    if (watch->event_count == watch->event_capacity) {
        watch->event_capacity = watch->event_capacity * 2 + 1024;
        watch->events = realloc(watch->events, sizeof(struct event) * (size_t)watch->event_capacity);
    }
    struct event event = {kind, file, 0, offset, length, NULL};
    if (kind == created || kind == removed || kind == renamed) event.folder = folder_of(watch, watch->files[file].name);
    if (kind == made_folder) event.folder = folder_of(watch, watch->folders[file]);
    if (kind == created || kind == renamed) {
        bytes = watch->files[file].name;
        length = (long)strlen(watch->files[file].name) + 1;
    }
    if (bytes && length > 0) {
        event.bytes = malloc((size_t)length);
        memcpy(event.bytes, bytes, (size_t)length);
    }
    watch->events[watch->event_count++] = event;
}

/// Counts a call, and says whether it is to fail: the error, or 0.
static int count(struct watch *watch, int kind, const char *name, int file) {
    if (file >= 0) {
        int bit = 0;
        while (kind >> (bit + 1)) bit++;
        watch->files[file].counts[bit]++;
    }
    if (!(watch->fault.kinds & kind) || !ends(name, watch->fault.suffix)) return 0;
    if (watch->fault.skipped > 0) {
        watch->fault.skipped--;
        return 0;
    }
    if (watch->fault.failing == 0) return 0;
    if (watch->fault.failing > 0) watch->fault.failing--;
    watch->fault.failed++;
    return watch->fault.error;
}

long disk_count(int number, int kinds, const char *suffix) {
    pthread_mutex_lock(&disk_lock);
    long result = 0;
    for (int index = 0; index < disk_watches[number].file_count; index++) {
        struct file *file = &disk_watches[number].files[index];
        if (!ends(file->name, suffix)) continue;
        for (int bit = 0; bit < KINDS; bit++) {
            if (kinds >> bit & 1) result += file->counts[bit];
        }
    }
    pthread_mutex_unlock(&disk_lock);
    return result;
}

void disk_fail(int number, int kinds, const char *suffix, long skipped, long failing, int error) {
    pthread_mutex_lock(&disk_lock);
    struct watch *watch = &disk_watches[number];
    watch->fault.kinds = kinds;
    watch->fault.error = error;
    watch->fault.skipped = skipped;
    watch->fault.failing = failing;
    watch->fault.failed = 0;
    snprintf(watch->fault.suffix, sizeof watch->fault.suffix, "%s", suffix);
    pthread_mutex_unlock(&disk_lock);
}

void disk_heal(int number) {
    pthread_mutex_lock(&disk_lock);
    disk_watches[number].fault.kinds = 0;
    pthread_mutex_unlock(&disk_lock);
}

long disk_failed(int number) {
    pthread_mutex_lock(&disk_lock);
    long result = disk_watches[number].fault.failed;
    pthread_mutex_unlock(&disk_lock);
    return result;
}

void disk_shorten_writes(int number, int on) {
    pthread_mutex_lock(&disk_lock);
    disk_watches[number].shortens = on;
    pthread_mutex_unlock(&disk_lock);
}

void disk_record(int number) {
    pthread_mutex_lock(&disk_lock);
    disk_watches[number].records = true;
    pthread_mutex_unlock(&disk_lock);
}

void disk_skip_syncs(int number) {
    pthread_mutex_lock(&disk_lock);
    disk_watches[number].skips_syncs = true;
    pthread_mutex_unlock(&disk_lock);
}

void disk_forget_syncs(int number, int on) {
    pthread_mutex_lock(&disk_lock);
    disk_watches[number].forgets_syncs = on;
    pthread_mutex_unlock(&disk_lock);
}

long disk_events(int number) {
    pthread_mutex_lock(&disk_lock);
    long result = disk_watches[number].event_count;
    pthread_mutex_unlock(&disk_lock);
    return result;
}

// MARK: The calls

/// The watch of a descriptor, `NULL` when it is not watched. The lock is held on return, if so.
static struct watch *watch_of_descriptor(int descriptor, int *file) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS || descriptors[descriptor].watch == 0) return NULL;
    pthread_mutex_lock(&disk_lock);
    int number = descriptors[descriptor].watch;
    if (number == 0) {
        pthread_mutex_unlock(&disk_lock);
        return NULL;
    }
    *file = descriptors[descriptor].file;
    return &disk_watches[number - 1];
}

static int opened(const char *path, int flags, mode_t mode) {
    int saved = errno;
    pthread_mutex_lock(&disk_lock);
    const char *name = "";
    struct watch *watch = path[0] == '/' ? watch_of(path, &name) : NULL;
    if (!watch) {
        pthread_mutex_unlock(&disk_lock);
        int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
        if (result >= 0 && result < DESCRIPTORS) descriptors[result].watch = 0;
        return result;
    }
    struct stat status;
    bool was_there = stat(path, &status) == 0;
    int error = *name ? count(watch, disk_opens, name, -1) : 0;
    int result = -1;
    if (error) {
        errno = error;
    } else {
        result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    }
    if (result >= 0 && result < DESCRIPTORS && fstat(result, &status) == 0) {
        descriptors[result].watch = (int)(watch - disk_watches) + 1;
        if (S_ISDIR(status.st_mode)) {
            descriptors[result].file = -1 - folder_index(watch, name);
        } else {
            int file = file_index(watch, name, status.st_ino, !was_there);
            descriptors[result].file = file;
            watch->files[file].counts[0]++;
            if (!was_there) append(watch, created, file, 0, 0, NULL);
        }
        errno = saved;
    }
    pthread_mutex_unlock(&disk_lock);
    return result;
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return opened(path, flags, mode);
}

EXPORTED int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return opened(path, flags, mode);
}

EXPORTED int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS) descriptors[descriptor].watch = 0;
    return (int)syscall(SYS_close, descriptor);
}

static ssize_t wrote(int descriptor, const void *bytes, size_t length, off_t offset) {
    int file;
    struct watch *watch = watch_of_descriptor(descriptor, &file);
    if (!watch || file < 0) {
        if (watch) pthread_mutex_unlock(&disk_lock);
        return syscall(SYS_pwrite64, descriptor, bytes, length, offset);
    }
    int error = count(watch, disk_writes, watch->files[file].name, file);
    if ((error || watch->shortens) && length > 1) length /= 2;
    ssize_t result = syscall(SYS_pwrite64, descriptor, bytes, length, offset);
    if (result > 0) append(watch, written, file, (long)offset, (long)result, bytes);
    pthread_mutex_unlock(&disk_lock);
    if (!error) return result;
    errno = error;
    return -1;
}

EXPORTED ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
    return wrote(descriptor, bytes, length, offset);
}

EXPORTED ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
    return wrote(descriptor, bytes, length, offset);
}

static int cut(int descriptor, off_t length) {
    int file;
    struct watch *watch = watch_of_descriptor(descriptor, &file);
    if (!watch || file < 0) {
        if (watch) pthread_mutex_unlock(&disk_lock);
        return (int)syscall(SYS_ftruncate, descriptor, length);
    }
    int error = count(watch, disk_truncates, watch->files[file].name, file);
    int result = -1;
    if (error) {
        errno = error;
    } else {
        result = (int)syscall(SYS_ftruncate, descriptor, length);
        if (result == 0) append(watch, truncated, file, (long)length, 0, NULL);
    }
    pthread_mutex_unlock(&disk_lock);
    return result;
}

EXPORTED int ftruncate(int descriptor, off_t length) { return cut(descriptor, length); }
EXPORTED int ftruncate64(int descriptor, off64_t length) { return cut(descriptor, length); }

static int made_durable(int descriptor, long call) {
    int file;
    struct watch *watch = watch_of_descriptor(descriptor, &file);
    if (!watch) return (int)syscall(call, descriptor);
    int error = file >= 0 ? count(watch, disk_syncs, watch->files[file].name, file)
                          : count(watch, disk_folder_syncs, watch->folders[-1 - file], -1);
    bool is_skipped = watch->skips_syncs;
    if (!error && !watch->forgets_syncs) {
        if (file < 0) append(watch, folder_synced, -1 - file, 0, 0, NULL);
        else append(watch, synced, file, 0, 0, NULL);
    }
    pthread_mutex_unlock(&disk_lock);
    if (error) {
        errno = error;
        return -1;
    }
    return is_skipped ? 0 : (int)syscall(call, descriptor);
}

EXPORTED int fdatasync(int descriptor) { return made_durable(descriptor, SYS_fdatasync); }
EXPORTED int fsync(int descriptor) { return made_durable(descriptor, SYS_fsync); }

EXPORTED int unlink(const char *path) {
    pthread_mutex_lock(&disk_lock);
    const char *name = "";
    struct watch *watch = path[0] == '/' ? watch_of(path, &name) : NULL;
    struct stat status;
    if (!watch || stat(path, &status) != 0) {
        pthread_mutex_unlock(&disk_lock);
        return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    }
    int file = file_index(watch, name, status.st_ino, false);
    int error = count(watch, disk_removals, name, file);
    int result = -1;
    if (error) {
        errno = error;
    } else {
        result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
        if (result == 0) {
            watch->files[file].is_gone = true;
            append(watch, removed, file, 0, 0, NULL);
        }
    }
    pthread_mutex_unlock(&disk_lock);
    return result;
}

EXPORTED int rename(const char *from, const char *to) {
    pthread_mutex_lock(&disk_lock);
    const char *name = "", *new_name = "";
    struct watch *watch = from[0] == '/' ? watch_of(from, &name) : NULL;
    struct stat status, replaced;
    if (!watch || watch_of(to, &new_name) != watch || stat(from, &status) != 0 || S_ISDIR(status.st_mode)) {
        pthread_mutex_unlock(&disk_lock);
        return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    }
    int file = file_index(watch, name, status.st_ino, false);
    int other = stat(to, &replaced) == 0 ? file_index(watch, new_name, replaced.st_ino, false) : -1;
    int error = count(watch, disk_renames, new_name, file);
    int result = -1;
    if (error) {
        errno = error;
    } else {
        result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
        if (result == 0) {
            if (other >= 0) watch->files[other].is_gone = true;
            snprintf(watch->files[file].name, sizeof watch->files[file].name, "%s", new_name);
            append(watch, renamed, file, 0, 0, NULL);
        }
    }
    pthread_mutex_unlock(&disk_lock);
    return result;
}

EXPORTED int mkdir(const char *path, mode_t mode) {
    pthread_mutex_lock(&disk_lock);
    const char *name = "";
    struct watch *watch = path[0] == '/' ? watch_of(path, &name) : NULL;
    int error = watch && watch->is_tree && *name ? count(watch, disk_new_folders, name, -1) : 0;
    int result = -1;
    if (error) {
        errno = error;
    } else {
        result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
        if (result == 0 && watch && watch->is_tree && *name) append(watch, made_folder, folder_index(watch, name), 0, 0, NULL);
    }
    pthread_mutex_unlock(&disk_lock);
    return result;
}

static ssize_t fetched(int descriptor, void *space, size_t length, off_t offset) {
    int file;
    struct watch *watch = watch_of_descriptor(descriptor, &file);
    int error = watch && file >= 0 ? count(watch, disk_reads, watch->files[file].name, file) : 0;
    if (watch) pthread_mutex_unlock(&disk_lock);
    if (!error) return syscall(SYS_pread64, descriptor, space, length, offset);
    errno = error;
    return -1;
}

EXPORTED ssize_t pread(int descriptor, void *space, size_t length, off_t offset) { return fetched(descriptor, space, length, offset); }
EXPORTED ssize_t pread64(int descriptor, void *space, size_t length, off64_t offset) { return fetched(descriptor, space, length, offset); }
#else
int disk_watch(const char *folder) { return -1; }
int disk_watch_tree(const char *folder) { return -1; }
void disk_unwatch(int watch) {}
long disk_count(int watch, int kinds, const char *suffix) { return 0; }
void disk_fail(int watch, int kinds, const char *suffix, long skipped, long failing, int error) {}
void disk_heal(int watch) {}
long disk_failed(int watch) { return 0; }
void disk_shorten_writes(int watch, int on) {}
void disk_record(int watch) {}
void disk_skip_syncs(int watch) {}
void disk_forget_syncs(int watch, int on) {}
long disk_events(int watch) { return 0; }
#endif
