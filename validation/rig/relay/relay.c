/* Delays packets between network namespaces or containers, for kernels without netem.
 *
 *   relay CONFIGURATION STATISTICS
 *
 * Each node has a tunnel device, and a route into it for every node that its packets shall reach late;
 * all other pairs of nodes never come here. SIGHUP reads the link lines of the configuration again,
 * SIGUSR1 writes the statistics, SIGUSR2 resets them, SIGTERM ends.
 *
 * Accuracy: real-time priority (or the best nice value), locked memory, and a wait that ends by the
 * nanosecond. A wake-up costs more than a packet, so there are at most one in WAKE_NS on average: under
 * a load of thousands of packets per second the relay sleeps on while packets come and fall due. What
 * was read after such a sleep came half of it ago on average, and what falls due within half of it
 * leaves with the rest: delays scatter by about WAKE_NS then, but keep their mean.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "nodes.h"
#include "tunnel.h"

#define PRIORITY 50
#define BURST 64 /* packets read from a tunnel before others have their turn */
#define WAKE_NS 250000LL
#define SAVED_WAKES 50 /* in a row at any distance, after a quiet while */
#define SHORTEST_SLEEP_NS 2000LL
#define SIGNALS MOST_NODES
#define NS 1000000000LL

static int64_t half_sleep_ns; /* of the last sleep that packets may have come in */
static delay_network network = {.inside = NOT_INSIDE};
static unsigned seed = 1;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS + now.tv_nsec;
}

static void become_punctual(void) {
    struct sched_param parameters = {.sched_priority = PRIORITY};
    if (sched_setscheduler(0, SCHED_FIFO, &parameters)) {
        fprintf(stderr, "no real-time priority (%s): nice -20 instead\n", strerror(errno));
        if (setpriority(PRIO_PROCESS, 0, -20)) perror("nice -20");
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) perror("memory not locked");
    prctl(PR_SET_TIMERSLACK, 1);
}

static void reset_statistics(void) {
    for (int i = 0; i < network.count; i++) {
        network.node[i].write_errors = 0;
        for (int j = 0; j < network.count; j++) link_reset_counters(&network.link[i][j]);
    }
}

static void obey(int signals, const char *configuration, const char *statistics) {
    struct signalfd_siginfo signal;
    while (read(signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP) {
            read_configuration(&network, configuration, 0);
        } else if (signal.ssi_signo == SIGUSR1) {
            write_statistics(&network, statistics);
        } else if (signal.ssi_signo == SIGUSR2) {
            reset_statistics();
        } else {
            write_statistics(&network, statistics);
            exit(0);
        }
    }
}

static void send_due(delay_link *link, int receiver) {
    for (packet *due;;) {
        int64_t now = now_ns();
        due = link_take(link, network.header, now, now + half_sleep_ns);
        if (!due) return;
        if (!deliver(&network, receiver, due)) network.node[receiver].write_errors++;
        free(due);
    }
}

static void receive(int sender) {
    static unsigned char data[70000];
    for (int i = 0; i < BURST; i++) {
        ssize_t length = read(network.node[sender].tunnel, data, sizeof data);
        if (length < 0) return;
        const unsigned char *ip = data + network.header;
        if (length < (ssize_t)network.header + 20 || ip[0] >> 4 != 4) continue; /* IPv4 only */
        uint32_t address;
        memcpy(&address, ip + 16, sizeof address);
        int receiver = node_with_address(&network, address);
        if (receiver < 0 || receiver == sender) continue;
        delay_link *link = &network.link[sender][receiver];
        int64_t now = now_ns() - half_sleep_ns;
        int plain = link_is_plain(link);
        if (link_put(link, data, (uint32_t)length, network.header, now, &seed) && plain)
            send_due(link, receiver);
    }
}

/* Sends what is due and returns when the next packet is. */
static int64_t send_all_due(void) {
    int64_t next_ns = INT64_MAX;
    for (int i = 0; i < network.count; i++)
        for (int j = 0; j < network.count; j++) {
            delay_link *link = &network.link[i][j];
            if (!link->first) continue;
            send_due(link, j);
            if (link_next_ns(link) < next_ns) next_ns = link_next_ns(link);
        }
    return next_ns;
}

/* Uniform from -1 to 1. */
static double either_way(void) { return 2.0 * rand_r(&seed) / RAND_MAX - 1.0; }

/* Sleeps if there were too many wake-ups, whatever comes or falls due meanwhile. */
static void limit_wakes(void) {
    static int64_t spent_ns;
    int64_t now = now_ns();
    if (spent_ns < now - SAVED_WAKES * WAKE_NS) spent_ns = now - SAVED_WAKES * WAKE_NS;
    spent_ns += WAKE_NS;
    int64_t sleep_ns = spent_ns - now;
    half_sleep_ns = 0;
    if (sleep_ns < SHORTEST_SLEEP_NS) return;
    sleep_ns += (int64_t)(either_way() * 0.25 * WAKE_NS); /* no resonance */
    if (sleep_ns < SHORTEST_SLEEP_NS) return;
    struct timespec sleep = {sleep_ns / NS, sleep_ns % NS};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, NULL);
    half_sleep_ns = sleep_ns / 2;
}

static void watch(int events, int file, uint32_t number) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    if (epoll_ctl(events, EPOLL_CTL_ADD, file, &event)) fail("epoll");
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: relay CONFIGURATION STATISTICS\n");
        return 1;
    }
    const char *configuration = arguments[1], *statistics = arguments[2];
    sigset_t heard;
    sigemptyset(&heard);
    const int numbers[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&heard, numbers[i]);
    sigprocmask(SIG_BLOCK, &heard, NULL);
    read_configuration(&network, configuration, 1);
    open_tunnels(&network);
    become_punctual();
    int signals = signalfd(-1, &heard, SFD_NONBLOCK), events = epoll_create1(0);
    watch(events, signals, SIGNALS);
    for (int i = 0; i < network.count; i++)
        if (network.node[i].tunnel >= 0) watch(events, network.node[i].tunnel, (uint32_t)i);
    write_statistics(&network, statistics); /* tells that the relay is ready */
    for (;;) {
        int64_t next_ns = send_all_due();
        limit_wakes();
        int64_t wait_ns = next_ns - now_ns() - half_sleep_ns;
        if (wait_ns < 0) wait_ns = 0;
        struct timespec wait = {wait_ns / NS, wait_ns % NS}, *limit = &wait;
        if (next_ns == INT64_MAX) limit = NULL;
        struct epoll_event ready[MOST_NODES + 1];
        int found = epoll_pwait2(events, ready, MOST_NODES + 1, limit, NULL);
        for (int i = 0; i < found; i++) {
            if (ready[i].data.u32 == SIGNALS)
                obey(signals, configuration, statistics);
            else
                receive((int)ready[i].data.u32);
        }
    }
}
