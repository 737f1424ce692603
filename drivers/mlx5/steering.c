/*
 * Steers received frames to the queues (PRM, "Flow Steering", "Transport Interface Receive"):
 *
 *   level 0, the root    frames to our address (with NIC_PROMISC: to any) or to a group → level 2, or 1; others
 *                        are dropped
 *   level 1              only while there are rules: rules.c
 *   level 2              by kind of frame → a TIR, which hashes the fields that such a frame has
 *                        (on a device with only two levels: level 1)
 *
 * A rule with several pairs has a table like that of level 2, for its pairs (mlx5_group_table).
 *
 * A TIR that spreads over queues can hash only one kind of frame, hence one TIR for each kind.
 * Fragments are hashed by their addresses alone, the first one too, so that all fragments of a
 * datagram reach one core. Frames that are not IP go to the first queue; with one queue all frames
 * do. A TIR names no queue itself but a table (RQT), even for one queue, because a table can be
 * changed: to other queues, or to the RQ that drops.
 */
#include "drivers/mlx5/device.h"

#include "lib/assert.h"
#include "lib/mem.h"

#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd
#define PROTO_TCP 6
#define PROTO_UDP 17
#define LOG_TABLE_SIZE 4
#define KINDS_LEVEL 2

int mlx5_flow_table(struct nic *nic, uint32_t level, uint32_t log_size, uint32_t *id)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_CREATE_FLOW_TABLE, 0,
	                             MLX5_FLOW_BYTES, MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_CREATE_TABLE_LEVEL, level);
	mlx5_set(in, MLX5_CREATE_TABLE_LOG_SIZE, log_size);
	return mlx5_create(nic, MLX5_DESTROY_FLOW_TABLE, id);
}

static int set_root(struct nic *nic, uint32_t table)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_SET_FLOW_TABLE_ROOT, 0,
	                             MLX5_FLOW_BYTES, MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_FLOW_TABLE_ID, table);
	int e = mlx5_cmd_run(nic);
	return e == E_OK ? mlx5_created(nic, MLX5_SET_FLOW_TABLE_ROOT, 0, 0) : e;
}

int mlx5_flow_group(struct nic *nic, uint32_t table, uint32_t first, uint32_t last,
                    const struct mlx5_match m[MLX5_MATCHES], uint32_t *group)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_CREATE_FLOW_GROUP, 0,
	                             MLX5_CREATE_GROUP_BYTES, MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_FLOW_TABLE_ID, table);
	mlx5_set(in, MLX5_GROUP_START, first);
	mlx5_set(in, MLX5_GROUP_END, last);
	mlx5_set(in, MLX5_GROUP_CRITERIA_ENABLE, m[0].mask ? MLX5_CRITERIA_OUTER : 0);
	for (unsigned i = 0; i < MLX5_MATCHES && m[i].mask; i++)
		mlx5_set(in, MLX5_AT(MLX5_GROUP_CRITERIA, m[i].field), m[i].mask);
	int e = mlx5_cmd_run(nic);
	*group = mlx5_get(mlx5_cmd_out(nic, MLX5_SLOT_MAIN), MLX5_OUT_ID);
	return e == E_OK ? mlx5_created(nic, MLX5_DESTROY_FLOW_GROUP, *group, table) : e;
}

/* Begins the command for an entry. */
static uint8_t *begin_entry(struct nic *nic, uint32_t op_mod, uint32_t table, uint32_t group, uint32_t index,
                            uint32_t to_type, uint32_t to)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_SET_FLOW_TABLE_ENTRY, op_mod,
	                             MLX5_SET_FTE_BYTES, MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_FLOW_TABLE_ID, table);
	mlx5_set(in, MLX5_FLOW_INDEX, index);
	mlx5_set(in, MLX5_FTE_GROUP, group);
	mlx5_set(in, MLX5_FTE_ACTION, MLX5_FTE_ACTION_FORWARD);
	mlx5_set(in, MLX5_FTE_DESTINATIONS, 1);
	mlx5_set(in, MLX5_FTE_DESTINATION_TYPE, to_type);
	mlx5_set(in, MLX5_FTE_DESTINATION_ID, to);
	return in;
}

int mlx5_flow_entry(struct nic *nic, uint32_t table, uint32_t group, uint32_t index,
                    const struct mlx5_match m[MLX5_MATCHES], uint32_t to_type, uint32_t to)
{
	uint8_t *in = begin_entry(nic, 0, table, group, index, to_type, to);
	for (unsigned i = 0; i < MLX5_MATCHES && m[i].mask; i++)
		mlx5_set(in, MLX5_AT(MLX5_FTE_MATCH, m[i].field), m[i].value);
	int e = mlx5_cmd_run(nic);
	return e == E_OK ? mlx5_created(nic, MLX5_DELETE_FLOW_TABLE_ENTRY, index, table) : e;
}

/* --- TIRs --- */

/* fields: to be hashed, MLX5_HASH_...; 0: all frames go to the first entry of the table rqt. */
static int create_tir(struct nic *nic, uint32_t fields, uint32_t rqt, uint32_t *tir)
{
	static const uint8_t key[NIC_RSS_KEY_BYTES] = NIC_RSS_KEY;
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_CREATE_TIR, 0, MLX5_CREATE_TIR_BYTES,
	                             MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_TIR_DOMAIN, mlx5_device(nic)->domain);
	mlx5_set(in, MLX5_TIR_DISPATCH, MLX5_DISPATCH_INDIRECT);
	mlx5_set(in, MLX5_TIR_RQT, rqt);
	mlx5_set(in, MLX5_TIR_HASH_FUNCTION, fields ? MLX5_HASH_TOEPLITZ : MLX5_HASH_INVERTED_XOR8);
	mlx5_set(in, MLX5_TIR_HASH_FIELDS, fields);
	if (fields)
		memcpy(in + MLX5_TIR_TOEPLITZ_KEY, key, sizeof key);
	return mlx5_create(nic, MLX5_DESTROY_TIR, tir);
}

/* Begins a command about a table of `size` entries: the receive queues of these pairs; NULL: the RQ that drops. The
 * device takes the hash modulo the size. */
static uint8_t *begin_rqt(struct nic *nic, enum mlx5_command command, uint32_t size, const uint8_t *pair_of)
{
	const struct mlx5_pair *pair = mlx5_device(nic)->memory->pair;
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, command, 0, MLX5_RQT_LIST + 4 * size,
	                             MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_RQT_ACTUAL_SIZE, size);
	for (uint32_t i = 0; i < size; i++)
		be32_store(in + MLX5_RQT_LIST + 4 * i,
		           pair_of ? pair[pair_of[i]].rqn : mlx5_device(nic)->drop_rqn);
	return in;
}

static int create_rqt(struct nic *nic, uint32_t size, const uint8_t *pair_of, uint32_t *rqt)
{
	mlx5_set(begin_rqt(nic, MLX5_CREATE_RQT, size, pair_of), MLX5_RQT_MAX_SIZE, size);
	return mlx5_create(nic, MLX5_DESTROY_RQT, rqt);
}

int mlx5_tir_of_pair(struct nic *nic, unsigned pair, uint32_t *tir)
{
	uint32_t rqt;
	int e = create_rqt(nic, 1, &(uint8_t){(uint8_t)pair}, &rqt);
	return e == E_OK ? create_tir(nic, 0, rqt, tir) : e;
}

static int modify_rqt(struct nic *nic, uint32_t size, const uint8_t *pair_of, uint32_t rqt)
{
	uint8_t *in = begin_rqt(nic, MLX5_MODIFY_RQT, size, pair_of);
	mlx5_set(in, MLX5_IN_ID, rqt);
	mlx5_set(in, MLX5_MODIFY_RQT_LIST, 1);
	return mlx5_cmd_run(nic);
}

uint16_t mlx5_buckets(const struct mlx5_device *d)
{
	return d->rqt ? (uint16_t)d->caps.rqt_size : 1;
}

/* NULL: frames are dropped. */
static int set_tables(struct nic *nic, const uint8_t *pair_of)
{
	struct mlx5_device *d = mlx5_device(nic);
	uint64_t pairs = 0;
	for (unsigned i = 0; i < mlx5_buckets(d) && pair_of; i++)
		pairs |= 1ull << pair_of[i];
	int e = d->rqt ? modify_rqt(nic, d->caps.rqt_size, pair_of, d->rqt) : E_OK;
	if (e == E_OK)
		e = modify_rqt(nic, 1, pair_of, d->rqt_first);
	d->spread = e == E_OK ? pairs : d->spread | pairs;
	return e;
}

int mlx5_table(struct nic *nic, const uint8_t *pair_of)
{
	return set_tables(nic, pair_of);
}

/* These pairs, one bit each and at least one, round robin. */
static void fill(uint64_t pairs, uint8_t *pair_of)
{
	for (unsigned i = 0, q = 0; i < MLX5_RQT_MAX; i++, q++)
		pair_of[i] = (uint8_t)(q = nic_next_pair(pairs, q));
}

int mlx5_spread(struct nic *nic, uint64_t pairs)
{
	uint8_t pair_of[MLX5_RQT_MAX];
	if (!pairs)
		return set_tables(nic, NULL);
	fill(pairs, pair_of);
	return set_tables(nic, pair_of);
}

/* --- level 0 --- */

static int station_table(struct nic *nic, uint32_t next, uint32_t *root)
{
	const uint8_t *mac = nic->mac;
	uint32_t *group = mlx5_device(nic)->memory->rules.root_group;
	const struct mlx5_match own[MLX5_MATCHES] = {
		{MLX5_MATCH_DMAC_HIGH, UINT32_MAX, be32_load(mac)},
		{MLX5_MATCH_DMAC_LOW, 0xffff, be16_load(mac + 4)},
	};
	const struct mlx5_match any[MLX5_MATCHES] = {{0}};
	const struct mlx5_match *station = mlx5_device(nic)->promiscuous ? any : own;
	const struct mlx5_match any_group[MLX5_MATCHES] = {{MLX5_MATCH_DMAC_HIGH, 1u << 24, 1u << 24}};
	int e = mlx5_flow_table(nic, 0, LOG_TABLE_SIZE, root);
	if (e == E_OK)
		e = mlx5_flow_group(nic, *root, 0, 0, station, &group[0]);
	if (e == E_OK)
		e = mlx5_flow_entry(nic, *root, group[0], 0, station, MLX5_DESTINATION_TABLE, next);
	if (e == E_OK)
		e = mlx5_flow_group(nic, *root, 1, 1, any_group, &group[1]);
	if (e == E_OK)
		e = mlx5_flow_entry(nic, *root, group[1], 1, any_group, MLX5_DESTINATION_TABLE, next);
	return e;
}

int mlx5_root_leads_to(struct nic *nic, uint32_t table)
{
	const struct mlx5_rules *s = &mlx5_device(nic)->memory->rules;
	int e = E_OK;
	for (uint32_t i = 0; i < ARRAY_LEN(s->root_group) && e == E_OK; i++) {
		uint8_t *in = begin_entry(nic, MLX5_FTE_MODIFY, s->root, s->root_group[i], i, MLX5_DESTINATION_TABLE,
		                          table);
		mlx5_set(in, MLX5_FTE_MODIFY_MASK, MLX5_FTE_MODIFY_DESTINATIONS);
		e = mlx5_cmd_run(nic);
	}
	return e;
}

/* --- level 2 --- */

#define TYPE(ethertype) {MLX5_MATCH_ETHERTYPE, 0xffff, (ethertype)}
#define FRAGMENT {MLX5_MATCH_FRAGMENT, 1, 1}
#define PROTOCOL(proto) {MLX5_MATCH_PROTOCOL, 0xff, (proto)}

/* Kinds of frames; entries with the same `group` compare the same fields. The first match wins. */
static const struct kind {
	unsigned group;
	uint32_t fields; /* hashed */
	struct mlx5_match match[MLX5_MATCHES];
} kinds[] = {
	{0, MLX5_HASH_ADDRESSES, {TYPE(ETHERTYPE_IP4), FRAGMENT}},
	{0, MLX5_HASH_ADDRESSES | MLX5_HASH_L3_IP6, {TYPE(ETHERTYPE_IP6), FRAGMENT}},
	{1, MLX5_HASH_ADDRESSES | MLX5_HASH_PORTS, {TYPE(ETHERTYPE_IP4), PROTOCOL(PROTO_TCP)}},
	{1, MLX5_HASH_ADDRESSES | MLX5_HASH_PORTS | MLX5_HASH_L4_UDP,
         {TYPE(ETHERTYPE_IP4), PROTOCOL(PROTO_UDP)}},
	{1, MLX5_HASH_ADDRESSES | MLX5_HASH_PORTS | MLX5_HASH_L3_IP6,
         {TYPE(ETHERTYPE_IP6), PROTOCOL(PROTO_TCP)}},
	{1, MLX5_HASH_ADDRESSES | MLX5_HASH_PORTS | MLX5_HASH_L3_IP6 | MLX5_HASH_L4_UDP,
         {TYPE(ETHERTYPE_IP6), PROTOCOL(PROTO_UDP)}},
	{2, MLX5_HASH_ADDRESSES, {TYPE(ETHERTYPE_IP4)}},
	{2, MLX5_HASH_ADDRESSES | MLX5_HASH_L3_IP6, {TYPE(ETHERTYPE_IP6)}},
	{3, 0, {{0, 0, 0}}},
};
#define KINDS ARRAY_LEN(kinds)
_Static_assert(KINDS <= 1 << LOG_TABLE_SIZE, "fit");
/* Two RQTs, a table, a TIR, a group and an entry for each kind. */
_Static_assert(3 + 3 * KINDS <= MLX5_KINDS_OBJECTS, "fit");

static int kind_entry(struct nic *nic, uint32_t table, uint32_t i, uint32_t tir, uint32_t *group,
                      unsigned *last_group)
{
	const struct kind *k = &kinds[i];
	uint32_t last = i;
	int e = E_OK;
	if (k->group != *last_group) {
		while (last + 1 < KINDS && kinds[last + 1].group == k->group)
			last++;
		e = mlx5_flow_group(nic, table, i, last, k->match, group);
		*last_group = k->group;
	}
	return e == E_OK
	               ? mlx5_flow_entry(nic, table, *group, i, k->match, MLX5_DESTINATION_TIR, tir)
	               : e;
}

/* A table of kinds with its RQTs: *rqt spreads over the pairs, *first leads to the first one. With one pair there is no
 * *rqt: it is 0. */
static int kind_table(struct nic *nic, uint64_t pairs, uint32_t *rqt, uint32_t *first, uint32_t *table)
{
	const struct mlx5_device *d = mlx5_device(nic);
	const bool several = pairs & (pairs - 1);
	unsigned first_group = d->caps.frag_match ? 0 : 1, last_group = ~0u;
	uint32_t group = 0, tir;
	int e = mlx5_flow_table(nic, u32_min(d->caps.flow_level, KINDS_LEVEL), LOG_TABLE_SIZE, table);
	uint8_t pair_of[MLX5_RQT_MAX];
	*rqt = 0;
	fill(pairs, pair_of);
	if (e == E_OK && several)
		e = create_rqt(nic, d->caps.rqt_size, pair_of, rqt);
	if (e == E_OK)
		e = create_rqt(nic, 1, pair_of, first);
	for (uint32_t i = 0; i < KINDS && e == E_OK; i++) {
		const struct kind *k = &kinds[i];
		if (k->fields && (!several || k->group < first_group))
			continue;
		e = create_tir(nic, k->fields, k->fields ? *rqt : *first, &tir);
		if (e == E_OK)
			e = kind_entry(nic, *table, i, tir, &group, &last_group);
	}
	return e;
}

int mlx5_group_table(struct nic *nic, uint64_t pairs, uint32_t *table)
{
	uint32_t rqt, first;
	return kind_table(nic, pairs, &rqt, &first, table);
}

int mlx5_steering_start(struct nic *nic, unsigned pairs)
{
	struct mlx5_device *d = mlx5_device(nic);
	struct mlx5_rules *s = &d->memory->rules;
	memset(s, 0, sizeof *s);
	d->spread = UINT64_MAX >> (NIC_PAIRS_MAX - pairs);
	int e = kind_table(nic, d->spread, &d->rqt, &d->rqt_first, &s->kinds);
	if (e == E_OK)
		e = station_table(nic, s->kinds, &s->root);
	s->table = s->kinds;
	return e == E_OK ? set_root(nic, s->root) : e;
}
