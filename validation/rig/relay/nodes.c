#include "nodes.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *what) {
    perror(what);
    exit(1);
}

static void refuse(const char *line) {
    fprintf(stderr, "cannot read: %s", line);
    exit(1);
}

static int node_named(const delay_network *network, const char *name) {
    for (int i = 0; i < network->count; i++)
        if (!strcmp(network->node[i].name, name)) return i;
    return -1;
}

int node_with_address(const delay_network *network, uint32_t address) {
    for (int i = 0; i < network->count; i++)
        if (network->node[i].address == address) return i;
    return -1;
}

static void add_node(delay_network *network, const char *line, const char *name,
                     const char *address, const char *namespace) {
    if (network->count == MOST_NODES) refuse(line);
    delay_node *node = &network->node[network->count++];
    snprintf(node->name, sizeof node->name, "%s", name);
    snprintf(node->namespace, sizeof node->namespace, "%s", namespace);
    node->tunnel = -1;
    if (inet_pton(AF_INET, address, &node->address) != 1) refuse(line);
}

static void set_link(delay_network *network, const char *line, const char *from, const char *to,
                     double delay_us, double jitter_us, double loss_percent, double rate_mbit) {
    int sender = node_named(network, from), receiver = node_named(network, to);
    if (sender < 0 || receiver < 0) refuse(line);
    delay_link *link = &network->link[sender][receiver];
    link->delay_ns = (int64_t)(delay_us * 1000);
    link->jitter_ns = (int64_t)(jitter_us * 1000);
    link->loss = loss_percent / 100;
    link->rate_mbit = rate_mbit;
}

void read_configuration(delay_network *network, const char *path, int first) {
    FILE *file = fopen(path, "r");
    if (!file) {
        if (first) fail(path);
        return;
    }
    for (int i = 0; i < network->count; i++)
        for (int j = 0; j < network->count; j++) {
            delay_link *link = &network->link[i][j];
            link->delay_ns = link->jitter_ns = 0;
            link->loss = link->rate_mbit = 0;
        }
    char line[512], kind[8], a[32], b[64], c[256];
    while (fgets(line, sizeof line, file)) {
        double delay_us, jitter_us = 0, loss_percent = 0, rate_mbit = 0;
        if (sscanf(line, "%7s", kind) != 1) continue;
        if (!strcmp(kind, "link")) {
            if (sscanf(line, "link %31s %63s %lf %lf %lf %lf", a, b, &delay_us, &jitter_us,
                       &loss_percent, &rate_mbit) < 3)
                refuse(line);
            set_link(network, line, a, b, delay_us, jitter_us, loss_percent, rate_mbit);
        } else if (!first) {
            continue;
        } else if (sscanf(line, "node %31s %63s %255s", a, b, c) == 3) {
            add_node(network, line, a, b, c);
        } else if (sscanf(line, "self %31s %63s", a, b) == 2) {
            network->inside = network->count;
            add_node(network, line, a, b, "");
        } else if (sscanf(line, "peer %31s %63s", a, b) == 2) {
            add_node(network, line, a, b, "");
        } else {
            refuse(line);
        }
    }
    fclose(file);
}

void write_statistics(const delay_network *network, const char *path) {
    char unfinished[4096];
    snprintf(unfinished, sizeof unfinished, "%s.unfinished", path);
    FILE *file = fopen(unfinished, "w");
    if (!file) return;
    fprintf(file, "from,to,delay_us,packets,bytes,dropped,late_mean_us,late_max_us,"
                  "most_queued_bytes,write_errors");
    for (int class = 0; class < LATENESS_CLASSES - 1; class ++)
        fprintf(file, ",late_below_%" PRId64 "_us", lateness_ends_ns[class] / 1000);
    fprintf(file, ",late_more\n");
    for (int i = 0; i < network->count; i++)
        for (int j = 0; j < network->count; j++) {
            if (i == j) continue;
            const delay_link *link = &network->link[i][j];
            double mean_us = link->packets ? link->late_sum_ns / 1e3 / link->packets : 0;
            fprintf(file,
                    "%s,%s,%.1f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.2f,%.1f,%" PRIu64 ",%" PRIu64,
                    network->node[i].name, network->node[j].name, link->delay_ns / 1e3,
                    link->packets, link->bytes, link->dropped, mean_us, link->late_max_ns / 1e3,
                    link->most_queued_bytes, network->node[j].write_errors);
            for (int class = 0; class < LATENESS_CLASSES; class ++)
                fprintf(file, ",%" PRIu64, link->late[class]);
            fprintf(file, "\n");
        }
    fclose(file);
    rename(unfinished, path);
}
