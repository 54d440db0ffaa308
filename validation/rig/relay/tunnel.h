/* How packets come to the relay and leave it. */
#ifndef TUNNEL_H
#define TUNNEL_H

#include "nodes.h"

#define TUNNEL_DEVICE "delay0"
#define MARK 0x51 /* of packets that leave by the raw socket: routed around the tunnel */

/* Make a tunnel device in the namespaces of all nodes, or in this one alone. */
void open_tunnels(delay_network *network);

/* Hand a packet to its receiver; 0 if that failed. */
int deliver(const delay_network *network, int receiver, const packet *sent);

#endif
