/* A link from one node to another: a first-in first-out queue whose packets are due after a delay. */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdint.h>

#define LATENESS_CLASSES 8
#define QUEUE_LIMIT_BYTES (256u << 20) /* what a link holds before it drops packets */

typedef struct packet {
    struct packet *next;
    int64_t due_ns;
    uint32_t length;
    unsigned char data[];
} packet;

typedef struct {
    /* settings */
    int64_t delay_ns, jitter_ns;
    double loss, rate_mbit;
    /* state */
    packet *first, *last;
    int64_t free_ns, last_due_ns;
    uint64_t queued_bytes;
    /* counters */
    uint64_t packets, bytes, dropped, most_queued_bytes;
    int64_t late_sum_ns, late_max_ns;
    uint64_t late[LATENESS_CLASSES];
} delay_link;

/* Upper ends of the classes of lateness in nanoseconds. */
extern const int64_t lateness_ends_ns[LATENESS_CLASSES];

/* Queue a copy of a packet; 0 if it was dropped. Header bytes do not count for the rate. */
int link_put(delay_link *link, const void *data, uint32_t length, uint32_t header, int64_t now_ns,
             unsigned *seed);

/* The first packet if it is due before a time not earlier than now, counted and taken off the queue;
 * the caller frees it. */
packet *link_take(delay_link *link, uint32_t header, int64_t now_ns, int64_t until_ns);

/* When the first packet is due; INT64_MAX if there is none. */
int64_t link_next_ns(const delay_link *link);

/* Whether a packet that comes now may leave at once. */
int link_is_plain(const delay_link *link);

void link_reset_counters(delay_link *link);

#endif
