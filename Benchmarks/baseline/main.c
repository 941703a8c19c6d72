// The least work with SQLite, in a small C program: the measure for Skylight's store.
//
//   baseline fill FILE RECORDS                          makes a zone of so many notes
//   baseline play FILE ROUNDS                           reads all columns of all records, in the order of changes
//   baseline serve FILE                                 answers every request with a playback, as Skylight's changes/playback writes it
//   baseline fetch FILE RECORDS NAMES ROUNDS            finds so many records by name at a time, and writes their JSON
//   baseline save FILE COUNT BATCH GROUP RECORDS SEED   saves COUNT notes, BATCH in a request, GROUP requests in a commit; new ones when
//                                                       RECORDS is 0, else random ones of so many anew
//
// Each says what it found in a line of JSON.

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "benchmark_records.h"
#include "notes.h"
#include "store.h"

static double clock_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void say(int64_t count, double seconds, int64_t bytes) {
    printf("{\"count\":%lld,\"seconds\":%.9f,\"bytes\":%lld}\n", (long long)count, seconds, (long long)bytes);
    fflush(stdout);
}

static void fill(struct store *store, int64_t records) {
    // Nothing is measured here, and the file is worthless unless it gets finished.
    sqlite3_exec(store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    struct buffer request = {0}, answer = {0};
    for (int64_t first = 0; first < records; first += 200) {
        request.length = answer.length = 0;
        append_text(&request, "{\"operations\":[");
        for (int64_t i = first; i < first + 200 && i < records; i++) note_write_operation(&request, (uint64_t)i, 0, i > first ? "," : "");
        append_text(&request, "]}");
        store_begin(store);
        store_modify(store, (struct slice){request.bytes, request.length}, &answer);
        store_commit(store);
    }
}

static void play(struct store *store, int64_t rounds) {
    sqlite3_stmt *all = store_prepare(store, "SELECT " COLUMNS " FROM records WHERE id > ? AND id <= ? ORDER BY id");
    for (int64_t round = 0; round < rounds; round++) {
        double start = clock_seconds();
        int64_t count = 0, bytes = 0;
        uint64_t sum = 0;
        sqlite3_bind_int64(all, 1, ZONE << POSITION_BITS);
        sqlite3_bind_int64(all, 2, ZONE << POSITION_BITS | store->position);
        while (sqlite3_step(all) == SQLITE_ROW) {
            for (int column = 0; column <= READ_FIELDS; column++) {
                if (column == READ_NAME || (column >= READ_CREATED_BY && column != READ_MODIFIED_AT)) {
                    const unsigned char *text = sqlite3_column_blob(all, column);
                    int length = sqlite3_column_bytes(all, column);
                    if (column == READ_NAME || column == READ_FIELDS) bytes += length;
                    // Each cache line is looked at, as a copy would.
                    for (int i = 0; i < length; i += 64) sum += text[i];
                } else {
                    sum += (uint64_t)sqlite3_column_int64(all, column);
                }
            }
            count++;
        }
        sqlite3_reset(all);
        if (round > 0 || rounds == 1) say(sum == 1 ? 0 : count, clock_seconds() - start, bytes);
    }
}

static void fetch(struct store *store, int64_t records, int64_t names, int64_t rounds) {
    sqlite3_stmt *find = store_prepare(store, "SELECT " COLUMNS " FROM records WHERE zone = 1 AND name = ?");
    struct buffer answer = {0};
    double seconds = 0;
    int64_t bytes = 0, missing = 0;
    char (*wanted)[BENCHMARK_NAME_SIZE] = malloc((size_t)names * sizeof *wanted);
    if (!wanted) abort();
    for (int64_t round = 0; round < rounds; round++) {
        for (int64_t i = 0; i < names; i++) benchmark_name(benchmark_hash((uint64_t)(round * names + i)) % (uint64_t)records, wanted[i]);
        double start = clock_seconds();
        answer.length = 0;
        append_text(&answer, "[");
        store_check(store, sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
        for (int64_t i = 0; i < names; i++) {
            if (i) append_text(&answer, ",");
            sqlite3_bind_text(find, 1, wanted[i], -1, SQLITE_STATIC);
            if (sqlite3_step(find) == SQLITE_ROW) store_write_record(find, &answer);
            else missing++;
            sqlite3_reset(find);
        }
        store_check(store, sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
        append_text(&answer, "]");
        bytes += (int64_t)answer.length;
        seconds += clock_seconds() - start;
    }
    say(rounds * names - missing, seconds, bytes);
}

static void save(struct store *store, int64_t count, int64_t batch, int64_t group, int64_t records, uint64_t seed) {
    struct buffer answer = {0};
    int64_t requests = (count + batch - 1) / batch;
    struct buffer *bodies = calloc((size_t)requests, sizeof *bodies);
    if (!bodies) abort();
    for (int64_t r = 0; r < requests; r++) {
        append_text(&bodies[r], "{\"operations\":[");
        for (int64_t i = r * batch; i < (r + 1) * batch && i < count; i++) {
            uint64_t number = records ? benchmark_hash((seed << 32) + (uint64_t)i) % (uint64_t)records : (uint64_t)i;
            note_write_operation(&bodies[r], number, records ? seed : 0, i > r * batch ? "," : "");
        }
        append_text(&bodies[r], "],\"zoneID\":{\"zoneName\":\"Bench\"}}");
    }
    double start = clock_seconds();
    for (int64_t r = 0; r < requests; r += group) {
        store_begin(store);
        for (int64_t i = r; i < r + group && i < requests; i++) {
            answer.length = 0;
            store_modify(store, (struct slice){bodies[i].bytes, bodies[i].length}, &answer);
        }
        store_commit(store);
    }
    say(count, clock_seconds() - start, 0);
}

// MARK: Serving

static int send_all(int connection, const char *bytes, size_t length) {
    while (length) {
        ssize_t sent = send(connection, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
        bytes += sent;
        length -= (size_t)sent;
    }
    return 1;
}

/// Sends what was gathered as one chunk (RFC 9112, section 7.1). The first sixteen bytes of the buffer are kept free for its size.
static int send_chunk(int connection, struct buffer *chunk) {
    char head[20];
    int length = snprintf(head, sizeof head, "%zx\r\n", chunk->length - 16);
    memcpy(chunk->bytes + 16 - length, head, (size_t)length);
    append_text(chunk, "\r\n");
    int result = send_all(connection, chunk->bytes + 16 - length, chunk->length - 16 + (size_t)length);
    chunk->length = 16;
    return result;
}

static void playback(struct store *store, int connection) {
    sqlite3_stmt *all = store_prepare(store, "SELECT " COLUMNS " FROM records WHERE id > ? AND id <= ? ORDER BY id");
    sqlite3_bind_int64(all, 1, ZONE << POSITION_BITS);
    sqlite3_bind_int64(all, 2, ZONE << POSITION_BITS | store->position);
    struct buffer chunk = {0};
    append_text(&chunk, "0123456789abcdef");
    int64_t done = 0;
    const char *head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    int alive = send_all(connection, head, strlen(head));
    append_text(&chunk, "{\"playback\":\"started\",\"total\":");
    append_integer(&chunk, store->position);
    append_text(&chunk, "}\n");
    while (alive && sqlite3_step(all) == SQLITE_ROW) {
        append_text(&chunk, "{\"change\":\"created\",\"position\":");
        append_integer(&chunk, sqlite3_column_int64(all, READ_ID) & ((INT64_C(1) << POSITION_BITS) - 1));
        append_text(&chunk, ",\"record\":");
        store_write_record(all, &chunk);
        append_text(&chunk, "}\n");
        if (++done % PAGE == 0) {
            append_text(&chunk, "{\"playback\":\"reached\",\"done\":");
            append_integer(&chunk, done);
            append_text(&chunk, ",\"total\":");
            append_integer(&chunk, store->position);
            append_text(&chunk, ",\"syncToken\":\"000000000000000000000000000000000000000000000000\"}\n");
        }
        if (chunk.length > 65536) alive = send_chunk(connection, &chunk);
    }
    sqlite3_finalize(all);
    if (alive && (chunk.length == 16 || send_chunk(connection, &chunk))) send_all(connection, "0\r\n\r\n", 5);
    free(chunk.bytes);
}

static void serve(struct store *store) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 16) || getsockname(listener, (struct sockaddr *)&address, &size)) {
        perror("listen");
        exit(1);
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    char request[65536];
    for (int connection; (connection = accept(listener, NULL, NULL)) >= 0; close(connection)) {
        size_t length = 0;
        while (length < sizeof request - 1) {
            ssize_t count = recv(connection, request + length, sizeof request - 1 - length, 0);
            if (count <= 0) break;
            length += (size_t)count;
            request[length] = 0;
            if (strstr(request, "\r\n\r\n")) {
                playback(store, connection);
                break;
            }
        }
    }
}

int main(int count, char **arguments) {
    int64_t numbers[8] = {0};
    for (int i = 3; i < count && i < 11; i++) numbers[i - 3] = strtoll(arguments[i], NULL, 10);
    const char *work = count > 2 ? arguments[1] : "";
    struct store store;
    if (count > 2) store_open(&store, arguments[2]);
    if (strcmp(work, "fill") == 0 && count == 4) fill(&store, numbers[0]);
    else if (strcmp(work, "play") == 0 && count == 4) play(&store, numbers[0]);
    else if (strcmp(work, "serve") == 0 && count == 3) serve(&store);
    else if (strcmp(work, "fetch") == 0 && count == 6) fetch(&store, numbers[0], numbers[1], numbers[2]);
    else if (strcmp(work, "save") == 0 && count == 8) save(&store, numbers[0], numbers[1], numbers[2], numbers[3], (uint64_t)numbers[4]);
    else {
        fprintf(stderr, "baseline fill|play|serve|fetch|save FILE …: the top of main.c says with which numbers\n");
        return 64;
    }
    store_close(&store);
    return 0;
}
