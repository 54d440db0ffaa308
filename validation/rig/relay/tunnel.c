#define _GNU_SOURCE
#include "tunnel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEVICE_QUEUE_PACKETS 20000
#define SOCKET_BUFFER_BYTES (64 << 20)

static int raw_socket = -1;

static void raise_device(struct ifreq *request) {
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    request->ifr_qlen = DEVICE_QUEUE_PACKETS;
    if (ioctl(any, SIOCSIFTXQLEN, request)) fail("length of the tunnel's queue");
    if (ioctl(any, SIOCGIFFLAGS, request)) fail("flags of the tunnel");
    request->ifr_flags |= IFF_UP;
    if (ioctl(any, SIOCSIFFLAGS, request)) fail("raising the tunnel");
    close(any);
}

/* Offloads on: up to 64 KiB pass as one packet with its header, so that bytes cost next to nothing.
 * A raw socket cannot send those, so inside of a node packets are no longer than the MTU. */
static int open_tunnel(int offload) {
    int tunnel = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tunnel < 0) fail("/dev/net/tun");
    struct ifreq request;
    memset(&request, 0, sizeof request);
    request.ifr_flags = IFF_TUN | IFF_NO_PI | (offload ? IFF_VNET_HDR : 0);
    strcpy(request.ifr_name, TUNNEL_DEVICE);
    if (ioctl(tunnel, TUNSETIFF, &request)) fail("making the tunnel");
    if (offload && ioctl(tunnel, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)) fail("offloads");
    raise_device(&request);
    return tunnel;
}

static void open_raw_socket(void) {
    int mark = MARK, bytes = SOCKET_BUFFER_BYTES;
    raw_socket = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW);
    if (raw_socket < 0) fail("raw socket");
    if (setsockopt(raw_socket, SOL_SOCKET, SO_MARK, &mark, sizeof mark)) fail("mark");
    setsockopt(raw_socket, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
}

void open_tunnels(delay_network *network) {
    if (network->inside != NOT_INSIDE) {
        network->header = 0;
        network->node[network->inside].tunnel = open_tunnel(0);
        open_raw_socket();
        return;
    }
    network->header = sizeof(struct virtio_net_hdr);
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0) fail("/proc/self/ns/net");
    for (int i = 0; i < network->count; i++) {
        delay_node *node = &network->node[i];
        int namespace = open(node->namespace, O_RDONLY | O_CLOEXEC);
        if (namespace < 0 || setns(namespace, CLONE_NEWNET)) fail(node->namespace);
        node->tunnel = open_tunnel(1);
        close(namespace);
    }
    if (setns(home, CLONE_NEWNET)) fail("leaving the last namespace");
    close(home);
}

int deliver(const delay_network *network, int receiver, const packet *sent) {
    const delay_node *node = &network->node[receiver];
    if (network->inside == NOT_INSIDE) return write(node->tunnel, sent->data, sent->length) >= 0;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = node->address};
    return sendto(raw_socket, sent->data, sent->length, 0, (void *)&to, sizeof to) >= 0;
}
