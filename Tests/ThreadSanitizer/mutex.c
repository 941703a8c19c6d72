// Tells ThreadSanitizer when a thread waits for one of Swift's mutexes.
//
// The fast ways of Mutex are compiled into Skylight, so the sanitizer sees their atomics. The slow ones, for a mutex that another thread has, are in the
// library of the toolchain, which is built without the sanitizer: without this, values behind a mutex look like races. The functions here take the place
// of two of that library (LD_PRELOAD) and call them. Scripts/find-races builds and loads this.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
// Synchronization._MutexHandle._lockSlow(UInt32) and ._unlockSlow()
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

static void (*acquire)(void *), (*release)(void *);
static SWIFT void (*lock)(uint32_t, SELF void *);
static SWIFT void (*unlock)(SELF void *);

__attribute__((constructor)) static void find(void) {
    acquire = dlsym(RTLD_DEFAULT, "__tsan_acquire");
    release = dlsym(RTLD_DEFAULT, "__tsan_release");
    lock = dlsym(RTLD_NEXT, LOCK);
    unlock = dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) {
    lock(thread, mutex);
    if (acquire) acquire(mutex);
}

SWIFT void unlock_slowly(SELF void *mutex) __asm__(UNLOCK);
SWIFT void unlock_slowly(SELF void *mutex) {
    if (release) release(mutex);
    unlock(mutex);
}
