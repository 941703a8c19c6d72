// The client of the benchmarks, the same for every server, and quick enough not to be what is measured.
//
//   client load PORT FILE CONNECTIONS RATE SECONDS [STATUS]
//                                                    sends the requests of a file, one after the other on each of so many connections
//   client read PORT PATH [HEADER]                   reads an answer of any length to its end: lines, bytes, time
//   client fetch PORT PATH [HEADER]                  the same without looking at what is read
//   client upload PORT PATH FILE                     posts a file and reads the answer
//   client stall PORT PATH CONNECTIONS               asks for a long answer on each connection, reads a little of it, and then never again
//   client take PORT FILE SLOW                       sends each request of a file on its own connection, again and again, until a notification
//                                                    of a record whose name begins with `fence`. So many are slow: they pause for half a second
//
// A file holds whole HTTP requests, each after its length in four bytes (little-endian). RATE is requests per second in all, 0 for as
// fast as the answers come. SECONDS ends it, going through the file again and again; 0 means once through. What was found is said in a
// line of JSON; times are in microseconds.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int open_connection(int port, int receive_buffer) {
    int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (receive_buffer) setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection, (struct sockaddr *)&address, sizeof address)) fail("connect");
    return connection;
}

static void send_all(int connection, const char *bytes, size_t length) {
    while (length) {
        ssize_t sent = send(connection, bytes, length, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        bytes += sent;
        length -= (size_t)sent;
    }
}

// MARK: Reading answers

enum part { HEAD, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, DONE };

/// An answer as it comes in (RFC 9112): a length, chunks, or up to the end of the connection.
struct answer {
    enum part part;
    char head[16384];
    size_t head_length;
    int status, failed, has_length, is_opaque;
    uint64_t left, lines, bytes, body;
};

static void read_head(struct answer *answer) {
    answer->head[answer->head_length] = 0;
    if (sscanf(answer->head, "HTTP/1.%*d %d", &answer->status) != 1) fail("an answer that is not HTTP");
    const char *length = strcasestr(answer->head, "\r\ncontent-length:");
    answer->has_length = length != NULL;
    answer->left = length ? strtoull(length + 17, NULL, 10) : UINT64_MAX;
    answer->part = strcasestr(answer->head, "\r\ntransfer-encoding: chunked") ? CHUNK_SIZE : answer->left ? BODY : DONE;
    if (answer->part == CHUNK_SIZE) answer->left = 0;
}

static void look_at_body(struct answer *answer, const char *bytes, size_t length) {
    answer->body += length;
    if (answer->is_opaque) return;
    for (const char *p = bytes, *end = bytes + length; (p = memchr(p, '\n', (size_t)(end - p))); p++) answer->lines++;
    // Errors of single records stand inside answers of status 200.
    if (memmem(bytes, length, "serverErrorCode", 15)) answer->failed = 1;
}

/// Takes some bytes in. Returns how many belong to this answer.
static size_t take(struct answer *answer, const char *bytes, size_t length) {
    size_t used = 0;
    while (used < length && answer->part != DONE) {
        const char *p = bytes + used;
        size_t rest = length - used;
        switch (answer->part) {
        case HEAD: {
            if (answer->head_length == sizeof answer->head - 1) fail("a head that is too long");
            answer->head[answer->head_length++] = *p;
            used++;
            if (answer->head_length >= 4 && memcmp(answer->head + answer->head_length - 4, "\r\n\r\n", 4) == 0) read_head(answer);
            break;
        }
        case CHUNK_SIZE:
            used++;
            if (*p == '\n') answer->part = answer->left ? CHUNK : TRAILER;
            else if (*p != '\r') answer->left = answer->left * 16 + (uint64_t)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);
            break;
        case TRAILER:
            used++;
            if (*p == '\n') answer->part = DONE;
            break;
        case CHUNK_END:
            used++;
            if (*p == '\n') answer->part = CHUNK_SIZE;
            break;
        default: {
            size_t count = rest < answer->left ? rest : (size_t)answer->left;
            look_at_body(answer, p, count);
            used += count;
            answer->left -= count;
            if (!answer->left) answer->part = answer->part == CHUNK ? CHUNK_END : DONE;
        }
        }
    }
    answer->bytes += used;
    return used;
}

static void begin(struct answer *answer) {
    answer->part = HEAD;
    answer->head_length = 0;
    answer->failed = 0;
    answer->left = 0;
}

// MARK: read

static void write_get(char *request, size_t size, const char *path, const char *header) {
    const char *end = *header ? "\r\n" : "";
    snprintf(request, size, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n%s%s\r\n", path, header, end);
}

static void receive_all(int connection, struct answer *answer) {
    static char bytes[1 << 18];
    while (answer->part != DONE) {
        ssize_t count = recv(connection, bytes, sizeof bytes, 0);
        if (count < 0) fail("recv");
        if (!count) break;
        take(answer, bytes, (size_t)count);
    }
}

static int say_answer(const struct answer *answer, double start) {
    double seconds = (now() - start) / 1e6;
    printf(
        "{\"status\":%d,\"complete\":%s,\"lines\":%llu,\"bytes\":%llu,\"seconds\":%.6f}\n", answer->status,
        answer->part == DONE ? "true" : "false", (unsigned long long)answer->lines, (unsigned long long)answer->body, seconds);
    return answer->part == DONE && answer->status == 200 ? 0 : 1;
}

static int read_one(int port, const char *path, const char *header, int is_opaque) {
    char request[8192];
    write_get(request, sizeof request, path, header);
    int connection = open_connection(port, 0);
    static struct answer answer;
    begin(&answer);
    answer.is_opaque = is_opaque;
    double start = now();
    send_all(connection, request, strlen(request));
    receive_all(connection, &answer);
    return say_answer(&answer, start);
}

// MARK: upload

static int upload(int port, const char *path, const char *file) {
    char head[8192];
    struct stat status;
    int input = open(file, O_RDONLY);
    if (input < 0 || fstat(input, &status)) fail(file);
    snprintf(
        head, sizeof head, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\nContent-Length: %lld\r\n\r\n", path,
        (long long)status.st_size);
    int connection = open_connection(port, 0);
    static struct answer answer;
    begin(&answer);
    double start = now();
    send_all(connection, head, strlen(head));
    for (off_t sent = 0; sent < status.st_size;) {
        if (sendfile(connection, input, &sent, (size_t)(status.st_size - sent)) <= 0) fail("sendfile");
    }
    receive_all(connection, &answer);
    return say_answer(&answer, start);
}

static int stall(int port, const char *path, int connections) {
    char request[4096], bytes[1024];
    write_get(request, sizeof request, path, "");
    for (int i = 0; i < connections; i++) {
        int connection = open_connection(port, 4096);
        send_all(connection, request, strlen(request));
        if (recv(connection, bytes, sizeof bytes, 0) <= 0) fail("recv");
    }
    printf("{\"stalled\":%d}\n", connections);
    fflush(stdout);
    pause();
    return 0;
}

// MARK: load

struct connection {
    int socket;
    int busy;
    double sent;
    struct answer answer;
};

static int by_value(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static char *read_requests(const char *file, char **end) {
    FILE *input = fopen(file, "rb");
    struct stat status;
    if (!input || fstat(fileno(input), &status)) fail(file);
    char *requests = malloc((size_t)status.st_size);
    if (!requests || fread(requests, 1, (size_t)status.st_size, input) != (size_t)status.st_size) fail(file);
    fclose(input);
    *end = requests + status.st_size;
    return requests;
}

static int load(int port, const char *file, int count, double rate, double seconds, int status) {
    char *end, *requests = read_requests(file, &end), *next = requests;
    struct connection *connections = calloc((size_t)count, sizeof *connections);
    struct pollfd *polls = calloc((size_t)count, sizeof *polls);
    size_t capacity = 1 << 20, done = 0, sent = 0, failed = 0;
    float *times = malloc(capacity * sizeof *times);
    if (!connections || !polls || !times) fail("memory");
    for (int i = 0; i < count; i++) {
        connections[i].socket = polls[i].fd = open_connection(port, 0);
        polls[i].events = POLLIN;
    }
    static char bytes[1 << 18];
    uint64_t received = 0;
    double start = now(), stop = seconds > 0 ? start + seconds * 1e6 : 0;
    size_t busy = 0;
    for (;;) {
        double time = now();
        int over = stop ? time >= stop : next >= end;
        if (over && !busy) break;
        for (int i = 0; i < count && !over; i++) {
            if (connections[i].busy) continue;
            // At a fixed rate a request's time begins when it was due, so that a server that stands still shows.
            double due = rate > 0 ? start + (double)sent * 1e6 / rate : time;
            if (due > time) break;
            if (next >= end) {
                if (!stop) break;
                next = requests;
            }
            uint32_t length;
            memcpy(&length, next, 4);
            begin(&connections[i].answer);
            connections[i].sent = rate > 0 ? due : now();
            connections[i].busy = 1;
            send_all(connections[i].socket, next + 4, length);
            next += 4 + length;
            sent++;
            busy++;
        }
        struct timespec wait = {0, 0}, *timeout = NULL;
        if (rate > 0) {
            double until = start + (double)sent * 1e6 / rate - now();
            if (until < 0) until = busy == (size_t)count ? 1e6 : 0;
            wait.tv_sec = (time_t)(until / 1e6);
            wait.tv_nsec = (long)((until - (double)wait.tv_sec * 1e6) * 1e3);
            timeout = &wait;
        }
        if (ppoll(polls, (nfds_t)count, timeout, NULL) < 0) fail("poll");
        for (int i = 0; i < count; i++) {
            if (!(polls[i].revents & (POLLIN | POLLHUP | POLLERR))) continue;
            ssize_t length = recv(connections[i].socket, bytes, sizeof bytes, 0);
            if (length <= 0) fail("the server ended a connection");
            received += (uint64_t)length;
            struct answer *answer = &connections[i].answer;
            take(answer, bytes, (size_t)length);
            if (answer->part != DONE || !connections[i].busy) continue;
            connections[i].busy = 0;
            busy--;
            if (answer->status != status || (status == 200 && answer->failed)) {
                if (!failed++) fprintf(stderr, "client: a request failed:\n%.300s\n%.*s\n", answer->head, (int)(length < 500 ? length : 500), bytes);
            }
            if (done == capacity) times = realloc(times, (capacity *= 2) * sizeof *times);
            if (!times) fail("memory");
            times[done++] = (float)(now() - connections[i].sent);
        }
    }
    double taken = (now() - start) / 1e6;
    qsort(times, done, sizeof *times, by_value);
    printf("{\"count\":%zu,\"failed\":%zu,\"seconds\":%.6f,\"bytes\":%llu", done, failed, taken, (unsigned long long)received);
    if (done)
        printf(",\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"max\":%.1f", times[done / 2], times[done * 9 / 10], times[done * 99 / 100], times[done - 1]);
    printf("}\n");
    return failed ? 1 : 0;
}

// MARK: take

/// A client that takes one notification after the other.
struct taker {
    const char *request;
    uint32_t length;
    double pause, due;
    int is_waiting, is_done;
    struct answer answer;
};

static int take_notifications(int port, const char *file, int slow) {
    char *end, *requests = read_requests(file, &end);
    size_t count = 0, left, told = 0, empty = 0;
    uint32_t length;
    for (char *next = requests; next < end; next += 4 + length, count++) memcpy(&length, next, 4);
    struct taker *takers = calloc(count, sizeof *takers);
    struct pollfd *polls = calloc(count, sizeof *polls);
    if (!takers || !polls) fail("memory");
    char *next = requests;
    for (size_t i = 0; i < count; i++) {
        memcpy(&takers[i].length, next, 4);
        takers[i].request = next + 4;
        takers[i].pause = i < (size_t)slow ? 5e5 : 0;
        next += 4 + takers[i].length;
        polls[i].fd = open_connection(port, 0);
        polls[i].events = POLLIN;
    }
    static char bytes[1 << 16];
    int is_announced = 0;
    for (left = count; left;) {
        double soonest = 1e6;
        for (size_t i = 0; i < count; i++) {
            struct taker *taker = &takers[i];
            if (taker->is_done || taker->is_waiting) continue;
            double rest = taker->due - now();
            if (rest > 0) {
                if (rest < soonest) soonest = rest;
                continue;
            }
            begin(&taker->answer);
            taker->answer.body = 0;
            taker->is_waiting = 1;
            send_all(polls[i].fd, taker->request, taker->length);
        }
        if (!is_announced++) {
            printf("{\"holding\":%zu}\n", count);
            fflush(stdout);
        }
        if (poll(polls, (nfds_t)count, (int)(soonest / 1e3) + 1) < 0) fail("poll");
        for (size_t i = 0; i < count; i++) {
            struct taker *taker = &takers[i];
            if (!(polls[i].revents & (POLLIN | POLLHUP | POLLERR))) continue;
            ssize_t received = recv(polls[i].fd, bytes, sizeof bytes, 0);
            if (received <= 0) fail("the server ended a connection");
            take(&taker->answer, bytes, (size_t)received);
            if (memmem(bytes, (size_t)received, "\"rid\":\"fence", 12) && !taker->is_done) {
                taker->is_done = 1;
                left--;
            }
            if (taker->answer.part != DONE) continue;
            if (taker->answer.status != 200) fail("an answer without status 200");
            // Without a notification, the answer is `null`.
            if (taker->answer.body == 4) empty++; else told++;
            taker->is_waiting = 0;
            taker->due = now() + taker->pause;
        }
    }
    printf("{\"told\":%zu,\"empty\":%zu}\n", told, empty);
    return 0;
}

int main(int count, char **arguments) {
    const char *work = count > 3 ? arguments[1] : "";
    int port = count > 3 ? atoi(arguments[2]) : 0;
    const char *header = count == 5 ? arguments[4] : "";
    if (strcmp(work, "read") == 0 && (count == 4 || count == 5)) return read_one(port, arguments[3], header, 0);
    if (strcmp(work, "fetch") == 0 && (count == 4 || count == 5)) return read_one(port, arguments[3], header, 1);
    if (strcmp(work, "upload") == 0 && count == 5) return upload(port, arguments[3], arguments[4]);
    if (strcmp(work, "stall") == 0 && count == 5) return stall(port, arguments[3], atoi(arguments[4]));
    if (strcmp(work, "take") == 0 && count == 5) return take_notifications(port, arguments[3], atoi(arguments[4]));
    if (strcmp(work, "load") == 0 && (count == 7 || count == 8))
        return load(port, arguments[3], atoi(arguments[4]), atof(arguments[5]), atof(arguments[6]), count == 8 ? atoi(arguments[7]) : 200);
    fprintf(stderr, "client load|read|fetch|upload|stall|take PORT …: the top of client.c says with what\n");
    return 64;
}
