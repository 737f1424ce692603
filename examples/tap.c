/* See tap.h. */
#define _GNU_SOURCE
#include "examples/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "net/eth.h"
#include "net/ip.h"

#define FLAG_CWR 0x80 /* TCP flag (RFC 3168 6.1) */

/* --- opening --- */

static bool complain(const char *what)
{
	perror(what);
	return false;
}

static bool open_device(struct tap *t, const char *dev)
{
	struct ifreq request = {0};
	request.ifr_flags = (short)((t->tun ? IFF_TUN : IFF_TAP) | IFF_NO_PI |
	                            (t->offload ? IFF_VNET_HDR : 0));
	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", dev);
	t->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (t->fd < 0)
		return complain("/dev/net/tun");
	if (ioctl(t->fd, TUNSETIFF, &request) < 0)
		return complain(dev);
	return true;
}

/* Opens a pcap file and writes its header: nanoseconds, link type Ethernet. */
static bool open_pcap(struct tap *t, const char *path)
{
	static const uint32_t head[] = {0xa1b23c4d, 4u << 16 | 2, 0, 0, 262144, 1};
	t->pcap = fopen(path, "wb");
	if (!t->pcap)
		return complain(path);
	return fwrite(head, sizeof head, 1, t->pcap) == 1;
}

bool tap_open(struct tap *t, const struct tap_options *o)
{
	*t = (struct tap){.fd = (int)o->fd, .tun = o->tun, .offload = o->offload};
	if (o->fd)
		fcntl(t->fd, F_SETFL, O_NONBLOCK);
	else if (!open_device(t, o->dev))
		return false;
	if (t->offload) {
		int size = sizeof(struct virtio_net_hdr);
		t->head_bytes = (unsigned)size;
		if (ioctl(t->fd, TUNSETVNETHDRSZ, &size) < 0)
			return complain("TUNSETVNETHDRSZ");
		if (ioctl(t->fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 |
		          TUN_F_TSO_ECN) < 0)
			return complain("TUNSETOFFLOAD");
	}
	t->scratch = malloc(MIRROR_FRAME_MAX + sizeof(struct virtio_net_hdr));
	if (!t->scratch)
		return complain("tap");
	if (o->pcap && !open_pcap(t, o->pcap))
		return false;
	return impair_init(&t->in, o->in, o->seed, t->head_bytes) &&
	       impair_init(&t->out, o->out, ~o->seed, t->head_bytes);
}

static void record(struct tap *t, const uint8_t *frame, uint32_t len)
{
	if (!t->pcap)
		return;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	uint32_t head[] = {(uint32_t)now.tv_sec, (uint32_t)now.tv_nsec, len, len};
	fwrite(head, sizeof head, 1, t->pcap);
	fwrite(frame, len, 1, t->pcap);
}

/* --- receiving --- */

/* Translates the virtio header of a frame (VIRTIO 1.2 5.1.6.4) to flags. Linux is trusted, except that
 * the checksum must lie within the frame. */
static void take_header(const struct bufpool *pool, const struct virtio_net_hdr *h, struct pkt *p)
{
	if (h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM &&
	    h->csum_start + h->csum_offset + 2u <= p->len) {
		struct pkt_meta *m = pkt_meta(pool, p->buf);
		m->csum_start = h->csum_start;
		m->csum_offset = h->csum_offset;
		p->flags |= PKT_CSUM_PARTIAL;
	} else if (h->flags & VIRTIO_NET_HDR_F_DATA_VALID) {
		p->flags |= PKT_CSUM_OK;
	}
}

static ssize_t read_frame(struct tap *t, struct virtio_net_hdr *h, uint8_t *to, size_t room)
{
	unsigned made_up = t->tun ? ETH_HLEN : 0;
	struct iovec v[] = {{h, t->head_bytes}, {to + made_up, room - made_up}};
	ssize_t n = readv(t->fd, v, 2);
	if (n < (ssize_t)t->head_bytes) {
		t->gone = n < 0 && errno != EAGAIN && errno != EINTR;
		return -1;
	}
	if (t->tun) {
		memset(to, 0, 12);
		be16_store(to + 12, ip_is_ip6(to + ETH_HLEN) ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	}
	return n - (ssize_t)t->head_bytes + made_up;
}

/* Moves up to `max` frames from the device into the impaired link. */
static void fill_link(struct tap *t, unsigned max, uint64_t now_us)
{
	uint8_t *frame = t->scratch + t->head_bytes;
	for (; max; max--) {
		ssize_t n = read_frame(t, (struct virtio_net_hdr *)(void *)t->scratch, frame,
		                       MIRROR_FRAME_MAX);
		if (n < 0)
			break;
		impair_put(&t->in, t->scratch, (uint32_t)n + t->head_bytes, now_us);
	}
}

/* Takes the next frame that is due from the impaired link. */
static ssize_t link_frame(struct tap *t, struct virtio_net_hdr *h, uint8_t *to, size_t room,
                          uint64_t now_us)
{
	uint32_t n;
	const uint8_t *f = impair_take(&t->in, now_us, &n);
	if (!f)
		return -1;
	memcpy(h, f, t->head_bytes);
	n -= t->head_bytes;
	if (n > room)
		n = (uint32_t)room;
	memcpy(to, f + t->head_bytes, n);
	return n;
}

unsigned tap_rx_burst(struct tap *t, struct bufpool *pool, struct pkt *v, unsigned max,
                      uint64_t now_us)
{
	size_t room = buf_room(pool) < MIRROR_FRAME_MAX ? buf_room(pool) : MIRROR_FRAME_MAX;
	unsigned n = 0;
	if (t->in.on)
		fill_link(t, max, now_us);
	for (; n < max && pkt_alloc(pool, &v[n]); n++) {
		struct virtio_net_hdr h = {0};
		ssize_t len = t->in.on ? link_frame(t, &h, v[n].data, room, now_us)
		                       : read_frame(t, &h, v[n].data, room);
		if (len < 0) {
			pkt_free(pool, &v[n]);
			break;
		}
		v[n].len = (uint16_t)len;
		take_header(pool, &h, &v[n]);
		record(t, v[n].data, (uint32_t)len);
	}
	return n;
}

/* --- sending --- */

/* Builds the virtio header of a packet whose checksum, and possibly segmentation, is left to Linux. */
static void make_header(const struct bufpool *pool, const struct pkt *p, struct virtio_net_hdr *h)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	*h = (struct virtio_net_hdr){0};
	if (p->flags & PKT_CSUM_PARTIAL) {
		h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		h->csum_start = m->csum_start;
		h->csum_offset = m->csum_offset;
	}
	if (p->flags & PKT_TSO && pkt_bytes(pool, p) > (uint32_t)m->hdr_bytes + m->mss) {
		h->gso_type = ip_is_ip6(p->data + ETH_HLEN) ? VIRTIO_NET_HDR_GSO_TCPV6
		                                            : VIRTIO_NET_HDR_GSO_TCPV4;
		h->gso_size = m->mss;
		h->hdr_len = m->hdr_bytes;
		if (p->data[m->csum_start + 13] & FLAG_CWR) /* only the first segment gets it */
			h->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	}
}

/* Lists the pieces of a packet in v; returns their number. */
static int pieces(const struct bufpool *pool, const struct pkt *p, struct iovec *v)
{
	int n = 0;
	v[n++] = (struct iovec){p->data, p->len};
	if (p->flags & PKT_CHAIN) {
		const struct pkt_frag *f = pkt_frags(pool, p->buf);
		for (unsigned k = pkt_meta(pool, p->buf)->frags; k; k--, f++)
			v[n++] = (struct iovec){(void *)(uintptr_t)buf_at(pool, f->buf, f->offset), f->len};
	}
	return n;
}

/* Copies the n pieces contiguously to `to`; returns their length. */
static uint32_t gather(uint8_t *to, const struct iovec *v, int n)
{
	uint32_t len = 0;
	for (; n; n--, v++) {
		memcpy(to + len, v->iov_base, v->iov_len);
		len += (uint32_t)v->iov_len;
	}
	return len;
}

static void written(struct tap *t, ssize_t n)
{
	t->tx_frames++;
	t->tx_lost += n < 0;
}

/* v[0] is the virtio header, v[1..] the frame. */
static void send_pieces(struct tap *t, struct iovec *v, int n, uint64_t now_us)
{
	if (t->out.on || t->pcap) {
		uint32_t len = gather(t->scratch, v, n);
		record(t, t->scratch + t->head_bytes, len - t->head_bytes);
		if (t->out.on) {
			impair_put(&t->out, t->scratch, len, now_us);
			return;
		}
	}
	if (t->tun) {
		v[1].iov_base = (uint8_t *)v[1].iov_base + ETH_HLEN;
		v[1].iov_len -= ETH_HLEN;
	}
	written(t, writev(t->fd, v, n));
}

void tap_tx(struct tap *t, struct bufpool *pool, struct pkt *p, uint64_t now_us)
{
	struct virtio_net_hdr h;
	struct iovec v[2 + PKT_FRAGS_MAX] = {{&h, t->head_bytes}};
	if (!t->offload)
		pkt_csum_complete(pool, p);
	make_header(pool, p, &h);
	if (pkt_bytes(pool, p) <= MIRROR_FRAME_MAX)
		send_pieces(t, v, 1 + pieces(pool, p, v + 1), now_us);
	else
		t->tx_lost++;
	pkt_free(pool, p);
}

void tap_tx_frame(struct tap *t, const uint8_t *frame, uint32_t len, uint64_t now_us)
{
	struct virtio_net_hdr h = {0};
	struct iovec v[] = {{&h, t->head_bytes}, {(void *)(uintptr_t)frame, len}};
	send_pieces(t, v, 2, now_us);
}

/* --- time --- */

void tap_tick(struct tap *t, uint64_t now_us)
{
	uint32_t len;
	const uint8_t *f;
	while ((f = impair_take(&t->out, now_us, &len))) {
		unsigned cut = t->tun ? ETH_HLEN : 0;
		struct iovec v[] = {
			{(void *)(uintptr_t)f, t->head_bytes},
			{(void *)(uintptr_t)(f + t->head_bytes + cut), len - t->head_bytes - cut},
		};
		written(t, writev(t->fd, v, 2));
	}
}

uint64_t tap_deadline(const struct tap *t)
{
	uint64_t in = impair_deadline(&t->in), out = impair_deadline(&t->out);
	return in < out ? in : out;
}
