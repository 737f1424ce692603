/* RTM_NEWROUTE and RTM_DELROUTE. See fpm.h. */
#include "lib/number.h"
#include "net/fpm/netlink.h"
#include "net/ip6.h"

/* What a hop of its own, or an element of RTA_MULTIPATH, has of RTA_GATEWAY and RTA_VIA. */
static enum fpm_error gateway_decode(const struct netlink_value *v, bool six, struct fpm_hop *hop)
{
	const struct netlink_value gateway = v[RTA_GATEWAY], via = v[RTA_VIA];
	hop->gateway = NET_ADDR_ANY;
	if (gateway.p && via.p)
		return FPM_ERR_GATEWAY;
	if (gateway.p)
		return gateway.len == (six ? 16 : 4) ? netlink_address(gateway, &hop->gateway)
		                                     : FPM_ERR_VALUE_LENGTH;
	if (!via.p)
		return FPM_OK;
	/* struct rtvia: a family, and an address of that family */
	if (via.len < 2)
		return FPM_ERR_VALUE_LENGTH;
	const uint16_t family = le16_load(via.p);
	if (family != AF_INET && family != AF_INET6)
		return FPM_ERR_GATEWAY;
	if (via.len != 2 + (family == AF_INET6 ? 16 : 4))
		return FPM_ERR_VALUE_LENGTH;
	const struct netlink_value address = {via.p + 2, (uint16_t)(via.len - 2)};
	return netlink_address(address, &hop->gateway);
}

/* One element of RTA_MULTIPATH, of len octets with its header. */
static enum fpm_error element_decode(const uint8_t *p, uint32_t len, bool six, struct fpm_hop *hop,
                                     enum fpm_skip *skip)
{
	struct netlink_value v[RTA_COUNT];
	enum fpm_error error = netlink_attributes(p + RTNH_LEN, len - RTNH_LEN, v, RTA_COUNT);
	if (!error)
		error = gateway_decode(v, six, hop);
	if (!error)
		error = netlink_encapsulation(v[RTA_ENCAP_TYPE], v[RTA_ENCAP], skip);
	hop->ifindex = le32_load(p + RTNH_AT_IFINDEX);
	hop->weight = p[RTNH_AT_HOPS] + 1u;
	hop->onlink = p[RTNH_AT_FLAGS] & RTNH_F_ONLINK;
	return error;
}

/* All elements of RTA_MULTIPATH are checked, FPM_HOPS_MAX are kept. */
static enum fpm_error multipath_decode(struct netlink_value v, struct fpm_route *r,
                                       enum fpm_skip *refused)
{
	uint32_t n = v.len;
	for (const uint8_t *p = v.p; n;) {
		const uint16_t len = n >= RTNH_LEN ? le16_load(p) : 0;
		if (len < RTNH_LEN || len > n)
			return FPM_ERR_MULTIPATH;
		struct fpm_hop hop;
		enum fpm_skip skip = FPM_SKIP_NONE;
		const enum fpm_error error = element_decode(p, len, r->six, &hop, &skip);
		if (error)
			return error;
		if (skip == FPM_SKIP_NONE && r->hops == FPM_HOPS_MAX)
			skip = FPM_SKIP_HOPS;
		if (*refused == FPM_SKIP_NONE)
			*refused = skip;
		if (r->hops < FPM_HOPS_MAX)
			r->hop[r->hops++] = hop;
		const uint32_t step = u32_min((uint32_t)align_up(len, NETLINK_ALIGN), n);
		p += step;
		n -= step;
	}
	return FPM_OK;
}

/* The hop that the attributes of the route itself describe. */
static enum fpm_error single_decode(const struct netlink_value *v, uint32_t flags,
                                    struct fpm_route *r)
{
	struct fpm_hop *hop = &r->hop[0];
	*hop = (struct fpm_hop){.weight = 1, .onlink = flags & RTNH_F_ONLINK};
	enum fpm_error error = gateway_decode(v, r->six, hop);
	if (!error)
		error = netlink_u32(v[RTA_OIF], &hop->ifindex);
	r->hops = hop->ifindex || !net_addr_is_any(&hop->gateway);
	return error;
}

/* MTU, next-hop object and hops. RTA_NH_ID has precedence: Linux states the hops of an object beside
 * its id. */
static enum fpm_error hops_decode(const struct netlink_value *v, uint32_t flags, struct fpm_route *r,
                                  enum fpm_skip *refused)
{
	struct netlink_value metric[RTAX_COUNT];
	const struct netlink_value metrics = v[RTA_METRICS];
	enum fpm_error error = netlink_attributes(metrics.p, metrics.len, metric, RTAX_COUNT);
	if (!error)
		error = netlink_u32(metric[RTAX_MTU], &r->mtu);
	if (!error)
		error = netlink_u32(v[RTA_NH_ID], &r->nexthop_id);
	if (!error)
		error = netlink_encapsulation(v[RTA_ENCAP_TYPE], v[RTA_ENCAP], refused);
	if (error)
		return error;
	error = v[RTA_MULTIPATH].p ? multipath_decode(v[RTA_MULTIPATH], r, refused)
	                           : single_decode(v, flags, r);
	if (r->nexthop_id || r->type != FPM_UNICAST)
		r->hops = 0;
	return error;
}

/* The type of a route, or why it is refused. */
static enum fpm_skip type_decode(uint8_t type, enum fpm_route_type *out)
{
	switch (type) {
	case RTN_UNICAST: *out = FPM_UNICAST; return FPM_SKIP_NONE;
	case RTN_BLACKHOLE: *out = FPM_BLACKHOLE; return FPM_SKIP_NONE;
	case RTN_UNREACHABLE: *out = FPM_UNREACHABLE; return FPM_SKIP_NONE;
	case RTN_PROHIBIT: *out = FPM_PROHIBIT; return FPM_SKIP_NONE;
	case RTN_LOCAL: return FPM_SKIP_LOCAL;
	case RTN_BROADCAST: return FPM_SKIP_BROADCAST;
	case RTN_ANYCAST: return FPM_SKIP_ANYCAST;
	case RTN_MULTICAST: return FPM_SKIP_MULTICAST;
	case RTN_THROW: return FPM_SKIP_THROW;
	default: return FPM_SKIP_ROUTE_TYPE;
	}
}

/* Prefix, table, priority, protocol. */
static enum fpm_error key_decode(const uint8_t *p, const struct netlink_value *v,
                                 struct fpm_route *r)
{
	const unsigned bits = r->six ? 128 : 32;
	r->plen = p[RTM_AT_DST_LEN];
	r->table = p[RTM_AT_TABLE];
	r->priority = 0;
	r->protocol_number = p[RTM_AT_PROTOCOL];
	r->protocol = fpm_protocol_of(r->protocol_number);
	if (r->plen > bits || p[RTM_AT_SRC_LEN] > bits)
		return FPM_ERR_PREFIX;
	if (!v[RTA_DST].p && r->plen)
		return FPM_ERR_PREFIX;
	if (v[RTA_DST].p && v[RTA_DST].len != bits / 8)
		return FPM_ERR_VALUE_LENGTH;
	r->addr = r->six ? NET_ADDR_ANY : net_addr_ip4(0);
	enum fpm_error error = v[RTA_DST].p ? netlink_address(v[RTA_DST], &r->addr) : FPM_OK;
	if (!error)
		error = netlink_u32(v[RTA_TABLE], &r->table);
	if (!error)
		error = netlink_u32(v[RTA_PRIORITY], &r->priority);
	r->addr = ip6_prefix_of(&r->addr, r->six ? r->plen : 96u + r->plen);
	return error;
}

enum fpm_error fpm_route_decode(const uint8_t *p, uint32_t n, bool deletes, struct fpm_message *out)
{
	struct netlink_value v[RTA_COUNT];
	struct fpm_route *r = &out->route;
	if (n < RTM_LEN)
		return FPM_ERR_MESSAGE_LENGTH;
	enum fpm_error error = netlink_attributes(p + RTM_LEN, n - RTM_LEN, v, RTA_COUNT);
	const uint8_t family = p[RTM_AT_FAMILY];
	if (error || (family != AF_INET && family != AF_INET6)) {
		out->kind = FPM_SKIPPED;
		out->skip = family == AF_MPLS ? FPM_SKIP_MPLS : FPM_SKIP_FAMILY;
		return error;
	}
	r->six = family == AF_INET6;
	error = key_decode(p, v, r);
	out->kind = FPM_ROUTE_DELETE;
	out->skip = FPM_SKIP_NONE;
	enum fpm_skip refused = FPM_SKIP_NONE;
	if (!error && !deletes) {
		r->mtu = r->nexthop_id = r->hops = 0;
		r->type = FPM_UNICAST;
		const enum fpm_skip by_type = type_decode(p[RTM_AT_TYPE], &r->type);
		error = hops_decode(v, le32_load(p + RTM_AT_FLAGS), r, &refused);
		out->skip = by_type ? by_type : refused;
		out->kind = out->skip ? FPM_ROUTE_REFUSED : FPM_ROUTE_SET;
	}
	/* A source-specific route is another route than that to the destination alone. */
	if (p[RTM_AT_SRC_LEN]) {
		out->kind = FPM_SKIPPED;
		out->skip = FPM_SKIP_SOURCE;
	}
	return error;
}
