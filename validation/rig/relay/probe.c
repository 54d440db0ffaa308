/* Measures how long datagrams take from one network namespace or container to another.
 *
 *   probe receive PORT COUNT SILENCE_S           prints one line of figures, in microseconds
 *   probe send ADDRESS PORT COUNT PER_SECOND     spaces datagrams evenly
 *
 * Sender and receiver share the machine's clock. The kernel stamps what arrives, so that the figures hold
 * nothing of the receiver's own waits.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define NS 1000000000LL
#define PRIORITY 40 /* below the relay's */

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void become_punctual(void) {
    struct sched_param parameters = {.sched_priority = PRIORITY};
    if (sched_setscheduler(0, SCHED_FIFO, &parameters)) setpriority(PRIO_PROCESS, 0, -19);
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static int64_t arrival_ns(struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec stamp;
            memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
            return stamp.tv_sec * NS + stamp.tv_nsec;
        }
    return clock_ns(CLOCK_REALTIME);
}

static void receive(int port, long count, double silence_s) {
    int inlet = socket(AF_INET, SOCK_DGRAM, 0), on = 1, bytes = 32 << 20;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval silence = {(long)silence_s, (long)((silence_s - (long)silence_s) * 1e6)};
    setsockopt(inlet, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    if (setsockopt(inlet, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on)) fail("time stamps");
    setsockopt(inlet, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
    if (bind(inlet, (void *)&here, sizeof here)) fail("bind");
    int64_t *delays_ns = calloc((size_t)count, sizeof *delays_ns), sent_ns, sum_ns = 0;
    long got = 0;
    while (got < count) {
        char control[256];
        struct iovec data = {&sent_ns, sizeof sent_ns};
        struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        if (recvmsg(inlet, &message, 0) != sizeof sent_ns) break;
        delays_ns[got] = arrival_ns(&message) - sent_ns;
        sum_ns += delays_ns[got++];
    }
    if (!got) {
        fprintf(stderr, "nothing arrived\n");
        exit(1);
    }
    qsort(delays_ns, (size_t)got, sizeof *delays_ns, ascending);
    printf("received=%ld mean=%.2f least=%.2f p50=%.2f p99=%.2f p999=%.2f most=%.2f\n", got,
           sum_ns / 1e3 / got, delays_ns[0] / 1e3, delays_ns[got / 2] / 1e3,
           delays_ns[got * 99 / 100] / 1e3, delays_ns[got * 999 / 1000] / 1e3,
           delays_ns[got - 1] / 1e3);
}

static void send_evenly(const char *address, int port, long count, double per_second) {
    int outlet = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, address, &there.sin_addr) != 1) fail(address);
    if (connect(outlet, (void *)&there, sizeof there)) fail("connect");
    int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i++) {
        int64_t due_ns = start_ns + (int64_t)(i * (NS / per_second));
        struct timespec due = {due_ns / NS, due_ns % NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        int64_t sent_ns = clock_ns(CLOCK_REALTIME);
        if (send(outlet, &sent_ns, sizeof sent_ns, 0) < 0) fail("send");
    }
}

int main(int count, char **arguments) {
    if (count == 5 && !strcmp(arguments[1], "receive")) {
        receive(atoi(arguments[2]), atol(arguments[3]), atof(arguments[4]));
    } else if (count == 6 && !strcmp(arguments[1], "send")) {
        become_punctual();
        send_evenly(arguments[2], atoi(arguments[3]), atol(arguments[4]), atof(arguments[5]));
    } else {
        fprintf(stderr, "usage: probe receive PORT COUNT SILENCE_S\n"
                        "       probe send ADDRESS PORT COUNT PER_SECOND\n");
        return 1;
    }
    return 0;
}
