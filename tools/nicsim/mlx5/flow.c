/*
 * Flow tables of NIC receive ("Flow Table", "Flow Group", "Flow Table Entry"). A packet starts at
 * the root table. The matching entry with the lowest index decides: drop, another table of a higher
 * level, or a TIR. If no entry matches, the table's miss action applies. An entry may ignore
 * levels; its driver must then ensure that the path ends, and so does TABLES_MAX.
 *
 * A table's entries belong to groups, ranges of indices that share a mask. The table keeps the
 * entries in a list by index, with their values. Only outer headers can be matched, and an entry
 * has at most one destination.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

#define TABLES_MAX 128 /* on the path of a packet */

/* --- tables --- */

static enum status find_table(struct model *m, struct command *c, struct flow_table **table)
{
	const uint32_t number = field_get(c->in, FLOW_TABLE);
	if (field_get(c->in, FLOW_TYPE) != FLOW_TYPE_NIC_RX)
		return refuse(m, c, STATUS_BAD_PARAM, "table_type %u", field_get(c->in, FLOW_TYPE));
	*table = object_find(m, TABLE, number);
	return *table ? STATUS_OK : object_missing(m, c, TABLE, number);
}

/* Reads the destination of packets that match no entry: 0, or a table of a higher level. */
static enum status read_miss(struct model *m, struct command *c, uint32_t level, uint32_t *miss)
{
	const uint32_t action = field_get(c->in, TABLE_MISS);
	const struct flow_table *to;
	*miss = 0;
	if (action == MISS_DEFAULT)
		return STATUS_OK;
	if (action != MISS_TABLE)
		return refuse(m, c, STATUS_BAD_PARAM, "table_miss_action %u", action);
	*miss = field_get(c->in, TABLE_MISS_ID);
	to = object_find(m, TABLE, *miss);
	if (to == NULL)
		return object_missing(m, c, TABLE, *miss);
	if (to->level <= level)
		return refuse(m, c, STATUS_BAD_PARAM, "misses of level %u to level %u", level,
		              to->level);
	return STATUS_OK;
}

enum status table_create(struct model *m, struct command *c)
{
	const uint32_t level = field_get(c->in, TABLE_LEVEL);
	uint32_t miss;
	if (field_get(c->in, FLOW_TYPE) != FLOW_TYPE_NIC_RX)
		return refuse(m, c, STATUS_BAD_PARAM, "table_type %u", field_get(c->in, FLOW_TYPE));
	if (level >= FT_LEVELS || field_get(c->in, TABLE_LOG_SIZE) > LOG_FT_SIZE_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "level %u, 2^%u entries", level,
		              field_get(c->in, TABLE_LOG_SIZE));
	enum status status = read_miss(m, c, level, &miss);
	if (status != STATUS_OK)
		return status;
	struct flow_table *t = object_new(m, TABLE);
	if (t == NULL)
		return object_none_left(m, c, TABLE);
	t->level = level;
	t->size = 1u << field_get(c->in, TABLE_LOG_SIZE);
	t->miss = miss;
	object_hold(m, TABLE, miss);
	return object_made(m, c, TABLE, t);
}

enum status table_modify(struct model *m, struct command *c)
{
	struct flow_table *t;
	uint32_t miss;
	enum status status = find_table(m, c, &t);
	if (status != STATUS_OK)
		return status;
	if (field_get(c->in, TABLE_MODIFY) != 1)
		return refuse(m, c, STATUS_BAD_PARAM, "not the miss action");
	status = read_miss(m, c, t->level, &miss);
	if (status != STATUS_OK)
		return status;
	object_hold(m, TABLE, miss);
	object_drop(m, TABLE, t->miss);
	t->miss = miss;
	return STATUS_OK;
}

enum status table_destroy(struct model *m, struct command *c)
{
	struct flow_table *t;
	enum status status = find_table(m, c, &t);
	if (status != STATUS_OK)
		return status;
	if (t->o.holders)
		return refuse(m, c, STATUS_BAD_RES_STATE, "table 0x%x is in use",
		              field_get(c->in, FLOW_TABLE));
	object_end(m, TABLE, t);
	return STATUS_OK;
}

/* The root may be destroyed too; then there is none. */
void table_end(struct model *m, void *object)
{
	const struct flow_table *t = object;
	object_drop(m, TABLE, t->miss);
	if (nic_of(m)->root == object_number(m, TABLE, t))
		nic_of(m)->root = 0;
}

enum status root_set(struct model *m, struct command *c)
{
	struct flow_table *t;
	if (field_get(c->in, IN_OP_MOD) == 0) {
		enum status status = find_table(m, c, &t);
		if (status != STATUS_OK)
			return status;
		nic_of(m)->root = field_get(c->in, FLOW_TABLE);
	} else {
		nic_of(m)->root = 0;
	}
	return STATUS_OK;
}

/* --- groups --- */

static bool overlaps(const struct model *m, uint32_t table, uint32_t start, uint32_t end)
{
	const struct flow_group *g = NULL;
	while ((g = object_next(m, GROUP, g)))
		if (g->table == table && start <= g->end && end >= g->start)
			return true;
	return false;
}

/* A mask may select only outer headers, and these only if the criteria enable them. */
static bool good_mask(const uint8_t *match, uint32_t criteria)
{
	for (uint32_t i = criteria == CRITERIA_OUTER ? MATCH_BYTES : 0; i < MATCH_ALL; i++)
		if (match[i])
			return false;
	return criteria <= CRITERIA_OUTER;
}

enum status group_create(struct model *m, struct command *c)
{
	const uint32_t start = field_get(c->in, GROUP_START), end = field_get(c->in, GROUP_END);
	const uint32_t criteria = field_get(c->in, GROUP_CRITERIA);
	const uint32_t number = field_get(c->in, FLOW_TABLE);
	struct flow_table *t;
	enum status status = find_table(m, c, &t);
	if (status != STATUS_OK)
		return status;
	if (start > end || end >= t->size)
		return refuse(m, c, STATUS_BAD_PARAM, "entries %u to %u of %u", start, end,
		              t->size);
	if (overlaps(m, number, start, end))
		return refuse(m, c, STATUS_BAD_PARAM, "entries %u to %u are another group's", start,
		              end);
	if (!good_mask(c->in + GROUP_MATCH, criteria))
		return refuse(m, c, STATUS_BAD_PARAM, "match criteria 0x%x", criteria);
	struct flow_group *g = object_new(m, GROUP);
	if (g == NULL)
		return object_none_left(m, c, GROUP);
	g->table = number;
	g->start = start;
	g->end = end;
	for (unsigned i = 0; i < MATCH_WORDS; i++) {
		g->mask[i] = be64(c->in + GROUP_MATCH + 8 * i);
		g->looks |= (g->mask[i] != 0) << i;
	}
	object_hold(m, TABLE, number);
	return object_made(m, c, GROUP, g);
}

enum status group_destroy(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, GROUP_ID);
	struct flow_group *g = object_find(m, GROUP, number);
	struct flow_table *t;
	enum status status = find_table(m, c, &t);
	if (status != STATUS_OK)
		return status;
	if (g == NULL || g->table != field_get(c->in, FLOW_TABLE))
		return object_missing(m, c, GROUP, number);
	if (g->o.holders)
		return refuse(m, c, STATUS_BAD_RES_STATE, "group 0x%x has entries", number);
	object_end(m, GROUP, g);
	return STATUS_OK;
}

void group_end(struct model *m, void *object)
{
	object_drop(m, TABLE, ((struct flow_group *)object)->table);
}

/* --- entries --- */

/* The link to the first entry with at least that index. */
static uint32_t *link_to(struct model *m, struct flow_table *t, uint32_t index)
{
	uint32_t *link = &t->first;
	const struct fte *e;
	while ((e = object_find(m, FTE, *link)) && e->index < index)
		link = &((struct fte *)(uintptr_t)e)->next;
	return link;
}

/* Reads and checks an entry's action. */
static enum status read_action(struct model *m, struct command *c, const struct flow_table *t,
                               struct fte *e)
{
	const uint8_t *context = c->in + FTE_AT, *list = context + FTE_LIST;
	const uint32_t count = field_get(context, FTE_DESTINATIONS);
	e->tag = field_get(context, FTE_TAG);
	e->action = field_get(context, FTE_ACTION);
	e->to = 0;
	if (e->action != ACTION_ALLOW && e->action != ACTION_DROP && e->action != ACTION_FORWARD)
		return refuse(m, c, STATUS_BAD_PARAM, "action 0x%x", e->action);
	if (field_get(context, FTE_COUNTERS) || count != (e->action == ACTION_FORWARD))
		return refuse(m, c, STATUS_BAD_PARAM, "%u destinations for action 0x%x", count,
		              e->action);
	if (e->action != ACTION_FORWARD)
		return STATUS_OK;
	if (c->in_bytes < FTE_AT + FTE_LIST + 8)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "no destination");
	const uint32_t type = field_get(list, DEST_TYPE);
	if (type != DEST_TABLE && type != DEST_TIR)
		return refuse(m, c, STATUS_BAD_PARAM, "destination_type %u", type);
	e->kind = type == DEST_TABLE ? TABLE : TIR;
	e->to = field_get(list, DEST_ID);
	const struct flow_table *to = object_find(m, e->kind, e->to);
	if (to == NULL)
		return object_missing(m, c, e->kind, e->to);
	if (e->kind == TABLE && to->level <= t->level && !field_get(c->in, FTE_ANY_LEVEL))
		return refuse(m, c, STATUS_BAD_PARAM, "from level %u to level %u", t->level,
		              to->level);
	return STATUS_OK;
}

static enum status entry_change(struct model *m, struct command *c, struct fte *e,
                                const struct fte *new)
{
	if (e == NULL)
		return refuse(m, c, STATUS_BAD_INDEX, "there is no entry %u",
		              field_get(c->in, FTE_INDEX));
	if (field_get(c->in, FTE_MODIFY) & ~(uint32_t)(FTE_MODIFY_LIST | FTE_MODIFY_ACTION |
	                                               FTE_MODIFY_TAG))
		return refuse(m, c, STATUS_BAD_PARAM, "modify_enable_mask 0x%x",
		              field_get(c->in, FTE_MODIFY));
	object_hold(m, new->kind, new->to);
	object_drop(m, e->kind, e->to);
	e->kind = new->kind;
	e->to = new->to;
	e->action = new->action;
	e->tag = new->tag;
	return STATUS_OK;
}

static enum status entry_add(struct model *m, struct command *c, uint32_t *link,
                             const struct flow_group *g, const struct fte *new)
{
	struct fte *e = object_new(m, FTE);
	if (e == NULL)
		return object_none_left(m, c, FTE);
	*e = *new;
	e->next = *link;
	for (unsigned i = 0; i < MATCH_WORDS; i++)
		e->value[i] = be64(c->in + FTE_AT + FTE_VALUE + 8 * i) & g->mask[i];
	*link = object_number(m, FTE, e);
	object_hold(m, GROUP, e->group);
	object_hold(m, e->kind, e->to);
	return STATUS_OK;
}

enum status fte_set(struct model *m, struct command *c)
{
	struct fte new = {.table = field_get(c->in, FLOW_TABLE),
	                  .index = field_get(c->in, FTE_INDEX),
	                  .group = field_get(c->in + FTE_AT, FTE_GROUP)};
	const struct flow_group *g = object_find(m, GROUP, new.group);
	struct flow_table *t;
	enum status status = find_table(m, c, &t);
	if (status != STATUS_OK)
		return status;
	if (g == NULL || g->table != new.table)
		return object_missing(m, c, GROUP, new.group);
	if (new.index < g->start || new.index > g->end)
		return refuse(m, c, STATUS_BAD_INDEX, "entry %u is not of the group", new.index);
	status = read_action(m, c, t, &new);
	if (status != STATUS_OK)
		return status;
	uint32_t *link = link_to(m, t, new.index);
	struct fte *e = object_find(m, FTE, *link);
	if (e && e->index != new.index)
		e = NULL;
	if (field_get(c->in, IN_OP_MOD) == 1)
		return entry_change(m, c, e, &new);
	if (e)
		return refuse(m, c, STATUS_BAD_INDEX, "entry %u is there", new.index);
	return entry_add(m, c, link, g, &new);
}

enum status fte_delete(struct model *m, struct command *c)
{
	const uint32_t index = field_get(c->in, FTE_INDEX);
	struct flow_table *t;
	enum status status = find_table(m, c, &t);
	if (status != STATUS_OK)
		return status;
	uint32_t *link = link_to(m, t, index);
	struct fte *e = object_find(m, FTE, *link);
	if (e == NULL || e->index != index)
		return refuse(m, c, STATUS_BAD_INDEX, "there is no entry %u", index);
	*link = e->next;
	object_end(m, FTE, e);
	return STATUS_OK;
}

void fte_end(struct model *m, void *object)
{
	const struct fte *e = object;
	object_drop(m, GROUP, e->group);
	object_drop(m, e->kind, e->to);
}

/* --- packets --- */

static void put_field(uint64_t *word, struct field f, uint32_t value)
{
	word[f.at / 8] |= (uint64_t)(value & field_mask(f)) << (f.low + (f.at % 8 ? 0 : 32));
}

static void read_ip(const uint8_t *frame, const struct headers *h, uint64_t *word)
{
	const uint8_t *ip = frame + h->l3;
	put_field(word, MATCH_IP_VERSION, h->version);
	put_field(word, MATCH_PROTOCOL, h->protocol);
	put_field(word, MATCH_FRAGMENT, h->fragment);
	if (h->version == 4) {
		put_field(word, MATCH_TOS, ip[1]);
		put_field(word, MATCH_TTL, ip[8]);
		word[MATCH_SRC_IP / 8 + 1] = be32(ip + 12);
		word[MATCH_DST_IP / 8 + 1] = be32(ip + 16);
	} else {
		put_field(word, MATCH_TOS, be16(ip) >> 4);
		put_field(word, MATCH_TTL, ip[7]);
		for (unsigned half = 0; half < 2; half++) {
			word[MATCH_SRC_IP / 8 + half] = be64(ip + 8 + 8 * half);
			word[MATCH_DST_IP / 8 + half] = be64(ip + 24 + 8 * half);
		}
	}
}

/* The fields of a frame that can be matched, in the layout of masks and values. */
static void read_frame(const uint8_t *frame, const struct headers *h, uint64_t word[MATCH_WORDS])
{
	memset(word, 0, MATCH_BYTES);
	word[MATCH_SMAC / 8] = be64(frame + 6) & ~0xffffull;
	word[MATCH_DMAC / 8] = be64(frame) & ~0xffffull;
	put_field(word, MATCH_ETHERTYPE, be16(frame + (h->tagged ? 16 : 12)));
	put_field(word, MATCH_CVLAN, h->tagged);
	put_field(word, MATCH_TCI, h->tci);
	if (h->version)
		read_ip(frame, h, word);
	if (h->l4 && h->protocol == IP_TCP) {
		put_field(word, MATCH_TCP_PORTS, be32(frame + h->l4));
		put_field(word, MATCH_TCP_FLAGS, be16(frame + h->l4 + 12));
	}
	if (h->l4 && h->protocol == IP_UDP)
		put_field(word, MATCH_UDP_PORTS, be32(frame + h->l4));
}

/* Compares whole words, and only those in the group's mask: most groups use one or two. */
static bool matches(const uint64_t *packet, const struct flow_group *g, const struct fte *e)
{
	for (uint32_t left = g->looks; left; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctz(left);
		if ((packet[i] & g->mask[i]) != e->value[i])
			return false;
	}
	return true;
}

/* Records the fields that a packet's path depends on: all that were compared. */
static void note(struct way_taken *way, const struct flow_group *g)
{
	for (uint32_t left = g->looks; left; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctz(left);
		way->mask[i] |= g->mask[i];
	}
	way->looks |= g->looks;
}

static const struct fte *first_match(struct model *m, const struct flow_table *t,
                                     const uint64_t *packet, struct way_taken *way)
{
	const struct fte *e;
	for (uint32_t number = t->first; (e = object_find(m, FTE, number)); number = e->next) {
		const struct flow_group *g = object_find(m, GROUP, e->group);
		note(way, g);
		if (matches(packet, g, e))
			return e;
	}
	return NULL;
}

static void walk(struct model *m, const uint64_t *packet, struct way_taken *way)
{
	const struct flow_table *t = object_find(m, TABLE, nic_of(m)->root);
	for (unsigned tables = 0; t && tables < TABLES_MAX; tables++) {
		const struct fte *e = first_match(m, t, packet, way);
		if (e && e->action != ACTION_FORWARD)
			return; /* allowed: to its destination without flow tables, which is none */
		if (e && e->tag)
			way->tag = e->tag;
		if (e && e->kind == TIR) {
			way->to = object_find(m, TIR, e->to);
			return;
		}
		t = object_find(m, TABLE, e ? e->to : t->miss);
	}
}

/* Whether this packet takes the same path: it equals the other in all fields that were compared. */
static bool goes_too(const struct way_taken *way, const uint64_t *packet)
{
	uint64_t differ = 0;
	for (uint32_t left = way->looks; left; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctz(left);
		differ |= (packet[i] ^ way->packet[i]) & way->mask[i];
	}
	return differ == 0;
}

bool flow_same_by_ethernet(const struct model *m)
{
	/* the fields in which UDP over IPv4 can differ behind the Ethernet header */
	static const uint64_t others[MATCH_WORDS] = {
		0, 0, 0xffull << 48 /* TOS */, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};
	const struct way_taken *way = &nic_of(m)->way;
	uint64_t compared = 0;
	for (unsigned i = 0; i < MATCH_WORDS; i++)
		compared |= way->mask[i] & others[i];
	return compared == 0;
}

const struct tir *flow_steer(struct model *m, const uint8_t *frame, const struct headers *h,
                             uint32_t *tag)
{
	struct way_taken *way = &nic_of(m)->way;
	uint64_t packet[MATCH_WORDS];
	read_frame(frame, h, packet);
	if (way->call != nic_of(m)->call || !goes_too(way, packet)) {
		*way = (struct way_taken){.call = nic_of(m)->call};
		memcpy(way->packet, packet, sizeof packet);
		walk(m, packet, way);
	}
	*tag = way->tag;
	return way->to;
}
