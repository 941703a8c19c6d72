#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "notes.h"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS zones (number INTEGER PRIMARY KEY, position INTEGER NOT NULL, moment INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO zones VALUES (1, 0, 0);"
    "CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, rid INTEGER NOT NULL, name TEXT NOT NULL,"
    " type INTEGER NOT NULL, born INTEGER NOT NULL, state INTEGER NOT NULL, createdAt INTEGER NOT NULL, createdBy TEXT NOT NULL,"
    " createdOn TEXT NOT NULL, modifiedAt INTEGER NOT NULL, modifiedBy TEXT NOT NULL, modifiedOn TEXT NOT NULL, parent TEXT, fields BLOB);"
    "CREATE UNIQUE INDEX IF NOT EXISTS record_names ON records (zone, name);"
    "CREATE TABLE IF NOT EXISTS entries (field INTEGER NOT NULL, zone INTEGER NOT NULL, value NOT NULL, rid INTEGER NOT NULL,"
    " PRIMARY KEY (field, zone, value, rid)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS changeCounts (zone INTEGER NOT NULL, bucket INTEGER NOT NULL, count INTEGER NOT NULL,"
    " PRIMARY KEY (zone, bucket)) WITHOUT ROWID;";

void store_check(struct store *store, int result, int expected) {
    if (result == expected) return;
    fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(store->db));
    exit(1);
}

sqlite3_stmt *store_prepare(struct store *store, const char *sql) {
    sqlite3_stmt *statement = NULL;
    store_check(store, sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), SQLITE_OK);
    return statement;
}

static void run(struct store *store, sqlite3_stmt *statement) {
    store_check(store, sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
}

static int after_commit(void *context, sqlite3 *db, const char *name, int pages) {
    (void)db, (void)name;
    ((struct store *)context)->log_pages = pages;
    return SQLITE_OK;
}

static int64_t number(struct store *store, const char *sql) {
    sqlite3_stmt *statement = store_prepare(store, sql);
    store_check(store, sqlite3_step(statement), SQLITE_ROW);
    int64_t result = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

void store_open(struct store *store, const char *file) {
    memset(store, 0, sizeof *store);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    store_check(store, sqlite3_open_v2(file, &store->db, flags, NULL), SQLITE_OK);
    // The settings that Skylight's connections have.
    const char *settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA mmap_size = 0; PRAGMA cache_size = -16384;";
    store_check(store, sqlite3_exec(store->db, settings, NULL, NULL, NULL), SQLITE_OK);
    store_check(store, sqlite3_exec(store->db, schema, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_wal_hook(store->db, after_commit, store);
    store->position = number(store, "SELECT position FROM zones WHERE number = 1");
    store->rid = number(store, "SELECT coalesce(max(rid), 0) FROM (SELECT rid FROM entries WHERE field = 1)");
    store->begin = store_prepare(store, "BEGIN IMMEDIATE");
    store->commit = store_prepare(store, "COMMIT");
    store->find = store_prepare(store, "SELECT id, rid, born, createdAt, fields FROM records WHERE zone = 1 AND name = ?");
    store->drop = store_prepare(store, "DELETE FROM records WHERE id = ?");
    store->insert = store_prepare(store, "INSERT INTO records VALUES (?, 1, ?, ?, 1, ?, 0, ?, ?, ?, ?, ?, ?, NULL, ?)");
    store->add_entry = store_prepare(store, "INSERT INTO entries VALUES (?, 1, ?, ?)");
    store->drop_entry = store_prepare(store, "DELETE FROM entries WHERE field = ? AND zone = 1 AND value = ? AND rid = ?");
    store->set_zone = store_prepare(store, "UPDATE zones SET position = ?, moment = ? WHERE number = 1");
    store->count = store_prepare(
        store, "INSERT INTO changeCounts VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count");
}

void store_close(struct store *store) {
    sqlite3_stmt *statement;
    while ((statement = sqlite3_next_stmt(store->db, NULL))) sqlite3_finalize(statement);
    sqlite3_close(store->db);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void store_begin(struct store *store) { run(store, store->begin); }

void store_commit(struct store *store) {
    sqlite3_bind_int64(store->set_zone, 1, store->position);
    sqlite3_bind_int64(store->set_zone, 2, now());
    run(store, store->set_zone);
    for (int i = 0; i < store->countsUsed; i++) {
        sqlite3_bind_int64(store->count, 1, store->counts[i].bucket);
        sqlite3_bind_int64(store->count, 2, store->counts[i].change);
        run(store, store->count);
    }
    store->countsUsed = 0;
    run(store, store->commit);
    if (store->log_pages > 8192) sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static void count(struct store *store, int64_t position, int64_t change) {
    int64_t bucket = position >> 10;
    int i = 0;
    while (i < store->countsUsed && store->counts[i].bucket != bucket) i++;
    if (i == store->countsUsed) {
        // Full: what a group of this size can't have is not counted.
        if (i == (int)(sizeof store->counts / sizeof *store->counts)) return;
        store->counts[store->countsUsed++].bucket = bucket;
        store->counts[i].change = 0;
    }
    store->counts[i].change += change;
}

static void entry(struct store *store, sqlite3_stmt *statement, int field, struct slice value, int64_t rid) {
    sqlite3_bind_int64(statement, 1, field);
    if (!value.length) {
        sqlite3_bind_int64(statement, 2, 0);
    } else if (*value.start == '"') {
        struct slice text = json_string(value);
        sqlite3_bind_blob(statement, 2, text.start, (int)text.length, SQLITE_STATIC);
    } else {
        sqlite3_bind_int64(statement, 2, json_integer(value));
    }
    sqlite3_bind_int64(statement, 3, rid);
    run(store, statement);
}

static void save(struct store *store, struct slice record, int64_t moment, struct buffer *answer) {
    struct slice name = json_string(json_member(record, "recordName")), fields = json_member(record, "fields");
    struct slice values[NOTE_INDEXED], old[NOTE_INDEXED];
    note_find_values(fields, values);
    int64_t position = ++store->position, born = position, created = moment, rid = 0;
    sqlite3_bind_text(store->find, 1, name.start, (int)name.length, SQLITE_STATIC);
    int exists = sqlite3_step(store->find) == SQLITE_ROW;
    struct slice before = {0, 0};
    if (exists) {
        int64_t id = sqlite3_column_int64(store->find, 0);
        rid = sqlite3_column_int64(store->find, 1);
        born = sqlite3_column_int64(store->find, 2);
        created = sqlite3_column_int64(store->find, 3);
        before.length = (size_t)sqlite3_column_bytes(store->find, 4);
        char *copy = malloc(before.length);
        if (!copy) abort();
        memcpy(copy, sqlite3_column_blob(store->find, 4), before.length);
        before.start = copy;
        note_find_values(before, old);
        sqlite3_bind_int64(store->drop, 1, id);
        count(store, id & ((INT64_C(1) << POSITION_BITS) - 1), -1);
    }
    sqlite3_reset(store->find);
    if (exists) run(store, store->drop);
    else rid = ++store->rid;
    sqlite3_stmt *insert = store->insert;
    sqlite3_bind_int64(insert, 1, ZONE << POSITION_BITS | position);
    sqlite3_bind_int64(insert, 2, rid);
    sqlite3_bind_text(insert, 3, name.start, (int)name.length, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 4, born);
    sqlite3_bind_int64(insert, 5, created);
    sqlite3_bind_text(insert, 6, NOTE_USER, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 7, NOTE_DEVICE, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 8, moment);
    sqlite3_bind_text(insert, 9, NOTE_USER, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 10, NOTE_DEVICE, -1, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 11, fields.start, (int)fields.length, SQLITE_STATIC);
    run(store, insert);
    if (!exists) entry(store, store->add_entry, 1, (struct slice){0, 0}, rid);
    for (int i = 0; i < NOTE_INDEXED; i++) {
        if (exists) {
            if (old[i].length == values[i].length && memcmp(old[i].start, values[i].start, values[i].length) == 0) continue;
            entry(store, store->drop_entry, i + 2, old[i], rid);
        }
        entry(store, store->add_entry, i + 2, values[i], rid);
    }
    count(store, position, 1);
    free((char *)before.start);
    struct slice by = {NOTE_USER, sizeof NOTE_USER - 1}, on = {NOTE_DEVICE, sizeof NOTE_DEVICE - 1};
    note_write(answer, name.start, name.length, position, fields.start, fields.length, created, by, on, moment, by, on);
}

void store_modify(struct store *store, struct slice request, struct buffer *answer) {
    struct slice operations = json_member(request, "operations"), name, operation;
    int64_t moment = now();
    append_text(answer, "{\"records\":[");
    const char *separator = "";
    while (json_next(&operations, &name, &operation)) {
        append_text(answer, separator);
        save(store, json_member(operation, "record"), moment, answer);
        separator = ",";
    }
    append_text(answer, "]}");
}

static struct slice column(sqlite3_stmt *statement, int index) {
    const char *text = (const char *)sqlite3_column_text(statement, index);
    return (struct slice){text ? text : "", (size_t)sqlite3_column_bytes(statement, index)};
}

void store_write_record(sqlite3_stmt *statement, struct buffer *buffer) {
    struct slice name = column(statement, READ_NAME);
    const char *fields = sqlite3_column_blob(statement, READ_FIELDS);
    int64_t position = sqlite3_column_int64(statement, READ_ID) & ((INT64_C(1) << POSITION_BITS) - 1);
    note_write(
        buffer, name.start, name.length, position, fields, (size_t)sqlite3_column_bytes(statement, READ_FIELDS),
        sqlite3_column_int64(statement, READ_CREATED_AT), column(statement, READ_CREATED_BY), column(statement, READ_CREATED_ON),
        sqlite3_column_int64(statement, READ_MODIFIED_AT), column(statement, READ_MODIFIED_BY), column(statement, READ_MODIFIED_ON));
}
