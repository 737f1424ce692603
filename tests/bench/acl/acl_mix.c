/* See acl_mix.h. */
#include "tests/bench/acl/acl_mix.h"

#include <stdlib.h>

#include "lib/number.h"
#include "tests/unit/rig/acl_rig.h"

#define TCP 6
#define UDP 17
#define ICMP 1
#define IP4_PLEN0 96u /* of 128 bits (net/addr.h) */
#define ADDRESSES 64  /* networks that contain the prefixes */

enum port_class { ANY, LOW, HIGH, RANGE, ONE, PORT_CLASSES };

/* Shares in percent. */
struct addresses {
	unsigned any, host; /* the rest are prefixes */
	unsigned shortest;  /* prefix lengths */
	unsigned longest;
};

struct mix {
	struct addresses src, dst;
	uint8_t src_port[PORT_CLASSES], dst_port[PORT_CLASSES];
	unsigned tcp, udp, icmp; /* the rest: any protocol */
};

static const struct mix mixes[ACL_MIXES] = {
	[ACL_MIX_ACL] = {{10, 20, 16, 30}, {1, 70, 20, 30}, {100, 0, 0, 0, 0}, {30, 2, 6, 12, 50},
	                 75, 15, 3},
	[ACL_MIX_FW] = {{40, 30, 16, 30}, {25, 50, 16, 30}, {80, 2, 10, 2, 6}, {30, 2, 8, 10, 50},
	                60, 25, 5},
	[ACL_MIX_IPC] = {{5, 40, 12, 30}, {5, 40, 12, 30}, {85, 0, 5, 5, 5}, {60, 0, 5, 10, 25},
	                 45, 25, 5},
};

const char *const acl_mix_name[ACL_MIXES] = {"acl", "fw", "ipc"};

/* A random network; low numbers are more frequent, so some networks have many prefixes. */
static uint32_t random_network(void)
{
	uint32_t n = random_below(random_below(ADDRESSES) + 1) + 1;
	return (n * 0x9e3779b9u & 0xfff00000u) | (uint32_t)random64() >> 12;
}

static void random_address(const struct addresses *s, struct net_addr *out, uint8_t *plen)
{
	uint32_t share = random_below(100);
	unsigned n = s->shortest + random_below(s->longest - s->shortest + 1u);
	if (share < s->any)
		n = 0;
	else if (share < s->any + s->host)
		n = 32;
	*plen = (uint8_t)(IP4_PLEN0 + n);
	*out = net_addr_ip4(n ? random_network() & ~0u << (32 - n) : 0);
}

static struct acl_ports random_ports(const uint8_t share[PORT_CLASSES])
{
	static const uint16_t services[] = {20,  21,  22,  23,   25,   53,   67,   80,   110,  123,  135,
	                                    137, 139, 143, 161,  179,  389,  443,  445,  514,  587,  993,
	                                    995, 1433, 1521, 1723, 3306, 3389, 5060, 5432, 8080, 8443};
	uint32_t left = random_below(100);
	unsigned c = 0;
	while (left >= share[c])
		left -= share[c++];
	uint16_t first = random_below(4) ? services[random_below(ARRAY_LEN(services))]
	                                 : (uint16_t)random64();
	switch (c) {
	case ANY:
		return ACL_ANY_PORT;
	case LOW:
		return (struct acl_ports){0, 1023};
	case HIGH:
		return (struct acl_ports){1024, 65535};
	case RANGE:
		return (struct acl_ports){first, (uint16_t)(first + random_below(u32_min(1000, 65536u - first)))};
	default:
		return (struct acl_ports){first, first};
	}
}

static struct acl_rule random_rule(const struct mix *m)
{
	struct acl_rule r = {.permit = random_below(2), .src_port = ACL_ANY_PORT,
	                     .dst_port = ACL_ANY_PORT};
	uint32_t share = random_below(100);
	random_address(&m->src, &r.src, &r.src_plen);
	random_address(&m->dst, &r.dst, &r.dst_plen);
	if (share < m->tcp)
		r.proto = TCP;
	else if (share < m->tcp + m->udp)
		r.proto = UDP;
	else if (share < m->tcp + m->udp + m->icmp)
		r.proto = ICMP;
	else
		r.any_proto = true;
	if (r.proto == TCP || r.proto == UDP) {
		r.src_port = random_ports(m->src_port);
		r.dst_port = random_ports(m->dst_port);
	}
	return r;
}

/* The share of all packets that a rule matches, in bits; a range of ports counts its logarithm. */
static unsigned breadth(const struct acl_rule *r)
{
	unsigned n = 128u - r->src_plen + 128u - r->dst_plen + (r->any_proto ? 8 : 0);
	for (unsigned w = (unsigned)(r->src_port.last - r->src_port.first); w; w /= 2)
		n++;
	for (unsigned w = (unsigned)(r->dst_port.last - r->dst_port.first); w; w /= 2)
		n++;
	return n;
}

static int by_breadth(const void *a, const void *b)
{
	unsigned x = breadth(a), y = breadth(b);
	return (x > y) - (x < y);
}

void acl_mix_rules(enum acl_mix mix, struct acl_rule *rule, uint32_t rules)
{
	for (uint32_t i = 0; i < rules; i++)
		rule[i] = random_rule(&mixes[mix]);
	qsort(rule, rules, sizeof *rule, by_breadth);
}

void acl_mix_plain(struct acl_rule *rule, uint32_t rules, bool six)
{
	acl_random_rules(rule, rules, six, rules * 2);
	for (uint32_t i = 0; i < rules; i++) {
		struct acl_rule *r = &rule[i];
		r->established = r->fragments = false;
		r->flags_mask = r->flags_value = 0;
		if (r->proto == 1 || r->proto == 58)
			r->dst_port = ACL_ANY_PORT;
	}
}

void acl_mix_packets(const struct acl_rule *rule, uint32_t rules, bool six,
                     uint8_t packet[][ACL_MIX_PACKET], const uint8_t **ip, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct acl_probe p = acl_random_probe(rule, rules, six);
		p.offset = p.extensions = 0;
		p.transport = 20;
		ip[i] = packet[i];
		acl_packet(packet[i], &p);
	}
}
