/* Access lists and packets for tests and benchmarks of net/acl, and a slow, obvious search for the
 * rule: one after another, by the fields a packet was made of, not by its bytes. */
#ifndef TESTS_UNIT_RIG_ACL_RIG_H
#define TESTS_UNIT_RIG_ACL_RIG_H

#include "tests/unit/rig/host.h"

#include "net/acl/acl.h"

#define ACL_PROBE_BYTES 512

/* Description of a packet. */
struct acl_probe {
	bool six;
	struct net_addr src, dst;
	uint8_t proto;       /* 1 in IPv4 and 58 in IPv6 are ICMP, whose type is src_port and code
	                        dst_port */
	uint16_t src_port, dst_port;
	uint8_t flags;       /* TCP's */
	unsigned offset;     /* of a later fragment, in bytes; else 0 */
	unsigned extensions; /* destination options headers of IPv6 before the transport header */
	unsigned transport;  /* bytes of the transport header and what follows */
};

/* Writes the packet, with checksums other than IPv4's header left at 0; returns its length. */
unsigned acl_packet(uint8_t *ip, const struct acl_probe *p);

/* The result that acl_classify must return for it. */
uint32_t acl_oracle(const struct acl_rule *rule, uint32_t rules, const struct acl_probe *p);

/*
 * Rules as in real networks: addresses from a number of prefixes that nest, ports of services, half
 * of both any, and rare values rarely. `mix`: how many prefixes there are to choose from. A probe
 * is made to match some of the rules more often than by chance.
 */
void acl_random_rules(struct acl_rule *rule, uint32_t rules, bool six, unsigned mix);
struct acl_probe acl_random_probe(const struct acl_rule *rule, uint32_t rules, bool six);

/* The search methods, and whether this host supports one. */
extern const char *const acl_path_name[ACL_PATHS];
bool acl_path_runs(enum acl_path path);

#endif
