/*
 * Wires of wire.h through the kernel, one system call per frame and direction: the copies are made
 * on the generator's core, as with vhost-user.
 *
 *     tap:NAME     a tap device of this network namespace; the kernel itself is the other end
 *     packet:NAME  a packet socket (packet(7)) on a device of this namespace without an address;
 *                  the other end is behind that device. Without offloads.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

static int fd;
static bool offers;
static bool bare; /* packet sockets: the kernel does not know our header */

static void die(const char *what)
{
	fprintf(stderr, "tap: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool is_up(void)
{
	return true;
}

static void enter(bool *csum, bool *tso)
{
	*csum = *tso = offers;
}

static void nothing(void)
{
}

static unsigned take(uint8_t *to, unsigned room)
{
	unsigned skip = bare ? WIRE_HEADER_BYTES : 0;
	memset(to, 0, skip);
	ssize_t n = read(fd, to + skip, room - skip);
	if (n < 0 && errno != EAGAIN && errno != EIO && errno != ENETDOWN) /* the device is down */
		die("read");
	return n < 0 ? 0 : (unsigned)n + skip;
}

static bool give(const struct iovec *piece, unsigned n)
{
	if (writev(fd, piece + bare, (int)n - bare) >= 0)
		return true;
	if (errno != EAGAIN && errno != ENOBUFS && errno != EIO && errno != ENETDOWN)
		die("write");
	return false;
}

/* The program behind a packet socket may need our CPU. */
static void wait_frame(void)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	poll(&p, 1, 1);
}

static const struct wire tap = {is_up, enter, nothing, take, nothing, give, nothing, nothing, 64};
static const struct wire packet = {is_up,   enter, nothing,    take, nothing,
                                   give, nothing, wait_frame, 0};

const struct wire *wire_tap_open(const char *name, bool offloads)
{
		struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int header = WIRE_HEADER_BYTES;
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0)
		die(name);
	if (ioctl(fd, TUNSETVNETHDRSZ, &header) != 0 ||
	    ioctl(fd, TUNSETOFFLOAD, offloads ? TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 : 0) != 0)
		die("offloads");
	offers = offloads;
	return &tap;
}

const struct wire *wire_packet_open(const char *name)
{
	struct sockaddr_ll a = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int one = 1, bytes = 16 << 20;
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
	a.sll_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || a.sll_ifindex == 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
		die(name);
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
	setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
	bare = true;
	return &packet;
}
