/* `show lldp` and its neighbours. docs/console.md specifies the form, which is an interface. What a neighbour
 * sends is printed with a dot for each octet that is no printable ASCII character. */
#include "control/cli/show.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/link/lldp_control.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "runtime/runtime.h"

typedef unsigned long long ull;

#define TEXT_MAX (LLDP_STRING_MAX + 1)
#define ID_MAX (3 * LLDP_STRING_MAX) /* as hexadecimal octets */

static bool is_printable(uint8_t c) { return c >= ' ' && c <= '~'; }

static const char *text_string(char buf[TEXT_MAX], const struct lldp_string *s)
{
	struct fmt_buf w = {.at = buf, .size = TEXT_MAX};
	for (unsigned i = 0; i < s->len; i++)
		fmt_put(&w, "%c", is_printable(s->at[i]) ? s->at[i] : '.');
	return s->len ? buf : "-";
}

static const char *text_hex(char buf[ID_MAX], const struct lldp_string *s)
{
	struct fmt_buf w = {.at = buf, .size = ID_MAX};
	for (unsigned i = 0; i < s->len; i++)
		fmt_put(&w, "%s%02x", i ? ":" : "", s->at[i]);
	return buf;
}

static const char *text_address(char buf[ID_MAX], unsigned family, const struct lldp_string *s)
{
	if (family == LLDP_IP4 && s->len == 4)
		return fmt_ip4(buf, be32_load(s->at));
	if (family == LLDP_IP6 && s->len == sizeof(struct net_addr))
		return fmt_ip6(buf, s->at);
	return text_hex(buf, s);
}

enum id_form { ID_TEXT, ID_MAC, ID_ADDRESS };

static const char *text_id(char buf[ID_MAX], const struct lldp_string *s, enum id_form form)
{
	bool printable = form == ID_TEXT;
	for (unsigned i = 0; i < s->len; i++)
		printable &= is_printable(s->at[i]);
	if (form == ID_ADDRESS && s->len > 1)
		return text_address(buf, s->at[0], &(struct lldp_string){s->at + 1, (uint16_t)(s->len - 1)});
	return printable ? text_string(buf, s) : text_hex(buf, s);
}

static const char *text_chassis(char buf[ID_MAX], const struct lldp_id *id)
{
	return text_id(buf, &id->value, id->subtype == LLDP_CHASSIS_MAC       ? ID_MAC
	                                : id->subtype == LLDP_CHASSIS_ADDRESS ? ID_ADDRESS
	                                                                      : ID_TEXT);
}

static const char *text_port(char buf[ID_MAX], const struct lldp_id *id)
{
	return text_id(buf, &id->value, id->subtype == LLDP_PORT_MAC       ? ID_MAC
	                                : id->subtype == LLDP_PORT_ADDRESS ? ID_ADDRESS
	                                                                   : ID_TEXT);
}

static const char *text_capabilities(char buf[TEXT_MAX], unsigned set)
{
	static const char *const names[] = {"other", "repeater", "bridge", "wlan-access-point", "router", "telephone",
	                                    "docsis", "station", "c-vlan", "s-vlan", "two-port-relay"};
	struct fmt_buf w = {.at = buf, .size = TEXT_MAX};
	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (set >> i & 1)
			fmt_put(&w, "%s%s", w.used ? "," : "", names[i]);
	return w.used ? buf : "-";
}

static ull seconds(uint64_t ns) { return (ull)(ns / SECOND_NS); }

/* False: LLDP is off, which has been printed. */
static bool runs(struct shell *sh)
{
	if (!lldp_control_agent())
		shell_print(sh, "lldp does not run: the statement `lldp run` turns it on\n");
	return lldp_control_agent() != NULL;
}

void show_lldp(struct shell *sh)
{
	const struct lldp *l = lldp_control_agent();
	if (!runs(sh))
		return;
	shell_print(sh, "timer_s %u\nholdtime_s %u\n", l->params.interval_s, l->params.ttl_s);
	shell_print(sh, "%-8s %-8s %-8s %10s %8s %8s %8s %8s %8s\n", "port", "transmit", "receive", "neighbours", "sent",
	            "received", "dropped", "refused", "aged");
	for (unsigned port = 0; port < l->ports; port++) {
		const struct lldp_port *p = &l->port[port];
		const bool engine = lldp_control_is_engines(port);
		shell_print(sh, "%-8s %-8s %-8s %10u %8llu %8llu %8llu %8llu %8llu\n", dp_name(dp_get(), port),
		            engine ? "engine" : p->transmit ? "on" : "off", engine ? "engine" : p->receive ? "on" : "off",
		            lldp_neighbours(l, port), (ull)(p->counters.tx + p->counters.tx_shutdown), (ull)p->counters.rx,
		            (ull)p->counters.rx_dropped, (ull)p->counters.rx_refused, (ull)p->counters.rx_aged);
	}
}

static void print_line(struct shell *sh, const struct lldp_pdu *n, unsigned port, ull left_s)
{
	char chassis[ID_MAX], id[ID_MAX], name[TEXT_MAX], words[TEXT_MAX];
	shell_print(sh, "%-8s %-17s %-17s %5llu  %-14s %s\n", dp_name(dp_get(), port), text_chassis(chassis, &n->chassis),
	            text_port(id, &n->port), left_s, text_capabilities(words, n->has_capabilities ? n->enabled : 0),
	            text_string(name, &n->system_name));
}

static void print_string(struct shell *sh, const char *what, const struct lldp_string *s)
{
	char text[TEXT_MAX];
	if (s->at)
		shell_print(sh, "  %s %s\n", what, text_string(text, s));
}

static void print_addresses(struct shell *sh, const struct lldp_pdu *n)
{
	char text[ID_MAX];
	for (unsigned i = 0; i < n->addresses; i++)
		shell_print(sh, "  management-address %s interface %u\n",
		            text_address(text, n->address[i].family, &n->address[i].value), n->address[i].number);
}

static void print_detail(struct shell *sh, const struct lldp_neighbour *b, const struct lldp_pdu *n, unsigned port,
                         ull left_s)
{
	char id[ID_MAX], mac[FMT_MAC_MAX], words[TEXT_MAX];
	const uint64_t now = core_now_ns();
	shell_print(sh, "%s\n", dp_name(dp_get(), port));
	shell_print(sh, "  chassis-id %s\n", text_chassis(id, &n->chassis));
	shell_print(sh, "  port-id %s\n", text_port(id, &n->port));
	print_string(sh, "port-description", &n->port_description);
	print_string(sh, "system-name", &n->system_name);
	print_string(sh, "system-description", &n->system_description);
	if (n->has_capabilities) {
		shell_print(sh, "  capabilities %s\n", text_capabilities(words, n->capabilities));
		shell_print(sh, "  enabled %s\n", text_capabilities(words, n->enabled));
	}
	print_addresses(sh, n);
	if (n->has_vlan)
		shell_print(sh, "  port-vlan %u\n", n->vlan);
	if (n->has_frame_max)
		shell_print(sh, "  frame-size-max %u\n", n->frame_max);
	shell_print(sh, "  source %s\n", fmt_mac(mac, b->source));
	shell_print(sh, "  ttl_s %u, left %llu\n", n->ttl_s, left_s);
	shell_print(sh, "  known_s %llu, heard_s %llu\n", seconds(now - b->since_ns), seconds(now - b->heard_ns));
	if (n->unknown || n->discarded)
		shell_print(sh, "  tlvs unknown %u, invalid %u\n", n->unknown, n->discarded);
}

static void print_neighbours(struct shell *sh, bool detail)
{
	const struct lldp *l = lldp_control_agent();
	const uint64_t now = core_now_ns();
	for (unsigned i = 0; i < l->ports * LLDP_EACH; i++) {
		const struct lldp_neighbour *b = lldp_neighbour(l, i / LLDP_EACH, i % LLDP_EACH);
		struct lldp_pdu n;
		if (b == NULL || lldp_pdu_read(b->pdu, b->len, &n) != CNT_NONE)
			continue;
		const ull left_s = b->expires_ns > now ? seconds(b->expires_ns - now + SECOND_NS - 1) : 0;
		if (detail)
			print_detail(sh, b, &n, i / LLDP_EACH, left_s);
		else
			print_line(sh, &n, i / LLDP_EACH, left_s);
	}
}

void show_lldp_neighbours(struct shell *sh)
{
	if (!runs(sh))
		return;
	shell_print(sh, "%-8s %-17s %-17s %5s  %-14s %s\n", "port", "chassis-id", "port-id", "ttl_s", "capabilities",
	            "system-name");
	print_neighbours(sh, false);
}

void show_lldp_neighbours_detail(struct shell *sh)
{
	if (runs(sh))
		print_neighbours(sh, true);
}
