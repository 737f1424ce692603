/* Access lists and packets for tests and benchmarks of net/acl, and the slow obvious way to find
 * the rule: one after another, by what the packet was made of, not by its bytes. */
#ifndef TESTS_UNIT_ACL_RIG_H
#define TESTS_UNIT_ACL_RIG_H

#include "tests/unit/host.h"

#include "net/acl/acl.h"

#define ACL_PROBE_BYTES 512

/* What a packet is to be. */
struct acl_probe {
	bool six;
	struct net_addr src, dst;
	uint8_t proto;       /* 1, of IPv4, and 58, of IPv6, are ICMP, whose type is its src_port and
	                        code its dst_port */
	uint16_t src_port, dst_port;
	uint8_t flags;       /* TCP's */
	unsigned offset;     /* of a later fragment, in bytes; else 0 */
	unsigned extensions; /* destination options headers of IPv6 before it all */
	unsigned transport;  /* bytes of the transport header and what follows */
};

/* Writes the packet, checksums but IPv4's header left at 0; returns its length. */
unsigned acl_packet(uint8_t *ip, const struct acl_probe *p);

/* What acl_classify must say of it. */
uint32_t acl_oracle(const struct acl_rule *rule, uint32_t rules, const struct acl_probe *p);

/*
 * Rules as networks have them: addresses out of a number of prefixes that nest, ports of services,
 * half of both any, and rarely what is seldom seen. `mix`: how many prefixes there are to choose
 * from. A probe is made to match some of the rules more often than chance would.
 */
void acl_random_rules(struct acl_rule *rule, uint32_t rules, bool six, unsigned mix);
struct acl_probe acl_random_probe(const struct acl_rule *rule, uint32_t rules, bool six);

/* The ways of asking, and those that this host can take. */
extern const char *const acl_path_name[ACL_PATHS];
bool acl_path_runs(enum acl_path path);

#endif
