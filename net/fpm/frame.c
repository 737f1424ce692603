/* Frames and the messages in them. See fpm.h. */
#include "lib/assert.h"
#include "lib/number.h"
#include "net/fpm/netlink.h"

enum fpm_error fpm_frame(const uint8_t *data, size_t n, uint32_t *length)
{
	*length = 0;
	if (n >= 1 && data[0] != FPM_VERSION)
		return FPM_ERR_VERSION;
	if (n >= 2 && data[1] != FPM_TYPE_NETLINK)
		return FPM_ERR_TYPE;
	if (n < FPM_HEADER_LEN)
		return FPM_OK;
	const uint16_t len = be16_load(data + 2);
	if (len < FPM_HEADER_LEN + NLMSG_LEN)
		return FPM_ERR_FRAME_LENGTH;
	if (len <= n)
		*length = len;
	return FPM_OK;
}

/* The length of the message at p, of which at most n octets are there. */
static enum fpm_error message_length(const uint8_t *p, uint32_t n, uint32_t *length)
{
	*length = n >= NLMSG_LEN ? le32_load(p + NLMSG_AT_LENGTH) : 0;
	if (*length >= NLMSG_LEN && *length <= n)
		return FPM_OK;
	const uint32_t swapped = __builtin_bswap32(*length);
	return swapped >= NLMSG_LEN && swapped <= n ? FPM_ERR_BYTE_ORDER : FPM_ERR_MESSAGE_LENGTH;
}

/* What a message that is not about routes or next hops is about. rtnetlink.h numbers types in groups: new, delete,
 * get, and sometimes set. */
static enum fpm_skip skip_of(uint16_t type)
{
	static const struct {
		uint8_t first, last;
		uint8_t skip;
	} rows[] = {
		{0, NLMSG_MIN_TYPE - 1, FPM_SKIP_CONTROL},
		{16, 19, FPM_SKIP_LINK},
		{20, 23, FPM_SKIP_ADDRESS},
		{28, 31, FPM_SKIP_NEIGHBOUR},
		{32, 35, FPM_SKIP_RULE},
		{36, 51, FPM_SKIP_TC}, /* queueing disciplines, classes, filters, actions */
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		if (type >= rows[i].first && type <= rows[i].last)
			return (enum fpm_skip)rows[i].skip;
	return FPM_SKIP_UNKNOWN;
}

/* Decodes the message at c->at and moves the cursor behind it, on errors not. */
static enum fpm_error message_decode(struct fpm_cursor *c, struct fpm_message *out)
{
	const uint8_t *p = c->frame + c->at;
	const uint32_t n = c->length - c->at;
	uint32_t length;
	enum fpm_error error = message_length(p, n, &length);
	if (error)
		return error;
	const uint16_t flags = le16_load(p + NLMSG_AT_FLAGS);
	out->type = le16_load(p + NLMSG_AT_TYPE);
	out->create = flags & NLM_F_CREATE;
	out->replace = flags & NLM_F_REPLACE;
	out->offset = c->at;
	out->length = length;
	switch (out->type) {
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		error = fpm_route_decode(p + NLMSG_LEN, length - NLMSG_LEN,
		                         out->type == RTM_DELROUTE, out);
		break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		error = fpm_nexthop_decode(p + NLMSG_LEN, length - NLMSG_LEN,
		                           out->type == RTM_DELNEXTHOP, out);
		break;
	default:
		out->kind = FPM_SKIPPED;
		out->skip = skip_of(out->type);
	}
	/* The padding of the last message may be absent. */
	if (!error)
		c->at += u32_min((uint32_t)align_up(length, NETLINK_ALIGN), n);
	return error;
}

enum fpm_error fpm_check(const uint8_t *frame, uint32_t length, uint32_t *at)
{
	struct fpm_cursor c = fpm_begin(frame, length);
	struct fpm_message m;
	enum fpm_error error = FPM_OK;
	if (length < FPM_HEADER_LEN + NLMSG_LEN)
		error = FPM_ERR_FRAME_LENGTH;
	while (!error && c.at < length)
		error = message_decode(&c, &m);
	if (at)
		*at = c.at;
	return error;
}

bool fpm_next(struct fpm_cursor *c, struct fpm_message *out)
{
	if (c->at >= c->length)
		return false;
	const enum fpm_error error = message_decode(c, out);
	assert(error == FPM_OK);
	return true;
}
