/* See send.h. */
#include "apps/switch/send.h"

#include "apps/switch/mirror.h"

struct switching switching;

void send_look(void)
{
	const struct switch_ports p = switch_ports_load(switching.shared);
	switching.forwarding = p.forwarding;
	switching.learning = p.learning;
	const uint32_t mirrored = __atomic_load_n(&switching.shared->mirrored, __ATOMIC_RELAXED);
	switching.mirror_rx = mirrored & 0xffff;
	switching.mirror_tx = mirrored >> 16;
	const struct dp_filter_set *lists = dp_filters(switching.dp);
	switching.lists = unlikely(lists->any) ? lists : NULL;
}

bool send_copy_of(const struct pkt *p, struct pkt *copy)
{
	if (!pkt_alloc(&self.pool, copy)) {
		count(CNT_originated_drop_no_buffer);
		return false;
	}
	copy->len = p->len;
	copy->interface = p->interface;
	copy->flags = PKT_OWN;
	memcpy(copy->data, p->data, p->len);
	return true;
}

/* Those of the ports whose MTU the frame of `len` bytes without a tag fits. */
static uint32_t fitting(uint32_t ports, unsigned len)
{
	uint32_t fit = 0;
	for (uint32_t left = ports; left; left &= left - 1) {
		const unsigned port = (unsigned)__builtin_ctz(left);
		fit |= (uint32_t)(len <= __atomic_load_n(&switching.shared->len_max[port], __ATOMIC_RELAXED)) << port;
	}
	return fit;
}

/* Sends a frame in its form by one or more ports. Drivers write nothing into the frame that differs from
 * port to port, because its checksum is complete (drivers/nic.h, tx_burst). */
static void send_by(struct pkt *p, uint32_t ports)
{
	uint8_t mirror[NIC_PORTS_MAX];
	unsigned n = 0, mirrors = 0;
	for (uint32_t left = ports; left; left &= left - 1)
		n++;
	if (unlikely(ports & switching.mirror_tx))
		mirrors = mirror_destinations(p, ports, mirror);
	count_n(CNT_switch_copies, n - 1);
	n += mirrors;
	if (n > 1) {
		pkt_meta(&self.pool, p->buf)->refs = (uint16_t)n;
		p->flags |= PKT_SHARED;
	}
	for (; ports; ports &= ports - 1) {
		core_tx((unsigned)__builtin_ctz(ports), p);
		p->flags |= PKT_OWN; /* the others */
	}
	for (unsigned k = 0; k < mirrors; k++)
		core_tx(mirror[k], p);
}

bool send_flood(struct pkt *p, bool tagged, struct switch_vlan vlan, unsigned vid, uint32_t ports)
{
	const bool own = p->flags & PKT_OWN;
	ports = fitting(ports, send_len(p, tagged));
	if (ports == 0) {
		core_drop(p, own ? CNT_originated_drop_tx : CNT_drop_switch_too_big);
		return false;
	}
	const uint32_t with = ports & vlan.tagged, without = ports & ~with;
	const uint32_t as_it_is = tagged ? with : without, other = ports & ~as_it_is;
	struct pkt copy;
	pkt_csum_complete(&self.pool, p);
	if (as_it_is && other && send_copy_of(p, &copy)) {
		if (send_form(&copy, tagged, !tagged, vid)) {
			count(CNT_switch_copies);
			send_by(&copy, other);
		} else {
			core_drop(&copy, CNT_originated_drop_tx);
		}
	}
	if (as_it_is == 0 && !send_form(p, tagged, !tagged, vid)) {
		core_drop(p, own ? CNT_originated_drop_tx : CNT_drop_no_buffer);
		return false;
	}
	send_by(p, as_it_is ? as_it_is : other);
	return true;
}

void send_own(struct pkt *p, unsigned vid)
{
	const struct switch_vlan vlan = switch_vlan_load(switching.shared, vid);
	send_look();
	uint32_t ports = vlan.member & switching.forwarding;
	uint32_t found = FDB_NONE;
	if (p->len >= ETH_HLEN && !eth_is_multicast(p->data) && switching.fdb)
		found = fdb_lookup(switching.fdb, fdb_station(p->data, vid));
	if (found != FDB_NONE)
		ports &= 1u << fdb_found_port(found);
	if (p->len < ETH_HLEN || ports == 0)
		core_drop(p, CNT_originated_drop_tx);
	else
		(void)send_flood(p, false, vlan, vid, ports);
}
