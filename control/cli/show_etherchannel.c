/* `show etherchannel summary` and `show lacp`. docs/link-aggregation.md specifies the form, which is an
 * interface. */
#include "control/cli/show.h"
#include "control/config/running.h"
#include "control/link/bundle.h"
#include "dataplane/state.h"
#include "lib/fmt.h"

typedef unsigned long long ull;

static bool none(struct shell *sh)
{
	if (!bundle_lacp())
		shell_print(sh, "no port is in a port channel\n");
	return !bundle_lacp();
}

/* What a port does in its port channel, in Cisco's letters. */
static char letter(const struct lacp_port_status *s)
{
	if (!s->enabled)
		return 'D';
	if (s->mux == LACP_MUX_DISTRIBUTING)
		return s->individual ? 'I' : 'P';
	if (s->selected == LACP_STANDBY)
		return 'H';
	return s->selected == LACP_SELECTED ? 'w' : 's';
}

static void show_channel(struct shell *sh, unsigned channel)
{
	const bool lacp = running.config.member[config_channel_port(&running.config, channel)].mode != LACP_ON;
	char name[CONFIG_IF_NAME_SIZE];
	shell_print(sh, "%-6u %-15s %-6s %-9s", channel, config_key_name(name, channel | CONFIG_KEY_CHANNEL),
	            bundle_ports(channel) ? "up" : "down", lacp ? "lacp" : "-");
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct lacp_port_status s;
		if (config_channel_of(&running.config, p) != channel)
			continue;
		lacp_port_status(bundle_lacp(), p, &s);
		shell_print(sh, " eth%u(%c)", p, letter(&s));
	}
	shell_print(sh, "\n");
}

void show_etherchannel(struct shell *sh)
{
	if (none(sh))
		return;
	shell_print(sh,
	            "P in use  I in use, individual  w waits for its partner  H too few links  s suspended  D down\n");
	shell_print(sh, "%-6s %-15s %-6s %-9s %s\n", "group", "port-channel", "link", "protocol", "ports");
	for (unsigned k = 1; k <= CONFIG_CHANNELS_MAX; k++)
		if (config_channel_port(&running.config, k) >= 0)
			show_channel(sh, k);
}

/* --- show lacp --- */

/* The state octet: activity, timeout, aggregation, synchronization, collecting, distributing, defaulted, expired;
 * "-" for what is not set, but l for a long timeout and p for passive. */
static const char *flags_text(char text[9], uint8_t state)
{
	static const char set[] = "asASCDde", clear[] = "pl------";
	static const uint8_t bits[] = {LACP_ACTIVITY, LACP_TIMEOUT, LACP_AGGREGATION, LACP_SYNCHRONIZATION,
	                               LACP_COLLECTING, LACP_DISTRIBUTING, LACP_DEFAULTED, LACP_EXPIRED};
	for (unsigned i = 0; i < 8; i++)
		text[i] = state & bits[i] ? set[i] : clear[i];
	text[8] = 0;
	return text;
}

static void each_port(struct shell *sh, void (*row)(struct shell *sh, unsigned port, const struct lacp_port_status *s))
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct lacp_port_status s;
		lacp_port_status(bundle_lacp(), p, &s);
		if (s.group && s.mode != LACP_ON)
			row(sh, p, &s);
	}
}

static void print_end(struct shell *sh, const struct lacp_end *e)
{
	char flags[9], mac[FMT_MAC_MAX];
	shell_print(sh, " %-8s %5u %-18s %5u %5u %5u", flags_text(flags, e->state), e->system_priority,
	            fmt_mac(mac, e->system), e->key, e->port_priority, e->port);
}

static void print_head(struct shell *sh, const char *more)
{
	shell_print(sh, "state: a active, p passive; s short, l long timeout; A aggregation, S synchronization, "
	            "C collecting, D distributing, d defaulted, e expired\n");
	shell_print(sh, "%-6s %-6s %-8s %5s %-18s %5s %5s %5s %s\n", "port", "group", "state", "prio", "system", "key",
	            "pprio", "port", more);
}

static void row_neighbour(struct shell *sh, unsigned port, const struct lacp_port_status *s)
{
	shell_print(sh, "eth%-3u %-6u", port, s->group);
	if (s->receive != LACP_RX_CURRENT && s->receive != LACP_RX_EXPIRED) {
		shell_print(sh, " no partner\n");
		return;
	}
	print_end(sh, &s->partner);
	if (s->heard_ns)
		shell_print(sh, " %llu\n", (ull)((core_now_ns() - s->heard_ns) / SECOND_NS));
	else
		shell_print(sh, " -\n");
}

void show_lacp_neighbor(struct shell *sh)
{
	if (none(sh))
		return;
	print_head(sh, "age_s");
	each_port(sh, row_neighbour);
}

static void row_internal(struct shell *sh, unsigned port, const struct lacp_port_status *s)
{
	static const char *const churn[] = {
		[LACP_NO_CHURN] = "none", [LACP_CHURN_MONITOR] = "monitor", [LACP_CHURN] = "churn"};
	shell_print(sh, "eth%-3u %-6u", port, s->group);
	print_end(sh, &s->actor);
	shell_print(sh, " %s %s%s actor-churn %s partner-churn %s\n", lacp_receive_name(s->receive),
	            lacp_mux_name(s->mux), s->looped ? " looped" : "", churn[s->actor_churn], churn[s->partner_churn]);
}

void show_lacp_internal(struct shell *sh)
{
	if (none(sh))
		return;
	print_head(sh, "machines");
	each_port(sh, row_internal);
}

static void row_counters(struct shell *sh, unsigned port, const struct lacp_port_status *s)
{
	const struct lacp_port_counters *c = &s->counters;
	shell_print(sh, "eth%-3u %-6u %10llu %10llu %10llu %10llu %10llu %8llu %8llu\n", port, s->group,
	            (ull)c->tx_lacp, (ull)c->rx_lacp, (ull)c->tx_marker, (ull)c->rx_marker, (ull)c->rx_dropped,
	            (ull)c->actor_churn, (ull)c->partner_churn);
}

void show_lacp_counters(struct shell *sh)
{
	if (none(sh))
		return;
	shell_print(sh, "%-6s %-6s %10s %10s %10s %10s %10s %8s %8s\n", "port", "group", "lacp_tx", "lacp_rx",
	            "marker_tx", "marker_rx", "dropped", "a_churn", "p_churn");
	each_port(sh, row_counters);
}
