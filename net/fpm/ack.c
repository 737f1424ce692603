/* Acknowledgements of routes. See fpm.h. */
#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/fpm/netlink.h"

bool fpm_ack_wanted(const struct fpm_message *m)
{
	return (m->kind == FPM_ROUTE_SET || m->kind == FPM_ROUTE_REFUSED) &&
	       m->route.protocol_number > RTPROT_STATIC;
}

size_t fpm_ack_put(uint8_t *out, size_t room, const uint8_t *message, uint32_t length,
                   bool installed)
{
	assert(length >= NLMSG_LEN + RTM_LEN && le16_load(message + NLMSG_AT_TYPE) == RTM_NEWROUTE);
	const size_t frame = FPM_HEADER_LEN + align_up(length, NETLINK_ALIGN);
	if (frame > room || frame > FPM_ACK_MAX)
		return 0;
	uint8_t *copy = out + FPM_HEADER_LEN;
	out[0] = FPM_VERSION;
	out[1] = FPM_TYPE_NETLINK;
	be16_store(out + 2, (uint16_t)frame);
	memcpy(copy, message, length);
	memset(copy + length, 0, frame - FPM_HEADER_LEN - length);
	/* zebra ignores messages without it. */
	le16_store(copy + NLMSG_AT_FLAGS, le16_load(copy + NLMSG_AT_FLAGS) | NLM_F_REQUEST);
	uint8_t *at = copy + NLMSG_LEN + RTM_AT_FLAGS;
	const uint32_t flags = le32_load(at) & ~(RTM_F_OFFLOAD | RTM_F_TRAP | RTM_F_OFFLOAD_FAILED);
	le32_store(at, flags | (installed ? RTM_F_OFFLOAD : RTM_F_OFFLOAD_FAILED));
	return frame;
}
