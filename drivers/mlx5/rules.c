/*
 * Steering by rule (PRM, "Flow Steering"): a flow table of its own between the two of steering.c. Entry i is rule i,
 * in a group of its own, because entries of a group compare the same fields. The last entry matches everything else.
 *
 *   level 0, the root → level 1, the rules → a TIR for each pair that a rule names, or level 2, the kinds of frames
 *
 * Without rules there is no such table, and the root leads to level 2. Other rules get another table: the root's
 * entries change over to it, and the old one is destroyed. So a packet sees all old rules or all new ones.
 *
 * Rules refer to receive queues: they have to be gone, or changed, before a queue is destroyed (mlx5_rules_leave).
 */
#include "drivers/mlx5/device.h"

#include "lib/assert.h"
#include "lib/mem.h"

#define ETHERTYPE_IP4 0x0800
#define PROTO_TCP 6
#define PROTO_UDP 17
#define NEEDED_LEVEL 2

static struct mlx5_rules *rules_of(struct nic *nic)
{
	return &mlx5_device(nic)->memory->rules;
}

const char *mlx5_rules_refused(const struct nic *nic, const struct nic_rule *r)
{
	const struct mlx5_device *d = (const struct mlx5_device *)(const void *)nic->priv;
	if (nic->late == NIC_HERE && d->caps.flow_level < NEEDED_LEVEL)
		return "its flow tables have too few levels to steer by rule";
	if (nic->late == NIC_HERE && r->proto && !d->caps.frag_match)
		return "its flow tables do not tell fragments from whole packets: only ip can be steered";
	if ((r->src_port || r->dst_port) && r->proto != PROTO_TCP && r->proto != PROTO_UDP)
		return "its flow tables compare ports of TCP and UDP only";
	return NULL;
}

static uint32_t mask_of(uint8_t plen)
{
	return plen ? UINT32_MAX << (32 - plen) : 0;
}

static void add(struct mlx5_match m[MLX5_MATCHES], unsigned *n, uint32_t field, uint32_t mask, uint32_t value)
{
	assert(*n < MLX5_MATCHES);
	if (mask)
		m[(*n)++] = (struct mlx5_match){field, mask, value};
}

static void matches_of(const struct nic_rule *r, struct mlx5_match m[MLX5_MATCHES])
{
	const bool tcp = r->proto == PROTO_TCP;
	unsigned n = 0;
	memset(m, 0, MLX5_MATCHES * sizeof *m);
	add(m, &n, MLX5_MATCH_ETHERTYPE, 0xffff, ETHERTYPE_IP4);
	add(m, &n, MLX5_MATCH_SRC_IP4, mask_of(r->src_plen), r->src);
	add(m, &n, MLX5_MATCH_DST_IP4, mask_of(r->dst_plen), r->dst);
	add(m, &n, MLX5_MATCH_PROTOCOL, r->proto ? 0xff : 0, r->proto);
	add(m, &n, MLX5_MATCH_FRAGMENT, r->proto ? 1 : 0, 0);
	add(m, &n, tcp ? MLX5_MATCH_TCP_SRC : MLX5_MATCH_UDP_SRC, r->src_port ? 0xffff : 0, r->src_port);
	add(m, &n, tcp ? MLX5_MATCH_TCP_DST : MLX5_MATCH_UDP_DST, r->dst_port ? 0xffff : 0, r->dst_port);
}

/* Entry i of the table, in a group of its own. */
static int entry(struct nic *nic, uint32_t table, uint32_t i, const struct mlx5_match *m, uint32_t to_type, uint32_t to)
{
	uint32_t group;
	int e = mlx5_flow_group(nic, table, i, i, m, &group);
	return e == E_OK ? mlx5_flow_entry(nic, table, group, i, m, to_type, to) : e;
}

static int create(struct nic *nic, const struct nic_rule *r, unsigned n, uint32_t *table)
{
	static const struct mlx5_match all[MLX5_MATCHES];
	struct mlx5_match m[MLX5_MATCHES];
	uint32_t tir[NIC_PAIRS_MAX];
	uint64_t made = 0;
	uint32_t log_size = 0;
	while (1u << log_size < n + 1)
		log_size++;
	int e = mlx5_flow_table(nic, NEEDED_LEVEL - 1, log_size, table);
	for (unsigned i = 0; i < n && e == E_OK; i++) {
		const uint64_t bit = 1ull << r[i].pair;
		if (!(made & bit))
			e = mlx5_tir_of_pair(nic, r[i].pair, &tir[r[i].pair]);
		made |= bit;
		matches_of(&r[i], m);
		if (e == E_OK)
			e = entry(nic, *table, i, m, MLX5_DESTINATION_TIR, tir[r[i].pair]);
	}
	return e == E_OK ? entry(nic, *table, n, all, MLX5_DESTINATION_TABLE, rules_of(nic)->kinds) : e;
}

/* What the device refuses to destroy stays on the list, and is tried again with the next rules, or at the end. */
static void destroy(struct nic *nic, struct mlx5_rule_objects *o)
{
	const char *why = nic->error;
	while (o->count && mlx5_destroy_object(nic, &o->object[o->count - 1]) == E_OK)
		o->count--;
	nic->error = why;
}

int mlx5_rules(struct nic *nic, const struct nic_rule *r, unsigned n)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_rules *s = rules_of(nic);
	struct mlx5_rule_objects *new = &s->set[!s->current], *old = &s->set[s->current];
	uint32_t table = s->kinds;
	int e = E_OK;
	if (d->dead)
		return mlx5_fail(nic, E_DEVICE, "does not run");
	if (n == s->n && (n == 0 || memcmp(r, s->rule, n * sizeof *r) == 0))
		return E_OK;
	destroy(nic, new); /* what a failure has left */
	if (new->count)
		return mlx5_fail(nic, E_DEVICE, "does not destroy old rules");
	if (n > 0) {
		d->making_rules = new;
		e = create(nic, r, n, &table);
		d->making_rules = NULL;
	}
	if (e == E_OK)
		e = mlx5_root_leads_to(nic, table);
	if (e != E_OK) { /* the root leads to the old rules, or in part to new ones, which then stay */
		const char *why = nic->error;
		if (mlx5_root_leads_to(nic, s->n ? s->table : s->kinds) == E_OK)
			destroy(nic, new);
		nic->error = why;
		return e;
	}
	destroy(nic, old);
	s->current = !s->current;
	s->table = table;
	s->n = n;
	if (n > 0)
		memcpy(s->rule, r, n * sizeof *r);
	return E_OK;
}

int mlx5_rules_leave(struct nic *nic, unsigned pair)
{
	const struct mlx5_rules *s = rules_of(nic);
	for (unsigned i = 0; i < s->n; i++)
		if (s->rule[i].pair == pair)
			return mlx5_rules(nic, NULL, 0);
	return E_OK;
}

void mlx5_rules_end(struct nic *nic)
{
	struct mlx5_rules *s = rules_of(nic);
	if (s->n && !mlx5_device(nic)->dead)
		(void)mlx5_root_leads_to(nic, s->kinds);
	destroy(nic, &s->set[0]);
	destroy(nic, &s->set[1]);
	s->n = s->set[0].count = s->set[1].count = 0;
}
