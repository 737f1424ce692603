/* `show ip dhcp relay`, `show dhcp lease`, `renew dhcp`, `clear dhcp`. docs/console.md specifies the form, which
 * is an interface. */
#include "control/cli/show.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/host/dhcp_client.h"
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
	shell_print(sh, "%-16s %-6s %10s %10s %10s %10s %8s %8s %8s\n", "interface", "family", "requests", "sent",
	            "replies", "malformed", "hops", "agent", "unwanted");
	for (unsigned n = 0; n < running.config.interfaces; n++)
		for (unsigned six = 0; six < 2; six++)
			print_relay(sh, n, six);
}

/* --- the client --- */

static void print_hosts(struct shell *sh, const char *what, const uint32_t *host, uint32_t n)
{
	char addr[FMT_IP4_MAX];
	for (uint32_t i = 0; i < n; i++)
		shell_print(sh, "  %s %s\n", what, fmt_ip4(addr, host[i]));
}

static void print_lease(struct shell *sh, const struct dhcp_lease *l)
{
	char prefix[FMT_PREFIX_MAX], addr[FMT_IP4_MAX];
	shell_print(sh, "  address %s\n  server %s\n", fmt_prefix(prefix, l->addr, l->plen), fmt_ip4(addr, l->server));
	if (l->lease_s == DHCP_LEASE_FOREVER)
		shell_print(sh, "  lease_s infinite\n");
	else
		shell_print(sh, "  lease_s %u left_s %u renew_s %u rebind_s %u\n", l->lease_s,
		            dhcp_client_left_s(l, l->lease_s), dhcp_client_left_s(l, l->t1_s),
		            dhcp_client_left_s(l, l->t2_s));
	for (uint32_t i = 0; i < l->routes; i++)
		shell_print(sh, "  route %s via %s\n", fmt_prefix(prefix, l->route[i].prefix, l->route[i].plen),
		            fmt_ip4(addr, l->route[i].via));
	print_hosts(sh, "name-server", l->dns, l->dns_count);
	print_hosts(sh, "ntp-server", l->ntp, l->ntp_count);
	if (l->domain[0])
		shell_print(sh, "  domain %s\n", l->domain);
}

void show_dhcp_lease(struct shell *sh)
{
	const struct dhcp_client *c;
	unsigned interface;
	if (!dhcp_client_at(0, &interface))
		shell_print(sh, "no interface takes its address from a DHCP server: the statement `ip address dhcp` "
		                "says so\n");
	for (unsigned i = 0; (c = dhcp_client_at(i, &interface)) != NULL; i++) {
		shell_print(sh, "%s: %s\n", dp_name(dp_get(), interface), dhcp_client_state_name(c->state));
		if (c->installed)
			print_lease(sh, &c->lease);
		shell_print(sh, "  sent %llu received %llu naks %llu declines %llu timeouts %llu\n",
		            (ull)c->counts.sent, (ull)c->counts.received, (ull)c->counts.naks, (ull)c->counts.declines,
		            (ull)c->counts.timeouts);
	}
}

void renew_dhcp(struct shell *sh)
{
	(void)sh;
	dhcp_client_renew_all();
}

void clear_dhcp(struct shell *sh)
{
	(void)sh;
	dhcp_client_clear_all();
}
