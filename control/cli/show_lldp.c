/* `show lldp`, its neighbours, and `clear lldp`. docs/console.md specifies the form, which is an interface. */
#include "control/cli/show.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/link/lldp_control.h"
#include "control/link/lldp_text.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "runtime/runtime.h"

typedef unsigned long long ull;

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
	shell_print(sh, "%-8s %-8s %-8s %10s %8s %8s %8s %8s %8s\n", "port", "transmit", "receive", "neighbours",
	            "sent", "received", "dropped", "refused", "aged");
	for (unsigned port = 0; port < l->ports; port++) {
		const struct lldp_port *p = &l->port[port];
		const bool engine = lldp_control_is_engines(port);
		shell_print(sh, "%-8s %-8s %-8s %10u %8llu %8llu %8llu %8llu %8llu\n", dp_name(dp_get(), port),
		            engine ? "engine" : p->transmit ? "on" : "off",
		            engine ? "engine" : p->receive ? "on" : "off", lldp_neighbours(l, port),
		            (ull)(p->counters.tx + p->counters.tx_shutdown), (ull)p->counters.rx,
		            (ull)p->counters.rx_dropped, (ull)p->counters.rx_refused, (ull)p->counters.rx_aged);
	}
}

static void print_line(struct shell *sh, const struct lldp_pdu *n, unsigned port, ull left_s)
{
	char chassis[LLDP_TEXT_ID_MAX], id[LLDP_TEXT_ID_MAX], name[LLDP_TEXT_MAX], words[LLDP_TEXT_MAX];
	shell_print(sh, "%-8s %-17s %-17s %5llu  %-14s %s\n", dp_name(dp_get(), port),
	            lldp_text_chassis(chassis, &n->chassis), lldp_text_port(id, &n->port), left_s,
	            lldp_text_capabilities(words, n->has_capabilities ? n->enabled : 0),
	            lldp_text_string(name, &n->system_name));
}

static void print_string(struct shell *sh, const char *what, const struct lldp_string *s)
{
	char text[LLDP_TEXT_MAX];
	if (s->at)
		shell_print(sh, "  %s %s\n", what, lldp_text_string(text, s));
}

static void print_addresses(struct shell *sh, const struct lldp_pdu *n)
{
	char text[LLDP_TEXT_ID_MAX];
	for (unsigned i = 0; i < n->addresses; i++)
		shell_print(sh, "  management-address %s interface %u\n",
		            lldp_text_address(text, n->address[i].family, &n->address[i].value), n->address[i].number);
}

static void print_detail(struct shell *sh, const struct lldp_neighbour *b, const struct lldp_pdu *n, unsigned port,
                         ull left_s)
{
	char id[LLDP_TEXT_ID_MAX], mac[FMT_MAC_MAX], words[LLDP_TEXT_MAX];
	const uint64_t now = core_now_ns();
	shell_print(sh, "%s\n", dp_name(dp_get(), port));
	shell_print(sh, "  chassis-id %s\n", lldp_text_chassis(id, &n->chassis));
	shell_print(sh, "  port-id %s\n", lldp_text_port(id, &n->port));
	print_string(sh, "port-description", &n->port_description);
	print_string(sh, "system-name", &n->system_name);
	print_string(sh, "system-description", &n->system_description);
	if (n->has_capabilities) {
		shell_print(sh, "  capabilities %s\n", lldp_text_capabilities(words, n->capabilities));
		shell_print(sh, "  enabled %s\n", lldp_text_capabilities(words, n->enabled));
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

void clear_lldp_neighbours(struct shell *sh)
{
	if (runs(sh))
		lldp_control_clear_neighbours();
}

void clear_lldp_counters(struct shell *sh)
{
	if (runs(sh))
		lldp_control_clear_counters();
}
