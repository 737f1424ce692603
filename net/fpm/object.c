/* RTM_NEWNEXTHOP and RTM_DELNEXTHOP: next-hop objects. See fpm.h. */
#include "net/fpm/netlink.h"

/* NHA_GROUP: all members are checked, FPM_HOPS_MAX are kept. */
static enum fpm_error group_decode(struct netlink_value v, struct fpm_nexthop *nh,
                                   enum fpm_skip *refused)
{
	if (v.len % NEXTHOP_GRP_LEN)
		return FPM_ERR_VALUE_LENGTH;
	if (v.len == 0)
		return FPM_ERR_GROUP;
	for (const uint8_t *p = v.p; p < v.p + v.len; p += NEXTHOP_GRP_LEN) {
		const struct fpm_member m = {
			.id = le32_load(p),
			.weight = le16_load(p + NEXTHOP_GRP_AT_WEIGHT) + 1u,
		};
		if (m.id == 0)
			return FPM_ERR_GROUP;
		if (nh->members < FPM_HOPS_MAX)
			nh->member[nh->members++] = m;
		else
			*refused = FPM_SKIP_HOPS;
	}
	return FPM_OK;
}

/* NHA_GATEWAY and NHA_OIF. The gateway's length decides on its family, for nh_family may be that of
 * the routes (RFC 8950). */
static enum fpm_error hop_decode(const uint8_t *p, const struct netlink_value *v,
                                 struct fpm_nexthop *nh, enum fpm_skip *refused)
{
	struct fpm_hop *hop = &nh->hop;
	*hop = (struct fpm_hop){
		.gateway = NET_ADDR_ANY,
		.weight = 1,
		.onlink = le32_load(p + NHMSG_AT_FLAGS) & RTNH_F_ONLINK,
	};
	enum fpm_error error = netlink_u32(v[NHA_OIF], &hop->ifindex);
	if (!error && v[NHA_GATEWAY].p)
		error = netlink_address(v[NHA_GATEWAY], &hop->gateway);
	if (!error)
		error = netlink_encapsulation(v[NHA_ENCAP_TYPE], v[NHA_ENCAP], refused);
	if (!*refused && !hop->ifindex && net_addr_is_any(&hop->gateway))
		*refused = FPM_SKIP_NEXTHOP_EMPTY;
	return error;
}

enum fpm_error fpm_nexthop_decode(const uint8_t *p, uint32_t n, bool deletes,
                                  struct fpm_message *out)
{
	struct netlink_value v[NHA_COUNT];
	struct fpm_nexthop *nh = &out->nexthop;
	if (n < NHMSG_LEN)
		return FPM_ERR_MESSAGE_LENGTH;
	nh->id = 0;
	enum fpm_error error = netlink_attributes(p + NHMSG_LEN, n - NHMSG_LEN, v, NHA_COUNT);
	if (!error)
		error = netlink_u32(v[NHA_ID], &nh->id);
	if (!error && nh->id == 0)
		error = FPM_ERR_NEXTHOP_ID;
	out->kind = FPM_NEXTHOP_DELETE;
	out->skip = FPM_SKIP_NONE;
	if (error || deletes)
		return error;
	nh->protocol = fpm_protocol_of(p[NHMSG_AT_PROTOCOL]);
	nh->members = 0;
	nh->blackhole = v[NHA_BLACKHOLE].p && !v[NHA_GROUP].p;
	nh->hop = (struct fpm_hop){.weight = 1};
	if (v[NHA_GROUP].p)
		error = group_decode(v[NHA_GROUP], nh, &out->skip);
	else if (!nh->blackhole)
		error = hop_decode(p, v, nh, &out->skip);
	if (v[NHA_FDB].p)
		out->skip = FPM_SKIP_NEXTHOP_FDB;
	out->kind = out->skip ? FPM_NEXTHOP_REFUSED : FPM_NEXTHOP_SET;
	return error;
}
