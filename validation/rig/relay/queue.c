#include "queue.h"

#include <stdlib.h>
#include <string.h>

const int64_t lateness_ends_ns[LATENESS_CLASSES] = {20000,  50000,   100000,  200000,
                                                    500000, 1000000, 5000000, INT64_MAX};

/* Uniform from -1 to 1. */
static double either_way(unsigned *seed) { return 2.0 * rand_r(seed) / RAND_MAX - 1.0; }

int link_put(delay_link *link, const void *data, uint32_t length, uint32_t header, int64_t now_ns,
             unsigned *seed) {
    int lost = link->loss > 0 && rand_r(seed) < link->loss * RAND_MAX;
    packet *added;
    if (lost || link->queued_bytes + length > QUEUE_LIMIT_BYTES ||
        !(added = malloc(sizeof *added + length))) {
        link->dropped++;
        return 0;
    }
    int64_t start_ns = now_ns;
    if (link->rate_mbit > 0) { /* bits over megabits per second are microseconds */
        if (link->free_ns > start_ns) start_ns = link->free_ns;
        start_ns += (int64_t)((length - header) * 8000.0 / link->rate_mbit);
        link->free_ns = start_ns;
    }
    int64_t jitter_ns = link->jitter_ns ? (int64_t)(either_way(seed) * link->jitter_ns) : 0;
    added->due_ns = start_ns + link->delay_ns + jitter_ns;
    if (added->due_ns < link->last_due_ns) added->due_ns = link->last_due_ns; /* no overtaking */
    link->last_due_ns = added->due_ns;
    added->next = NULL;
    added->length = length;
    memcpy(added->data, data, length);
    if (link->last)
        link->last->next = added;
    else
        link->first = added;
    link->last = added;
    link->queued_bytes += length;
    if (link->queued_bytes > link->most_queued_bytes) link->most_queued_bytes = link->queued_bytes;
    return 1;
}

packet *link_take(delay_link *link, uint32_t header, int64_t now_ns, int64_t until_ns) {
    packet *taken = link->first;
    if (!taken || taken->due_ns > until_ns) return NULL;
    link->first = taken->next;
    if (!link->first) link->last = NULL;
    link->queued_bytes -= taken->length;
    int64_t late_ns = now_ns > taken->due_ns ? now_ns - taken->due_ns : 0;
    link->packets++;
    link->bytes += taken->length - header;
    link->late_sum_ns += late_ns;
    if (late_ns > link->late_max_ns) link->late_max_ns = late_ns;
    int class = 0;
    while (class < LATENESS_CLASSES - 1 && late_ns >= lateness_ends_ns[class]) class++;
    link->late[class]++;
    return taken;
}

int64_t link_next_ns(const delay_link *link) {
    return link->first ? link->first->due_ns : INT64_MAX;
}

int link_is_plain(const delay_link *link) {
    return !link->first && !link->delay_ns && !link->jitter_ns && link->loss <= 0 &&
           link->rate_mbit <= 0;
}

void link_reset_counters(delay_link *link) {
    link->packets = link->bytes = link->dropped = link->most_queued_bytes = 0;
    link->late_sum_ns = link->late_max_ns = 0;
    memset(link->late, 0, sizeof link->late);
}
