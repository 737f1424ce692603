/* `show ip dhcp relay`. docs/console.md specifies the form, which is an interface. */
#include "control/cli/show.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/host/dhcp_relay.h"
#include "dataplane/state.h"
#include "lib/fmt.h"

typedef unsigned long long ull;

static void print_servers(struct shell *sh, uint32_t key, bool six)
{
	char addr[FMT_ADDR_MAX], name[CONFIG_IF_NAME_SIZE];
	for (unsigned k = 0; k < running.config.dhcp.relays; k++) {
		const struct config_relay *r = &running.config.dhcp.relay[k];
		const bool named = r->link != CONFIG_INTERFACE_ANY;
		if (r->interface == key && net_addr_is_ip4(&r->server) != six)
			shell_print(sh, "  server %s%s%s\n", fmt_addr(addr, r->server.w), named ? " " : "",
			            named ? config_key_name(name, r->link) : "");
	}
}

static void print_relay(struct shell *sh, unsigned n, bool six)
{
	const struct dhcp_relay_counts *c = &dhcp_relay_counts[n][six];
	if (!running.config.interface[n].relay_line[six])
		return;
	shell_print(sh, "%-16s %-6s %10llu %10llu %10llu %10llu %8llu %8llu %8llu\n", dp_name(dp_get(), n),
	            six ? "ipv6" : "ipv4", (ull)c->requests, (ull)c->sent, (ull)c->replies, (ull)c->drops[0],
	            (ull)c->drops[1], (ull)c->drops[2], (ull)c->drops[3]);
	print_servers(sh, running.config.interface[n].key, six);
}

void show_dhcp_relay(struct shell *sh)
{
	const struct config_dhcp *c = &running.config.dhcp;
	shell_print(sh, "information_option %s\npolicy %s\nmaximum_hops %u\n", c->insert ? "on" : "off",
	            config_dhcp_policy_word(c->policy), c->hops ? c->hops : DHCP_RELAY4_HOPS_MAX);
	shell_print(sh, "strays_ipv4 %llu\nstrays_ipv6 %llu\n", (ull)dhcp_relay_strays[0], (ull)dhcp_relay_strays[1]);
	shell_print(sh, "%-16s %-6s %10s %10s %10s %10s %8s %8s %8s\n", "interface", "family", "requests", "sent", "replies",
	            "malformed", "hops", "agent", "unwanted");
	for (unsigned n = 0; n < running.config.interfaces; n++)
		for (unsigned six = 0; six < 2; six++)
			print_relay(sh, n, six);
}
