/* See link.h. */
#include "control/link/link.h"

#include "dataplane/state.h"
#include "net/eth.h"

static link_receiver receivers[LINK_PROTOCOLS];

void link_receive(enum link_protocol protocol, link_receiver f)
{
	receivers[protocol] = f;
}

void link_enable(unsigned port, enum link_protocol protocol, bool on)
{
	uint8_t *protocols = &dp_get()->link_protocols[port];
	const uint8_t bit = (uint8_t)(1u << protocol);
	__atomic_store_n(protocols, on ? *protocols | bit : *protocols & ~bit, __ATOMIC_RELAXED);
}

bool link_send(unsigned port, const uint8_t *frame, unsigned len)
{
	const unsigned pairs = core_data_count();
	uint8_t padded[ETH_FRAME_MIN] = {0};
	if (len < ETH_FRAME_MIN) {
		frame = memcpy(padded, frame, len);
		len = ETH_FRAME_MIN;
	}
	/* As adjacency_send: a frame for a link that is down would wait in the ring. */
	return pairs && dp_link_is_up(dp_get(), port) &&
	       core_inject(port % pairs, port, frame, len, INJECT_TX, 0) == E_OK;
}

enum counter link_input(enum link_protocol protocol, const struct core_msg *m)
{
	if (m->len < ETH_HLEN)
		return CNT_drop_eth_short;
	if (protocol >= LINK_PROTOCOLS || !receivers[protocol] || m->port >= core_port_count())
		return CNT_drop_eth_type;
	return receivers[protocol](m->port, m->frame, m->len);
}
