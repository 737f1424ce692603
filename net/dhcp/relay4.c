/* See relay4.h. */
#include "net/dhcp/relay4.h"

#include "lib/bytes.h"
#include "lib/mem.h"

#define SUB_CIRCUIT 1 /* RFC 3046 2.0: agent circuit ID */

/* One option of the options field, at octet `at` of the message. */
struct place {
	unsigned at, bytes;
};

enum counter dhcp_relay4_check(const uint8_t *in, unsigned len, uint8_t *op)
{
	if (len < DHCP4_OPTIONS || len > DHCP4_BYTES_MAX)
		return CNT_drop_dhcp_malformed;
	*op = in[DHCP4_OP];
	return *op == DHCP4_REQUEST || *op == DHCP4_REPLY ? CNT_NONE : CNT_drop_dhcp_malformed;
}

/* Finds option 82 in the options field, where relay agents put it (RFC 3046 2.1), and in *end the place of the
 * end option, or of the end of the field. The options have been checked. */
static bool find_agent(const uint8_t *message, unsigned len, struct place *agent, unsigned *end)
{
	bool found = false;
	unsigned at = DHCP4_OPTIONS;
	while (at < len && message[at] != DHCP4_OPT_END) {
		const unsigned bytes = message[at] == DHCP4_OPT_PAD ? 1 : 2u + message[at + 1];
		if (message[at] == DHCP4_OPT_AGENT && !found) {
			*agent = (struct place){at, bytes};
			found = true;
		}
		at += bytes;
	}
	*end = at;
	return found;
}

/* Takes a piece out of a message, which stays as long as BOOTP requires. */
static void cut(uint8_t *message, unsigned *n, const struct place *p)
{
	memmove(message + p->at, message + p->at + p->bytes, *n - p->at - p->bytes);
	*n -= p->bytes;
	for (; *n < DHCP4_BYTES_MIN; (*n)++)
		message[*n] = DHCP4_OPT_PAD;
}

/* Adds our option 82 as the last one (RFC 3046 2.1). False: there is no room. */
static bool add_agent(const struct dhcp_relay4 *r, uint8_t *message, unsigned *n)
{
	struct place agent;
	unsigned end;
	const unsigned bytes = 4 + r->circuit_len;
	(void)find_agent(message, *n, &agent, &end);
	if (end + bytes + 1 > DHCP4_BYTES_MAX)
		return false;
	uint8_t *at = message + end;
	at[0] = DHCP4_OPT_AGENT;
	at[1] = (uint8_t)(2 + r->circuit_len);
	at[2] = SUB_CIRCUIT;
	at[3] = (uint8_t)r->circuit_len;
	memcpy(at + 4, r->circuit, r->circuit_len);
	at[bytes] = DHCP4_OPT_END;
	/* what followed the end option was padding */
	if (*n < end + bytes + 1)
		*n = end + bytes + 1;
	memset(message + end + bytes + 1, DHCP4_OPT_PAD, *n - end - bytes - 1);
	return true;
}

/* A client's request, in `out`, gets option 82, or keeps or loses the one it has. */
static enum counter set_agent(const struct dhcp_relay4 *r, uint8_t *out, unsigned *n, bool *without)
{
	struct place agent;
	unsigned end;
	if (find_agent(out, *n, &agent, &end)) {
		if (r->policy == DHCP_RELAY4_DROP)
			return CNT_drop_dhcp_agent;
		if (r->policy == DHCP_RELAY4_KEEP)
			return CNT_NONE;
		cut(out, n, &agent);
	}
	*without = r->insert && !add_agent(r, out, n);
	return CNT_NONE;
}

enum counter dhcp_relay4_request(const struct dhcp_relay4 *r, const uint8_t *in, unsigned len, uint8_t *out,
                                 unsigned *n, bool *without)
{
	struct dhcp4_options options;
	const bool first = be32_load(in + DHCP4_GIADDR) == 0; /* no other relay agent had it before */
	*without = false;
	if (in[DHCP4_HOPS] > r->hops_max)
		return CNT_drop_dhcp_hops;
	memcpy(out, in, len);
	*n = len;
	out[DHCP4_HOPS]++;
	if (!first) /* RFC 1542 4.1.1: giaddr stays; RFC 3046 2.1: so does its option */
		return CNT_NONE;
	be32_store(out + DHCP4_GIADDR, r->giaddr);
	if (!dhcp4_has_options(in, len)) /* BOOTP with another vendor's area */
		return CNT_NONE;
	if (dhcp4_options(in, len, &options) != CNT_NONE)
		return CNT_drop_dhcp_malformed;
	return set_agent(r, out, n, without);
}

/* Is it the option that we add? */
static bool is_ours(const struct dhcp_relay4 *r, const uint8_t *option)
{
	return option[1] == 2 + r->circuit_len && option[2] == SUB_CIRCUIT && option[3] == r->circuit_len &&
	       memcmp(option + 4, r->circuit, r->circuit_len) == 0;
}

/* RFC 1542 4.1.2, RFC 2131 4.1: to the client's own address if it can receive that, else to all. */
static struct dhcp_relay4_to destination(const uint8_t *in)
{
	struct dhcp_relay4_to to = {.addr = 0xffffffff};
	uint32_t addr = be32_load(in + DHCP4_YIADDR);
	memset(to.mac, 0xff, sizeof to.mac);
	if (addr == 0)
		addr = be32_load(in + DHCP4_CIADDR); /* the answer to DHCPINFORM */
	if (be16_load(in + DHCP4_FLAGS) & DHCP4_BROADCAST || addr == 0 || in[DHCP4_HTYPE] != DHCP4_ETHERNET ||
	    in[DHCP4_HLEN] != sizeof to.mac || in[DHCP4_CHADDR] & 1)
		return to;
	to.addr = addr;
	memcpy(to.mac, in + DHCP4_CHADDR, sizeof to.mac);
	return to;
}

enum counter dhcp_relay4_reply(const struct dhcp_relay4 *r, const uint8_t *in, unsigned len, uint8_t *out, unsigned *n,
                               struct dhcp_relay4_to *to)
{
	struct dhcp4_options options;
	struct place agent;
	unsigned end;
	memcpy(out, in, len);
	*n = len;
	*to = destination(in);
	if (!dhcp4_has_options(in, len))
		return CNT_NONE;
	if (dhcp4_options(in, len, &options) != CNT_NONE)
		return CNT_drop_dhcp_malformed;
	if (find_agent(in, len, &agent, &end) && is_ours(r, in + agent.at))
		cut(out, n, &agent);
	return CNT_NONE;
}
