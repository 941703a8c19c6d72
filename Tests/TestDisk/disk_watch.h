// What the parts of TestDisk share: what is watched, and what was recorded.
#ifndef DISK_WATCH_H
#define DISK_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#define WATCHES 1024

enum event_kind { created, removed, written, truncated, synced, folder_synced };

struct event {
    enum event_kind kind;
    int file;
    long offset, length;
    unsigned char *bytes;
};

struct file {
    char name[128];
    ino_t inode;
    bool is_gone;
    /// Nothing of these is recorded: shared memory does not outlive a crash.
    bool is_volatile;
    long counts[5];
};

struct watch {
    bool is_used, records, forgets_syncs, skips_syncs, shortens;
    char folder[512];
    size_t folder_length;
    struct file *files;
    int file_count;
    struct event *events;
    long event_count, event_capacity;
    struct { int kinds, error; char suffix[64]; long skipped, failing, failed; } fault;
};

extern struct watch disk_watches[WATCHES];
extern pthread_mutex_t disk_lock;

#endif
