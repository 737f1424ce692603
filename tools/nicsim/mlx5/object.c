/*
 * Objects by number: this file creates, finds and destroys objects of all kinds. Each object counts
 * the objects that refer to it, and cannot be destroyed while there are any.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

struct kind_info {
	const char *name;
	size_t at, bytes; /* of the array in struct nic; of one object */
	uint32_t first, count;
	/* Undoes the effects of its creation elsewhere; NULL: there are none. */
	void (*destroy)(struct model *m, void *object);
};

#define KIND(name, member, first, destroy)                                                         \
	{name, offsetof(struct nic, member), sizeof((struct nic *)0)->member[0], first,            \
	 sizeof((struct nic *)0)->member / sizeof((struct nic *)0)->member[0], destroy}

static const struct kind_info kinds[KINDS] = {
	[UAR] = KIND("UAR", uar, UAR_FIRST, NULL),
	[PD] = KIND("PD", pd, 0x10, NULL),
	[TD] = KIND("transport domain", td, 0x60, NULL),
	[COUNTER] = KIND("counter set", counter, 0x80, NULL),
	[MKEY] = KIND("mkey", mkey, 0x800, mkey_destroy),
	[EQ] = KIND("EQ", eq, 1, eq_destroy),
	[CQ] = KIND("CQ", cq, 0x1000, cq_destroy),
	[TIS] = KIND("TIS", tis, 0x200, tis_destroy),
	[SQ] = KIND("SQ", sq, 0x2000, sq_destroy),
	[RQ] = KIND("RQ", rq, 0x3000, rq_destroy),
	[RQT] = KIND("RQT", rqt, 0x300, rqt_destroy),
	[TIR] = KIND("TIR", tir, 0x400, tir_destroy),
	[TABLE] = KIND("flow table", table, 0x600, table_end),
	[GROUP] = KIND("flow group", group, 0x4000, group_end),
	[FTE] = KIND("flow table entry", fte, 0x8000, fte_end),
};

_Static_assert(LOG_FTES >= LOG_CQS && LOG_FTES >= LOG_SQS && LOG_FTES >= LOG_RQS &&
                       LOG_FTES >= LOG_GROUPS && UAR_END <= 1 << LOG_FTES,
               "struct nic has room to mark any");

static struct object *at(const struct model *m, enum kind kind, uint32_t index)
{
	return (struct object *)(void *)((uint8_t *)nic_of(m) + kinds[kind].at +
	                                 index * kinds[kind].bytes);
}

static bool is_there(const struct model *m, enum kind kind, uint32_t index)
{
	return nic_of(m)->there[kind][index / 64] >> index % 64 & 1;
}

void *object_find(const struct model *m, enum kind kind, uint32_t number)
{
	const uint32_t index = number - kinds[kind].first;
	return index < kinds[kind].count && is_there(m, kind, index) ? at(m, kind, index) : NULL;
}

static uint32_t index_of(const struct model *m, enum kind kind, const void *object)
{
	const size_t from = (size_t)((const uint8_t *)object - (const uint8_t *)nic_of(m));
	return (uint32_t)((from - kinds[kind].at) / kinds[kind].bytes);
}

void *object_next(const struct model *m, enum kind kind, const void *behind)
{
	const uint64_t *map = nic_of(m)->there[kind];
	uint32_t i = behind ? index_of(m, kind, behind) + 1 : 0;
	for (; i < kinds[kind].count; i = (i | 63) + 1) {
		const uint64_t left = map[i / 64] >> i % 64;
		if (left)
			return at(m, kind, i + (uint32_t)__builtin_ctzll(left));
	}
	return NULL;
}

uint32_t object_number(const struct model *m, enum kind kind, const void *object)
{
	return kinds[kind].first + index_of(m, kind, object);
}

void *object_new(struct model *m, enum kind kind)
{
	uint32_t *next = &nic_of(m)->next[kind];
	for (uint32_t i = 0; i < kinds[kind].count; i++) {
		const uint32_t index = (*next + i) % kinds[kind].count;
		if (is_there(m, kind, index))
			continue;
		*next = (index + 1) % kinds[kind].count;
		mark(nic_of(m)->there[kind], index, true);
		return memset(at(m, kind, index), 0, kinds[kind].bytes);
	}
	return NULL;
}

void object_end(struct model *m, enum kind kind, void *object)
{
	if (kinds[kind].destroy)
		kinds[kind].destroy(m, object);
	mark(nic_of(m)->there[kind], index_of(m, kind, object), false);
}

void object_hold(struct model *m, enum kind kind, uint32_t number)
{
	struct object *o = object_find(m, kind, number);
	if (o)
		o->holders++;
}

void object_drop(struct model *m, enum kind kind, uint32_t number)
{
	struct object *o = object_find(m, kind, number);
	if (o)
		o->holders--;
}

/* Objects of later kinds refer to earlier ones. */
void object_end_all(struct model *m)
{
	for (unsigned kind = KINDS; kind--;)
		for (void *o = NULL; (o = object_next(m, kind, o));)
			object_end(m, kind, o);
}

unsigned object_count(const struct model *m, enum kind kind)
{
	unsigned n = 0;
	for (unsigned i = 0; i < (kinds[kind].count + 63) / 64; i++)
		n += (unsigned)__builtin_popcountll(nic_of(m)->there[kind][i]);
	return n;
}

/* --- commands --- */

enum status object_missing(struct model *m, struct command *c, enum kind kind, uint32_t number)
{
	return refuse(m, c, STATUS_BAD_RESOURCE, "%s 0x%x is not there", kinds[kind].name, number);
}

enum status object_made(struct model *m, struct command *c, enum kind kind, const void *object)
{
	field_set(c->out, OUT_NUMBER, object_number(m, kind, object));
	return STATUS_OK;
}

enum status object_none_left(struct model *m, struct command *c, enum kind kind)
{
	return refuse(m, c, STATUS_NO_RESOURCES, "no %s is left", kinds[kind].name);
}

enum status object_alloc(struct model *m, struct command *c)
{
	if (c->row->kind == COUNTER && model_fault(m, FAULT_NO_COUNTERS))
		return refuse(m, c, STATUS_BAD_OP, "there are no counters");
	void *o = object_new(m, c->row->kind);
	return o ? object_made(m, c, c->row->kind, o) : object_none_left(m, c, c->row->kind);
}

enum status object_destroy(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER);
	struct object *o = object_find(m, c->row->kind, number);
	if (o == NULL)
		return object_missing(m, c, c->row->kind, number);
	if (o->holders)
		return refuse(m, c, STATUS_BAD_RES_STATE, "%s 0x%x is in use",
		              kinds[c->row->kind].name, number);
	object_end(m, c->row->kind, o);
	return STATUS_OK;
}

/* --- counter sets --- */

enum status counter_query(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, FIELD(0x1c, 7, 0));
	struct counter *set = object_find(m, COUNTER, number);
	if (set == NULL)
		return object_missing(m, c, COUNTER, number);
	field_set(c->out, FIELD(0x30, 31, 0), set->out_of_buffer);
	if (field_get(c->in, BIT(0x18, 31)))
		set->out_of_buffer = 0;
	return STATUS_OK;
}

/* --- memory keys: only those for physical addresses --- */

enum status mkey_create(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + MKC_AT;
	const uint32_t pd = field_get(context, MKC_PD);
	if (field_get(context, MKC_FREE) || field_get(context, MKC_MODE) != MKC_MODE_PA ||
	    field_get(context, MKC_MODE_HIGH))
		return refuse(m, c, STATUS_BAD_PARAM, "access mode is not PA");
	if (field_get(context, MKC_QPN) != MKEY_NO_QPN)
		return refuse(m, c, STATUS_BAD_PARAM, "bound to a QP");
	if (object_find(m, PD, pd) == NULL)
		return object_missing(m, c, PD, pd);
	struct mkey *k = object_new(m, MKEY);
	if (k == NULL)
		return object_none_left(m, c, MKEY);
	*k = (struct mkey){.pd = pd,
	                   .variant = (uint8_t)field_get(context, MKC_VARIANT),
	                   .read = field_get(context, MKC_LOCAL_READ),
	                   .write = field_get(context, MKC_LOCAL_WRITE),
	                   .start = be64(context + MKC_START),
	                   .bytes = be64(context + MKC_LENGTH)};
	if (field_get(context, MKC_LENGTH64)) {
		k->start = 0;
		k->bytes = UINT64_MAX;
	}
	object_hold(m, PD, pd);
	return object_made(m, c, MKEY, k);
}

void mkey_destroy(struct model *m, void *object)
{
	const struct mkey *k = object;
	object_drop(m, PD, k->pd);
}

bool mkey_allows_all(const struct model *m, uint32_t lkey, uint32_t pd, enum dma_access access)
{
	const struct mkey *k = object_find(m, MKEY, lkey >> 8);
	return k && k->variant == (uint8_t)lkey && k->pd == pd && k->start == 0 && k->bytes == UINT64_MAX &&
	       (access == DMA_READ ? k->read : k->write);
}

bool mkey_allows(struct model *m, uint32_t lkey, uint32_t pd, uint64_t bus, uint32_t bytes,
                 enum dma_access access)
{
	const struct mkey *k = object_find(m, MKEY, lkey >> 8);
	const char *what = NULL;
	if (k == NULL || k->variant != (uint8_t)lkey)
		what = "there is no such key";
	else if (k->pd != pd)
		what = "it is of another PD";
	else if (bus < k->start || bytes > k->bytes || bus - k->start > k->bytes - bytes)
		what = "outside of it";
	else if (access == DMA_READ ? !k->read : !k->write)
		what = "it does not allow that";
	if (what)
		model_violation(m, "lkey 0x%08x: %s", lkey, what);
	return what == NULL;
}
