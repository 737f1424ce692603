/* The console's commands. What they show is in show.c. */
#include "control/management/crash.h"
#include "control/monitor/capture.h"
#include "control/cli/boot_commands.h"
#include "control/cli/configure.h"
#include "control/forwarding/filter.h"
#include "control/management/plugin.h"
#include "control/cli/clock.h"
#include "control/cli/commands.h"
#include "control/cli/options.h"
#include "control/cli/show.h"
#include "control/cli/storage_commands.h"
#include "control/cli/show_logging.h"
#include "control/cli/show_memory.h"
#include "control/cli/show_ntp.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/console/shell.h"
#include "control/engine/bfd.h"
#include "control/engine/engine.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "control/host/ping.h"
#include "control/host/traceroute.h"
#include "control/storage/boot_disk.h"
#include "net/arp.h"
#include "net/nd.h"
#include "control/management/remote.h"
#include "control/management/ssh.h"
#include "control/monitor/sflow.h"
#include "control/monitor/trace.h"

#include "lib/mem.h"

#define LEAVE_NS 20000000ull /* for the last packets to leave */
#define PING_TIMES 5
#define PING_BYTES 56
#define PING_BYTES_MAX 1400
#define PING_TIMES_MAX 100000

static void help(struct shell *sh)
{
	shell_help(sh);
}

/* "[ipv6]" before the host of a command; *word moves behind it. */
static enum names_family family_word(struct shell *sh, unsigned *word)
{
	if (sh->argc < 2 || strcmp(sh->argv[0], "ipv6") != 0)
		return NAMES_ANY;
	*word = 1;
	return NAMES_IP6;
}

/* Options of ping and traceroute: the words behind the host. */
static bool read_options(struct shell *sh, unsigned word, const struct option *options, unsigned n)
{
	for (unsigned i = 0; word && i < sh->argc; i++)
		sh->argv[i] = sh->argv[i + 1]; /* the NULL too */
	sh->argc -= word;
	return options_read(sh, options, n);
}

static void ping_command(struct shell *sh)
{
	uint32_t times = PING_TIMES, bytes = PING_BYTES, interface = UINT32_MAX;
	unsigned word = 0;
	const enum names_family family = family_word(sh, &word);
	const struct option options[] = {{"count", 1, PING_TIMES_MAX, &times},
	                                 {"size", 1, PING_BYTES_MAX, &bytes},
	                                 {"interface", 0, 0, &interface}};
	if (!names_is_name(sh->argv[word]))
		shell_print(sh, "%s is not an address, and no name\n", sh->argv[word]);
	else if (read_options(sh, word, options, ARRAY_LEN(options)))
		ping_start(sh, sh->argv[0], family, interface, times, bytes);
}

static void traceroute_command(struct shell *sh)
{
	struct traceroute_options o = {.interface = UINT32_MAX, .hops = 30, .probes = 3, .timeout_s = 2};
	unsigned word = 0;
	o.family = family_word(sh, &word);
	const struct option options[] = {{"probes", 1, TRACE_PROBES_MAX, &o.probes},
	                                 {"maxttl", 1, TRACE_HOPS_MAX, &o.hops},
	                                 {"timeout", 1, 10, &o.timeout_s},
	                                 {"interface", 0, 0, &o.interface}};
	if (!names_is_name(sh->argv[word])) {
		shell_print(sh, "%s is not an address, and no name\n", sh->argv[word]);
		return;
	}
	o.icmp = sh->argc > word + 1 && strcmp(sh->argv[sh->argc - 1], "icmp") == 0;
	if (o.icmp)
		sh->argv[--sh->argc] = NULL;
	if (read_options(sh, word, options, ARRAY_LEN(options)))
		traceroute_start(sh, sh->argv[0], &o);
}

static void leave(struct shell *sh)
{
	if (!remote_leave(sh))
		shell_print(sh, "this is the machine's own console: there is nothing to leave\n");
}

/* The end of the machine that a command asked for; at_ns 0: none did. */
static struct {
	uint64_t at_ns;
	bool reboot;
	uint8_t code;
} ending;

/* A routing engine is told first: it would notice much later that its connection has ended. */
static void end_machine(bool reboot, uint8_t code)
{
	ending.at_ns = core_now_ns() + (running.config.engine.line ? LEAVE_NS : 0);
	ending.reboot = reboot;
	ending.code = code;
	engine_leave("the machine stops");
	engine_bfd_leave("the machine stops");
}

uint64_t commands_timer(void)
{
	if (ending.at_ns == 0 && boot_disk_trial_ends() != UINT64_MAX) {
		if (core_now_ns() < boot_disk_trial_ends())
			return boot_disk_trial_ends();
		log_event(LOG_WARNING, "IMAGE", "the image has not been confirmed: restarting");
		end_machine(true, 0);
	}
	if (ending.at_ns == 0 || core_now_ns() < ending.at_ns)
		return ending.at_ns ? ending.at_ns : UINT64_MAX;
	if (ending.reboot)
		core_reboot();
	core_exit(ending.code);
}

static void reload(struct shell *sh)
{
	shell_print(sh, "restarting\n");
	end_machine(true, 0);
}

static void poweroff(struct shell *sh)
{
	uint32_t code = 0;
	if (sh->argc == 1 && text_parse_u32(text_of(sh->argv[0]), 0, 63, &code) != E_OK)
		shell_print(sh, "the exit code is a number from 0 to 63\n");
	else
		end_machine(false, (uint8_t)code);
}

static void clear_arp(struct shell *sh)
{
	struct arp_entry e;
	unsigned cursor = 0;
	(void)sh;
	while (forwarding.ready && arp_next(&neighbours.arp, &cursor, core_now_ns(), &e))
		if (e.state != ARP_STATIC)
			arp_forget(&neighbours.arp, e.interface, e.ip);
}

static void clear_neighbours6(struct shell *sh)
{
	struct nd_entry e;
	(void)sh;
	for (unsigned cursor = 0;
	     forwarding.ready && nd_next(&neighbours.nd, &cursor, core_now_ns(), &e);)
		if (e.state != ND_STATIC)
			nd_forget(&neighbours.nd, e.interface, &e.addr);
}

static const struct shell_command commands[] = {
	{"help", NULL, "this list", help},
	{"show", NULL, "what this machine knows", NULL},
	{"show interfaces", NULL, "addresses, link, traffic, register accesses", show_interfaces},
	{"show interfaces counters", NULL, "one line per interface: packets, bytes, errors, drops",
	 show_interfaces_counters},
	{"show interfaces drops", NULL, "drops by input interface and reason",
	 show_interfaces_drops},
	{"show interfaces rates", "[SECONDS]", "packets and bits per second, measured from now on",
	 show_interfaces_rates},
	{"show ip", NULL, "IPv4", NULL},
	{"show ip interface", NULL, "IPv4 addresses", NULL},
	{"show ip interface brief", NULL, "one line per address: interface, link, use",
	 show_ip_brief},
	{"show ip route", "[PREFIX]", "routing table; with an address, the route to it", show_route},
	{"show ip route inactive", NULL, "routes that are not in the table, and why", show_route_idle},
	{"show ip route summary", NULL, "prefixes by their length", show_route_summary},
	{"show ipv6", NULL, "IPv6", NULL},
	{"show ipv6 interface", NULL, "IPv6 addresses", NULL},
	{"show ipv6 interface brief", NULL, "one line per address: interface, link, use",
	 show_ipv6_brief},
	{"show ipv6 neighbors", NULL, "IPv6 neighbours, by neighbour discovery",
	 show_neighbours6},
	{"show ipv6 route", "[PREFIX]", "routing table; with an address, the route to it", show_route6},
	{"show ipv6 route inactive", NULL, "routes that are not in the table, and why", show_route6_idle},
	{"show ipv6 route summary", NULL, "prefixes by their length", show_route6_summary},
	{"show arp", NULL, "IPv4 neighbours, by ARP", show_arp},
	{"show access-lists", "[NAME]", "packet filters: rules, and the packets that each matched",
	 show_access_lists},
	{"show counters", "[all|drops]",
	 "packets by fate, other events; `all`: also counters that are 0", show_counters},
	{"show bfd", NULL, "BFD sessions of the routing engine", show_bfd},
	{"show boot", NULL, "the images on the disk: which one runs, which one the next boot starts", show_boot},
	{"show cores", NULL, "cores: state, load, cycles per packet, faults", show_cores},
	{"show etherchannel", NULL, "port channels", NULL},
	{"show etherchannel summary", NULL, "port channels and their ports", show_etherchannel},
	{"show events", "[core N]", "the last 256 events of each core, or of one", show_events},
	{"show crash", NULL, "reports of programs that failed: the first, and the last three", show_crash},
	{"show crypto", NULL, "cryptographic libraries, entropy, keys by their fingerprints, TLS", show_crypto},
	{"show ssh", NULL, "SSH server: host key, sessions", show_ssh},
	{"show tcp", "[connections]", "TCP connections by core and state, or a list of some",
	 show_tcp},
	{"show dhcp", NULL, "DHCP client", NULL},
	{"show dhcp lease", NULL, "DHCP client: state and lease of each interface", show_dhcp_lease},
	{"renew", NULL, "asks for a longer lease", NULL},
	{"renew dhcp", NULL, "asks DHCP servers now to extend the leases", renew_dhcp},
	{"clear dhcp", NULL, "gives back all addresses of DHCP servers, and asks for new ones", clear_dhcp},
	{"show ip dhcp relay", NULL, "DHCP relay agents: messages relayed and dropped by interface", show_dhcp_relay},
	{"show lldp", NULL, "LLDP: its times, and what each port has sent and received", show_lldp},
	{"show lldp neighbors", NULL, "LLDP neighbours, one line each", show_lldp_neighbours},
	{"show lldp neighbors detail", NULL, "all that LLDP neighbours announce", show_lldp_neighbours_detail},
	{"show clock", NULL, "the time of day, and what has set it", show_clock},
	{"show sflow", NULL, "sFlow: collectors, samples, ports", show_sflow},
	{"show logging", "~[LEVEL] [last N]|stored", "the event log, the newest message last", show_logging},
	{"show configuration", NULL, "the candidate configuration", show_candidate},
	{"show configuration |", NULL, "part of it", NULL},
	{"show configuration | compare", NULL, "what differs from the configuration that runs",
	 show_compare},
	{"show configuration history", NULL, "configurations that rollback can restore",
	 show_history},
	{"show routing", NULL, "the routing engine", NULL},
	{"show routing engine", NULL, "the routing engine: its connection, what it has sent", show_engine},
	{"show startup-config", NULL, "the configuration for the next boot, on the disk", show_startup},
	{"show storage", NULL, "disks, and what is remembered on them", show_storage},
	{"show history", NULL, "commits recorded on the disk", show_record},
	{"show ntp", NULL, "the Network Time Protocol", NULL},
	{"show ntp status", NULL, "whether, by whom and how well the clock is set", show_ntp_status},
	{"show ntp associations", NULL, "the NTP servers, one line each", show_ntp_associations},
	{"show hosts", NULL, "names that are known, and their addresses", show_hosts},
	{"show running-config", NULL, "the configuration in force", show_config},
	{"show hardware", NULL, "firmware, CPUs, memory, ACPI, consoles, PCI, for a bug report", show_hardware},
	{"show memory", NULL, "use of the machine's memory", show_memory},
	{"show lacp", NULL, "the Link Aggregation Control Protocol", NULL},
	{"show lacp counters", NULL, "LACPDUs and markers, by port", show_lacp_counters},
	{"show lacp internal", NULL, "this end of each link in a port channel", show_lacp_internal},
	{"show lacp neighbor", NULL, "the other end of each link in a port channel", show_lacp_neighbor},
	{"show load-balance", NULL, "buckets of the cards' tables, by data core", show_load_balance},
	{"show steer", NULL, "rules that steer received packets to cores", show_steer},
	{"show version", NULL, "build, machine, memory, times", show_version},
	{"show xdp", NULL, "XDP programs: objects, maps, programs of each port and their results", show_xdp},
	{"show xdp events", "MAP", "takes records out of a ring buffer of XDP programs", show_xdp_events},
	{"show xdp interfaces", NULL, "the ifindex of each interface, as XDP programs see it",
	 show_xdp_interfaces},
	{"show xdp map", "MAP [hex]", "entries of a map of XDP programs", show_xdp_map},
	{"xdp", NULL, "changes maps of XDP programs", NULL},
	{"xdp map", "MAP ACTION BYTES...", "sets or deletes an entry: set key BYTES value BYTES, delete key BYTES",
	 xdp_map},
	{"ping", "[ipv6] HOST [interface ethN] [count N] [size N]",
	 "sends ICMP echo requests; Ctrl-C ends", ping_command},
	{"traceroute", "[ipv6] HOST [probes N] [maxttl N] [timeout SECONDS] [interface ethN] [icmp]",
	 "the routers on the way to a host; Ctrl-C ends", traceroute_command},
	{"capture", "ethN|all [in|out] [snaplen N] [count N] [FILTER]...",
	 "sends frames as pcapng to the capture server's reader; Ctrl-C ends", capture_command},
	{"trace", "N [on ethN] [timeout SECONDS] [FILTER]...",
	 "follows the next N packets through the machine; Ctrl-C ends", trace_command},
	{"crypto", NULL, "keys and certificates", NULL},
	{"crypto certificate", NULL, "the certificate of the HTTPS server", NULL},
	{"crypto certificate import", NULL, "takes a certificate in PEM, and its key, from the lines that follow",
	 crypto_certificate_import},
	{"crypto certificate request", NULL, "prints a request for a certificate of the machine's key (PKCS #10)",
	 crypto_certificate_request},
	{"crypto certificate reset", NULL, "forgets what was imported: the certificate is signed by itself",
	 crypto_certificate_reset},
	{"crypto key", NULL, "keys", NULL},
	{"crypto key generate", NULL, "new keys", NULL},
	{"crypto key generate https", NULL, "a new key and certificate of the HTTPS server", crypto_key_generate},
	{"clear", NULL, "resets counters, forgets neighbours", NULL},
	{"clear access-list", NULL, "resets counters of packet filters", NULL},
	{"clear access-list counters", NULL, "resets the counters of packet filters to 0",
	 clear_access_lists},
	{"clear counters", NULL, "resets the console's counters to 0", clear_counters},
	{"clear arp", NULL, "forgets all IPv4 neighbours that were learnt", clear_arp},
	{"clear ipv6", NULL, "forgets IPv6 neighbours", NULL},
	{"clear ipv6 neighbors", NULL, "forgets all IPv6 neighbours that were learnt",
	 clear_neighbours6},
	{"clear logging", NULL, "`show logging` begins anew", clear_logging},
	{"clear hosts", NULL, "forgets the addresses of names", clear_hosts},
	{"clear lldp", NULL, "forgets LLDP neighbours, resets counters", NULL},
	{"clear lldp neighbors", NULL, "forgets all LLDP neighbours", clear_lldp_neighbours},
	{"clear lldp counters", NULL, "resets the counts of `show lldp` to 0", clear_lldp_counters},
	{"clear xdp", NULL, "resets counts of XDP programs", NULL},
	{"clear xdp counters", NULL, "resets the counts of `show xdp` to 0", clear_xdp},
	{"clock", NULL, "the time of day", NULL},
	{"clock set", "DATE-TIME|DATE [TIME]",
	 "sets the time of day: 2026-11-29T21:44:05Z, or 2026-11-29 21:44:05 of UTC", clock_set_command},
	{"write", NULL, "remembers the configuration", NULL},
	{"write memory", NULL, "makes the configuration in force the startup configuration, on the disk", write_memory},
	{"copy", NULL, "remembers the configuration", NULL},
	{"copy running-config", NULL, "the configuration in force", NULL},
	{"copy running-config startup-config", NULL, "as write memory", write_memory},
	{"erase", NULL, "forgets the configuration", NULL},
	{"erase startup-config", NULL, "removes the startup configuration from the disk", erase_startup},
	{"configure", "[terminal]", "changes the candidate configuration", configure},
	{"exit", NULL, "ends a session over the network", leave},
	{"quit", NULL, "ends a session over the network", leave},
	{"upgrade", "URL [sha256 HASH]", "gets the other image by HTTP; Ctrl-C ends", upgrade_url},
	{"upgrade activate", NULL, "has the next boot start it, once", upgrade_activate},
	{"upgrade cancel", NULL, "has the next boot start the active image", upgrade_cancel},
	{"upgrade confirm", NULL, "makes the image that runs the active one", upgrade_confirm},
	{"install", "DISK [~force] [~confirm]", "writes Hayate onto a whole disk", install_command},
	{"reload", NULL, "restarts the machine", reload},
	{"poweroff", "[CODE]", "ends the machine (exit code CODE under QEMU)", poweroff},
};

#define COMMANDS_MAX 160

static struct shell_command all[COMMANDS_MAX];

static unsigned append(unsigned n, const struct shell_command *row, unsigned count)
{
	assert(n + count <= COMMANDS_MAX);
	memcpy(all + n, row, count * sizeof *row);
	return n + count;
}

/* The commands for tests, which control/test/ adds: this room must not include it. */
static const struct shell_command *test_row;
static unsigned test_count;

void commands_add_tests(const struct shell_command *row, unsigned count)
{
	test_row = row;
	test_count = count;
}

const struct shell_command *commands_all(unsigned *count)
{
	const struct app_plugin *e = plugin_get();
	unsigned n = append(0, commands, ARRAY_LEN(commands));
	n = append(n, test_row, test_count);
	*count = e ? append(n, e->commands, e->command_count) : n;
	return all;
}
