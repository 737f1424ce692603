/* The IPv6 part of net/ip.h, kept apart from the IPv4 fast path. */
#include "net/ip.h"

void ip_parse6(uint8_t *ip, uint8_t proto, struct ip_packet *out)
{
	unsigned at = IP6_HLEN, total = ip6_total_len(ip);
	uint8_t found = proto;
	if (unlikely(ip6_next(ip) != proto))
		at = ip6_skip_extensions(ip, total, &found);
	out->src = ip6_src(ip);
	out->dst = ip6_dst(ip);
	out->l4 = ip + at;
	out->l4_len = found == proto && at ? total - at : 0;
	out->ecn = ip6_traffic_class(ip) & 3;
}

void ip_header_put6(uint8_t *l4, unsigned l4_len, const struct net_addr *src,
                    const struct net_addr *dst, uint8_t proto, uint8_t ecn)
{
	uint8_t *ip = l4 - IP6_HLEN;
	be32_store(ip, 6u << 28 | (uint32_t)ecn << 20);
	be32_store(ip + 4, l4_len << 16 | (uint32_t)proto << 8 | IP6_HOP_LIMIT_DEFAULT);
	net_addr_store(ip + 8, src);
	net_addr_store(ip + 24, dst);
}
