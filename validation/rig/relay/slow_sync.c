/* Lets fsync and fdatasync of a server take longer, or not return: loaded by LD_PRELOAD.
 *
 * SIMREP_SYNCS names a file of two integers of 64 bits, which the rig changes while the server runs: by
 * how many thousandths a sync takes longer, and whether none returns. What is synced is on the disk
 * before the wait begins: nothing is lost that would not be lost otherwise.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define LOOK_NS 1000000LL

static volatile const int64_t *orders; /* [0] thousandths more, [1] stalled */
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

__attribute__((constructor)) static void begin(void) {
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    const char *path = getenv("SIMREP_SYNCS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED) orders = found;
    close(file);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

static void wait_ns(int64_t ns) {
    struct timespec left = {ns / NS, ns % NS};
    while (nanosleep(&left, &left)) {}
}

static int slowly(int (*sync)(int), int file) {
    int64_t begin_ns = now_ns();
    int result = sync(file);
    if (!orders) return result;
    int64_t more_ns = (now_ns() - begin_ns) / 1000 * orders[0];
    if (more_ns > 0) wait_ns(more_ns);
    while (orders[1]) wait_ns(LOOK_NS);
    return result;
}

int fsync(int file) { return slowly(real_fsync, file); }
int fdatasync(int file) { return slowly(real_fdatasync, file); }
