/*
 * net/bfd. The first octet says what the rest is:
 *     even   BFD packets of 32 octets, the first of which is time that passes before; a session takes
 *            those that bfd_packet_read passes. Its invariants must hold after each
 *     odd    a stream of bfdd's data plane messages, until one is malformed or incomplete
 */
#include "tests/fuzz/input.h"

#include <string.h>

#include "net/bfd/dplane.h"
#include "net/bfd/session.h"

#define RECORD 32u
#define MS 1000000ull

/* The wish of the session, changed by the spare octets of a record. */
static struct bfd_wish wish_of(const uint8_t *spare)
{
	return (struct bfd_wish){.desired_tx_us = 10000 + spare[0] * 10000u,
	                         .required_rx_us = 10000 + spare[1] * 10000u,
	                         .detect_mult = (uint8_t)(spare[2] | 1),
	                         .passive = spare[3] & 1,
	                         .shutdown = spare[3] & 2,
	                         .cpi = spare[3] & 4};
}

static void check(const struct bfd_session *s)
{
	assert(s->state <= BFD_UP && s->local_discr == 5);
	assert(s->state == BFD_UP || (s->tx_us >= BFD_SLOW_US && !bfd_session_polls(s)));
	assert(s->state < BFD_INIT || s->remote_discr != 0);
	assert(s->tx_used_us <= s->tx_us || s->state == BFD_UP);
	assert(bfd_session_polls(s) || (s->tx_used_us == s->tx_us &&
	                                s->rx_used_us == s->wish.required_rx_us));
}

static void session(const uint8_t *data, size_t size)
{
	static const uint8_t usual[4] = {4, 4, 3, 0};
	struct bfd_wish wish = wish_of(usual);
	struct bfd_session s;
	struct bfd_packet p;
	uint64_t now = MS;
	unsigned changed;
	bfd_session_init(&s, 5, &wish, 1, now);
	for (; size >= RECORD; data += RECORD, size -= RECORD) {
		uint8_t *exact = malloc(RECORD - 8);
		memcpy(exact, data + 8, RECORD - 8);
		now += data[0] * 4 * MS;
		bfd_session_expire(&s, now, now);
		if (data[1] & 1) {
			wish = wish_of(data + 2);
			bfd_session_change(&s, &wish, now);
		}
		if (bfd_packet_read(exact, RECORD - 8, &p) == CNT_NONE)
			bfd_session_receive(&s, &p, now, &changed);
		free(exact);
		check(&s);
		for (unsigned n = 0; bfd_session_send(&s, now, &p); n++)
			assert(n < 2 && p.my_discr == 5 && p.detect_mult && p.desired_tx_us);
		assert(bfd_session_deadline(&s) > now);
		check(&s);
	}
}

static void stream(const uint8_t *data, size_t size)
{
	struct bfd_dplane_message m;
	uint8_t *exact = malloc(size ? size : 1);
	memcpy(exact, data, size);
	for (size_t at = 0; at < size; at += m.length) {
		if (bfd_dplane_read(exact + at, size - at, &m) != BFD_DPLANE_OK || m.length == 0)
			break;
		assert(m.length <= size - at && m.length <= BFD_DPLANE_MAX);
		assert(m.type != BFD_DPLANE_STATE && m.type <= BFD_DPLANE_COUNTERS_REQUEST);
	}
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		stream(data + 1, size - 1);
	else
		session(data + 1, size - 1);
	return 0;
}
