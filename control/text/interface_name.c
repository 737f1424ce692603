/* See interface_name.h. */
#include "control/text/interface_name.h"

#include "lib/fmt.h"

_Static_assert(CONFIG_PORTS_MAX == 16 && CONFIG_LOOPBACKS_MAX == 16 && CONFIG_CHANNELS_MAX == 16,
               "CONFIG_IF_NAMES says so");

static bool starts(struct text w, const char *prefix)
{
	const size_t n = text_of(prefix).len;
	return w.len > n && text_is_word((struct text){w.at, n}, text_of(prefix));
}

/* What follows the prefix: N, or N.VID. */
static int parse_number(struct text rest, uint32_t least, uint32_t most, uint32_t *key)
{
	const size_t dot = text_find(rest, '.');
	uint32_t n, vid = 0;
	if (text_parse_u32((struct text){rest.at, dot}, least, most, &n) != 0)
		return E_INVAL;
	if (dot < rest.len && text_parse_u32((struct text){rest.at + dot + 1, rest.len - dot - 1}, 1,
	                                     CONFIG_VID_MAX, &vid) != 0)
		return E_INVAL;
	*key = n | vid << 8;
	return 0;
}

int config_key_parse(struct text w, uint32_t *key)
{
	static const size_t channel = sizeof "port-channel" - 1;
	uint32_t n, vid = 0;
	if (starts(w, "lo")) {
		if (text_parse_u32((struct text){w.at + 2, w.len - 2}, 0, CONFIG_LOOPBACKS_MAX - 1, &n) != 0)
			return E_INVAL;
		*key = n | CONFIG_KEY_LOOPBACK;
		return 0;
	}
	if (starts(w, "vlan")) {
		if (text_parse_u32((struct text){w.at + 4, w.len - 4}, 1, CONFIG_VID_MAX, &vid) != 0)
			return E_INVAL;
		*key = vid | CONFIG_KEY_SVI;
		return 0;
	}
	if (starts(w, "port-channel")) {
		if (parse_number((struct text){w.at + channel, w.len - channel}, 1, CONFIG_CHANNELS_MAX, &n) != 0)
			return E_INVAL;
		*key = n | CONFIG_KEY_CHANNEL;
		return 0;
	}
	return starts(w, "eth") ? parse_number((struct text){w.at + 3, w.len - 3}, 0, CONFIG_PORTS_MAX - 1, key)
	                        : E_INVAL;
}

char *config_key_name(char buf[CONFIG_IF_NAME_SIZE], uint32_t key)
{
	if (key & CONFIG_KEY_LOOPBACK)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "lo%u", key & 0xff);
	else if (key & CONFIG_KEY_SVI)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "vlan%u", key & 0xfff);
	else if (key & CONFIG_KEY_CHANNEL && key >> 8 & 0xfff)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "port-channel%u.%u", key & 0xff, key >> 8 & 0xfff);
	else if (key & CONFIG_KEY_CHANNEL)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "port-channel%u", key & 0xff);
	else if (key >> 8)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "eth%u.%u", key & 0xff, key >> 8);
	else
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "eth%u", key);
	return buf;
}
