// The least work with PostgreSQL, in a small C program on libpq: the measure for Skylight's store there.
//
//   postgresql save ADDRESS COUNT BATCH GROUP USERS LISTS
//
// Saves COUNT new notes, BATCH in a request, GROUP requests in a commit, in the zones of so many users in turn. The statements are those of Skylight:
// prepared, values in binary form, one transaction for each group, and each waits for the answer to the one before. With LISTS 1, each kind of row goes
// in one statement: the records of a request are looked up, and the rows of a group are inserted, as lists.
//
// The tables are those of Skylight, in a schema of the program's own. It says the count and the seconds in a line of JSON.

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "notes.h"

#define LARGEST 16
/// Types of PostgreSQL (pg_type.h).
enum type { BYTES = 17, NUMBER = 20 };

static PGconn *connection;

static const char tables[] =
    "DROP SCHEMA IF EXISTS baseline CASCADE; CREATE SCHEMA baseline; SET search_path = baseline;"
    "CREATE TABLE zones (number BIGINT PRIMARY KEY, owner BIGINT NOT NULL, name BYTEA NOT NULL, position BIGINT NOT NULL, moment BIGINT NOT NULL);"
    "CREATE UNIQUE INDEX zone_names ON zones (owner, name);"
    "CREATE INDEX changed_zones ON zones (owner, position);"
    "CREATE TABLE records (id BIGINT PRIMARY KEY, zone BIGINT NOT NULL, name BYTEA NOT NULL, type BIGINT NOT NULL, born BIGINT NOT NULL,"
    " state BIGINT NOT NULL, createdAt BIGINT NOT NULL, createdBy BYTEA NOT NULL, createdOn BYTEA NOT NULL, modifiedAt BIGINT NOT NULL,"
    " modifiedBy BYTEA NOT NULL, modifiedOn BYTEA NOT NULL, fields BYTEA);"
    "CREATE UNIQUE INDEX record_names ON records (zone, name);"
    "CREATE INDEX deletions ON records (zone) WHERE state & 1 = 1;"
    "CREATE TABLE entries (field BIGINT NOT NULL, zone BIGINT NOT NULL, value BYTEA NOT NULL, name BYTEA NOT NULL, PRIMARY KEY (field, zone, value, name));"
    "CREATE TABLE typeCounts (zone BIGINT NOT NULL, type BIGINT NOT NULL, count BIGINT NOT NULL, bytes BIGINT NOT NULL, PRIMARY KEY (zone, type));"
    "CREATE INDEX counted_types ON typeCounts (type);"
    "CREATE TABLE changeCounts (zone BIGINT NOT NULL, bucket BIGINT NOT NULL, count BIGINT NOT NULL, PRIMARY KEY (zone, bucket));"
    "CREATE TABLE lastCommit (mark BIGINT NOT NULL); INSERT INTO lastCommit VALUES (0);";

static void check(int is_good) {
    if (is_good) return;
    fprintf(stderr, "PostgreSQL: %s\n", PQerrorMessage(connection));
    exit(1);
}

static void command(const char *sql) {
    PGresult *result = PQexec(connection, sql);
    check(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
}

// MARK: Statements

/// A statement and the rows for it: of each column the values, each after its length, as the elements of PostgreSQL's arrays are.
struct statement {
    const char *name;
    /// The text for one row, and for lists of its columns.
    const char *one, *many;
    /// 'n' for a number, 'b' for bytes.
    const char *columns;
    struct buffer values[LARGEST];
    int rows;
};

static struct statement zone = {.name = "zone", .one = "SELECT number, position FROM zones WHERE owner = $1 AND name = $2", .columns = "nb"};
static struct statement find = {
    .name = "find", .one = "SELECT id, born, createdAt, fields FROM records WHERE zone = $1 AND name = $2",
    .many = "SELECT r.id, r.born, r.createdAt, r.fields FROM unnest($1, $2) AS n (zone, name) JOIN records r ON r.zone = n.zone AND r.name = n.name",
    .columns = "nb"};
static struct statement records = {
    .name = "records", .one = "INSERT INTO records VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    .many = "INSERT INTO records SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)", .columns = "nnbnnnnbbnbbb"};
static struct statement entries = {
    .name = "entries", .one = "INSERT INTO entries VALUES ($1, $2, $3, $4)", .many = "INSERT INTO entries SELECT * FROM unnest($1, $2, $3, $4)",
    .columns = "nnbb"};
static struct statement positions = {
    .name = "positions", .one = "UPDATE zones SET position = $2, moment = $3 WHERE number = $1",
    .many = "UPDATE zones SET position = n.position, moment = n.moment FROM unnest($1, $2, $3) AS n (number, position, moment) WHERE zones.number = n.number",
    .columns = "nnn"};
#define ADDS_COUNT " ON CONFLICT (zone, type) DO UPDATE SET count = typeCounts.count + excluded.count, bytes = typeCounts.bytes + excluded.bytes"
static struct statement type_counts = {
    .name = "types", .one = "INSERT INTO typeCounts VALUES ($1, $2, $3, $4)" ADDS_COUNT,
    .many = "INSERT INTO typeCounts SELECT * FROM unnest($1, $2, $3, $4)" ADDS_COUNT, .columns = "nnnn"};
#define ADDS_CHANGES " ON CONFLICT (zone, bucket) DO UPDATE SET count = changeCounts.count + excluded.count"
static struct statement change_counts = {
    .name = "changes", .one = "INSERT INTO changeCounts VALUES ($1, $2, $3)" ADDS_CHANGES,
    .many = "INSERT INTO changeCounts SELECT * FROM unnest($1, $2, $3)" ADDS_CHANGES, .columns = "nnn"};

static int in_lists;

static void prepare(struct statement *statement) {
    Oid types[LARGEST];
    int count = (int)strlen(statement->columns), many = in_lists && statement->many;
    for (int i = 0; i < count; i++) {
        Oid type = statement->columns[i] == 'n' ? NUMBER : BYTES;
        // Their arrays: _int8 and _bytea.
        types[i] = !many ? type : type == NUMBER ? 1016 : 1001;
    }
    PGresult *result = PQprepare(connection, statement->name, many ? statement->many : statement->one, count, types);
    check(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
}

static void append_big_endian(struct buffer *buffer, uint32_t number) {
    number = htobe32(number);
    append(buffer, (char *)&number, sizeof number);
}

/// The next value of a row.
static void add_bytes(struct statement *statement, int column, const char *bytes, size_t length) {
    struct buffer *values = &statement->values[column];
    if (!values->length) {
        // The head of an array: its dimensions, whether it has NULLs, and its type; then the length and the first index of the dimension.
        append_big_endian(values, 1);
        append_big_endian(values, 0);
        append_big_endian(values, statement->columns[column] == 'n' ? NUMBER : BYTES);
        append_big_endian(values, 0);
        append_big_endian(values, 1);
    }
    append_big_endian(values, (uint32_t)length);
    append(values, bytes, length);
}

static void add_number(struct statement *statement, int column, int64_t number) {
    uint64_t bytes = htobe64((uint64_t)number);
    add_bytes(statement, column, (char *)&bytes, sizeof bytes);
}

/// Runs a statement with its rows, of which there is one unless it is for lists. The caller clears the result.
static PGresult *run(struct statement *statement) {
    int count = (int)strlen(statement->columns), many = in_lists && statement->many;
    const char *values[LARGEST];
    int lengths[LARGEST], formats[LARGEST];
    for (int i = 0; i < count; i++) {
        struct buffer *column = &statement->values[i];
        uint32_t rows = htobe32((uint32_t)statement->rows);
        memcpy(column->bytes + 12, &rows, sizeof rows);
        // Without lists, the value is what comes after the head and its own length.
        size_t skipped = many ? 0 : 24;
        values[i] = column->bytes + skipped;
        lengths[i] = (int)(column->length - skipped);
        formats[i] = 1;
        column->length = 0;
    }
    statement->rows = 0;
    PGresult *result = PQexecPrepared(connection, statement->name, count, values, lengths, formats, 1);
    check(PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK);
    return result;
}

static void flush(struct statement *statement) {
    if (statement->rows) PQclear(run(statement));
}

static void end_row(struct statement *statement) {
    statement->rows++;
    if (!in_lists) flush(statement);
}

// MARK: Saving

struct user {
    int64_t position, saved_bytes, count;
    int is_touched;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void add_entry(int64_t owner, int field, struct slice value, struct slice name) {
    struct buffer packed = {0};
    if (value.length && *value.start == '"') {
        struct slice text = json_string(value);
        append(&packed, "P", 1);
        append(&packed, text.start, text.length);
    } else {
        // Numbers in the order of their bytes.
        uint64_t number = htobe64((uint64_t)(value.length ? json_integer(value) : 0) ^ UINT64_C(1) << 63);
        append(&packed, " ", 1);
        append(&packed, (char *)&number, sizeof number);
    }
    add_number(&entries, 0, field);
    add_number(&entries, 1, owner);
    add_bytes(&entries, 2, packed.bytes, packed.length);
    add_bytes(&entries, 3, name.start, name.length);
    end_row(&entries);
    free(packed.bytes);
}

static void save(struct user *user, int64_t owner, struct slice record, int64_t moment, struct buffer *answer) {
    struct slice name = json_string(json_member(record, "recordName")), fields = json_member(record, "fields"), values[NOTE_INDEXED];
    note_find_values(fields, values);
    int64_t position = ++user->position;
    int64_t numbers[] = {owner << 40 | position, owner, 0, 1, position, 0, moment, 0, 0, moment};
    for (int i = 0; i < 10; i++)
        if (records.columns[i] == 'n') add_number(&records, i, numbers[i]);
    add_bytes(&records, 2, name.start, name.length);
    add_bytes(&records, 7, NOTE_USER, sizeof NOTE_USER - 1);
    add_bytes(&records, 8, NOTE_DEVICE, sizeof NOTE_DEVICE - 1);
    add_bytes(&records, 10, NOTE_USER, sizeof NOTE_USER - 1);
    add_bytes(&records, 11, NOTE_DEVICE, sizeof NOTE_DEVICE - 1);
    add_bytes(&records, 12, fields.start, fields.length);
    end_row(&records);
    add_entry(owner, 1, (struct slice){0, 0}, name);
    for (int i = 0; i < NOTE_INDEXED; i++) add_entry(owner, i + 2, values[i], name);
    user->count++;
    user->saved_bytes += (int64_t)fields.length;
    struct slice by = {NOTE_USER, sizeof NOTE_USER - 1}, on = {NOTE_DEVICE, sizeof NOTE_DEVICE - 1};
    note_write(answer, name.start, name.length, position, fields.start, fields.length, moment, by, on, moment, by, on);
}

static void look_up(int64_t owner, struct slice record) {
    struct slice name = json_string(json_member(record, "recordName"));
    add_number(&find, 0, owner);
    add_bytes(&find, 1, name.start, name.length);
    find.rows++;
}

/// All notes are new.
static void expect_none(void) {
    PGresult *result = run(&find);
    if (PQntuples(result)) {
        fprintf(stderr, "A note is there already\n");
        exit(1);
    }
    PQclear(result);
}

static void modify(struct user *user, int64_t owner, struct slice request, struct buffer *answer) {
    struct slice operations = json_member(request, "operations"), cursor = operations, name, operation;
    int64_t moment = now();
    add_number(&zone, 0, owner);
    add_bytes(&zone, 1, "Bench", 5);
    zone.rows = 1;
    flush(&zone);
    user->is_touched = 1;
    append_text(answer, "{\"records\":[");
    const char *separator = "";
    if (in_lists) {
        while (json_next(&cursor, &name, &operation)) look_up(owner, json_member(operation, "record"));
        expect_none();
    }
    while (json_next(&operations, &name, &operation)) {
        struct slice record = json_member(operation, "record");
        if (!in_lists) {
            look_up(owner, record);
            expect_none();
        }
        append_text(answer, separator);
        save(user, owner, record, moment, answer);
        separator = ",";
    }
    append_text(answer, "]}");
}

static void commit(struct user *users, int64_t count) {
    flush(&records);
    flush(&entries);
    for (int64_t owner = 1; owner <= count; owner++) {
        struct user *user = &users[owner - 1];
        if (!user->is_touched) continue;
        int64_t rows[3][4] = {{owner, user->position, now()}, {owner, 1, user->count, user->saved_bytes}, {owner, user->position >> 10, user->count}};
        struct statement *statements[] = {&positions, &type_counts, &change_counts};
        for (int i = 0; i < 3; i++) {
            for (int column = 0; statements[i]->columns[column]; column++) add_number(statements[i], column, rows[i][column]);
            end_row(statements[i]);
        }
        user->is_touched = 0;
        user->count = user->saved_bytes = 0;
    }
    flush(&positions);
    flush(&type_counts);
    flush(&change_counts);
    char last[128];
    snprintf(last, sizeof last, "UPDATE lastCommit SET mark = %ld; COMMIT", random());
    command(last);
}

int main(int count, char **arguments) {
    if (count != 8 || strcmp(arguments[1], "save") != 0) {
        fprintf(stderr, "postgresql save ADDRESS COUNT BATCH GROUP USERS LISTS\n");
        return 64;
    }
    int64_t notes = strtoll(arguments[3], NULL, 10), batch = strtoll(arguments[4], NULL, 10), group = strtoll(arguments[5], NULL, 10);
    int64_t user_count = strtoll(arguments[6], NULL, 10), requests = (notes + batch - 1) / batch;
    in_lists = atoi(arguments[7]);
    connection = PQconnectdb(arguments[2]);
    check(PQstatus(connection) == CONNECTION_OK);
    command("SET client_min_messages = warning; SET jit = off");
    command(tables);
    char zones[256];
    snprintf(zones, sizeof zones, "INSERT INTO zones SELECT n, n, 'Bench', 0, 0 FROM generate_series(1, %lld) n", (long long)user_count);
    command(zones);
    struct statement *statements[] = {&zone, &find, &records, &entries, &positions, &type_counts, &change_counts};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) prepare(statements[i]);

    struct user *users = calloc((size_t)user_count, sizeof *users);
    struct buffer *bodies = calloc((size_t)requests, sizeof *bodies), answer = {0};
    if (!users || !bodies) abort();
    for (int64_t r = 0; r < requests; r++) {
        append_text(&bodies[r], "{\"operations\":[");
        for (int64_t i = r * batch; i < (r + 1) * batch && i < notes; i++) note_write_operation(&bodies[r], (uint64_t)i, 0, i > r * batch ? "," : "");
        append_text(&bodies[r], "],\"zoneID\":{\"zoneName\":\"Bench\"}}");
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int64_t r = 0; r < requests; r += group) {
        command("BEGIN ISOLATION LEVEL READ COMMITTED");
        for (int64_t i = r; i < r + group && i < requests; i++) {
            answer.length = 0;
            modify(&users[i % user_count], i % user_count + 1, (struct slice){bodies[i].bytes, bodies[i].length}, &answer);
        }
        commit(users, user_count);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("{\"count\":%lld,\"seconds\":%.9f,\"bytes\":0}\n", (long long)notes, seconds);
    PQfinish(connection);
    return 0;
}
