/*
 * IPv4 access lists with the structure of real ones, for acl_bench.c: the three kinds described by
 * Taylor and Turner, "ClassBench: A Packet Classification Benchmark" (INFOCOM 2005): access control
 * lists, firewalls and IP chains. They differ in how many rules leave an address open, in prefix
 * lengths, and in the class of the ports, one of five: any, 0 to 1023, 1024 to 65535, another
 * range, one. The shares in acl_mix.c are our own, after that description. ClassBench's seeds are
 * not used, so figures are not comparable with papers that use them.
 */
#ifndef TESTS_BENCH_ACL_ACL_MIX_H
#define TESTS_BENCH_ACL_ACL_MIX_H

#include "net/acl/acl.h"

enum acl_mix { ACL_MIX_ACL, ACL_MIX_FW, ACL_MIX_IPC, ACL_MIXES };

extern const char *const acl_mix_name[ACL_MIXES];

/* More specific rules come first, so that few are hidden by others. Rules use only addresses,
 * protocol and ports. The random numbers are those of tests/unit/rig/host.h, with its seed. */
void acl_mix_rules(enum acl_mix mix, struct acl_rule *rule, uint32_t rules);

/* The rules and packets of tests/unit/rig/acl_rig.h without what rte_acl's fields lack: flags, types,
 * fragments. */
void acl_mix_plain(struct acl_rule *rule, uint32_t rules, bool six);

#define ACL_MIX_PACKET 64

/* n packets made to match the rules; ip[i] points to packet i. */
void acl_mix_packets(const struct acl_rule *rule, uint32_t rules, bool six,
                     uint8_t packet[][ACL_MIX_PACKET], const uint8_t **ip, unsigned n);

#endif
