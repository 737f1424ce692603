/* See dplane.h. */
#include "net/bfd/dplane.h"

#include "lib/mem.h"

#define VERSION 1
#define AT_TYPE 2
#define AT_ID 4
#define AT_LENGTH 6

#define ECHO_LEN 24
#define SESSION_LEN 140
#define STATE_LEN 36 /* with an octet of padding */
#define COUNTERS_REQUEST_LEN 12
#define COUNTERS_LEN 80 /* the 64-bit counters are aligned */
_Static_assert(SESSION_LEN <= BFD_DPLANE_MAX && COUNTERS_LEN <= BFD_DPLANE_OUT_MAX, "the longest");

#define REMOTE_CPI 1u
#define REMOTE_DEMAND 2u

const char *bfd_dplane_error_text(enum bfd_dplane_error e)
{
#define TEXT(name, text) text,
	static const char *const texts[] = {"no error", BFD_DPLANE_ERRORS(TEXT)};
#undef TEXT
	return e < BFD_DPLANE_ERRORS_END ? texts[e] : "";
}

/* The length of a message of that type from bfdd; 0: it sends none. */
static unsigned length_of(unsigned type)
{
	switch (type) {
	case BFD_DPLANE_ECHO_REQUEST:
	case BFD_DPLANE_ECHO_REPLY:
		return ECHO_LEN;
	case BFD_DPLANE_ADD:
	case BFD_DPLANE_DELETE:
		return SESSION_LEN;
	case BFD_DPLANE_COUNTERS_REQUEST:
		return COUNTERS_REQUEST_LEN;
	default:
		return 0;
	}
}

/* An IPv4 address is in the first 4 of the 16 octets. */
static struct net_addr address(const uint8_t *p, bool six)
{
	const uint32_t four = be32_load(p);
	return six ? net_addr_load(p) : four ? net_addr_ip4(four) : NET_ADDR_ANY;
}

static void read_session(const uint8_t *p, struct bfd_dplane_session *s)
{
	s->flags = be32_load(p);
	s->src = address(p + 4, s->flags & BFD_DPLANE_IPV6);
	s->dst = address(p + 20, s->flags & BFD_DPLANE_IPV6);
	s->lid = be32_load(p + 36);
	s->min_tx_us = be32_load(p + 40);
	s->min_rx_us = be32_load(p + 44);
	s->ttl = p[60];
	s->detect_mult = p[61];
	s->ifindex = be32_load(p + 64);
}

enum bfd_dplane_error bfd_dplane_read(const uint8_t *data, size_t n, struct bfd_dplane_message *out)
{
	const uint8_t *p = data + BFD_DPLANE_HEADER;
	out->length = 0;
	if (n < BFD_DPLANE_HEADER)
		return BFD_DPLANE_OK;
	const uint16_t type = be16_load(data + AT_TYPE);
	const uint16_t length = be16_load(data + AT_LENGTH);
	if (data[0] != VERSION)
		return BFD_DPLANE_ERR_VERSION;
	if (length_of(type) == 0)
		return BFD_DPLANE_ERR_TYPE;
	if (length != length_of(type))
		return BFD_DPLANE_ERR_LENGTH;
	if (n < length)
		return BFD_DPLANE_OK;
	*out = (struct bfd_dplane_message){.type = (enum bfd_dplane_type)type,
	                                   .id = be16_load(data + AT_ID),
	                                   .length = length};
	if (length == SESSION_LEN)
		read_session(p, &out->session);
	if (length == COUNTERS_REQUEST_LEN)
		out->lid = be32_load(p);
	if (length == ECHO_LEN) {
		out->dp_time = be64_load(p);
		out->bfdd_time = be64_load(p + 8);
	}
	return BFD_DPLANE_OK;
}

/* --- writing --- */

/* Writes a header and zeroes the rest; returns where the payload begins. */
static uint8_t *begin(uint8_t *out, enum bfd_dplane_type type, uint16_t id, unsigned length)
{
	memset(out, 0, length);
	out[0] = VERSION;
	be16_store(out + AT_TYPE, (uint16_t)type);
	be16_store(out + AT_ID, id);
	be16_store(out + AT_LENGTH, (uint16_t)length);
	return out + BFD_DPLANE_HEADER;
}

unsigned bfd_dplane_write_echo(uint8_t *out, const struct bfd_dplane_message *request)
{
	uint8_t *p = begin(out, BFD_DPLANE_ECHO_REPLY, request->id, ECHO_LEN);
	be64_store(p, request->dp_time);
	be64_store(p + 8, request->bfdd_time);
	return ECHO_LEN;
}

unsigned bfd_dplane_write_state(uint8_t *out, const struct bfd_dplane_state *s)
{
	uint8_t *p = begin(out, BFD_DPLANE_STATE, 0, STATE_LEN);
	be32_store(p, s->lid);
	be32_store(p + 4, s->rid);
	be32_store(p + 8, (s->remote_cpi ? REMOTE_CPI : 0) | (s->remote_demand ? REMOTE_DEMAND : 0));
	be32_store(p + 12, s->desired_tx_us);
	be32_store(p + 16, s->required_rx_us);
	be32_store(p + 20, s->required_echo_us);
	p[24] = s->state;
	p[25] = s->remote_diag;
	p[26] = s->remote_mult;
	return STATE_LEN;
}

unsigned bfd_dplane_write_counters(uint8_t *out, uint16_t id, const struct bfd_dplane_counters *c)
{
	uint8_t *p = begin(out, BFD_DPLANE_COUNTERS, id, COUNTERS_LEN);
	be32_store(p, c->lid);
	be64_store(p + 8, c->rx_octets);
	be64_store(p + 16, c->rx_packets);
	be64_store(p + 24, c->tx_octets);
	be64_store(p + 32, c->tx_packets);
	return COUNTERS_LEN;
}
