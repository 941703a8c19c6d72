// Loaded before a Swift program that runs in valgrind. libdispatch ends the main thread and lets it wait for a signal in a way that valgrind
// does not survive; here the main thread stays and serves its queue, as a run loop does.

#include <poll.h>
#include <stdint.h>
#include <unistd.h>

extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *);

void dispatch_main(void) {
    struct pollfd queue = {.fd = _dispatch_get_main_queue_handle_4CF(), .events = POLLIN};
    uint64_t count;
    for (;;)
        if (poll(&queue, 1, -1) == 1 && read(queue.fd, &count, sizeof count) == sizeof count) _dispatch_main_queue_callback_4CF(0);
}
