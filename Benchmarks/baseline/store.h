#ifndef BASELINE_STORE_H
#define BASELINE_STORE_H

#include <sqlite3.h>
#include <stdint.h>

#include "json.h"

// A store of one zone in the layout that Skylight's design describes, with none of its rules: records in the order of their latest
// change, each under a number that stays, six index entries per record of which a save writes those that changed, kept counts.

/// `zone << 40 | position`, the row id of a record.
#define ZONE INT64_C(1)
#define POSITION_BITS 40
/// Changes in a page of a playback.
#define PAGE 500

enum reading { READ_ID, READ_NAME, READ_TYPE, READ_BORN, READ_STATE, READ_CREATED_AT, READ_CREATED_BY, READ_CREATED_ON, READ_MODIFIED_AT,
               READ_MODIFIED_BY, READ_MODIFIED_ON, READ_PARENT, READ_FIELDS };

/// The columns in the order above.
#define COLUMNS "id, name, type, born, state, createdAt, createdBy, createdOn, modifiedAt, modifiedBy, modifiedOn, parent, fields"

struct store {
    sqlite3 *db;
    int64_t position, rid;
    /// The additions of the open group to the counts of buckets of 1,024 positions.
    struct { int64_t bucket, change; } counts[4096];
    int countsUsed;
    int64_t log_pages;
    sqlite3_stmt *find, *drop, *insert, *add_entry, *drop_entry, *set_zone, *count, *begin, *commit;
};

/// Opens a file, and makes it when there is none. Ends the process with a message when it can't.
void store_open(struct store *store, const char *file);
void store_close(struct store *store);

sqlite3_stmt *store_prepare(struct store *store, const char *sql);
/// Ends the process with SQLite's message unless a result is as it should be.
void store_check(struct store *store, int result, int expected);

void store_begin(struct store *store);
/// Writes the counts, commits with a sync, and moves the write-ahead log into the file when it is long.
void store_commit(struct store *store);

/// Saves the records of a request to records/modify, and writes the answer.
void store_modify(struct store *store, struct slice request, struct buffer *answer);

/// Writes the record that a statement stands on, as answers have it.
void store_write_record(sqlite3_stmt *statement, struct buffer *buffer);

#endif
