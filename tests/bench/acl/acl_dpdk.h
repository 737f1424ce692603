/* DPDK's rte_acl with the same rules and packets: the peer of acl_bench.c. */
#ifndef TESTS_BENCH_ACL_ACL_DPDK_H
#define TESTS_BENCH_ACL_ACL_DPDK_H

#include "net/acl/acl.h"

struct acl_peer;

/* Look-up methods; those that this CPU lacks are replaced by slower ones. */
enum acl_peer_way { ACL_PEER_SCALAR, ACL_PEER_AVX2, ACL_PEER_AVX512, ACL_PEER_WAYS };

/* Compiles rules that use only addresses, protocol and ports. *bytes: their memory. NULL:
 * refused. */
struct acl_peer *acl_peer_make(const struct acl_rule *rule, uint32_t rules, bool six,
                               size_t *bytes);
void acl_peer_free(struct acl_peer *p);

/* Whether the method is available. */
bool acl_peer_choose(struct acl_peer *p, enum acl_peer_way way);

/* rule[i] = 1 + number of the first rule that matches the packet at ip[i]; 0: none. */
void acl_peer_classify(struct acl_peer *p, const uint8_t **ip, uint32_t *rule, unsigned n);

#endif
