/*
 * The statements of the switch (apps/switch): what VLANs a port carries, static stations, the ageing time,
 * storm control.
 * See docs/configuration.md, "The switch".
 *
 * A port without these statements is an access port of VLAN 1. A VLAN needs no statement of its own: it is
 * there while a port carries it.
 */
#include "control/config/config_parse.h"

#include "lib/fmt.h"

#define VID_LIST_WANTED "VLANs such as 10,20-29, all or none"

struct config_switchport *config_switchport_of(struct parser *p, unsigned i)
{
	const uint32_t key = p->interface->key;
	const bool channel = config_is_channel(p->interface) && config_if_vid(p->interface) == 0;
	if (key >= CONFIG_PORTS_MAX && !channel) {
		(void)FAIL(p, i - 1, "only a port switches: this belongs into the block of one, such as eth0");
		return NULL;
	}
	struct config_switchport *s = &p->out->switchport[channel ? CONFIG_PORTS_MAX + (key & 0xff) - 1 : key];
	if (s->line == 0)
		s->line = p->w.line;
	return s;
}

int config_parse_vid(struct parser *p, unsigned i, uint16_t *vid)
{
	uint32_t n;
	int error = words_u32(&p->w, i, "the VLAN", 1, CONFIG_VID_MAX, &n);
	if (error == 0)
		*vid = (uint16_t)n;
	return error;
}

/* A VLAN of a port: the default is 0, so that two texts of the same meaning are equal. */
static int parse_port_vid(struct parser *p, unsigned i, uint16_t *vid)
{
	int error = config_parse_vid(p, i, vid);
	if (error == 0 && *vid == CONFIG_VID_DEFAULT)
		*vid = 0;
	return error;
}

int config_switch_mode(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	if (s == NULL)
		return E_INVAL;
	return words_choice(&p->w, i, "trunk", "access",
	                    "unknown mode; expected access (one VLAN, untagged) or trunk (tagged)", &s->trunk);
}

int config_switch_access(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	int error = E_INVAL;
	if (s == NULL || (error = parse_port_vid(p, i, &s->access)) != 0)
		return error;
	return words_end(&p->w, i + 1);
}

int config_switch_native(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	int error = 0;
	if (s == NULL)
		return E_INVAL;
	s->no_native = words_is(&p->w, i, "none");
	if (!s->no_native && (error = parse_port_vid(p, i, &s->native)) != 0)
		return error;
	return words_end(&p->w, i + 1);
}

/* One element of a list, N or N-M, in word i of the line. */
static int add_range(struct parser *p, unsigned i, struct text range, uint64_t *set)
{
	uint32_t first, last;
	const size_t dash = text_find(range, '-');
	const struct text from = {range.at, dash};
	const struct text to = dash < range.len ? (struct text){range.at + dash + 1, range.len - dash - 1} : from;
	if (text_parse_u32(from, 1, CONFIG_VID_MAX, &first) != 0 ||
	    text_parse_u32(to, 1, CONFIG_VID_MAX, &last) != 0)
		return FAIL(p, i, "expected " VID_LIST_WANTED "; VLANs are numbers from 1 to %d", CONFIG_VID_MAX);
	if (first > last)
		return FAIL(p, i, "the range %u-%u runs backwards", first, last);
	for (uint32_t vid = first; vid <= last; vid++)
		set[vid / 64] |= 1ull << vid % 64;
	return 0;
}

int config_switch_allowed(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	int error = E_INVAL;
	if (s == NULL || (error = words_expect(&p->w, i)) != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	struct text rest = p->w.word[i];
	memset(s->allowed, 0, sizeof s->allowed);
	s->lists = !words_is(&p->w, i, "all");
	if (!s->lists || words_is(&p->w, i, "none"))
		return 0;
	if (rest.len > CONFIG_VID_LIST)
		return FAIL(p, i, "the list has %u characters; at most %d", (unsigned)rest.len, CONFIG_VID_LIST);
	while (error == 0 && rest.len > 0) {
		const size_t n = text_find(rest, ',');
		error = add_range(p, i, (struct text){rest.at, n}, s->allowed);
		if (error == 0 && n + 1 == rest.len)
			return FAIL(p, i, "a VLAN is missing behind the last comma");
		rest = n < rest.len ? (struct text){rest.at + n + 1, rest.len - n - 1}
		                    : (struct text){rest.at + n, 0};
	}
	return error;
}

int config_switch_limit(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	int error = 0;
	if (s == NULL)
		return E_INVAL;
	error = words_u32(&p->w, i, "the number of addresses", 1, CONFIG_MAC_LIMIT_MAX, &s->limit);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

/* The limit of a class: the index of struct config_switchport, storm[]. */
static int parse_storm(struct parser *p, unsigned i, unsigned class)
{
	struct config_switchport *s = config_switchport_of(p, i);
	int error = 0;
	if (s == NULL)
		return E_INVAL;
	error = words_u32(&p->w, i, "the level in packets per second", 1, CONFIG_STORM_MAX, &s->storm[class]);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

int config_switch_storm_broadcast(struct parser *p, unsigned i) { return parse_storm(p, i, 0); }

int config_switch_storm_multicast(struct parser *p, unsigned i) { return parse_storm(p, i, 1); }

int config_switch_storm_unicast(struct parser *p, unsigned i) { return parse_storm(p, i, 2); }

int config_switch_storm_action(struct parser *p, unsigned i)
{
	struct config_switchport *s = config_switchport_of(p, i);
	if (s == NULL)
		return E_INVAL;
	return words_choice(&p->w, i, "shutdown", "drop", "unknown action; expected drop or shutdown",
	                    &s->storm_shutdown);
}

int config_switch_aging(struct parser *p, unsigned i)
{
	uint32_t s;
	int error = words_u32(&p->w, i, "the ageing time in seconds (0: never)", 0, CONFIG_AGING_MAX_S, &s);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (s && s < CONFIG_AGING_MIN_S)
		return FAIL(p, i, "the ageing time is %d to %d seconds (802.1Q 8.8.3), or 0 for never",
		            CONFIG_AGING_MIN_S, CONFIG_AGING_MAX_S);
	p->out->aging_s = s;
	p->out->aging_line = p->w.line;
	return 0;
}

int config_switch_static(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	struct config_mac m = {.line = p->w.line};
	int error = config_parse_mac(p, i, m.mac);
	if (error == 0 && !words_is(&p->w, i + 1, "vlan"))
		return FAIL(p, i + 1, "expected vlan and its number");
	if (error != 0 || (error = config_parse_vid(p, i + 2, &m.vid)) != 0)
		return error;
	if (!words_is(&p->w, i + 3, "interface"))
		return FAIL(p, i + 3, "expected interface and the name of a port");
	if ((error = config_parse_interface(p, i + 4, &m.port)) != 0 || (error = words_end(&p->w, i + 5)) != 0)
		return error;
	if (m.port >= CONFIG_PORTS_MAX && (m.port & ~0xffu) != CONFIG_KEY_CHANNEL)
		return FAIL(p, i + 4, "a station is behind a port, such as eth0, or a port channel");
	for (unsigned k = 0; k < c->mac_count; k++)
		if (c->mac[k].vid == m.vid && memcmp(c->mac[k].mac, m.mac, sizeof m.mac) == 0)
			return FAIL(p, i, "this address has an entry in VLAN %u already, at line %u", m.vid,
			            c->mac[k].line);
	if (c->mac_count == CONFIG_MACS_MAX)
		return FAIL(p, i, "too many static addresses; at most %d", CONFIG_MACS_MAX);
	c->mac[c->mac_count++] = m;
	return 0;
}

int config_mac_port(const struct config *c, const struct config_mac *m)
{
	return m->port < CONFIG_PORTS_MAX ? (int)m->port : config_channel_port(c, m->port & 0xff);
}

const struct config_switchport *config_switchport(const struct config *c, unsigned port)
{
	const unsigned channel = config_channel_of(c, port);
	return &c->switchport[channel ? CONFIG_PORTS_MAX + channel - 1 : port];
}

bool config_switch_carries(const struct config *c, unsigned port, unsigned vid)
{
	const struct config_switchport *s = config_switchport(c, port);
	if (!s->trunk)
		return vid == config_switch_untagged(c, port);
	return !s->lists || s->allowed[vid / 64] >> vid % 64 & 1;
}

unsigned config_switch_untagged(const struct config *c, unsigned port)
{
	const struct config_switchport *s = config_switchport(c, port);
	const unsigned vid = s->trunk ? s->native : s->access;
	if (s->trunk && s->no_native)
		return 0;
	return vid ? vid : CONFIG_VID_DEFAULT;
}

char *config_vid_list(char buf[CONFIG_VID_LIST + 1], const uint64_t *set)
{
	struct fmt_buf b = {buf, CONFIG_VID_LIST + 1, 0, false};
	buf[0] = 0;
	for (unsigned first = 1; first <= CONFIG_VID_MAX; first++) {
		unsigned last = first;
		if (!(set[first / 64] >> first % 64 & 1))
			continue;
		while (last < CONFIG_VID_MAX && set[(last + 1) / 64] >> (last + 1) % 64 & 1)
			last++;
		fmt_put(&b, "%s%u", buf[0] ? "," : "", first);
		if (last > first)
			fmt_put(&b, "-%u", last);
		first = last;
	}
	return buf;
}

int config_check_switch(const struct config *c, struct text_error *err)
{
	char name[CONFIG_IF_NAME_SIZE];
	for (unsigned k = 0; k < c->mac_count; k++) {
		const struct config_mac *m = &c->mac[k];
		const int port = config_mac_port(c, m);
		if (port < 0)
			return text_fail(err, m->line, text_of(config_key_name(name, m->port)),
			                 "the port channel has no port");
		if (m->port < CONFIG_PORTS_MAX && config_channel_of(c, m->port))
			return text_fail(err, m->line, text_of(config_key_name(name, m->port)),
			                 "the port is in port-channel%u, behind which the station is",
			                 config_channel_of(c, m->port));
		if (!config_switch_carries(c, (unsigned)port, m->vid))
			return text_fail(err, m->line, text_of(config_key_name(name, m->port)),
			                 "the port does not carry VLAN %u", m->vid);
	}
	return 0;
}
