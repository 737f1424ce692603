/* See interface_name.h. */
#include "control/text/interface_name.h"

#include "lib/fmt.h"

_Static_assert(CONFIG_PORTS_MAX == 16 && CONFIG_LOOPBACKS_MAX == 16, "CONFIG_IF_NAMES says so");

static bool starts(struct text w, const char *prefix)
{
	const size_t n = text_of(prefix).len;
	return w.len > n && text_is_word((struct text){w.at, n}, text_of(prefix));
}

int config_key_parse(struct text w, uint32_t *key)
{
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
	if (!starts(w, "eth"))
		return E_INVAL;
	const struct text rest = {w.at + 3, w.len - 3};
	const size_t dot = text_find(rest, '.');
	if (text_parse_u32((struct text){rest.at, dot}, 0, CONFIG_PORTS_MAX - 1, &n) != 0)
		return E_INVAL;
	if (dot < rest.len && text_parse_u32((struct text){rest.at + dot + 1, rest.len - dot - 1}, 1,
	                                     CONFIG_VID_MAX, &vid) != 0)
		return E_INVAL;
	*key = n | vid << 8;
	return 0;
}

char *config_key_name(char buf[CONFIG_IF_NAME_SIZE], uint32_t key)
{
	if (key & CONFIG_KEY_LOOPBACK)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "lo%u", key & 0xff);
	else if (key & CONFIG_KEY_SVI)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "vlan%u", key & 0xfff);
	else if (key >> 8)
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "eth%u.%u", key & 0xff, key >> 8);
	else
		fmt_format(buf, CONFIG_IF_NAME_SIZE, "eth%u", key);
	return buf;
}
