/*
 * The console's commands for counters: `show counters`, `show interfaces counters`, `show
 * interfaces drops`, `show interfaces rates`, `clear counters`. The form follows the rules in
 * show.c. Counts begin at the last `clear counters` (stats.h).
 *
 * There is no tick (ARCHITECTURE.md, invariant 3), so rates of the last seconds are not known:
 * `show interfaces rates` measures while it waits. One measurement runs at a time, like ping.c.
 */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/text/interface_name.h"
#include "dataplane/state.h"
#include "control/management/stats.h"

#define RATES_SECONDS_MAX 60

typedef unsigned long long ull;

void clear_counters(struct shell *sh)
{
	(void)sh;
	stats_clear();
}

/* --- show counters --- */

/* The balance of all packets received since boot. Since a `clear counters` it would not add up,
 * because the packets that waited at that time are not recorded. */
static void show_balance(struct shell *sh)
{
	struct counters c;
	uint64_t received = 0, fates = 0;
	core_counters(&c);
	uint64_t waiting = stats_waiting(&c);
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counter_desc[i].kind != COUNTER_INFO)
			fates += c.v[i];
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic_counters n;
		core_port_counters(p, &n);
		received += n.rx_pkts;
	}
	shell_print(sh, "received %llu = fates %llu + waiting %llu\n", (ull)received, (ull)fates,
	            (ull)waiting);
}

void show_counters(struct shell *sh)
{
	struct counters c;
	bool all = sh->argc == 1 && strcmp(sh->argv[0], "all") == 0;
	bool drops = sh->argc == 1 && strcmp(sh->argv[0], "drops") == 0;
	if (sh->argc == 1 && !all && !drops) {
		shell_print(sh, "%% unknown word \"%s\"; it may be all or drops\n", sh->argv[0]);
		return;
	}
	stats_counters(&c);
	for (unsigned i = 0; i < CNT_MAX; i++) {
		const struct counter_desc *d = &counter_desc[i];
		if (all || (drops && d->kind == COUNTER_DROP && c.v[i]))
			shell_print(sh, "%-26s %12llu  %s\n", d->name, (ull)c.v[i], d->help);
		else if (!drops && c.v[i])
			shell_print(sh, "%s %llu\n", d->name, (ull)c.v[i]);
	}
	if (stats_cleared_ns())
		shell_print(sh, "counted for %llu s\n",
		            (ull)((stats_uptime_ns() - stats_cleared_ns()) / 1000000000u));
	show_balance(sh);
}

/* --- show interfaces counters --- */

void show_interfaces_counters(struct shell *sh)
{
	shell_print(sh, INTERFACE_COLUMN " %14s %18s %10s %10s %14s %18s %10s %10s\n", "port", "rx_pkts",
	            "rx_bytes", "rx_errors", "rx_drops", "tx_pkts", "tx_bytes", "tx_errors",
	            "tx_drops");
	for (unsigned n = 0; n < dp_get()->ifs; n++) {
		struct nic_counters c;
		struct nic_stats s;
		if (!dp_has_link(dp_get(), n))
			continue;
		stats_interface(n, &c, &s);
		shell_print(sh, INTERFACE_COLUMN " %14llu %18llu %10llu %10llu %14llu %18llu %10llu %10llu\n",
		            dp_name(dp_get(), n), (ull)c.rx_pkts, (ull)c.rx_bytes,
		            (ull)stats_frames(&c, &s, false, STATS_ERROR),
		            (ull)stats_frames(&c, &s, false, STATS_DROP), (ull)c.tx_pkts,
		            (ull)c.tx_bytes, (ull)stats_frames(&c, &s, true, STATS_ERROR),
		            (ull)stats_frames(&c, &s, true, STATS_DROP));
	}
}

/* --- show interfaces drops --- */

static void show_drops(struct shell *sh, const char *name, unsigned n)
{
	uint64_t count[CNT_FATES];
	stats_fates(n, true, count);
	for (unsigned i = CNT_DROP_FIRST; i < CNT_FATES; i++)
		if (count[i])
			shell_print(sh, INTERFACE_COLUMN " %-26s %12llu  %s\n", name,
			            counter_desc[i].name, (ull)count[i], counter_desc[i].help);
}

void show_interfaces_drops(struct shell *sh)
{
	shell_print(sh, INTERFACE_COLUMN " %-26s %12s\n", "port", "reason", "pkts");
	for (unsigned n = 0; n < dp_get()->ifs; n++)
		if (dp_has_link(dp_get(), n))
			show_drops(sh, dp_name(dp_get(), n), n);
	show_drops(sh, "-", DP_INTERFACES_MAX);
}

/* --- show interfaces rates --- */

static struct {
	struct shell *sh; /* NULL: no measurement runs */
	uint64_t begin_ns, end_ns;
	struct nic_counters before[DP_INTERFACES_MAX];
} rates;

/* The rate of n in `ns` nanoseconds, in tenths of `unit` per second; exact for what a port can
 * carry in a minute. */
static uint64_t tenths(uint64_t n, uint64_t ns, uint64_t unit)
{
	return ns ? n * 10000 / (ns / 1000000) / unit : 0;
}

static void rates_print(struct shell *sh, uint64_t ns)
{
	shell_print(sh, INTERFACE_COLUMN " %12s %12s %12s %12s\n", "port", "rx_pkts_s", "rx_mbit_s", "tx_pkts_s",
	            "tx_mbit_s");
	for (unsigned interface = 0; interface < dp_get()->ifs; interface++) {
		struct nic_counters c;
		const struct nic_counters *b = &rates.before[interface];
		if (!dp_has_link(dp_get(), interface))
			continue;
		stats_carried(interface, &c);
		uint64_t rx = tenths((c.rx_bytes - b->rx_bytes) * 8, ns, 1000000);
		uint64_t tx = tenths((c.tx_bytes - b->tx_bytes) * 8, ns, 1000000);
		shell_print(sh, INTERFACE_COLUMN " %12llu %10llu.%llu %12llu %10llu.%llu\n",
		            dp_name(dp_get(), interface),
		            (ull)tenths(c.rx_pkts - b->rx_pkts, ns, 10), (ull)(rx / 10),
		            (ull)(rx % 10), (ull)tenths(c.tx_pkts - b->tx_pkts, ns, 10),
		            (ull)(tx / 10), (ull)(tx % 10));
	}
}

static void rates_cancel(struct shell *sh)
{
	rates.sh = NULL;
	shell_done(sh);
}

void show_interfaces_rates(struct shell *sh)
{
	uint32_t seconds = 1;
	if (sh->argc == 1 &&
	    text_parse_u32(text_of(sh->argv[0]), 1, RATES_SECONDS_MAX, &seconds) != E_OK) {
		shell_print(sh, "from 1 to %u seconds\n", RATES_SECONDS_MAX);
		return;
	}
	if (rates.sh) {
		shell_print(sh, "another console waits for the rates\n");
		return;
	}
	rates.sh = sh;
	rates.begin_ns = core_now_ns();
	rates.end_ns = rates.begin_ns + seconds * SECOND_NS;
	for (unsigned interface = 0; interface < dp_get()->ifs; interface++)
		stats_carried(interface, &rates.before[interface]);
	shell_set_busy(sh, rates_cancel);
}

uint64_t rates_timer(void)
{
	uint64_t now = core_now_ns();
	struct shell *sh = rates.sh;
	if (!sh)
		return UINT64_MAX;
	if (now < rates.end_ns)
		return rates.end_ns;
	rates_print(sh, now - rates.begin_ns);
	rates_cancel(sh);
	return UINT64_MAX;
}
