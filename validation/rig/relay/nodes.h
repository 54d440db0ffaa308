/* The nodes between which packets are delayed, as the configuration file tells. */
#ifndef NODES_H
#define NODES_H

#include <stdint.h>

#include "queue.h"

#define MOST_NODES 16
#define NOT_INSIDE (-1)

typedef struct {
    char name[32], namespace[256];
    uint32_t address; /* IPv4, network byte order */
    int tunnel;
    uint64_t write_errors;
} delay_node;

typedef struct {
    int count;
    int inside; /* the node whose network namespace the relay lives in, or NOT_INSIDE */
    uint32_t header; /* bytes in front of each packet that comes from a tunnel */
    delay_node node[MOST_NODES];
    delay_link link[MOST_NODES][MOST_NODES]; /* [sender][receiver] */
} delay_network;

/* Read all lines (first) or the link lines again; lines are
 *   node NAME IPv4 NETNS_PATH    a node that the relay enters
 *   self NAME IPv4               the node that the relay runs in
 *   peer NAME IPv4               another one, reached through a raw socket
 *   link FROM TO DELAY_US [JITTER_US [LOSS_PERCENT [RATE_MBIT]]]
 */
void read_configuration(delay_network *network, const char *path, int first);

/* Write the counters of all links; readers never see half a file. */
void write_statistics(const delay_network *network, const char *path);

int node_with_address(const delay_network *network, uint32_t address);

void fail(const char *what);

#endif
