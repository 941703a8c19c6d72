// Makes the files that a crash may leave from what was recorded of the calls.
#define _GNU_SOURCE
#include "TestDisk.h"

#ifdef __linux__
#include "disk_watch.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECTOR 512

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

struct content { unsigned char *bytes; long length, capacity; };

static void put(struct content *content, long offset, const unsigned char *bytes, long length) {
    if (offset + length > content->capacity) {
        content->capacity = (offset + length) * 2;
        content->bytes = realloc(content->bytes, (size_t)content->capacity);
    }
    if (offset > content->length) memset(content->bytes + content->length, 0, (size_t)(offset - content->length));
    memcpy(content->bytes + offset, bytes, (size_t)length);
    if (offset + length > content->length) content->length = offset + length;
}

static void resize(struct content *content, long length) {
    static const unsigned char zero = 0;
    if (length > content->length) put(content, length - 1, &zero, 1);
    content->length = length;
}

/// Applies a write of which nobody knows how much reached the disk.
static void put_doubtful(struct content *content, const struct event *event, int manner, uint64_t threshold, uint64_t *random) {
    if (event->kind == truncated) {
        if (manner == disk_keeps_all || (manner != disk_loses_all && next_random(random) < threshold)) resize(content, event->offset);
        return;
    }
    if (manner == disk_loses_all) return;
    if (manner == disk_keeps_all || manner == disk_loses_writes) {
        if (manner == disk_keeps_all || next_random(random) < threshold) put(content, event->offset, event->bytes, event->length);
        return;
    }
    for (long at = event->offset; at < event->offset + event->length;) {
        long end = (at / SECTOR + 1) * SECTOR;
        if (end > event->offset + event->length) end = event->offset + event->length;
        if (next_random(random) < threshold) put(content, at, event->bytes + (at - event->offset), end - at);
        at = end;
    }
}

/// The content of a file after the first events.
static struct content content_of(struct watch *watch, int file, long events, int manner, uint64_t threshold, uint64_t *random) {
    struct content content = {NULL, 0, 0};
    long safe = 0;
    for (long index = 0; index < events; index++) {
        struct event *event = &watch->events[index];
        if (event->kind == synced && event->file == file) safe = index;
    }
    const struct event **doubtful = malloc(sizeof *doubtful * (size_t)(events - safe + 1));
    long count = 0;
    for (long index = 0; index < events; index++) {
        struct event *event = &watch->events[index];
        if (event->file != file || (event->kind != written && event->kind != truncated)) continue;
        if (index >= safe) {
            doubtful[count++] = event;
        } else if (event->kind == written) {
            put(&content, event->offset, event->bytes, event->length);
        } else {
            resize(&content, event->offset);
        }
    }
    for (long index = count - 1; manner == disk_reorders_writes && index > 0; index--) {
        long other = (long)(next_random(random) % (uint64_t)(index + 1));
        const struct event *event = doubtful[index];
        doubtful[index] = doubtful[other];
        doubtful[other] = event;
    }
    for (long index = 0; index < count; index++) put_doubtful(&content, doubtful[index], manner, threshold, random);
    free(doubtful);
    return content;
}

static bool is_of_names(const struct event *event) {
    return event->kind == created || event->kind == removed || event->kind == renamed || event->kind == made_folder;
}

/// True if one of the folders on the way to a name is missing.
static bool is_lost_with_folder(struct watch *watch, const char *name, const bool *is_missing) {
    for (int folder = 1; folder < watch->folder_count; folder++) {
        size_t length = strlen(watch->folders[folder]);
        if (is_missing[folder] && strncmp(name, watch->folders[folder], length) == 0 && name[length] == '/') return true;
    }
    return false;
}

/// Makes a folder and those above it, unless they are lost.
static void make_folders(struct watch *watch, int folder, const bool *is_missing, const char *destination) {
    const char *name = watch->folders[folder];
    if (is_missing[folder] || is_lost_with_folder(watch, name, is_missing)) return;
    for (size_t end = 1; end <= strlen(name); end++) {
        if (name[end] != '/' && name[end] != 0) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%.*s", destination, (int)end, name);
        syscall(SYS_mkdirat, AT_FDCWD, path, 0755);
    }
}

int disk_image(int number, long events, int manner, unsigned long long seed, const char *destination) {
    pthread_mutex_lock(&disk_lock);
    struct watch *watch = &disk_watches[number];
    uint64_t random = seed;
    // Sometimes nearly all is lost, sometimes nearly nothing.
    uint64_t thresholds[] = {UINT64_MAX / 10, UINT64_MAX / 2, UINT64_MAX / 10 * 9, UINT64_MAX / 100 * 99};
    uint64_t threshold = thresholds[next_random(&random) % 4];
    // Names before the last sync of their folder are safe.
    long *safe = malloc(sizeof *safe * (size_t)watch->folder_count);
    for (int folder = 0; folder < watch->folder_count; folder++) safe[folder] = -1;
    for (long index = 0; index < events; index++) {
        if (watch->events[index].kind == folder_synced) safe[watch->events[index].file] = index;
    }
    long names = 0;
    for (long index = 0; index < events; index++) {
        struct event *event = &watch->events[index];
        if (is_of_names(event) && index > safe[event->folder]) names++;
    }
    // Names come and go in order: file systems keep a journal of them. How many of the doubtful ones did so is open.
    long kept = manner == disk_loses_all ? 0 : manner == disk_keeps_all ? names : (long)(next_random(&random) % (uint64_t)(names + 1));
    const char **name_of = calloc((size_t)watch->file_count + 1, sizeof *name_of);
    bool *is_missing = calloc((size_t)watch->folder_count, sizeof *is_missing);
    for (long index = 0; index < events; index++) {
        struct event *event = &watch->events[index];
        if (!is_of_names(event)) continue;
        bool is_lost = index > safe[event->folder] && kept-- <= 0;
        if (event->kind == made_folder) is_missing[event->file] = is_lost;
        if (is_lost) continue;
        const char *name = (const char *)event->bytes;
        for (int file = 0; event->kind == renamed && file < watch->file_count; file++) {
            if (name_of[file] && strcmp(name_of[file], name) == 0) name_of[file] = NULL;
        }
        // A file of which not even the coming was kept has no old name to be renamed from, and comes with the new one.
        if (event->kind != made_folder) name_of[event->file] = event->kind == removed ? NULL : name;
    }
    int result = 0;
    for (int folder = 1; folder < watch->folder_count; folder++) make_folders(watch, folder, is_missing, destination);
    for (int file = 0; file < watch->file_count; file++) {
        struct content content = content_of(watch, file, events, manner, threshold, &random);
        if (name_of[file] && !is_lost_with_folder(watch, name_of[file], is_missing)) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", destination, name_of[file]);
            int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            if (descriptor < 0 || (content.length > 0 && syscall(SYS_write, descriptor, content.bytes, content.length) != content.length)) result = -1;
            if (descriptor >= 0) syscall(SYS_close, descriptor);
        }
        free(content.bytes);
    }
    free(name_of);
    free(is_missing);
    free(safe);
    pthread_mutex_unlock(&disk_lock);
    return result;
}
#else
int disk_image(int watch, long events, int manner, unsigned long long seed, const char *destination) { return -1; }
#endif
