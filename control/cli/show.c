/*
 * The `show` commands. People read them and programs parse them (tools/launcher/guest.py), so
 * their form is an interface: NAME VALUE lines, or a table with one header line and words without
 * blanks as column names.
 */
#include "control/cli/boot_commands.h"
#include "control/cli/configure.h"
#include "control/cli/show.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "control/text/interface_name.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "control/management/stats.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/ip4.h"


typedef unsigned long long ull;

/* --- show interfaces --- */

/* The state of an interface's link. */
static const char *link_word(unsigned n)
{
	const struct dp_interface *ifp = &dp_get()->interface[n];
	struct nic_link link;
	if (dp_is_loopback(ifp))
		return "up";
	if (dp_is_svi(ifp) || ifp->bundle)
		return dp_link_is_up(dp_get(), n) ? "up" : "down";
	if (!core_port_link(ifp->port, &link))
		return "down";
	return link.gone ? "gone" : link.up ? "up" : "down";
}

static void show_addresses(struct shell *sh, const struct dp_interface *ifp)
{
	char text[FMT_PREFIX_MAX];
	for (unsigned a = 0; a < ifp->addresses; a++)
		shell_print(sh, "  address %s%s\n", fmt_prefix(text, ifp->addr[a], ifp->plen[a]),
		            a ? " secondary" : "");
}

/* The next IPv6 address of an interface, from *cursor on, which is 0 at the start. */
static bool next_address6(unsigned n, unsigned *cursor, struct nd_address *a)
{
	const struct dp_interface6 *six = &dp_get()->interface6[n];
	if (dp_is_loopback(&dp_get()->interface[n])) {
		if (*cursor >= six->count)
			return false;
		*a = (struct nd_address){.addr = six->addr[*cursor], .interface = n,
		                         .plen = six->plen[*cursor], .state = ND_VALID};
		(*cursor)++;
		return true;
	}
	while (forwarding.ready && nd_local_next(&neighbours.nd, cursor, a))
		if (a->interface == n && !a->anycast)
			return true;
	return false;
}

static void show_addresses6(struct shell *sh, unsigned n)
{
	char text[FMT_PREFIX6_MAX];
	struct nd_address a;
	for (unsigned cursor = 0; next_address6(n, &cursor, &a);)
		shell_print(sh, "  address %s%s%s\n", fmt_prefix6(text, a.addr.w, a.plen),
		            a.state == ND_VALID ? "" : " ",
		            a.state == ND_VALID ? "" : nd_address_state_name(a.state));
}

struct row {
	const char *name;
	size_t offset;
	bool always;
};

/* Prints the uint64_t at each row's offset in `from`. */
static void show_rows(struct shell *sh, const struct row *row, unsigned n, const void *from)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t v = *(const uint64_t *)(const void *)((const uint8_t *)from + row[i].offset);
		if (v || row[i].always)
			shell_print(sh, "  %s %llu\n", row[i].name, (ull)v);
	}
}

static void show_port_counters(struct shell *sh, unsigned port)
{
	static const struct row queues[] = {
		{"rx_pkts", offsetof(struct nic_counters, rx_pkts), true},
		{"rx_bytes", offsetof(struct nic_counters, rx_bytes), true},
		{"tx_pkts", offsetof(struct nic_counters, tx_pkts), true},
		{"tx_bytes", offsetof(struct nic_counters, tx_bytes), true},
		{"tx_full", offsetof(struct nic_counters, tx_full), false},
		{"tx_dropped", offsetof(struct nic_counters, tx_dropped), false},
		{"tx_flushed", offsetof(struct nic_counters, tx_flushed), false},
		{"rx_no_buffer", offsetof(struct nic_counters, rx_no_buffer), false},
		{"rx_bad_len", offsetof(struct nic_counters, rx_bad_len), false},
		{"rx_bad_desc", offsetof(struct nic_counters, rx_bad_desc), false},
		{"tx_bad_desc", offsetof(struct nic_counters, tx_bad_desc), false},
		{"rx_oversize", offsetof(struct nic_counters, rx_oversize), false},
		{"rx_queue_errors", offsetof(struct nic_counters, rx_queue_errors), false},
		{"tx_queue_errors", offsetof(struct nic_counters, tx_queue_errors), false},
		{"mmio_reads", offsetof(struct nic_counters, mmio_reads), true},
		{"mmio_writes", offsetof(struct nic_counters, mmio_writes), true},
		{"irq_arms", offsetof(struct nic_counters, irq_arms), true},
	};
	static const struct row device[] = {
		{"rx_unread", offsetof(struct nic_stats, rx_unread), false},
		{"tx_unsent", offsetof(struct nic_stats, tx_unsent), false},
		{"hw_rx_missed", offsetof(struct nic_stats, rx_missed), false},
		{"hw_rx_no_desc", offsetof(struct nic_stats, rx_no_desc), false},
		{"hw_rx_crc", offsetof(struct nic_stats, rx_crc), false},
		{"hw_rx_length", offsetof(struct nic_stats, rx_length), false},
		{"hw_rx_error", offsetof(struct nic_stats, rx_error), false},
		{"hw_rx_filtered", offsetof(struct nic_stats, rx_filtered), false},
		{"hw_tx_error", offsetof(struct nic_stats, tx_error), false},
		{"hw_queue_errors", offsetof(struct nic_stats, queue_errors), false},
	};
	struct nic_counters c;
	struct nic_stats s;
	stats_port(port, &c, &s);
	show_rows(sh, queues, ARRAY_LEN(queues), &c);
	show_rows(sh, device, ARRAY_LEN(device), &s);
}

static void show_device(struct shell *sh, const struct nic *nic, unsigned mtu)
{
	char mac[FMT_MAC_MAX], name[FMT_PCI_MAX];
	shell_print(sh, "  device %s", nic->ops->name);
	if (nic->pci->vendor != PCI_VENDOR_NONE)
		shell_print(sh, " at %s", fmt_pci(name, nic->pci->segment, nic->pci->bdf));
	shell_print(sh, ", mac %s, mtu %u\n", fmt_mac(mac, nic->mac), mtu);
}

static void show_offloads(struct shell *sh, uint32_t features)
{
	static const struct {
		uint32_t bits;
		const char *name;
	} row[] = {
		{NIC_RX_CSUM, "rx-checksum"}, {NIC_TX_CSUM, "tx-checksum"}, {NIC_SG, "scatter-gather"},
		{NIC_TSO, "tso"},             {NIC_TSO4, "tso4"},           {NIC_TSO6, "tso6"},
		{NIC_USO, "uso"},             {NIC_RSS, "rss"},
	};
	unsigned shown = 0;
	shell_print(sh, "  offloads");
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		if ((features & row[i].bits) == row[i].bits) {
			shell_print(sh, " %s", row[i].name);
			features &= ~row[i].bits; /* tso stands for tso4 and tso6 */
			shown++;
		}
	if (!shown)
		shell_print(sh, " none");
}

static void show_carried(struct shell *sh, unsigned n)
{
	struct nic_counters c;
	struct nic_stats none;
	stats_interface(n, &c, &none);
	shell_print(sh, "  rx_pkts %llu\n  rx_bytes %llu\n  tx_pkts %llu\n  tx_bytes %llu\n",
	            (ull)c.rx_pkts, (ull)c.rx_bytes, (ull)c.tx_pkts, (ull)c.tx_bytes);
}

/* What became of the packets that the interface received. */
static void show_packets(struct shell *sh, unsigned n)
{
	const struct stats_packets p = stats_packets(n, true);
	shell_print(sh, "  forwarded %llu\n  delivered %llu\n  dropped %llu\n", (ull)p.forwarded,
	            (ull)p.delivered, (ull)p.dropped);
}

/* The lines of a port above its addresses. */
static void show_port_head(struct shell *sh, unsigned p, const struct nic *nic)
{
	struct nic_link link;
	bool polls = core_port_link(p, &link);
	show_device(sh, nic, dp_get()->interface[p].mtu);
	if (polls && link.up && link.mbps)
		shell_print(sh, "  speed %u Mbit/s\n", link.mbps);
	show_offloads(sh, nic->features);
	shell_print(sh, ", queue pairs %u\n", core_data_count());
}

/* The lines of a port below its addresses. */
static void show_port_tail(struct shell *sh, unsigned p, const struct nic *nic)
{
	show_port_counters(sh, p);
	shell_print(sh, "  control_mmio_reads %llu\n  control_mmio_writes %llu\n",
	            (ull)nic->mmio_reads, (ull)nic->mmio_writes);
}

/* Whether interface n is in use, in words. */
static const char *use_of(const struct dp_state *v, unsigned n)
{
	if (running.config.interface[n].shutdown)
		return "shut down by configuration";
	if (n < NIC_PORTS_MAX && config_channel_of(&running.config, n))
		return "in a port channel";
	if (core_app_number() == CORE_APP_switch && (n < NIC_PORTS_MAX || dp_is_bundle(v, n)))
		return "switched";
	return dp_in_use(&v->interface[n]) ? "in use" : "no address";
}

/* The interface of the untagged frames of a VLAN's link. */
static unsigned link_of(const struct dp_state *v, const struct dp_interface *ifp)
{
	return ifp->bundle ? v->bundle_interface[ifp->port] : ifp->port;
}

static void show_interface(struct shell *sh, const struct dp_state *v, unsigned n)
{
	const struct dp_interface *ifp = &v->interface[n];
	const char *description = running.config.interface[n].description;
	char mac[FMT_MAC_MAX];
	shell_print(sh, "%s link %s, %s\n", dp_name(v, n), link_word(n), use_of(v, n));
	if (description[0])
		shell_print(sh, "  description %s\n", description);
	if (n < NIC_PORTS_MAX)
		show_port_head(sh, n, core_port_nic(n));
	else if (dp_is_svi(ifp))
		shell_print(sh, "  VLAN %u of the switch, mac %s, mtu %u\n", ifp->vid, fmt_mac(mac, ifp->mac),
		            ifp->mtu);
	else if (dp_is_bundle(v, n))
		shell_print(sh, "  port channel, mac %s, mtu %u\n", fmt_mac(mac, ifp->mac), ifp->mtu);
	else if (!dp_is_loopback(ifp))
		shell_print(sh, "  VLAN %u of %s, mac %s, mtu %u\n", ifp->vid, dp_name(v, link_of(v, ifp)),
		            fmt_mac(mac, ifp->mac), ifp->mtu);
	show_addresses(sh, ifp);
	if (config_lender(&running.config, n) >= 0)
		shell_print(sh, "  unnumbered, address of %s\n",
		            dp_name(v, (unsigned)config_lender(&running.config, n)));
	show_addresses6(sh, n);
	if (n < NIC_PORTS_MAX)
		show_port_tail(sh, n, core_port_nic(n));
	else if (!dp_is_loopback(ifp))
		show_carried(sh, n);
	if (!dp_is_loopback(ifp))
		show_packets(sh, n);
}

void show_interfaces(struct shell *sh)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; n < v->ifs; n++)
		if (dp_exists(v, n))
			show_interface(sh, v, n);
}

/* --- show ip interface brief, show ipv6 interface brief --- */

#define BRIEF INTERFACE_COLUMN " %-*s %-5s %-10s %s\n"
#define BRIEF_WIDTH 18 /* of an address and its length, as in the tables of routes */
#define BRIEF_WIDTH6 34

static void brief_head(struct shell *sh, int width)
{
	shell_print(sh, BRIEF, "port", width, "address", "link", "use", "state");
}

/* Prints an address of the interface; NULL: the interface has none. */
static void brief_line(struct shell *sh, int width, unsigned interface, bool enabled,
                       const char *address, const char *state)
{
	shell_print(sh, BRIEF, dp_name(dp_get(), interface), width, address ? address : "-",
	            link_word(interface),
	            running.config.interface[interface].shutdown ? "shutdown"
	            : enabled                                    ? "in_use"
	                                                         : "no_address",
	            address ? state : "-");
}

void show_ip_brief(struct shell *sh)
{
	char text[FMT_PREFIX_MAX];
	brief_head(sh, BRIEF_WIDTH);
	for (unsigned interface = 0; interface < dp_get()->ifs; interface++) {
		const struct dp_interface *ifp = &dp_get()->interface[interface];
		if (!dp_exists(dp_get(), interface))
			continue;
		for (unsigned a = 0; a < ifp->addresses; a++)
			brief_line(sh, BRIEF_WIDTH, interface, ifp->enabled,
			           fmt_prefix(text, ifp->addr[a], ifp->plen[a]),
			           a ? "secondary" : "primary");
		if (!ifp->addresses)
			brief_line(sh, BRIEF_WIDTH, interface, ifp->enabled, NULL, NULL);
	}
}

void show_ipv6_brief(struct shell *sh)
{
	char text[FMT_PREFIX6_MAX];
	struct nd_address a;
	brief_head(sh, BRIEF_WIDTH6);
	for (unsigned interface = 0; interface < dp_get()->ifs; interface++) {
		bool any = false, enabled = dp_get()->interface[interface].enabled6;
		if (!dp_exists(dp_get(), interface))
			continue;
		for (unsigned cursor = 0; next_address6(interface, &cursor, &a);) {
			brief_line(sh, BRIEF_WIDTH6, interface, enabled,
			           fmt_prefix6(text, a.addr.w, a.plen), nd_address_state_name(a.state));
			any = true;
		}
		if (!any)
			brief_line(sh, BRIEF_WIDTH6, interface, enabled, NULL, NULL);
	}
}

/* --- show arp --- */

void show_arp(struct shell *sh)
{
	char ip[FMT_IP4_MAX], mac[FMT_MAC_MAX];
	struct arp_entry e;
	unsigned cursor = 0;
	shell_print(sh, "%-15s %-17s " INTERFACE_COLUMN " %-11s %8s %7s\n", "address", "mac", "port", "state", "age_s",
	            "waiting");
	while (forwarding.ready && arp_next(&neighbours.arp, &cursor, core_now_ns(), &e)) {
		bool known = !eth_is_zero(e.mac);
		shell_print(sh, "%-15s %-17s " INTERFACE_COLUMN " %-11s %8llu %7u\n", fmt_ip4(ip, e.ip),
		            known ? fmt_mac(mac, e.mac) : "-", dp_name(dp_get(), e.interface),
		            arp_state_name(e.state), (ull)(e.age_ns / 1000000000u), e.pending);
	}
}

/* --- show cores --- */

/* The node of a core's memory, "-" if no node has it. */
static void node_text(char text[12], uint32_t node)
{
	if (node < NODES_MAX)
		fmt_format(text, 12, "%u", node);
	else
		fmt_format(text, 12, "-");
}

void show_cores(struct shell *sh)
{
	shell_print(sh, "%-4s %-12s %-8s %12s %14s %12s %10s %8s %6s %4s %6s %4s %7s %6s %6s\n", "core", "role",
	            "state", "rx_pkts", "busy_cycles", "cycles_pkt", "pkts_turn", "sleeps", "faults", "node", "memory",
	            "from", "buckets", "taken", "given");
	for (unsigned i = 0; i < self.info->cores; i++) {
		char memory[12];
		node_text(memory, self.info->core[i].arena_node);
		const struct core_stats *s = core_stats_of(i);
		const struct core_status *status = &self.info->status[i];
		uint64_t rx = s->rx_pkts, busy = s->busy_cycles, turns = s->busy_turns;
		const struct core_moves m = core_moves_of(i);
		char from[12] = "-";
		if (core_steered_from(i) >= 0)
			fmt_format(from, sizeof from, "%u", (unsigned)core_steered_from(i));
		shell_print(sh, "%-4u %-12s %-8s %12llu %14llu %10llu.%llu %8llu.%llu %8llu ", i, stats_role(i),
		            stats_core_state(i), (ull)rx, (ull)busy, (ull)(rx ? busy / rx : 0),
		            (ull)(rx ? busy * 10 / rx % 10 : 0), (ull)(turns ? rx / turns : 0),
		            (ull)(turns ? rx * 10 / turns % 10 : 0), (ull)s->sleeps);
		shell_print(sh, "%6u %4u %6s %4s %7llu %6llu %6llu\n", status->faults, self.info->core[i].node, memory,
		            from, (ull)m.has, (ull)m.taken, (ull)m.given);
	}
}

/* --- show version --- */

/* Time from the start of the kernel to the first forwarded packet of any core. */
static uint64_t first_forward_tsc(void)
{
	uint64_t first = UINT64_MAX;
	for (unsigned i = 0; i < self.info->cores; i++) {
		uint64_t t = core_stats_of(i)->first_forward_tsc;
		first = t && t < first ? t : first;
	}
	return first;
}

void show_version(struct shell *sh)
{
	const struct boot_info *b = self.info;
	uint64_t first = first_forward_tsc();
	char image[32];
	shell_print(sh, "Hayate %s, application %s\n", HAYATE_VERSION,
	            core_app_word(core_app_number()));
	shell_print(sh, "build %s\n", b->build_id);
	if (b->config_hash)
		shell_print(sh, "configuration %016llx\n", (ull)b->config_hash);
	shell_print(sh, "booted by %s, %s\n", b->loader, b->hypervisor ? "as a guest" : "on bare metal");
	if (boot_words(image, sizeof image))
		shell_print(sh, "%s\n", image);
	shell_print(sh, "cpu %s, TSC %llu kHz%s\n", b->cpu, (ull)(b->tsc_hz / 1000),
	            b->tsc_invariant ? ", invariant" : "");
	shell_print(sh, "image %llu KiB, memory %llu MiB, %llu MiB used\n", (ull)(b->image_bytes >> 10),
	            (ull)(b->ram_bytes >> 20), (ull)(b->ram_used_bytes >> 20));
	if (b->iommu.units)
		shell_print(sh, "iommu %s, cards behind it %u of %u, refused %llu\n", show_iommu_name(), b->iommu.cards,
		            b->pci_count, (ull)b->iommu.refused);
	if (core_idle_mode() == CORE_IDLE_POLL)
		shell_print(sh, "idle poll\n");
	else if (core_idle_spin_us())
		shell_print(sh, "idle sleep spin %u\n", core_idle_spin_us());
	else
		shell_print(sh, "idle sleep\n");
	shell_print(sh, "up %llu s\n",
	            (ull)(clock_ns(&self.clock, clock_tsc() - b->tsc_boot) / 1000000000u));
	if (first != UINT64_MAX)
		shell_print(sh, "boot_to_first_forward_us %llu\n",
		            (ull)(clock_ns(&self.clock, first - b->tsc_boot) / 1000));
}

/* --- show running-config --- */

struct config_stream {
	struct config_cursor at;
	uint32_t number; /* of the configuration that is shown */
	bool begun;
};
_Static_assert(sizeof(struct config_stream) <= SHELL_STREAM_BYTES, "shell_stream keeps it");
_Static_assert(CONFIG_PRINT_NEXT_MAX <= SHELL_STREAM_PIECE, "a session has room for it");

static bool more_config(struct shell *sh, void *at)
{
	struct config_stream *s = at;
	if (!s->begun)
		s->number = running.number;
	s->begun = true;
	if (s->number == running.number)
		return config_print_next(&running.config, &s->at, configure_print, sh);
	shell_print(sh, "%% a commit has changed the configuration meanwhile\n");
	return false;
}

void show_config(struct shell *sh)
{
	shell_stream(sh, more_config);
}
