#include "tests/unit/rig/intel_port.h"

#include "drivers/intel/ring.h"
#include "tests/unit/rig/packets.h"

struct pair_of_driver { /* as in drivers/intel/pair.c */
	struct intel_rx rx;
	struct intel_tx tx;
};

void intel_assert_owners(const struct port_pair *p)
{
	const struct pair_of_driver *d = (const void *)p->q.priv;
	if (d->rx.part.data)
		assert_owner(d->rx.part.buf);
	for (uint32_t k = d->rx.head; k != d->rx.tail; k++)
		assert_owner(d->rx.owner[k & d->rx.mask]);
	for (uint32_t k = d->tx.tail; k != d->tx.head; k++) {
		uint32_t owner = d->tx.owner[k & d->tx.mask];
		if (owner != INTEL_NONE)
			assert_owner_word(owner);
	}
}

/* --- frames --- */

uint8_t frame[FRAME_BYTES_MAX];

void ether(uint16_t type)
{
	static const uint8_t to[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	static const uint8_t from[6] = {0x02, 0, 0, 0, 0, 9};
	memcpy(frame, to, 6);
	memcpy(frame + 6, from, 6);
	put16(frame + 12, type);
}

unsigned make_l4(uint8_t proto, uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport,
                 unsigned n, uint32_t seq)
{
	static uint8_t all[12 + FRAME_BYTES_MAX];
	unsigned l4 = proto == 6 ? 20 : 8, check = proto == 6 ? 16 : 6;
	uint8_t *ip = frame + 14, *h = ip + 20;
	ether(0x0800);
	memset(h, 0, l4);
	put16(h, sport);
	put16(h + 2, dport);
	if (proto == 6) {
		put32(h + 4, seq);
		put16(h + 12, 0x5018);
	} else {
		put16(h + 4, 8 + n);
	}
	for (unsigned i = 0; i < n; i++)
		h[l4 + i] = (uint8_t)(seq + i);
	make_ip(ip, src, dst, proto, NULL, 0, l4 + n);
	memcpy(all, ip + 12, 8);
	all[8] = 0;
	all[9] = proto;
	put16(all + 10, l4 + n);
	memcpy(all + 12, h, l4 + n);
	put16(h + check, slow_csum(all, 12 + l4 + n));
	return 34 + l4 + n;
}

unsigned make_udp(uint32_t seq, unsigned n)
{
	return make_l4(17, 0xc0000201, 0xc6336401 + seq % 251, (uint16_t)(1000 + seq), 53, n, seq);
}

void assert_sent(unsigned len)
{
	struct rig_frame f;
	assert_true(rig_sent(&f));
	assert_int_equal(f.bytes, len);
	assert_memory_equal(f.data, frame, len);
}
