/*
 * Port and vport: addresses, sizes and, while it runs, link and counters.
 *
 * An answer of the firmware takes longer than nic_ops.link, which must not wait. So queries rotate
 * through the background slot: each call of mlx5_link takes the answer to the last query and posts
 * the next. An event of the port moves the link query to the front. Link changes therefore show
 * within two calls, and counters are as old as one round. Queues in error state (mend.c) have
 * precedence.
 */
#include "drivers/mlx5/device.h"

#include "lib/fmt.h"
#include "lib/mem.h"

#define PORT 1 /* a function has one port, with this number */
#define FCS_BYTES 4

/* --- registers of the port --- */

static uint8_t *begin_reg(struct nic *nic, enum mlx5_slot_name slot, uint32_t op_mod, uint32_t reg,
                          uint32_t bytes)
{
	uint32_t all = MLX5_ACCESS_REG_DATA + bytes;
	uint8_t *in = mlx5_cmd_begin(nic, slot, MLX5_ACCESS_REG, op_mod, all, all);
	mlx5_set(in, MLX5_ACCESS_REG_ID, reg);
	mlx5_set(in + MLX5_ACCESS_REG_DATA, MLX5_REG_PORT, PORT);
	return in + MLX5_ACCESS_REG_DATA;
}

/* --- what is done without --- */

int mlx5_without(struct nic *nic, enum mlx5_optional what, int error)
{
	struct mlx5_device *d = mlx5_device(nic);
	if (error != E_DEVICE || d->dead || mlx5_gone(nic))
		return error;
	d->refused |= (uint8_t)(1u << what);
	nic->error = NULL;
	return E_OK;
}

/* Names what was refused since the last call; NULL: nothing, or it has been named before. */
static const char *tell_refused(struct nic *nic)
{
	static const char *const texts[] = {
#define TEXT(name, text) text,
		MLX5_OPTIONAL(TEXT)
#undef TEXT
	};
	struct mlx5_device *d = mlx5_device(nic);
	struct fmt_buf b = {.at = d->memory->error, .size = MLX5_ERROR_BYTES};
	const unsigned news = d->refused & ~d->told;
	d->told |= d->refused;
	for (unsigned i = 0, n = 0; i < ARRAY_LEN(texts); i++)
		if (news >> i & 1)
			fmt_put(&b, "%s%s", n++ ? ", " : "firmware refuses, and the port does without: ",
			        texts[i]);
	return news ? d->memory->error : NULL;
}

/* --- start --- */

int mlx5_vport_learn(struct nic *nic)
{
	struct mlx5_caps *c = &mlx5_device(nic)->caps;
	mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_QUERY_NIC_VPORT_CONTEXT, 0, MLX5_PLAIN_BYTES,
	               MLX5_QUERY_VPORT_BYTES);
	int e = mlx5_cmd_run(nic);
	if (e != E_OK)
		return e;
	const uint8_t *context = mlx5_cmd_out(nic, MLX5_SLOT_MAIN) + MLX5_QUERY_VPORT_CONTEXT;
	be16_store(nic->mac, (uint16_t)mlx5_get(context, MLX5_VPORT_MAC_HIGH));
	be32_store(nic->mac + 2, mlx5_get(context, MLX5_VPORT_MAC_LOW));
	if (c->vport_inline)
		c->inline_mode = (uint8_t)mlx5_get(context, MLX5_VPORT_MIN_INLINE);
	if (nic->mac[0] & 1 || (be16_load(nic->mac) == 0 && be32_load(nic->mac + 2) == 0))
		return mlx5_fail(nic, E_DEVICE, mlx5_device(nic)->virtual
		                 ? "the virtual function has no MAC address: give it one on its host"
		                 : "the port has no station address");
	return E_OK;
}

/* Sets the longest frame on the wire, FCS included, as close to `wish` as the port allows. Where the
 * firmware refuses, a port of several hosts may carry longer frames than buffers take: each puts the
 * receive queue into its error state, from which it is mended. */
static int set_mtu(struct nic *nic, uint32_t wish, uint32_t *mtu)
{
	begin_reg(nic, MLX5_SLOT_MAIN, MLX5_ACCESS_REG_READ, MLX5_PMTU, MLX5_PMTU_BYTES);
	int e = mlx5_cmd_run(nic);
	*mtu = wish;
	if (e != E_OK)
		return mlx5_without(nic, MLX5_WITHOUT_MTU, e);
	const uint8_t *now = mlx5_cmd_out(nic, MLX5_SLOT_MAIN) + MLX5_ACCESS_REG_DATA;
	uint32_t most = mlx5_get(now, MLX5_PMTU_MAX);
	uint32_t used = mlx5_get(now, MLX5_PMTU_OPER);
	if (most <= FCS_BYTES)
		return mlx5_fail(nic, E_DEVICE, "the firmware allows no frames (PMTU)");
	*mtu = wish < most ? wish : most;
	uint8_t *reg = begin_reg(nic, MLX5_SLOT_MAIN, MLX5_ACCESS_REG_WRITE, MLX5_PMTU,
	                         MLX5_PMTU_BYTES);
	mlx5_set(reg, MLX5_PMTU_ADMIN, *mtu);
	e = mlx5_without(nic, MLX5_WITHOUT_MTU, mlx5_cmd_run(nic));
	if (mlx5_is_without(nic, MLX5_WITHOUT_MTU) && used > FCS_BYTES && used < *mtu)
		*mtu = used; /* what the port carries stays as it was */
	return e;
}

static int set_port_up(struct nic *nic)
{
	uint8_t *reg = begin_reg(nic, MLX5_SLOT_MAIN, MLX5_ACCESS_REG_WRITE, MLX5_PAOS,
	                         MLX5_PAOS_BYTES);
	mlx5_set(reg, MLX5_PAOS_ADMIN, MLX5_PAOS_UP);
	mlx5_set(reg, MLX5_PAOS_ADMIN_ENABLE, 1);
	return mlx5_without(nic, MLX5_WITHOUT_UP, mlx5_cmd_run(nic));
}

/* Flow control is on by default. A router that is too slow shall drop packets, not stop its neighbours. */
static int set_pause_off(struct nic *nic)
{
	uint8_t *reg = begin_reg(nic, MLX5_SLOT_MAIN, MLX5_ACCESS_REG_WRITE, MLX5_PFCC,
	                         MLX5_PFCC_BYTES);
	mlx5_set(reg, MLX5_PFCC_SEND, 0);
	mlx5_set(reg, MLX5_PFCC_OBEY, 0);
	return mlx5_without(nic, MLX5_WITHOUT_PAUSE, mlx5_cmd_run(nic));
}

/* Sets what the vport accepts: our address, or all with NIC_PROMISC, and all groups. It does not loop back what we
 * send: otherwise a frame to our own address, as generators and testers send, would not reach the wire. */
static int set_vport(struct nic *nic, uint32_t mtu)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_MODIFY_NIC_VPORT_CONTEXT, 0,
	                             MLX5_MODIFY_VPORT_BYTES, MLX5_PLAIN_BYTES);
	uint8_t *context = in + MLX5_MODIFY_VPORT_CONTEXT;
	const struct mlx5_caps *caps = &mlx5_device(nic)->caps;
	mlx5_set(in, MLX5_MODIFY_VPORT_NO_LB_UC, caps->no_lb_uc);
	mlx5_set(in, MLX5_MODIFY_VPORT_NO_LB_MC, caps->no_lb_mc);
	mlx5_set(context, MLX5_VPORT_NO_LB_UC, caps->no_lb_uc);
	mlx5_set(context, MLX5_VPORT_NO_LB_MC, caps->no_lb_mc);
	mlx5_set(in, MLX5_MODIFY_VPORT_MTU, 1);
	mlx5_set(in, MLX5_MODIFY_VPORT_PROMISC, 1);
	mlx5_set(in, MLX5_MODIFY_VPORT_LIST, 1);
	mlx5_set(context, MLX5_VPORT_MTU, mtu);
	mlx5_set(context, MLX5_VPORT_PROMISC_UC, mlx5_device(nic)->promiscuous);
	mlx5_set(context, MLX5_VPORT_PROMISC_MC, 1);
	mlx5_set(context, MLX5_VPORT_LIST_SIZE, 1);
	mlx5_set(context, MLX5_VPORT_ENTRY_HIGH, be16_load(nic->mac));
	mlx5_set(context, MLX5_VPORT_ENTRY_LOW, be32_load(nic->mac + 2));
	return mlx5_cmd_run(nic);
}

/* Enters our address in the card's own address table, where the driver has to fill it. */
static int set_l2_entry(struct nic *nic)
{
	uint8_t *in = mlx5_cmd_begin(nic, MLX5_SLOT_MAIN, MLX5_SET_L2_TABLE_ENTRY, 0,
	                             MLX5_L2_ENTRY_BYTES, MLX5_PLAIN_BYTES);
	mlx5_set(in, MLX5_L2_ENTRY_HIGH, be16_load(nic->mac));
	mlx5_set(in, MLX5_L2_ENTRY_LOW, be32_load(nic->mac + 2));
	int e = mlx5_cmd_run(nic);
	return e == E_OK ? mlx5_created(nic, MLX5_DELETE_L2_TABLE_ENTRY, 0, 0) : e;
}

/* --- queries --- */

enum query { VPORT_STATE, SPEED, ERRORS, DISCARDS, NO_BUFFER, QUERIES };

/* Only the link itself has to be known. */
static int query_refused(struct nic *nic, enum query q, int e)
{
	static const enum mlx5_optional what[] = {[SPEED] = MLX5_WITHOUT_SPEED,
	                                          [ERRORS] = MLX5_WITHOUT_ERRORS,
	                                          [DISCARDS] = MLX5_WITHOUT_DISCARDS,
	                                          [NO_BUFFER] = MLX5_WITHOUT_Q_COUNTER};
	return q == VPORT_STATE ? e : mlx5_without(nic, what[q], e);
}

/* True if the start has been refused this query. */
static bool is_pointless(struct nic *nic, enum query q)
{
	switch (q) {
	case SPEED: return mlx5_is_without(nic, MLX5_WITHOUT_SPEED);
	case ERRORS: return mlx5_is_without(nic, MLX5_WITHOUT_ERRORS);
	case DISCARDS: return mlx5_is_without(nic, MLX5_WITHOUT_DISCARDS);
	case NO_BUFFER: return mlx5_is_without(nic, MLX5_WITHOUT_Q_COUNTER);
	default: return false;
	}
}

static enum query query_after(struct nic *nic, enum query q)
{
	do
		q = (enum query)((q + 1u) % QUERIES);
	while (is_pointless(nic, q));
	return q;
}

static void ask(struct nic *nic, enum query q)
{
	const enum mlx5_slot_name slot = MLX5_SLOT_BACKGROUND;
	uint8_t *at;
	mlx5_device(nic)->query = (uint8_t)q;
	switch (q) {
	case VPORT_STATE:
		mlx5_cmd_begin(nic, slot, MLX5_QUERY_VPORT_STATE, 0, MLX5_PLAIN_BYTES,
		               MLX5_PLAIN_BYTES);
		break;
	case SPEED:
		at = begin_reg(nic, slot, MLX5_ACCESS_REG_READ, MLX5_PTYS, MLX5_PTYS_BYTES);
		mlx5_set(at, MLX5_PTYS_PROTO_MASK, MLX5_PTYS_PROTO_ETHERNET);
		break;
	case ERRORS:
	case DISCARDS:
		at = begin_reg(nic, slot, MLX5_ACCESS_REG_READ, MLX5_PPCNT, MLX5_PPCNT_BYTES);
		mlx5_set(at, MLX5_PPCNT_GROUP,
		         q == ERRORS ? MLX5_PPCNT_IEEE_802_3 : MLX5_PPCNT_RFC_2863);
		break;
	case NO_BUFFER:
	case QUERIES:
		at = mlx5_cmd_begin(nic, slot, MLX5_QUERY_Q_COUNTER, 0, MLX5_Q_COUNTER_IN_BYTES,
		                    MLX5_Q_COUNTER_OUT_BYTES);
		mlx5_set(at, MLX5_Q_COUNTER_SET, mlx5_device(nic)->counter_set);
		break;
	}
	mlx5_cmd_post(nic, slot);
}

/* Mb/s by the bit that is set in the operational protocols: those of all cards, and the extended
 * ones of cards above 100 Gb/s. */
static uint32_t speed_of(const uint8_t *reg)
{
	static const struct mode {
		uint32_t mbps, bits, extended;
	} modes[] = {
		{400000, 0, 1u << 15 | 1u << 16},
		{200000, 0, 1u << 12 | 1u << 13},
		{100000, 15u << 20, 1u << 9 | 1u << 10 | 1u << 11},
		{56000, 1u << 8, 0},
		{50000, 1u << 18 | 3u << 30, 1u << 7 | 1u << 8},
		{40000, 3u << 6 | 3u << 15, 1u << 5},
		{25000, 7u << 27, 1u << 6},
		{20000, 1u << 5, 0},
		{10000, 7u << 2 | 7u << 12 | 1u << 26, 1u << 4},
		{5000, 0, 1u << 3},
		{1000, 3u | 1u << 25, 1u << 1},
		{100, 1u << 24, 1u << 0},
	};
	uint32_t bits = mlx5_get(reg, MLX5_PTYS_ETH_OPER);
	uint32_t extended = bits ? 0 : mlx5_get(reg, MLX5_PTYS_EXT_ETH_OPER);
	for (unsigned i = 0; i < ARRAY_LEN(modes); i++)
		if ((bits & modes[i].bits) | (extended & modes[i].extended))
			return modes[i].mbps;
	return 0;
}

/* The increase of a counter that was `*was` at the last look. */
static uint64_t step(uint64_t *was, uint64_t now)
{
	uint64_t more = now - *was;
	*was = now;
	return more;
}

static void count_errors(struct mlx5_device *d, const uint8_t *c)
{
	uint64_t lengths = mlx5_get64(c, MLX5_802_3_IN_RANGE_LENGTH) +
	                   mlx5_get64(c, MLX5_802_3_OUT_OF_RANGE_LENGTH) +
	                   mlx5_get64(c, MLX5_802_3_TOO_LONG);
	uint64_t others = mlx5_get64(c, MLX5_802_3_ALIGNMENT_ERRORS) +
	                  mlx5_get64(c, MLX5_802_3_SYMBOL_ERRORS);
	d->news.rx_crc += step(&d->counted.fcs, mlx5_get64(c, MLX5_802_3_FCS_ERRORS));
	d->news.rx_length += step(&d->counted.lengths, lengths);
	d->news.rx_error += step(&d->counted.others, others);
}

/* Takes the answer to the last query. */
static void digest(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	const uint8_t *out = mlx5_cmd_out(nic, MLX5_SLOT_BACKGROUND);
	const uint8_t *reg = out + MLX5_ACCESS_REG_DATA, *counters = reg + MLX5_PPCNT_COUNTERS;
	uint32_t no_buffer;
	switch ((enum query)d->query) {
	case VPORT_STATE:
		d->link_up = mlx5_get(out, MLX5_VPORT_STATE) == MLX5_VPORT_UP;
		break;
	case SPEED:
		d->mbps = speed_of(reg);
		break;
	case ERRORS:
		count_errors(d, counters);
		break;
	case DISCARDS:
		d->news.rx_missed +=
			step(&d->counted.discards, mlx5_get64(counters, MLX5_2863_IN_DISCARDS));
		d->news.tx_error +=
			step(&d->counted.tx_errors, mlx5_get64(counters, MLX5_2863_OUT_ERRORS));
		break;
	case NO_BUFFER:
	case QUERIES:
		no_buffer = mlx5_get(out, MLX5_Q_COUNTER_OUT_OF_BUFFER);
		d->news.rx_no_desc += no_buffer - d->counted.no_buffer; /* both modulo 2^32 */
		d->counted.no_buffer = no_buffer;
		break;
	}
}

int mlx5_port_again(struct nic *nic, uint32_t *frame_bytes)
{
	uint32_t mtu = 0;
	int e = set_mtu(nic, *frame_bytes + FCS_BYTES, &mtu);
	if (e == E_OK)
		e = set_vport(nic, mtu);
	*frame_bytes = mtu - FCS_BYTES;
	return e;
}

int mlx5_port_start(struct nic *nic, uint32_t *frame_bytes)
{
	struct mlx5_device *d = mlx5_device(nic);
	int e = mlx5_port_again(nic, frame_bytes);
	if (e == E_OK && d->caps.eswitch_manager)
		e = set_l2_entry(nic);
	if (e == E_OK && d->caps.port_manager)
		e = set_pause_off(nic);
	if (e == E_OK && d->caps.port_manager)
		e = set_port_up(nic);
	/* One round that is waited for: the present link, and the counters' starting values. */
	for (unsigned q = 0; q < QUERIES && e == E_OK; q++) {
		if (is_pointless(nic, (enum query)q))
			continue;
		ask(nic, (enum query)q);
		e = mlx5_cmd_drain(nic, MLX5_SLOT_BACKGROUND);
		if (e == E_OK)
			digest(nic);
		else
			e = query_refused(nic, (enum query)q, e);
	}
	memset(&d->news, 0, sizeof d->news);
	d->complained = 0;
	return e;
}

/* --- while it runs --- */

/* What has failed and is done without. A failed query is reported once, a failed mend always. */
static const char *complaint(struct nic *nic, bool mending)
{
	struct mlx5_device *d = mlx5_device(nic);
	bool known = !mending && d->complained >> d->query & 1;
	if (!mending)
		d->complained |= (uint8_t)(1u << d->query);
	return known ? NULL : nic->error;
}

static void take_answer(struct nic *nic, struct nic_link *out)
{
	int e = mlx5_cmd_poll(nic, MLX5_SLOT_BACKGROUND);
	if (e == E_AGAIN)
		return;
	bool mending = mlx5_mend_answered(nic, e);
	if (e != E_OK && !mlx5_device(nic)->dead)
		out->why = complaint(nic, mending);
	else if (e == E_OK && !mending)
		digest(nic);
}

void mlx5_link(struct nic *nic, struct nic_link *out)
{
	struct mlx5_device *d = mlx5_device(nic);
	const struct mlx5_slot *s = &d->memory->slot[MLX5_SLOT_BACKGROUND];
	*out = (struct nic_link){.again_us = MLX5_HEALTH_LOOK_US};
	if (!mlx5_health_turn(nic, &out->why)) {
		mlx5_mend_end(nic);
		out->restart = mlx5_can_reset(nic);
		out->gone = !out->restart;
		d->dead |= out->restart; /* so that start resets it (mlx5_revive) */
		return;
	}
	mlx5_events_poll(nic);
	mlx5_pages_turn(nic);
	if (d->refused & ~d->told && !out->why)
		out->why = tell_refused(nic);
	else if (s->busy)
		take_answer(nic, out);
	if (!s->busy && !d->dead && !mlx5_mend_turn(nic)) {
		ask(nic, d->port_changed ? VPORT_STATE : query_after(nic, (enum query)d->query));
		d->port_changed = false;
	}
	out->up = d->link_up;
	out->mbps = d->link_up ? d->mbps : 0;
}

void mlx5_stats(struct nic *nic, struct nic_stats *sum)
{
	struct nic_stats *news = &mlx5_device(nic)->news;
	sum->rx_missed += news->rx_missed;
	sum->rx_no_desc += news->rx_no_desc;
	sum->rx_crc += news->rx_crc;
	sum->rx_length += news->rx_length;
	sum->rx_error += news->rx_error;
	sum->tx_error += news->tx_error;
	sum->queue_errors += news->queue_errors;
	memset(news, 0, sizeof *news);
}
