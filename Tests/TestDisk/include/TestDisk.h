#ifndef TEST_DISK_H
#define TEST_DISK_H

/// A disk to break. It stands in front of the C library's calls for everything in the test process, SQLite included: it counts, records
/// and spoils the calls that concern files in watched folders. Linux only; elsewhere nothing can be watched.

/// Kinds of calls, as bits.
enum {
    disk_opens = 1,
    disk_writes = 2,
    disk_truncates = 4,
    disk_syncs = 8,
    disk_removals = 16,
    disk_renames = 32,
    disk_new_folders = 64,
    disk_folder_syncs = 128,
    disk_reads = 256,
};

/// Watches the files in a folder, which must not be watched yet; not those in folders below it.
/// - Returns: the number of the watch, -1 when calls can't be watched here.
int disk_watch(const char *folder);

/// Watches the files in a folder and in all folders below it; names are paths from there.
int disk_watch_tree(const char *folder);

/// Ends a watch; its number is used again.
void disk_unwatch(int watch);

/// How many calls of these kinds were made so far for files whose names end so; "" for all.
long disk_count(int watch, int kinds, const char *suffix);

/// Makes calls of these kinds fail.
/// - Parameter skipped: this many calls succeed first.
/// - Parameter failing: this many fail then; -1 for all.
/// - Parameter error: what they fail with, such as EIO; a failing write leaves half of its bytes behind.
void disk_fail(int watch, int kinds, const char *suffix, long skipped, long failing, int error);

/// Ends the failing.
void disk_heal(int watch);

/// How many calls failed since `disk_fail`.
long disk_failed(int watch);

/// Makes all writes short: each writes only a part and says so.
void disk_shorten_writes(int watch, int on);

/// Records the content and order of everything written and synced from now on.
void disk_record(int watch);

/// Syncs nothing really from now on: nobody pulls a plug.
void disk_skip_syncs(int watch);

/// A disk that lies: syncs are acknowledged, but the record holds none.
void disk_forget_syncs(int watch, int on);

/// How many events the record has.
long disk_events(int watch);

/// The state after a crash.
enum {
    /// All that was not synced is lost.
    disk_loses_all,
    /// Nothing is lost, as when only the process dies.
    disk_keeps_all,
    /// Writes are lost as a whole.
    disk_loses_writes,
    /// Writes are lost or torn, in units of 512 bytes.
    disk_tears_writes,
    /// As before, and out of order.
    disk_reorders_writes,
};

/// Writes the folder's files to another folder as a crash after the first events of the record may leave them. Memory maps are gone.
/// - Parameter manner: one of the above.
/// - Parameter seed: chooses what is lost; the same each time.
/// - Returns: 0, or -1 when the files can't be written.
int disk_image(int watch, long events, int manner, unsigned long long seed, const char *destination);

#endif
