/* What a link does to packets, checked without a network; prints "ok" and returns 0 if all holds. */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND 1000000LL
#define LATER (1000000 * MILLISECOND)
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            printf("line %d: %s does not hold\n", __LINE__, #condition);      \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

static unsigned seed = 1;

static void put(delay_link *link, char letter, int64_t now_ns) {
    CHECK(link_put(link, &letter, 1, 0, now_ns, &seed));
}

static char take(delay_link *link, int64_t now_ns) {
    packet *taken = link_take(link, 0, now_ns, now_ns);
    if (!taken) return 0;
    char letter = (char)taken->data[0];
    free(taken);
    return letter;
}

static void packets_leave_in_order_after_the_delay(void) {
    delay_link link = {.delay_ns = 50 * MILLISECOND};
    put(&link, 'a', 0);
    put(&link, 'b', 1 * MILLISECOND);
    CHECK(link_next_ns(&link) == 50 * MILLISECOND);
    CHECK(take(&link, 50 * MILLISECOND - 1) == 0);
    CHECK(take(&link, 50 * MILLISECOND) == 'a');
    CHECK(take(&link, 50 * MILLISECOND) == 0);
    CHECK(take(&link, 52 * MILLISECOND) == 'b');
    CHECK(link_next_ns(&link) == INT64_MAX);
    CHECK(link.packets == 2 && link.bytes == 2 && link.late_max_ns == MILLISECOND);
    CHECK(link.late[0] == 1 && link.late[6] == 1 && link.queued_bytes == 0);
    link_reset_counters(&link);
    CHECK(link.packets == 0 && link.late[0] == 0 && link.delay_ns == 50 * MILLISECOND);
}

static void jitter_stays_within_its_width_and_overtakes_nothing(void) {
    delay_link link = {.delay_ns = 10 * MILLISECOND, .jitter_ns = 5 * MILLISECOND};
    int64_t before_ns = 0, least_ns = INT64_MAX, most_ns = 0;
    for (int i = 0; i < 10000; i++) {
        int64_t now_ns = i * 20 * MILLISECOND;
        put(&link, 'x', now_ns);
        int64_t delay_ns = link_next_ns(&link) - now_ns;
        if (delay_ns < least_ns) least_ns = delay_ns;
        if (delay_ns > most_ns) most_ns = delay_ns;
        CHECK(link_next_ns(&link) >= before_ns);
        before_ns = link_next_ns(&link);
        CHECK(take(&link, LATER) == 'x');
    }
    CHECK(least_ns >= 5 * MILLISECOND && least_ns < 5.1 * MILLISECOND);
    CHECK(most_ns <= 15 * MILLISECOND && most_ns > 14.9 * MILLISECOND);
    for (int i = 0; i < 1000; i++) put(&link, 'x', before_ns + i);
    for (packet *each = link.first; each && each->next; each = each->next)
        CHECK(each->due_ns <= each->next->due_ns);
    while (take(&link, LATER)) {}
}

static void a_rate_spaces_packets(void) {
    delay_link link = {.rate_mbit = 8}; /* one byte per microsecond */
    char payload[1010] = {0};
    for (int i = 0; i < 3; i++) CHECK(link_put(&link, payload, sizeof payload, 10, 0, &seed));
    for (int i = 1; i <= 3; i++) {
        CHECK(link_next_ns(&link) == i * MILLISECOND);
        free(link_take(&link, 10, LATER, LATER));
    }
    CHECK(link.bytes == 3000);
}

static void losses_are_as_frequent_as_told(void) {
    delay_link link = {.loss = 0.1};
    int lost = 0;
    for (int i = 0; i < 100000; i++) {
        if (!link_put(&link, "x", 1, 0, i, &seed)) lost++;
        else CHECK(take(&link, i) == 'x');
    }
    CHECK(lost > 9500 && lost < 10500 && link.dropped == (uint64_t)lost);
}

static void a_full_queue_drops(void) {
    delay_link link = {.delay_ns = MILLISECOND};
    char *payload = calloc(1, 1 << 20);
    for (int i = 0; i < 256; i++) CHECK(link_put(&link, payload, 1 << 20, 0, 0, &seed));
    CHECK(!link_put(&link, payload, 1, 0, 0, &seed) && link.dropped == 1);
    CHECK(link.most_queued_bytes == QUEUE_LIMIT_BYTES);
    for (packet *each; (each = link_take(&link, 0, MILLISECOND, MILLISECOND));) free(each);
    CHECK(link_put(&link, payload, 1, 0, 0, &seed));
    free(link_take(&link, 0, MILLISECOND, MILLISECOND));
    free(payload);
}

static void packets_may_leave_early_and_are_not_late_then(void) {
    delay_link link = {.delay_ns = 10 * MILLISECOND};
    put(&link, 'a', 0);
    CHECK(!link_take(&link, 0, 9 * MILLISECOND, 9 * MILLISECOND));
    free(link_take(&link, 0, 9 * MILLISECOND, 10 * MILLISECOND));
    CHECK(link.packets == 1 && link.late_max_ns == 0);
}

static void a_shorter_delay_does_not_overtake_either(void) {
    delay_link link = {.delay_ns = 100 * MILLISECOND};
    put(&link, 'a', 0);
    CHECK(!link_is_plain(&link));
    link.delay_ns = 0;
    CHECK(!link_is_plain(&link)); /* one is still on its way */
    put(&link, 'b', 1);
    CHECK(take(&link, 2) == 0);
    CHECK(take(&link, 100 * MILLISECOND) == 'a');
    CHECK(take(&link, 100 * MILLISECOND) == 'b');
    CHECK(link_is_plain(&link));
}

int main(void) {
    packets_leave_in_order_after_the_delay();
    jitter_stays_within_its_width_and_overtakes_nothing();
    a_rate_spaces_packets();
    losses_are_as_frequent_as_told();
    a_full_queue_drops();
    packets_may_leave_early_and_are_not_late_then();
    a_shorter_delay_does_not_overtake_either();
    printf("ok\n");
    return 0;
}
