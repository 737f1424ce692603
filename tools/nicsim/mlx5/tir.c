/*
 * Destinations of received packets, and the owner of a send queue ("TIS", "TIR", "RQT"). A TIR
 * names a receive queue, or a table of them (RQT) and a hash over fields of the packet that selects
 * one.
 *
 * rx_hash_symmetric: source and destination are sorted before hashing, so that both directions of a
 * connection have the same hash. The manual says that the hash is symmetric, but not how; it was
 * not compared with hardware.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

/* --- TIS --- */

enum status tis_create(struct model *m, struct command *c)
{
	const uint32_t td = field_get(c->in + CONTEXT_AT, TISC_TD);
	if (object_find(m, TD, td) == NULL)
		return object_missing(m, c, TD, td);
	struct tis *t = object_new(m, TIS);
	if (t == NULL)
		return object_none_left(m, c, TIS);
	t->td = td;
	object_hold(m, TD, td);
	return object_made(m, c, TIS, t);
}

void tis_destroy(struct model *m, void *object)
{
	object_drop(m, TD, ((struct tis *)object)->td);
}

/* --- RQT --- */

static enum status check_list(struct model *m, struct command *c, uint32_t most)
{
	const uint8_t *context = c->in + CONTEXT_AT;
	const uint32_t size = field_get(context, RQTC_SIZE);
	if (size == 0 || size > most)
		return refuse(m, c, STATUS_BAD_PARAM, "%u entries, at most %u", size, most);
	if (c->in_bytes < CONTEXT_AT + RQTC_LIST + 4 * size)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "%u entries in %u bytes", size,
		              c->in_bytes);
	for (uint32_t i = 0; i < size; i++) {
		uint32_t rqn = be32(context + RQTC_LIST + 4 * i);
		if (object_find(m, RQ, rqn) == NULL)
			return object_missing(m, c, RQ, rqn);
	}
	return STATUS_OK;
}

static void set_list(struct model *m, struct rqt *t, const uint8_t *context)
{
	for (uint32_t i = 0; i < t->size; i++)
		object_drop(m, RQ, t->rqn[i]);
	t->size = field_get(context, RQTC_SIZE);
	for (uint32_t i = 0; i < t->size; i++) {
		t->rqn[i] = be32(context + RQTC_LIST + 4 * i);
		object_hold(m, RQ, t->rqn[i]);
	}
}

enum status rqt_create(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + CONTEXT_AT;
	const uint32_t most = field_get(context, RQTC_MAX);
	if (most > 1u << LOG_RQT_SIZE_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "rqt_max_size %u", most);
	enum status status = check_list(m, c, most);
	if (status != STATUS_OK)
		return status;
	struct rqt *t = object_new(m, RQT);
	if (t == NULL)
		return object_none_left(m, c, RQT);
	t->most = most;
	set_list(m, t, context);
	return object_made(m, c, RQT, t);
}

enum status rqt_modify(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER);
	struct rqt *t = object_find(m, RQT, number);
	if (t == NULL)
		return object_missing(m, c, RQT, number);
	if (field_get(c->in, MODIFY_MASK) != 1)
		return refuse(m, c, STATUS_BAD_PARAM, "not the list of queues");
	enum status status = check_list(m, c, t->most);
	if (status == STATUS_OK)
		set_list(m, t, c->in + CONTEXT_AT);
	return status;
}

void rqt_destroy(struct model *m, void *object)
{
	const struct rqt *t = object;
	for (uint32_t i = 0; i < t->size; i++)
		object_drop(m, RQ, t->rqn[i]);
}

/* --- TIR --- */

static void set_hash(struct tir *t, const uint8_t *context)
{
	t->hash = field_get(context, TIRC_HASH);
	t->symmetric = field_get(context, TIRC_SYMMETRIC);
	t->selected = field_get(context, TIRC_SELECTED);
	t->ipv6 = field_get(context, TIRC_L3);
	t->udp = field_get(context, TIRC_L4);
	toeplitz_make(&t->toeplitz, context + TIRC_KEY);
}

static enum status check_hash(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + CONTEXT_AT;
	const uint32_t hash = field_get(context, TIRC_HASH);
	const uint32_t selected = field_get(context, TIRC_SELECTED);
	/* LINUX: sets XOR8 for a TIR of one queue, which hashes no fields */
	if (hash != HASH_NONE && hash != HASH_TOEPLITZ && (hash != HASH_INVERTED_XOR8 || selected))
		return refuse(m, c, STATUS_BAD_PARAM, "hash function %u", hash);
	const uint32_t ip = SELECT_SRC_IP | SELECT_DST_IP;
	const uint32_t ports = SELECT_SRC_PORT | SELECT_DST_PORT;
	/* Hardware allows only one of a pair, but no driver asks for it. IPsec is hashed by its
	 * addresses: this model treats it like any other protocol. */
	if (selected & ~(ip | ports | SELECT_SPI) || (selected & ip && (selected & ip) != ip) ||
	    (selected & ports && (selected & ports) != ports))
		return refuse(m, c, STATUS_BAD_PARAM, "selected_fields 0x%x", selected);
	return STATUS_OK;
}

enum status tir_create(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + CONTEXT_AT;
	const uint32_t td = field_get(context, TIRC_TD), type = field_get(context, TIRC_TYPE);
	const enum kind kind = type == TIR_DIRECT ? RQ : RQT;
	const uint32_t to = field_get(context, type == TIR_DIRECT ? TIRC_RQN : TIRC_RQT);
	if (type != TIR_DIRECT && type != TIR_INDIRECT)
		return refuse(m, c, STATUS_BAD_PARAM, "disp_type %u", type);
	if (object_find(m, TD, td) == NULL)
		return object_missing(m, c, TD, td);
	if (object_find(m, kind, to) == NULL)
		return object_missing(m, c, kind, to);
	enum status status = check_hash(m, c);
	if (status != STATUS_OK)
		return status;
	struct tir *t = object_new(m, TIR);
	if (t == NULL)
		return object_none_left(m, c, TIR);
	t->td = td;
	t->kind = kind;
	t->to = to;
	t->self_lb = field_get(context, TIRC_SELF_LB);
	set_hash(t, context);
	object_hold(m, TD, td);
	object_hold(m, kind, to);
	return object_made(m, c, TIR, t);
}

enum status tir_modify(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER), what = field_get(c->in, MODIFY_MASK);
	struct tir *t = object_find(m, TIR, number);
	if (t == NULL)
		return object_missing(m, c, TIR, number);
	if (what & ~(uint32_t)(TIR_MODIFY_LRO | TIR_MODIFY_HASH | TIR_MODIFY_SELF_LB))
		return refuse(m, c, STATUS_BAD_PARAM, "fields 0x%x", what);
	if (what & TIR_MODIFY_LRO && field_get(c->in + CONTEXT_AT, FIELD(0x10, 11, 8)))
		return refuse(m, c, STATUS_BAD_PARAM, "LRO is not there");
	if (what & TIR_MODIFY_HASH) {
		enum status status = check_hash(m, c);
		if (status != STATUS_OK)
			return status;
		set_hash(t, c->in + CONTEXT_AT);
	}
	if (what & TIR_MODIFY_SELF_LB)
		t->self_lb = field_get(c->in + CONTEXT_AT, TIRC_SELF_LB);
	return STATUS_OK;
}

void tir_destroy(struct model *m, void *object)
{
	const struct tir *t = object;
	object_drop(m, TD, t->td);
	object_drop(m, t->kind, t->to);
}

/* --- choice of a queue --- */

bool tir_admits(const struct tir *t, const uint8_t *frame, uint32_t from)
{
	return t->td != from || t->self_lb & (frame[0] & 1 ? SELF_LB_MULTICAST : SELF_LB_UNICAST);
}

/* Hashes a pair of fields of `bytes` each, at byte `at` of the hash's input, sorted if
 * symmetric. */
static uint32_t hash_pair(const struct tir *t, unsigned at, const uint8_t *src, const uint8_t *dst,
                          unsigned bytes)
{
	const bool swap = t->symmetric && memcmp(src, dst, bytes) > 0;
	return toeplitz(&t->toeplitz, at, swap ? dst : src, bytes) ^
	       toeplitz(&t->toeplitz, at + bytes, swap ? src : dst, bytes);
}

static uint32_t hash_ports(const struct tir *t, unsigned at, const uint8_t *ports)
{
	uint8_t ordered[4];
	memcpy(ordered, ports, 4);
	if (t->symmetric && be16(ports) > be16(ports + 2)) {
		put_be16(ordered, be16(ports + 2));
		put_be16(ordered + 2, be16(ports));
	}
	return toeplitz(&t->toeplitz, at, ordered, 4);
}

/* Hashes the fields that the TIR selects, if the packet is of its kind. */
static uint32_t hash_of(const struct tir *t, const uint8_t *frame, const struct headers *h,
                        uint8_t *type)
{
	const unsigned bytes = h->version == 4 ? 4 : 16;
	const uint8_t *src = frame + h->l3 + (h->version == 4 ? 12 : 8);
	uint32_t hash = 0;
	*type = 0;
	if (t->hash != HASH_TOEPLITZ || h->version != (t->ipv6 ? 6 : 4))
		return 0;
	if (t->selected & SELECT_SRC_IP) {
		hash = hash_pair(t, 0, src, src + bytes, bytes);
		*type = t->ipv6 ? RSS_IPV6 : RSS_IPV4;
	}
	if (t->selected & SELECT_SRC_PORT && h->l4 && h->protocol == (t->udp ? IP_UDP : IP_TCP)) {
		hash ^= hash_ports(t, 2 * bytes, frame + h->l4);
		*type |= t->udp ? RSS_UDP : RSS_TCP;
	}
	return hash;
}

void tir_hash(const struct tir *t, const uint8_t *frame, const struct headers *h,
              struct hashed *hashed)
{
	hashed->value = hash_of(t, frame, h, &hashed->type);
}

struct rq *tir_only(struct model *m, const struct tir *t)
{
	if (t->kind == RQ)
		return object_find(m, RQ, t->to);
	const struct rqt *table = object_find(m, RQT, t->to);
	return table->size == 1 ? object_find(m, RQ, table->rqn[0]) : NULL;
}

struct rq *tir_choose(struct model *m, const struct tir *t, const uint8_t *frame,
                      const struct headers *h, struct hashed *hashed)
{
	tir_hash(t, frame, h, hashed);
	if (t->kind == RQ)
		return object_find(m, RQ, t->to);
	const struct rqt *table = object_find(m, RQT, t->to);
	return object_find(m, RQ, table->rqn[hashed->value % table->size]);
}
