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

int disk_image(int number, long events, int manner, unsigned long long seed, const char *destination) {
    pthread_mutex_lock(&disk_lock);
    struct watch *watch = &disk_watches[number];
    uint64_t random = seed;
    // Sometimes nearly all is lost, sometimes nearly nothing.
    uint64_t thresholds[] = {UINT64_MAX / 10, UINT64_MAX / 2, UINT64_MAX / 10 * 9, UINT64_MAX / 100 * 99};
    uint64_t threshold = thresholds[next_random(&random) % 4];
    long safe = -1, names = 0;
    for (long index = 0; index < events; index++) {
        enum event_kind kind = watch->events[index].kind;
        if (kind == created || kind == removed) names++;
        if (kind == folder_synced) {
            safe = index;
            names = 0;
        }
    }
    // Names come and go in order: file systems keep a journal of them. How many of the doubtful ones did so is open.
    long kept = manner == disk_loses_all ? 0 : manner == disk_keeps_all ? names : (long)(next_random(&random) % (uint64_t)(names + 1));
    bool *is_there = calloc((size_t)watch->file_count + 1, sizeof *is_there);
    for (long index = 0; index < events; index++) {
        struct event *event = &watch->events[index];
        if (event->kind != created && event->kind != removed) continue;
        if (index > safe && kept-- <= 0) break;
        is_there[event->file] = event->kind == created;
    }
    int result = 0;
    for (int file = 0; file < watch->file_count; file++) {
        struct content content = content_of(watch, file, events, manner, threshold, &random);
        if (is_there[file]) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", destination, watch->files[file].name);
            int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            if (descriptor < 0 || (content.length > 0 && syscall(SYS_write, descriptor, content.bytes, content.length) != content.length)) result = -1;
            if (descriptor >= 0) syscall(SYS_close, descriptor);
        }
        free(content.bytes);
    }
    free(is_there);
    pthread_mutex_unlock(&disk_lock);
    return result;
}
#else
int disk_image(int watch, long events, int manner, unsigned long long seed, const char *destination) { return -1; }
#endif
