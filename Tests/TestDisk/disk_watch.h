// The common types of TestDisk: watched folders and recorded events.
#ifndef DISK_WATCH_H
#define DISK_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#define WATCHES 1024
#define KINDS 9

enum event_kind { created, removed, renamed, made_folder, written, truncated, synced, folder_synced };

struct event {
    enum event_kind kind;
    /// The file; of a folder that was made or synced, the folder.
    int file;
    /// For an event about a name, the folder with the name.
    int folder;
    long offset, length;
    /// The written bytes; for a created or renamed file, its name with a zero at the end.
    unsigned char *bytes;
};

struct file {
    char name[128];
    ino_t inode;
    bool is_gone;
    /// Nothing of these is recorded: shared memory does not outlive a crash.
    bool is_volatile;
    long counts[KINDS];
};

struct watch {
    /// True if folders below are watched too.
    bool is_tree;
    bool is_used, records, forgets_syncs, skips_syncs, shortens;
    char folder[512];
    size_t folder_length;
    struct file *files;
    int file_count;
    /// Paths of the folders below, as they come up; the watched folder itself is the first one, "".
    char (*folders)[128];
    int folder_count;
    struct event *events;
    long event_count, event_capacity;
    struct { int kinds, error; char suffix[128]; long skipped, failing, failed; } fault;
};

extern struct watch disk_watches[WATCHES];
extern pthread_mutex_t disk_lock;

#endif
