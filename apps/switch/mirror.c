/*
 * Port mirroring, as `monitor session` of IOS: the frames of source ports are also sent by a destination port,
 * which carries no VLAN and so neither forwards nor takes other frames (apps/switch/tables.c).
 *
 *     received   frames as they came, with their tag, before any rule of the switch; behind XDP programs,
 *                whose frames the switch does not see. The switch may change or drop the frame afterwards, so
 *                it is copied
 *     sent       frames in the form in which the port sends them, with its tag. Their buffer is shared with
 *                the mirrored frame. Those that the switch sends to a station or floods, the machine's own
 *                among them; not frames that an XDP program or a protocol of the link sends
 *
 * A mirrored frame is a packet of our own. switch_mirrored counts frames given to a destination,
 * switch_mirror_lost those that are too long for it or find no buffer. What a full transmit ring of the
 * destination drops is originated_drop_tx, as with all of our own packets: traffic does not wait for it.
 */
#include "apps/switch/mirror.h"

#include "dataplane/vlan.h"

/* The destination for a frame of a source port: the number stored for it, less one. False: there is none, or
 * the frame is too long for it, which is counted. */
static bool destination(const struct pkt *p, const uint8_t *stored, uint8_t *to)
{
	const uint8_t number = __atomic_load_n(stored, __ATOMIC_RELAXED);
	if (number == 0) /* the session has just been changed */
		return false;
	*to = (uint8_t)(number - 1);
	const unsigned len = send_len(p, vlan_is_tagged(p));
	const bool fits = len <= __atomic_load_n(&switching.shared->len_max[*to], __ATOMIC_RELAXED);
	count_n(CNT_switch_mirror_lost, !fits);
	return fits;
}

static void send_mirrored(unsigned to, const struct pkt *p)
{
	core_tx(to, p);
	count(CNT_switch_mirrored);
}

/* Copies a frame with its checksum completed, as it was on the wire of its sender. */
static bool copy_received(const struct pkt *p, struct pkt *copy)
{
	if (!send_copy_of(p, copy)) {
		count(CNT_switch_mirror_lost);
		return false;
	}
	if (p->flags & PKT_CSUM_PARTIAL) {
		const struct pkt_meta *from = pkt_meta(&self.pool, p->buf);
		struct pkt_meta *meta = pkt_meta(&self.pool, copy->buf);
		meta->csum_start = from->csum_start;
		meta->csum_offset = from->csum_offset;
		copy->flags |= PKT_CSUM_PARTIAL;
		pkt_csum_complete(&self.pool, copy);
	}
	return true;
}

void mirror_received(const struct pkt *v, unsigned n, unsigned port)
{
	uint8_t to;
	struct pkt copy;
	for (unsigned i = 0; i < n; i++)
		if (destination(&v[i], &switching.shared->mirror_rx[port], &to) && copy_received(&v[i], &copy))
			send_mirrored(to, &copy);
}

void mirror_sent(struct pkt *p, unsigned port)
{
	uint8_t to;
	if (!destination(p, &switching.shared->mirror_tx[port], &to))
		return;
	pkt_csum_complete(&self.pool, p); /* what a driver would write into a shared frame differs by port */
	if (p->flags & PKT_SHARED) {
		buf_hold(&self.pool, p->buf);
	} else {
		pkt_meta(&self.pool, p->buf)->refs = 2;
		p->flags |= PKT_SHARED;
	}
	struct pkt mirrored = *p;
	mirrored.flags |= PKT_OWN;
	send_mirrored(to, &mirrored);
}

unsigned mirror_destinations(const struct pkt *p, uint32_t ports, uint8_t to[NIC_PORTS_MAX])
{
	unsigned n = 0;
	for (uint32_t left = ports & switching.mirror_tx; left; left &= left - 1)
		n += destination(p, &switching.shared->mirror_tx[__builtin_ctz(left)], &to[n]);
	count_n(CNT_switch_mirrored, n);
	return n;
}
