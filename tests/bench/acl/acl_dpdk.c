/* See acl_dpdk.h. */
#include "tests/bench/acl/acl_dpdk.h"

#include <rte_acl.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS4 5
#define FIELDS6 11 /* each address is four words */

RTE_ACL_RULE_DEF(peer_rule4, FIELDS4);
RTE_ACL_RULE_DEF(peer_rule6, FIELDS6);

struct acl_peer {
	struct rte_acl_ctx *ctx;
};

static size_t allocated(void)
{
	struct rte_malloc_socket_stats s;
	rte_malloc_get_socket_stats(0, &s);
	return s.heap_allocsz_bytes;
}

static void start(void)
{
	static char *arguments[] = {"acl_bench",      "--no-huge", "--no-pci", "--no-shconf",
	                            "--no-telemetry", "-m",        "1500",     "-l",
	                            "0",              "--log-level=4",
	                            "--force-max-simd-bitwidth=512"};
	static bool started;
	if (!started && rte_eal_init(RTE_DIM(arguments), arguments) < 0)
		abort();
	started = true;
}

/* Defines the offsets of a packet's fields. rte_acl requires the first to be one byte, and reads
 * the others four bytes at a time. */
static void define(struct rte_acl_config *c, bool six)
{
	const unsigned words = six ? 4 : 1, proto = six ? 6 : 9, src = six ? 8 : 12;
	unsigned n = 0;
	*c = (struct rte_acl_config){.num_categories = 1, .num_fields = six ? FIELDS6 : FIELDS4};
	c->defs[n++] = (struct rte_acl_field_def){RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, proto};
	for (unsigned w = 0; w < 2 * words; w++, n++)
		c->defs[n] = (struct rte_acl_field_def){RTE_ACL_FIELD_TYPE_MASK, 4, (uint8_t)n, (uint8_t)n,
		                                        src + 4 * w};
	for (unsigned port = 0; port < 2; port++)
		c->defs[n + port] = (struct rte_acl_field_def){RTE_ACL_FIELD_TYPE_RANGE, 2,
		                                               (uint8_t)(n + port), (uint8_t)n,
		                                               src + 8 * words + 2 * port};
}

static void set_address(struct rte_acl_field *f, const struct net_addr *a, unsigned plen, bool six)
{
	for (unsigned w = six ? 0 : 3; w < 4; w++, f++) {
		unsigned bits = plen > 32 * w ? plen - 32 * w : 0;
		f->value.u32 = __builtin_bswap32(a->w[w]);
		f->mask_range.u32 = bits > 32 ? 32 : bits;
	}
}

static void set_rule(struct peer_rule6 *out, const struct acl_rule *r, bool six, uint32_t number,
                     uint32_t rules)
{
	unsigned words = six ? 4 : 1, n = 1 + 2 * words;
	memset(out, 0, sizeof *out);
	out->data = (struct rte_acl_rule_data){1, (int32_t)(rules - number), number + 1};
	out->field[0].value.u8 = r->any_proto ? 0 : r->proto;
	out->field[0].mask_range.u8 = r->any_proto ? 0 : 255;
	set_address(&out->field[1], &r->src, r->src_plen, six);
	set_address(&out->field[1 + words], &r->dst, r->dst_plen, six);
	out->field[n].value.u16 = r->src_port.first;
	out->field[n].mask_range.u16 = r->src_port.last;
	out->field[n + 1].value.u16 = r->dst_port.first;
	out->field[n + 1].mask_range.u16 = r->dst_port.last;
}

struct acl_peer *acl_peer_make(const struct acl_rule *rule, uint32_t rules, bool six,
                               size_t *bytes)
{
	struct rte_acl_config config;
	struct acl_peer *p = malloc(sizeof *p);
	start();
	define(&config, six);
	const struct rte_acl_param param = {"peer", 0, RTE_ACL_RULE_SZ(config.num_fields), rules};
	size_t before = allocated();
	p->ctx = rte_acl_create(&param);
	for (uint32_t i = 0; p->ctx && i < rules; i++) {
		struct peer_rule6 r;
		set_rule(&r, &rule[i], six, i, rules);
		if (rte_acl_add_rules(p->ctx, (const struct rte_acl_rule *)&r, 1))
			abort();
	}
	if (!p->ctx || rte_acl_build(p->ctx, &config)) {
		acl_peer_free(p);
		return NULL;
	}
	*bytes = allocated() - before;
	return p;
}

void acl_peer_free(struct acl_peer *p)
{
	rte_acl_free(p->ctx);
	free(p);
}

bool acl_peer_choose(struct acl_peer *p, enum acl_peer_way way)
{
	static const enum rte_acl_classify_alg alg[] = {RTE_ACL_CLASSIFY_SCALAR, RTE_ACL_CLASSIFY_AVX2,
	                                                RTE_ACL_CLASSIFY_AVX512X32};
	return rte_acl_set_ctx_classify(p->ctx, alg[way]) == 0;
}

void acl_peer_classify(struct acl_peer *p, const uint8_t **ip, uint32_t *rule, unsigned n)
{
	rte_acl_classify(p->ctx, ip, rule, n, 1);
}
