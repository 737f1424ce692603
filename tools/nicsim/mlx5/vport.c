/*
 * The NIC vport context ("NIC Vport Context"): which frames from the wire are for this function. It
 * accepts unicast frames to the permanent address or to one of the list, multicast and broadcast
 * frames to one of the list, or whatever the promiscuous modes accept; flow tables see only these.
 * The list of VLANs is stored but filters nothing: flow tables do that.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

#define MTU_MAX 10240u

static uint64_t mac48(const uint8_t *p)
{
	return (uint64_t)be16(p) << 32 | be32(p + 2);
}

void vport_reset(struct model *m)
{
	struct vport *v = &nic_of(m)->vport;
	*v = (struct vport){.permanent = mac48(m->mac), .mtu = 1500};
	/* GUIDs: the EUI-64 of the MAC address */
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t middle[2] = {0xff, 0xfe};
		memcpy(v->guids + 8 * i, m->mac, 3);
		memcpy(v->guids + 8 * i + 3, middle, 2);
		memcpy(v->guids + 8 * i + 5, m->mac + 3, 3);
	}
}

uint32_t vport_min_inline(const struct model *m)
{
	return model_fault(m, FAULT_MIN_INLINE) ? (uint32_t)m->fault_arg[FAULT_MIN_INLINE]
	                                        : nic_of(m)->vport.min_inline;
}

static enum status check_vport(struct model *m, struct command *c)
{
	if (field_get(c->in, VPORT_OTHER) || field_get(c->in, VPORT_NUMBER))
		return refuse(m, c, STATUS_BAD_PARAM, "there is no other vport");
	return STATUS_OK;
}

enum status vport_query(struct model *m, struct command *c)
{
	const struct vport *v = &nic_of(m)->vport;
	const uint32_t type = field_get(c->in, VPORT_LIST_WANTED);
	uint8_t *context = c->out + VPORT_QUERY_AT;
	enum status status = check_vport(m, c);
	if (status != STATUS_OK)
		return status;
	if (type >= LISTS)
		return refuse(m, c, STATUS_BAD_PARAM, "allowed_list_type %u", type);
	field_set(context, VPORT_MIN_INLINE, vport_min_inline(m));
	field_set(context, VPORT_LOCAL_LB, v->local_lb);
	field_set(context, VPORT_EVENTS, v->events);
	field_set(context, VPORT_MTU, v->mtu);
	memcpy(context + VPORT_GUIDS, v->guids, sizeof v->guids);
	field_set(context, VPORT_PROMISC, v->promisc);
	field_set(context, VPORT_LIST_TYPE, type);
	field_set(context, VPORT_LIST_SIZE, v->listed[type]);
	put_be64(context + VPORT_PERMANENT, v->permanent);
	/* as many as fit: a query for something else leaves no room */
	const uint32_t room = (c->out_bytes - VPORT_QUERY_AT - VPORT_LIST) / 8;
	for (uint32_t i = 0; i < v->listed[type] && i < room; i++)
		put_be64(context + VPORT_LIST + 8 * i, v->list[type][i]);
	return STATUS_OK;
}

static enum status check_list(struct model *m, struct command *c, const uint8_t *context)
{
	const uint32_t type = field_get(context, VPORT_LIST_TYPE);
	const uint32_t size = field_get(context, VPORT_LIST_SIZE);
	if (type >= LISTS || size > 1u << LOG_LIST_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "list %u of %u entries", type, size);
	if (c->in_bytes < VPORT_MODIFY_AT + VPORT_LIST + 8 * size)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "%u entries in %u bytes", size,
		              c->in_bytes);
	for (uint32_t i = 0; i < size; i++) {
		uint64_t entry = be64(context + VPORT_LIST + 8 * i);
		bool group = entry >> 40 & 1;
		if (type != LIST_VLAN && (entry >> 48 || group != (type == LIST_MULTICAST)))
			return refuse(m, c, STATUS_BAD_PARAM, "entry %u is no address for list %u",
			              i, type);
	}
	return STATUS_OK;
}

static void set_list(struct vport *v, const uint8_t *context)
{
	const uint32_t type = field_get(context, VPORT_LIST_TYPE);
	v->listed[type] = field_get(context, VPORT_LIST_SIZE);
	for (uint32_t i = 0; i < v->listed[type]; i++)
		v->list[type][i] = be64(context + VPORT_LIST + 8 * i);
}

static void set_local_lb(struct vport *v, const uint8_t *context, uint32_t which)
{
	v->local_lb = (v->local_lb & ~which) | (field_get(context, VPORT_LOCAL_LB) & which);
}

enum status vport_modify(struct model *m, struct command *c)
{
	const uint32_t what = field_get(c->in, VPORT_SELECT);
	const uint8_t *context = c->in + VPORT_MODIFY_AT;
	struct vport *v = &nic_of(m)->vport;
	enum status status = check_vport(m, c);
	if (status == STATUS_OK && what & SELECT_ADDRESSES)
		status = check_list(m, c, context);
	if (status != STATUS_OK)
		return status;
	if (what & ~(uint32_t)(SELECT_ADDRESSES | SELECT_PERMANENT | SELECT_PROMISC |
	                       SELECT_EVENTS | SELECT_MTU | SELECT_MIN_INLINE |
	                       SELECT_NO_LB_UNICAST | SELECT_NO_LB_MULTICAST))
		return refuse(m, c, STATUS_BAD_PARAM, "field_select 0x%x", what);
	if (what & SELECT_MIN_INLINE && field_get(context, VPORT_MIN_INLINE) > INLINE_TCP_UDP)
		return refuse(m, c, STATUS_BAD_PARAM, "min_wqe_inline_mode %u",
		              field_get(context, VPORT_MIN_INLINE));
	if (what & SELECT_MTU && field_get(context, VPORT_MTU) > MTU_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "mtu %u", field_get(context, VPORT_MTU));
	if (what & SELECT_ADDRESSES)
		set_list(v, context);
	if (what & SELECT_PERMANENT)
		v->permanent = be64(context + VPORT_PERMANENT) & 0xffffffffffff;
	if (what & SELECT_PROMISC)
		v->promisc = field_get(context, VPORT_PROMISC);
	if (what & SELECT_EVENTS)
		v->events = field_get(context, VPORT_EVENTS);
	if (what & SELECT_MTU)
		v->mtu = field_get(context, VPORT_MTU);
	if (what & SELECT_MIN_INLINE)
		v->min_inline = field_get(context, VPORT_MIN_INLINE);
	if (what & SELECT_NO_LB_UNICAST)
		set_local_lb(v, context, NO_LB_UNICAST);
	if (what & SELECT_NO_LB_MULTICAST)
		set_local_lb(v, context, NO_LB_MULTICAST);
	return STATUS_OK;
}

static bool in_list(const struct vport *v, unsigned type, uint64_t address)
{
	for (uint32_t i = 0; i < v->listed[type]; i++)
		if (v->list[type][i] == address)
			return true;
	return false;
}

/* Whether the frame is accepted by its addresses alone. */
static bool is_addressed(const struct vport *v, const uint8_t *frame)
{
	const uint64_t to = mac48(frame);
	return in_list(v, frame[0] & 1 ? LIST_MULTICAST : LIST_UNICAST, to) || to == v->permanent;
}

bool vport_takes(const struct model *m, const uint8_t *frame)
{
	const struct vport *v = &nic_of(m)->vport;
	const uint32_t promisc = frame[0] & 1 ? PROMISC_MULTICAST : PROMISC_UNICAST;
	return v->promisc & (PROMISC_ALL | promisc) || is_addressed(v, frame);
}

bool vport_loops(const struct model *m, const uint8_t *frame)
{
	const struct vport *v = &nic_of(m)->vport;
	const uint32_t disabled = frame[0] & 1 ? NO_LB_MULTICAST : NO_LB_UNICAST;
	return !(v->local_lb & disabled) && is_addressed(v, frame);
}

enum status vport_state(struct model *m, struct command *c)
{
	enum status status = check_vport(m, c);
	if (status != STATUS_OK)
		return status;
	field_set(c->out, VPORT_STATE_ADMIN, nic_of(m)->port.admin_up);
	field_set(c->out, VPORT_STATE, nic_of(m)->port.link);
	return STATUS_OK;
}

/* Pairs of packets and bytes in the manual's order; InfiniBand's stay 0. */
enum status vport_counters(struct model *m, struct command *c)
{
	struct vport *v = &nic_of(m)->vport;
	uint8_t *out = c->out + 0x70;
	enum status status = check_vport(m, c);
	if (status != STATUS_OK)
		return status;
	for (unsigned cast = 0; cast < CASTS; cast++)
		for (unsigned way = 0; way < 2; way++, out += 16) {
			put_be64(out, v->packets[way][cast]);
			put_be64(out + 8, v->bytes[way][cast]);
		}
	if (field_get(c->in, BIT(0x18, 31))) {
		memset(v->packets, 0, sizeof v->packets);
		memset(v->bytes, 0, sizeof v->bytes);
	}
	return STATUS_OK;
}

enum cast cast_of(const uint8_t *frame)
{
	static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	if (!(frame[0] & 1))
		return CAST_UNI;
	return memcmp(frame, broadcast, 6) == 0 ? CAST_BROAD : CAST_MULTI;
}

void vport_count_unicast(struct model *m, enum way way, unsigned frames, uint64_t bytes)
{
	struct vport *v = &nic_of(m)->vport;
	v->packets[way][CAST_UNI] += frames;
	v->bytes[way][CAST_UNI] += bytes;
}

void vport_count(struct model *m, enum way way, const uint8_t *frame, uint32_t bytes)
{
	struct vport *v = &nic_of(m)->vport;
	const enum cast cast = cast_of(frame);
	v->packets[way][cast]++;
	v->bytes[way][cast] += bytes;
}
