/*
 * Steering by rule (PRM, "Flow Steering"): a flow table of its own between the two of steering.c. Entry i is rule i,
 * in a group of its own, because entries of a group compare the same fields. The last entry matches everything else.
 *
 *   level 0, the root → level 1, the rules → a TIR for each pair that a rule names, or level 2, the kinds of frames
 *
 * A rule with several pairs leads to a table of its own in level 2, with the same kinds, whose TIRs hash over these
 * pairs.
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
#define ETHERTYPE_IP6 0x86dd
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
		return "its flow tables do not tell fragments from whole packets: only ip and ipv6 can be steered";
	if (nic->late == NIC_HERE && r->vlan && !d->caps.vlan_match)
		return "its flow tables do not compare VLANs";
	if ((r->src_port || r->dst_port) && r->proto != PROTO_TCP && r->proto != PROTO_UDP)
		return "its flow tables compare ports of TCP and UDP only";
	return NULL;
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
	add(m, &n, MLX5_MATCH_CVLAN, r->vlan ? 1 : 0, 1);
	add(m, &n, MLX5_MATCH_VID, r->vlan ? 0xfff : 0, r->vlan);
	if (r->family == NIC_RULE_ALL)
		return;
	add(m, &n, MLX5_MATCH_ETHERTYPE, 0xffff, r->family == NIC_RULE_IP6 ? ETHERTYPE_IP6 : ETHERTYPE_IP4);
	for (unsigned i = 0; i < (r->family == NIC_RULE_IP6 ? 4 : 1); i++) {
		const unsigned word = r->family == NIC_RULE_IP6 ? i : 3;
		add(m, &n, MLX5_MATCH_SRC_IP(word), nic_rule_mask(r->src_plen, i), r->src[i]);
		add(m, &n, MLX5_MATCH_DST_IP(word), nic_rule_mask(r->dst_plen, i), r->dst[i]);
	}
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

/* Where the frames of rules go; one for each set of pairs. */
struct target {
	uint64_t pairs;
	uint32_t type, id; /* MLX5_DESTINATION_... */
};

/* Finds the target among the *n that there are, or makes it. */
static int find_target(struct nic *nic, uint64_t pairs, struct target *t, unsigned *n, unsigned *at)
{
	for (*at = 0; *at < *n; *at += 1)
		if (t[*at].pairs == pairs)
			return E_OK;
	struct target *new = &t[(*n)++];
	const bool several = pairs & (pairs - 1);
	*new = (struct target){pairs, several ? MLX5_DESTINATION_TABLE : MLX5_DESTINATION_TIR, 0};
	return several ? mlx5_group_table(nic, pairs, &new->id)
	               : mlx5_tir_of_pair(nic, (unsigned)__builtin_ctzll(pairs), &new->id);
}

static int create(struct nic *nic, const struct nic_rule *r, unsigned n, uint32_t *table)
{
	static const struct mlx5_match all[MLX5_MATCHES];
	struct mlx5_match m[MLX5_MATCHES];
	struct target target[NIC_RULES_MAX];
	unsigned targets = 0, t = 0;
	uint32_t log_size = 0;
	while (1u << log_size < n + 1)
		log_size++;
	int e = mlx5_flow_table(nic, NEEDED_LEVEL - 1, log_size, table);
	for (unsigned i = 0; i < n && e == E_OK; i++) {
		e = find_target(nic, r[i].pairs, target, &targets, &t);
		matches_of(&r[i], m);
		if (e == E_OK)
			e = entry(nic, *table, i, m, target[t].type, target[t].id);
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

static bool unchanged(const struct mlx5_rules *s, const struct nic_rule *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (i == s->n || !nic_rule_same(&r[i], &s->rule[i]))
			return false;
	return n == s->n;
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
	if (unchanged(s, r, n))
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
		if (s->rule[i].pairs >> pair & 1)
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
