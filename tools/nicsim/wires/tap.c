/*
 * A tap device of the host, which is the other end of the cable. Frames pass without any header
 * (IFF_NO_PI). The host's stack may pass short frames; they are padded to 60 bytes here, as the MAC
 * at the other end of a cable would do (IEEE 802.3, 4.2.3.3).
 *
 * While the cable is out (wire->pulled) the host sees no carrier either, if its kernel supports
 * that (TUNSETCARRIER, Linux 4.20).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/open.h"

#define MIN_FRAME 60

struct tap {
	struct wire w;
	bool shown_out; /* what we have told the host */
	uint8_t frame[FRAME_BURST][FRAME_MAX];
};

static struct tap *tap_of(struct wire *w)
{
	return (struct tap *)(void *)w;
}

static unsigned tap_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	struct tap *t = tap_of(w);
	unsigned n = 0;
	(void)now;
	while (n < max) {
		ssize_t got = read(w->fd, t->frame[n], FRAME_MAX);
		if (got <= 0)
			break;
		if (got < MIN_FRAME) {
			memset(t->frame[n] + got, 0, MIN_FRAME - (size_t)got);
			got = MIN_FRAME;
		}
		v[n] = (struct frame){.data = t->frame[n], .bytes = (uint32_t)got};
		n++;
	}
	return n;
}

static void tap_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	(void)now;
	if (w->pulled || write(w->fd, data, bytes) != (ssize_t)bytes)
		w->dropped++;
}

static uint64_t tap_deadline(struct wire *w, uint64_t now)
{
	(void)w;
	(void)now;
	return UINT64_MAX;
}

static bool tap_carrier(struct wire *w)
{
	struct tap *t = tap_of(w);
	if (t->shown_out != w->pulled) {
		int carrier = !w->pulled;
		ioctl(w->fd, TUNSETCARRIER, &carrier);
		t->shown_out = w->pulled;
	}
	return true;
}

static void tap_close(struct wire *w)
{
	close(w->fd);
	free(tap_of(w));
}

static const struct wire_ops tap_ops = {
	.name = "tap",
	.pull = tap_pull,
	.send = tap_send,
	.deadline = tap_deadline,
	.carrier = tap_carrier,
	.close = tap_close,
};

static struct wire *make(int fd)
{
	struct tap *t = calloc(1, sizeof *t);
	if (t == NULL)
		return NULL;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	t->w.ops = &tap_ops;
	t->w.fd = fd;
	return &t->w;
}

/* Opens the tap in the current network namespace. */
static int open_tap(const char *name)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	if (strlen(name) >= sizeof ifr.ifr_name) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(ifr.ifr_name, name);
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, TUNSETIFF, &ifr) != 0) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* Opens the tap in a named namespace: enters it and returns; there is only one thread. */
static int open_tap_in(const char *netns, const char *name)
{
	char path[128];
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there, fd = -1;
	snprintf(path, sizeof path, "/run/netns/%s", netns);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (home >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
		fd = open_tap(name);
		int error = errno;
		if (setns(home, CLONE_NEWNET) != 0) {
			perror("nicsim: cannot come back from a network namespace");
			exit(1);
		}
		errno = error;
	}
	int error = errno;
	if (home >= 0)
		close(home);
	if (there >= 0)
		close(there);
	errno = error;
	return fd;
}

struct wire *tap_open(const struct wire_spec *s)
{
	char netns[64];
	const char *slash = strchr(s->argument, '/'), *name = slash ? slash + 1 : s->argument;
	if (s->options || *name == 0 || (slash && slash - s->argument >= (int)sizeof netns))
		return wire_bad(s, s->argument, "tap:[NETNS/]NAME");
	snprintf(netns, sizeof netns, "%.*s", slash ? (int)(slash - s->argument) : 0, s->argument);
	int fd = slash ? open_tap_in(netns, name) : open_tap(name);
	return fd < 0 ? wire_bad(s, s->argument, strerror(errno)) : make(fd);
}

struct wire *tap_fd_open(const struct wire_spec *s)
{
	uint64_t fd;
	struct ifreq ifr;
	if (s->options || !parse_u64(s->argument, &fd) || fd > 1 << 20)
		return wire_bad(s, s->argument, "tap-fd:N");
	if (ioctl((int)fd, TUNGETIFF, &ifr) != 0)
		return wire_bad(s, s->argument, strerror(errno));
	if (!(ifr.ifr_flags & IFF_TAP) || !(ifr.ifr_flags & IFF_NO_PI) ||
	    ifr.ifr_flags & IFF_VNET_HDR)
		return wire_bad(s, s->argument, "no tap with IFF_NO_PI and without IFF_VNET_HDR");
	return make((int)fd);
}
