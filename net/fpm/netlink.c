/* See netlink.h. */
#include "net/fpm/netlink.h"

#include "lib/number.h"

#define ATTRIBUTE_HEADER 4
#define ATTRIBUTE_TYPE 0x3fff /* without NLA_F_NESTED and NLA_F_NET_BYTEORDER */

enum fpm_error netlink_attributes(const uint8_t *p, uint32_t n, struct netlink_value *value,
                                  unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		value[i] = (struct netlink_value){NULL, 0};
	while (n) {
		if (n < ATTRIBUTE_HEADER)
			return FPM_ERR_ATTRIBUTE;
		const uint16_t len = le16_load(p), type = le16_load(p + 2) & ATTRIBUTE_TYPE;
		if (len < ATTRIBUTE_HEADER || len > n)
			return FPM_ERR_ATTRIBUTE;
		if (type < count)
			value[type] = (struct netlink_value){p + ATTRIBUTE_HEADER,
			                                     (uint16_t)(len - ATTRIBUTE_HEADER)};
		const uint32_t step = u32_min((uint32_t)align_up(len, NETLINK_ALIGN), n);
		p += step;
		n -= step;
	}
	return FPM_OK;
}

enum fpm_error netlink_u32(struct netlink_value v, uint32_t *out)
{
	if (!v.p)
		return FPM_OK;
	if (v.len != 4)
		return FPM_ERR_VALUE_LENGTH;
	*out = le32_load(v.p);
	return FPM_OK;
}

enum fpm_error netlink_address(struct netlink_value v, struct net_addr *out)
{
	if (v.len == 4)
		*out = net_addr_ip4(be32_load(v.p));
	else if (v.len == sizeof *out)
		*out = net_addr_load(v.p);
	else
		return FPM_ERR_VALUE_LENGTH;
	return FPM_OK;
}

enum fpm_error netlink_encapsulation(struct netlink_value type, struct netlink_value encap,
                                     enum fpm_skip *out)
{
	*out = FPM_SKIP_NONE;
	if (type.p && type.len != 2)
		return FPM_ERR_VALUE_LENGTH;
	const unsigned number = type.p ? le16_load(type.p) : 0;
	if (number == LWTUNNEL_ENCAP_MPLS)
		*out = FPM_SKIP_ENCAP_MPLS;
	else if (number == LWTUNNEL_ENCAP_SEG6 || number == LWTUNNEL_ENCAP_SEG6_LOCAL)
		*out = FPM_SKIP_ENCAP_SRV6;
	else if (number == FPM_ENCAP_VXLAN)
		*out = FPM_SKIP_ENCAP_VXLAN;
	else if (number || encap.p)
		*out = FPM_SKIP_ENCAP_OTHER;
	return FPM_OK;
}
