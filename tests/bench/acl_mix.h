/*
 * Access lists of IPv4 with the structure of real ones, for acl_bench.c: the three kinds of which
 * Taylor and Turner, "ClassBench: A Packet Classification Benchmark" (INFOCOM 2005), tell, access
 * control lists, firewalls and IP chains. They differ in how many rules leave an address open, how
 * long the prefixes are and which of five classes the ports are of: any, 0 to 1023, 1024 to 65535,
 * another range, one. The shares in acl_mix.c are our own, after that description; ClassBench's
 * seeds are not here, so figures are not comparable with those of papers that use them.
 */
#ifndef TESTS_BENCH_ACL_MIX_H
#define TESTS_BENCH_ACL_MIX_H

#include "net/acl/acl.h"

enum acl_mix { ACL_MIX_ACL, ACL_MIX_FW, ACL_MIX_IPC, ACL_MIXES };

extern const char *const acl_mix_name[ACL_MIXES];

/* The more special a rule, the further in front it is, so that few are hidden by others. They ask
 * for addresses, protocol and ports alone. Random as tests/unit/host.h has been seeded. */
void acl_mix_rules(enum acl_mix mix, struct acl_rule *rule, uint32_t rules);

#endif
