// Makes a server look farther away, and counts the trips to it.
//
//   distance PORT MICROSECONDS FILE
//
// Forwards connections to a port of this machine, and says on which port it listens. Half of the time passes on the way to the server, half on the way
// back. A trip begins when a client speaks after the server has; the first 8 bytes of the file count them, of all connections.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct connection {
    int client, server;
    atomic_int has_answered, ways_left;
};

static _Atomic uint64_t *trips;
static long delay;

static void check(int is_good, const char *what) {
    if (is_good) return;
    perror(what);
    exit(1);
}

static void let_pass(const struct timespec *start) {
    if (!delay) return;
    struct timespec end = *start;
    end.tv_nsec += delay;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) continue;
}

/// Forwards what comes until there is no more.
static void forward(struct connection *connection, int from, int to) {
    char bytes[65536];
    for (ssize_t length; (length = recv(from, bytes, sizeof bytes, 0)) > 0;) {
        struct timespec start;
        clock_gettime(CLOCK_MONOTONIC, &start);
        if (from == connection->server) atomic_store(&connection->has_answered, 1);
        else if (atomic_exchange(&connection->has_answered, 0)) atomic_fetch_add(trips, 1);
        let_pass(&start);
        for (ssize_t sent = 0, part; sent < length; sent += part)
            if ((part = send(to, bytes + sent, (size_t)(length - sent), MSG_NOSIGNAL)) < 0) goto end;
    }
end:
    shutdown(to, SHUT_WR);
    shutdown(from, SHUT_RD);
    if (atomic_fetch_sub(&connection->ways_left, 1) > 1) return;
    close(connection->client);
    close(connection->server);
    free(connection);
}

static void *go(void *connection) {
    forward(connection, ((struct connection *)connection)->client, ((struct connection *)connection)->server);
    return NULL;
}

static void *come_back(void *connection) {
    forward(connection, ((struct connection *)connection)->server, ((struct connection *)connection)->client);
    return NULL;
}

static void begin(void *(*work)(void *), struct connection *connection) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, work, connection) == 0, "thread");
    pthread_detach(thread);
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "distance PORT MICROSECONDS FILE\n");
        return 64;
    }
    delay = strtol(arguments[2], NULL, 10) * 500;
    // Otherwise the system may wake a thread 50 µs late. New threads inherit it.
    prctl(PR_SET_TIMERSLACK, 1);
    int file = open(arguments[3], O_RDWR | O_CREAT, 0600);
    check(file >= 0 && ftruncate(file, sizeof *trips) == 0, arguments[3]);
    trips = mmap(NULL, sizeof *trips, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(trips != MAP_FAILED, arguments[3]);

    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, server = own;
    server.sin_port = htons((uint16_t)strtoul(arguments[1], NULL, 10));
    socklen_t size = sizeof own;
    check(bind(listener, (struct sockaddr *)&own, size) == 0 && listen(listener, 64) == 0, "listen");
    check(getsockname(listener, (struct sockaddr *)&own, &size) == 0, "port");
    printf("%d\n", ntohs(own.sin_port));
    fflush(stdout);
    for (int client; (client = accept(listener, NULL, NULL)) >= 0;) {
        struct connection *connection = calloc(1, sizeof *connection);
        check(connection != NULL, "memory");
        *connection = (struct connection){.client = client, .server = socket(AF_INET, SOCK_STREAM, 0), .has_answered = 1, .ways_left = 2};
        if (connect(connection->server, (struct sockaddr *)&server, sizeof server) != 0) {
            close(client);
            close(connection->server);
            free(connection);
            continue;
        }
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(connection->server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        begin(go, connection);
        begin(come_back, connection);
    }
    return 0;
}
