/* See lldp_text.h. */
#include "control/link/lldp_text.h"

#include "lib/fmt.h"
#include "net/addr.h"

static bool is_printable(uint8_t c) { return c >= ' ' && c <= '~'; }

const char *lldp_text_string(char buf[LLDP_TEXT_MAX], const struct lldp_string *s)
{
	struct fmt_buf w = {.at = buf, .size = LLDP_TEXT_MAX};
	for (unsigned i = 0; i < s->len; i++)
		fmt_put(&w, "%c", is_printable(s->at[i]) ? s->at[i] : '.');
	return s->len ? buf : "-";
}

static const char *text_hex(char buf[LLDP_TEXT_ID_MAX], const struct lldp_string *s)
{
	struct fmt_buf w = {.at = buf, .size = LLDP_TEXT_ID_MAX};
	for (unsigned i = 0; i < s->len; i++)
		fmt_put(&w, "%s%02x", i ? ":" : "", s->at[i]);
	return buf;
}

const char *lldp_text_address(char buf[LLDP_TEXT_ID_MAX], unsigned family, const struct lldp_string *s)
{
	if (family == LLDP_IP4 && s->len == 4)
		return fmt_ip4(buf, be32_load(s->at));
	if (family == LLDP_IP6 && s->len == sizeof(struct net_addr))
		return fmt_ip6(buf, s->at);
	return text_hex(buf, s);
}

enum id_form { ID_TEXT, ID_MAC, ID_ADDRESS };

static const char *text_id(char buf[LLDP_TEXT_ID_MAX], const struct lldp_string *s, enum id_form form)
{
	bool printable = form == ID_TEXT;
	for (unsigned i = 0; i < s->len; i++)
		printable &= is_printable(s->at[i]);
	if (form == ID_ADDRESS && s->len > 1)
		return lldp_text_address(buf, s->at[0], &(struct lldp_string){s->at + 1, (uint16_t)(s->len - 1)});
	return printable ? lldp_text_string(buf, s) : text_hex(buf, s);
}

const char *lldp_text_chassis(char buf[LLDP_TEXT_ID_MAX], const struct lldp_id *id)
{
	return text_id(buf, &id->value, id->subtype == LLDP_CHASSIS_MAC       ? ID_MAC
	                                : id->subtype == LLDP_CHASSIS_ADDRESS ? ID_ADDRESS
	                                                                      : ID_TEXT);
}

const char *lldp_text_port(char buf[LLDP_TEXT_ID_MAX], const struct lldp_id *id)
{
	return text_id(buf, &id->value, id->subtype == LLDP_PORT_MAC       ? ID_MAC
	                                : id->subtype == LLDP_PORT_ADDRESS ? ID_ADDRESS
	                                                                   : ID_TEXT);
}

const char *lldp_text_capabilities(char buf[LLDP_TEXT_MAX], unsigned set)
{
	static const char *const names[LLDP_CAPABILITIES] = {
		"other", "repeater", "bridge", "wlan-access-point", "router", "telephone",
		"docsis", "station", "c-vlan", "s-vlan", "two-port-relay"};
	struct fmt_buf w = {.at = buf, .size = LLDP_TEXT_MAX};
	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (set >> i & 1)
			fmt_put(&w, "%s%s", w.used ? "," : "", names[i]);
	return w.used ? buf : "-";
}
