/* See relay6.h. */
#include "net/dhcp/relay6.h"

#include "lib/bytes.h"
#include "lib/mem.h"
#include "net/ip6.h"

enum { /* RFC 8415 7.3 */
	ADVERTISE = 2,
	REPLY = 7,
	RECONFIGURE = 10,
	RELAY_FORWARD = 12,
};

#define HOPS 1
#define LINK 2
#define PEER 18
#define OPTIONS 34 /* also the length of a relay message's header */
#define CLIENT_BYTES_MIN 4 /* RFC 8415 8: type and transaction ID */
#define OPTION_RELAY_MESSAGE 9  /* RFC 8415 21.10 */
#define OPTION_INTERFACE_ID 18  /* RFC 8415 21.18 */
#define OPTION_BYTES 4

/* Types that only servers send are not relayed to servers (RFC 8415 16). Unknown types are (19.1). */
static bool is_for_client(uint8_t type)
{
	return type == ADVERTISE || type == REPLY || type == RECONFIGURE;
}

static unsigned put_option(uint8_t *at, unsigned code, const void *data, unsigned n)
{
	be16_store(at, (uint16_t)code);
	be16_store(at + 2, (uint16_t)n);
	memcpy(at + OPTION_BYTES, data, n);
	return OPTION_BYTES + n;
}

enum counter dhcp_relay6_forward(const struct dhcp_relay6_from *f, const uint8_t *in, unsigned len, uint8_t *out,
                                 unsigned *n)
{
	const bool relayed = len && in[0] == RELAY_FORWARD;
	struct net_addr link = f->link;
	if (len < (relayed ? OPTIONS : CLIENT_BYTES_MIN) || in[0] == 0)
		return CNT_drop_dhcp_malformed;
	if (is_for_client(in[0]) || in[0] == DHCP6_RELAY_REPLY)
		return CNT_drop_dhcp_unwanted;
	if (relayed && in[HOPS] >= DHCP_RELAY6_HOPS) /* RFC 8415 19.1.2 */
		return CNT_drop_dhcp_hops;
	if (len + OPTIONS + 2 * OPTION_BYTES + f->name_len > DHCP_RELAY6_BYTES_MAX)
		return CNT_drop_dhcp_malformed;
	/* RFC 8415 19.1.2: the address of the agent says enough unless it is link-local */
	if (relayed && !ip6_is_link_local(&f->peer))
		link = NET_ADDR_ANY;
	out[0] = RELAY_FORWARD;
	out[HOPS] = relayed ? (uint8_t)(in[HOPS] + 1) : 0;
	net_addr_store(out + LINK, &link);
	net_addr_store(out + PEER, &f->peer);
	*n = OPTIONS;
	*n += put_option(out + *n, OPTION_INTERFACE_ID, f->name, f->name_len);
	*n += put_option(out + *n, OPTION_RELAY_MESSAGE, in, len);
	return CNT_NONE;
}

static bool is_message(const struct dhcp_relay6_reply *r)
{
	const uint8_t type = r->message[0];
	return type == DHCP6_RELAY_REPLY ? r->len >= OPTIONS : r->len >= CLIENT_BYTES_MIN && is_for_client(type);
}

enum counter dhcp_relay6_take(const uint8_t *in, unsigned len, struct dhcp_relay6_reply *out)
{
	if (len < OPTIONS || in[0] != DHCP6_RELAY_REPLY)
		return len < OPTIONS ? CNT_drop_dhcp_malformed : CNT_drop_dhcp_unwanted;
	*out = (struct dhcp_relay6_reply){.link = net_addr_load(in + LINK), .peer = net_addr_load(in + PEER)};
	for (unsigned at = OPTIONS; at < len;) {
		if (len - at < OPTION_BYTES || be16_load(in + at + 2) > len - at - OPTION_BYTES)
			return CNT_drop_dhcp_malformed;
		const unsigned code = be16_load(in + at), bytes = be16_load(in + at + 2);
		at += OPTION_BYTES;
		if (code == OPTION_RELAY_MESSAGE && !out->message) {
			out->message = in + at;
			out->len = bytes;
		} else if (code == OPTION_INTERFACE_ID && !out->name) {
			out->name = (const char *)in + at;
			out->name_len = bytes;
		}
		at += bytes;
	}
	if (!out->message || out->len == 0 || ip6_is_multicast(&out->peer) || net_addr_is_any(&out->peer) ||
	    !is_message(out))
		return CNT_drop_dhcp_malformed;
	/* RFC 8415 19.2: a nested Relay-reply is for the next agent */
	out->port = out->message[0] == DHCP6_RELAY_REPLY ? DHCP6_SERVER_PORT : DHCP6_CLIENT_PORT;
	return CNT_NONE;
}
