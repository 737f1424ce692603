/* See link.h. */
#include "net/link.h"

#include "net/eth.h"

#define TYPE_SLOW 0x8809
#define TYPE_LLDP 0x88cc

#define GROUP_BRIDGE 0x00  /* nearest customer bridge */
#define GROUP_SLOW 0x02    /* slow protocols */
#define GROUP_NON_TPMR 0x03 /* nearest bridge that is no two-port MAC relay */
#define GROUP_NEAREST 0x0e /* nearest bridge */

int link_group(const uint8_t *dst)
{
	static const uint8_t prefix[] = {0x01, 0x80, 0xc2, 0, 0};
	return memcmp(dst, prefix, sizeof prefix) == 0 ? dst[5] : -1;
}

enum link_protocol link_protocol_of(const uint8_t *frame)
{
	const unsigned type = be16_load(frame + 12);
	const int group = link_group(frame);
	const bool near = group == GROUP_BRIDGE || group == GROUP_NON_TPMR;
	if (group == GROUP_BRIDGE && type <= ETH_LENGTH_MAX)
		return LINK_STP;
	if (type == TYPE_SLOW && (group == GROUP_SLOW || near))
		return LINK_SLOW;
	if (type == TYPE_LLDP && (group == GROUP_NEAREST || near))
		return LINK_LLDP;
	return LINK_NONE;
}
