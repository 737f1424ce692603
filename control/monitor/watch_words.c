/* See watch_words.h. */
#include "control/monitor/watch_words.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "dataplane/state.h"
#include "control/text/match_words.h"
#include "runtime/runtime.h"
#include "lib/mem.h"

/* The ports of a bundle, one bit each. */
static uint32_t ports_of(unsigned bundle)
{
	uint32_t ports = 0;
	for (unsigned p = 0; p < core_port_count(); p++)
		ports |= (uint32_t)(config_logical(&running.config, p) == bundle) << p;
	return ports;
}

uint32_t watch_ports(const char *word, uint16_t *vlan)
{
	const struct dp_state *v = dp_get();
	uint32_t key;
	*vlan = 0;
	if (strcmp(word, "all") == 0)
		return (1u << core_port_count()) - 1;
	if (config_key_parse(text_of(word), &key) != 0)
		return 0;
	const int n = config_number(&running.config, key);
	if (key < CONFIG_PORTS_MAX)
		return key < core_port_count() ? 1u << key : 0;
	if (n < 0 || !dp_has_link(v, (unsigned)n) || dp_is_svi(&v->interface[n]))
		return 0;
	*vlan = v->interface[n].vid;
	return v->interface[n].bundle ? ports_of(v->interface[n].port) : 1u << v->interface[n].port;
}

bool watch_option(struct shell *sh, char **word, unsigned *n, const char *name, uint32_t max,
                  uint32_t *value)
{
	for (unsigned i = 0; i < *n; i++) {
		if (strcmp(word[i], name) != 0)
			continue;
		if (i + 1 == *n || text_parse_u32(text_of(word[i + 1]), 1, max, value) != E_OK) {
			shell_print(sh, "%s takes a number from 1 to %u\n", name, max);
			return false;
		}
		memmove(word + i, word + i + 2, (*n - i - 2) * sizeof *word);
		*n -= 2;
		return true;
	}
	return true;
}

bool watch_filter(struct shell *sh, struct match *m, uint16_t vlan, char **word, unsigned n)
{
	const char *why;
	unsigned bad;
	if (match_words(m, word, n, &bad, &why) == E_OK) {
		m->vlan = vlan;
		return true;
	}
	shell_print(sh, "%s, at %s%s%s\n", why, bad < n ? "\"" : "", bad < n ? word[bad] : "the end",
	            bad < n ? "\"" : "");
	return false;
}
