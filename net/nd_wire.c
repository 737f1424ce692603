/* See nd_wire.h. */
#include "net/nd_wire.h"

#include "lib/mem.h"

/* Notes one option, of which all `bytes` octets are there. */
static void option_take(const uint8_t *opt, unsigned bytes, struct nd_options *out)
{
	switch (opt[0]) {
	case ND_OPT_SOURCE_MAC:
		if (bytes == ND_MAC_OPT_LEN && !out->source_mac)
			out->source_mac = opt + 2;
		break;
	case ND_OPT_TARGET_MAC:
		if (bytes == ND_MAC_OPT_LEN && !out->target_mac)
			out->target_mac = opt + 2;
		break;
	case ND_OPT_PREFIX:
		if (bytes == ND_PREFIX_OPT_LEN && out->prefixes < ND_PREFIXES_MAX)
			out->prefix[out->prefixes++] = opt;
		break;
	case ND_OPT_MTU:
		if (bytes == ND_MTU_OPT_LEN && !out->mtu)
			out->mtu = opt;
		break;
	case ND_OPT_NONCE:
		if (bytes == ND_NONCE_OPT_LEN && !out->nonce)
			out->nonce = opt + 2;
		break;
	default: /* RFC 4861 4.6: receivers MUST ignore options they do not recognise */
		break;
	}
}

bool nd_options_read(const uint8_t *icmp, unsigned len, unsigned fixed, struct nd_options *out)
{
	*out = (struct nd_options){0};
	if (len < fixed)
		return false;
	for (unsigned at = fixed; at < len;) {
		unsigned bytes = len - at >= 2 ? icmp[at + 1] * 8u : 0;
		if (bytes == 0 || bytes > len - at)
			return false;
		option_take(icmp + at, bytes, out);
		at += bytes;
	}
	return true;
}

enum counter nd_check(const uint8_t *ip, const struct ip6_upper *up, const struct icmp6_msg *m,
                      unsigned fixed, struct nd_options *options)
{
	if (up->fragment)
		return CNT_drop_nd_fragment;
	if (ip6_hop_limit(ip) != ND_HOP_LIMIT)
		return CNT_drop_nd_hop_limit;
	if (m->code != 0 || !nd_options_read(m->icmp, m->icmp_len, fixed, options))
		return CNT_drop_nd_malformed;
	return CNT_NONE;
}

uint8_t *nd_mac_option_put(uint8_t *p, enum nd_option type, const uint8_t *mac)
{
	p[0] = (uint8_t)type;
	p[1] = ND_MAC_OPT_LEN / 8;
	eth_copy(p + 2, mac);
	return p + ND_MAC_OPT_LEN;
}

unsigned nd_frame_finish(uint8_t *frame, const struct nd_envelope *e, unsigned icmp_len)
{
	uint8_t group[ETH_ALEN];
	if (!e->dst_mac)
		ip6_group_mac(group, &e->dst);
	eth_header_build(frame, e->dst_mac ? e->dst_mac : group, e->src_mac, ETH_TYPE_IP6);
	ip6_header_build(frame + ETH_HLEN, &(struct ip6_build){
		.src = e->src,
		.dst = e->dst,
		.payload_len = (uint16_t)icmp_len,
		.next = IP6_ICMP6,
		.hop_limit = ND_HOP_LIMIT,
	});
	icmp6_checksum_set(frame + ETH_HLEN, IP6_HLEN);
	return ND_FRAME_ICMP + icmp_len;
}

unsigned nd_redirect_build(uint8_t *out, unsigned room, const uint8_t *orig_ip, unsigned orig_len,
                           const struct nd_redirect *r)
{
	const unsigned head = ND_REDIRECT_LEN + ND_MAC_OPT_LEN + ND_REDIRECTED_OPT_LEN;
	const unsigned total = ip6_total_len(orig_ip);
	const struct net_addr dst = ip6_dst(orig_ip);
	unsigned quote = orig_len < total ? orig_len : total;
	if (room > IP6_MTU_MIN)
		room = IP6_MTU_MIN;
	if (room < IP6_HLEN + head + IP6_HLEN)
		return 0;
	if (quote > room - IP6_HLEN - head)
		quote = room - IP6_HLEN - head;
	quote &= ~7u;

	uint8_t *icmp = out + IP6_HLEN;
	memset(icmp, 0, head);
	icmp[0] = ICMP6_REDIRECT;
	net_addr_store(icmp + ND_TARGET, &r->target);
	net_addr_store(icmp + ND_TARGET + sizeof dst, &dst);
	uint8_t *option = nd_mac_option_put(icmp + ND_REDIRECT_LEN, ND_OPT_TARGET_MAC, r->mac);
	option[0] = ND_OPT_REDIRECTED;
	option[1] = (uint8_t)((ND_REDIRECTED_OPT_LEN + quote) / 8);
	memcpy(option + ND_REDIRECTED_OPT_LEN, orig_ip, quote);
	ip6_header_build(out, &(struct ip6_build){.src = r->src,
	                                          .dst = ip6_src(orig_ip),
	                                          .payload_len = (uint16_t)(head + quote),
	                                          .next = IP6_ICMP6,
	                                          .hop_limit = ND_HOP_LIMIT});
	icmp6_checksum_set(out, IP6_HLEN);
	return IP6_HLEN + head + quote;
}
