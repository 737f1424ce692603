/* The console's commands. What they show is in show.c. */
#include "control/capture.h"
#include "control/churn.h"
#include "control/configure.h"
#include "control/extension.h"
#include "control/filter.h"
#include "control/inside.h"
#include "control/remote.h"
#include "control/trace.h"

#include "lib/mem.h"
#include "net/ip6.h"

#define PING_TIMES 5
#define PING_BYTES 56
#define PING_BYTES_MAX 1400
#define PING_TIMES_MAX 100000

static void help(struct shell *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	shell_help(sh);
}

/* "NAME N" behind the arguments of a command: where N goes and what it may be; max 0: N is the name
 * of an interface. */
struct option {
	const char *name;
	uint32_t min, max;
	uint32_t *value; /* holds the default before */
};

/* The number of the interface with that name: eth0 or 0, eth0.100, lo0. */
static int interface_of(const char *word, uint32_t *n)
{
	uint32_t key;
	if (text_parse_u32(text_of(word), 0, NIC_PORTS_MAX - 1, &key) != E_OK &&
	    config_key_parse(text_of(word), &key) != E_OK)
		return E_INVAL;
	int number = config_number(&plane.config, key);
	if (number < 0 || !view_exists(view_get(), (unsigned)number))
		return E_NOENT;
	*n = (uint32_t)number;
	return E_OK;
}

/* What word means to that option; says what is wrong and returns false. */
static bool read_value(struct shell *sh, const struct option *o, const char *word)
{
	if (o->max) {
		if (word && text_parse_u32(text_of(word), o->min, o->max, o->value) == E_OK)
			return true;
		shell_print(sh, "%s takes a number from %u to %u\n", o->name, o->min, o->max);
		return false;
	}
	int e = word ? interface_of(word, o->value) : E_INVAL;
	if (e == E_NOENT)
		shell_print(sh, "there is no %s\n", word);
	else if (e != E_OK)
		shell_print(sh, "%s takes the name of one, such as eth0\n", o->name);
	return e == E_OK;
}

/* Reads the options that argv[0..argc) is made of; says what is wrong and returns false. */
static bool read_options(struct shell *sh, int argc, char **argv, const struct option *option,
                         unsigned options)
{
	for (int i = 0; i < argc; i += 2) {
		const struct option *o = option;
		while (o < option + options && strcmp(argv[i], o->name) != 0)
			o++;
		if (o == option + options) {
			shell_print(sh, "%% unknown word \"%s\"\n", argv[i]);
			return false;
		}
		if (!read_value(sh, o, i + 1 < argc ? argv[i + 1] : NULL))
			return false;
	}
	return true;
}

static void ping_command(struct shell *sh, int argc, char **argv)
{
	uint32_t times = PING_TIMES, bytes = PING_BYTES, port = UINT32_MAX;
	struct net_addr dst;
	const struct option options[] = {{"count", 1, PING_TIMES_MAX, &times},
	                                 {"size", 1, PING_BYTES_MAX, &bytes},
	                                 {"interface", 0, 0, &port}};
	if (text_parse_addr(text_of(argv[0]), &dst) != E_OK)
		shell_print(sh, "%s is not an address\n", argv[0]);
	else if (!read_options(sh, argc - 1, argv + 1, options, ARRAY_LEN(options)))
		return;
	else if (port == UINT32_MAX && ip6_is_link_local(&dst))
		shell_print(sh, "%s is on every link: say which one by `interface ethN`\n", argv[0]);
	else
		ping_start(sh, &dst, port, times, bytes);
}

static void leave(struct shell *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (!remote_leave(sh))
		shell_print(sh, "this is the machine's own console: there is nothing to leave\n");
}

static void reload(struct shell *sh, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	shell_print(sh, "restarting\n");
	core_reboot();
}

static void poweroff(struct shell *sh, int argc, char **argv)
{
	uint32_t code = 0;
	if (argc == 1 && text_parse_u32(text_of(argv[0]), 0, 63, &code) != E_OK)
		shell_print(sh, "the exit code is a number from 0 to 63\n");
	else
		core_exit(code);
}

static void clear_arp(struct shell *sh, int argc, char **argv)
{
	struct arp_entry e;
	unsigned cursor = 0;
	(void)sh;
	(void)argc;
	(void)argv;
	while (plane.fib_ready && arp_next(&plane.arp, &cursor, core_now_ns(), &e))
		if (e.state != ARP_STATIC)
			arp_forget(&plane.arp, e.port, e.ip);
}

static void clear_neighbours6(struct shell *sh, int argc, char **argv)
{
	struct nd_entry e;
	(void)sh;
	(void)argc;
	(void)argv;
	for (unsigned cursor = 0;
	     plane.fib_ready && nd_next(&plane.nd, &cursor, core_now_ns(), &e);)
		if (e.state != ND_STATIC)
			nd_forget(&plane.nd, e.port, &e.addr);
}

/* True: this machine is one for tests. Else it says that it is not. */
static bool may_test(struct shell *sh)
{
	char on[4];
	if (core_option("test", on, sizeof on) && strcmp(on, "1") == 0)
		return true;
	shell_print(sh, "unknown command: test commands need test=1 on the kernel command line\n");
	return false;
}

static void churn(struct shell *sh, int argc, char **argv)
{
	uint32_t rate, seconds;
	if (!may_test(sh))
		return;
	if (argc == 2 && text_parse_u32(text_of(argv[0]), 1, CHURN_RATE_MAX, &rate) == E_OK &&
	    text_parse_u32(text_of(argv[1]), 1, CHURN_SECONDS_MAX, &seconds) == E_OK)
		churn_start(sh, rate, seconds);
	else
		shell_print(sh, "changes a second, 1 to %u, and seconds, 1 to %u\n", CHURN_RATE_MAX,
		            CHURN_SECONDS_MAX);
}

static void fault(struct shell *sh, int argc, char **argv)
{
	static const char *const kinds[] = {
		[TEST_FAULT_NULL] = "null",     [TEST_FAULT_WRITE] = "write",
		[TEST_FAULT_EXEC] = "exec",     [TEST_FAULT_STACK] = "stack",
		[TEST_FAULT_UD] = "ud",         [TEST_FAULT_DIVIDE] = "divide",
		[TEST_FAULT_ASSERT] = "assert", [TEST_FAULT_SPIN] = "spin",
		[TEST_FAULT_RESTART] = "restart", [TEST_FAULT_SMASH] = "smash",
		[TEST_FAULT_CONSTANT] = "constant",
		[TEST_FAULT_BOOT_INFO] = "boot-info",
		[TEST_FAULT_SNAPSHOT] = "snapshot",
		[TEST_FAULT_OUTBOX] = "outbox",
		[TEST_FAULT_ARENA] = "arena",
		[TEST_FAULT_TABLES] = "tables",
		[TEST_FAULT_KERNEL] = "kernel",
		[TEST_FAULT_EXEC_STACK] = "exec-stack",
		[TEST_FAULT_EXEC_SNAPSHOT] = "exec-snapshot",
		[TEST_FAULT_EXEC_ARENA] = "exec-arena",
		[TEST_FAULT_EXEC_CONSTANT] = "exec-constant",
		[TEST_FAULT_CLI] = "cli",
		[TEST_FAULT_PORT] = "port",
		[TEST_FAULT_MSR] = "msr",
		[TEST_FAULT_SGDT] = "sgdt",
		[TEST_FAULT_DRIVER] = "driver",
	};
	static const uint8_t frame[ETH_FRAME_MIN] = "packet that faults";
	uint32_t core = self.id;
	const struct option options[] = {{"core", 0, self.info->cores - 1, &core}};
	unsigned kind = 0;
	if (!may_test(sh))
		return;
	if (!read_options(sh, argc - 1, argv + 1, options, ARRAY_LEN(options)))
		return;
	while (kind < ARRAY_LEN(kinds) && strcmp(argv[0], kinds[kind]) != 0)
		kind++;
	if (kind == ARRAY_LEN(kinds))
		shell_print(sh, "no such kind\n");
	else if (core == self.id)
		view_test_fault((enum test_fault)kind);
	else if (kind == TEST_FAULT_RESTART)
		core_restart(core);
	else if (core_pair_of(core) < 0 ||
	         core_inject((unsigned)core_pair_of(core), 0, frame, sizeof frame, INJECT_FAULT,
	                     kind) != E_OK)
		shell_print(sh, "core %u takes no messages now\n", core);
}

/* The card's interrupts write into the kernel, until the ports start again. Who asks once more reads
 * whether they could. */
static void dma(struct shell *sh, int argc, char **argv)
{
	uint32_t port;
	(void)argc;
	if (!may_test(sh))
		return;
	if (strncmp(argv[0], "eth", 3) != 0 || core_port_count() == 0 ||
	    text_parse_u32(text_of(argv[0] + 3), 0, core_port_count() - 1, &port) != E_OK) {
		shell_print(sh, "no such port\n");
		return;
	}
	int written = core_test_dma(core_port_nic(port)->pci->index);
	shell_print(sh, "%s\n", written < 0 ? "that card has no interrupts"
	                        : written  ? "the kernel's word has been written to"
	                                   : "the kernel's word is untouched");
}

static void panic_test(struct shell *sh, int argc, char **argv)
{
	(void)argc;
	if (may_test(sh) && !core_test_panic(argv[0]))
		shell_print(sh, "no such kind\n");
}

static const struct shell_command commands[] = {
	{"help", NULL, "this list", help},
	{"show", NULL, "what this machine knows", NULL},
	{"show interfaces", NULL, "ports: addresses, link, traffic, register accesses", show_interfaces},
	{"show interfaces counters", NULL, "a line a port: packets, bytes, errors, drops",
	 show_interfaces_counters},
	{"show interfaces drops", NULL, "drops by reason and the interface they came in by",
	 show_interfaces_drops},
	{"show interfaces rates", "[SECONDS]", "the same a second, counted from now on",
	 show_interfaces_rates},
	{"show ip", NULL, "the Internet Protocol", NULL},
	{"show ip interface", NULL, "its addresses", NULL},
	{"show ip interface brief", NULL, "a line an address: port, link, use", show_ip_brief},
	{"show ip route", "[PREFIX]", "routing table; with an address, the route to it", show_route},
	{"show ip route inactive", NULL, "routes that are not in the table, and why", show_route_idle},
	{"show ip route summary", NULL, "prefixes by their length", show_route_summary},
	{"show ipv6", NULL, "its version 6", NULL},
	{"show ipv6 interface", NULL, "its addresses", NULL},
	{"show ipv6 interface brief", NULL, "a line an address: port, link, use", show_ipv6_brief},
	{"show ipv6 neighbors", NULL, "neighbours on the links, by neighbour discovery",
	 show_neighbours6},
	{"show ipv6 route", "[PREFIX]", "routing table; with an address, the route to it", show_route6},
	{"show ipv6 route inactive", NULL, "routes that are not in the table, and why", show_route6_idle},
	{"show ipv6 route summary", NULL, "prefixes by their length", show_route6_summary},
	{"show arp", NULL, "neighbours on the links", show_arp},
	{"show access-lists", "[NAME]", "packet filters: rules, and the packets that each matched",
	 show_access_lists},
	{"show counters", "[all|drops]", "what became of every packet; `all` with those that are zero",
	 show_counters},
	{"show cores", NULL, "cores: state, load, cycles per packet, faults", show_cores},
	{"show events", "[core N]", "what has happened on all cores, or on one: the last 256 of each",
	 show_events},
	{"show crash", NULL, "reports of programs that failed: the first, and the last three", show_crash},
	{"show tcp", "[connections]", "TCP connections by core and state, or some of them", show_tcp},
	{"show configuration", NULL, "the candidate configuration", show_candidate},
	{"show configuration |", NULL, "part of it", NULL},
	{"show configuration | compare", NULL, "what differs from the configuration that runs",
	 show_compare},
	{"show configuration history", NULL, "those that rollback can bring back", show_history},
	{"show running-config", NULL, "the configuration in force", show_config},
	{"show memory", NULL, "what the machine's memory is for", show_memory},
	{"show version", NULL, "build, machine, memory, times", show_version},
	{"ping", "ADDRESS [interface ethN] [count N] [size N]",
	 "sends ICMP echo requests; Ctrl-C ends", ping_command},
	{"capture", "ethN|all [in|out] [snaplen N] [count N] [FILTER]...",
	 "frames as pcapng, for who connects to the capture server; Ctrl-C ends", capture_command},
	{"trace", "N [on ethN] [timeout SECONDS] [FILTER]...",
	 "follows the next N packets through the machine; Ctrl-C ends", trace_command},
	{"clear", NULL, "forgets", NULL},
	{"clear access-list", NULL, "forgets", NULL},
	{"clear access-list counters", NULL, "counts the packets of packet filters from 0",
	 clear_access_lists},
	{"clear counters", NULL, "the console counts from here on", clear_counters},
	{"clear arp", NULL, "forgets all IPv4 neighbours that were learnt", clear_arp},
	{"clear ipv6", NULL, "forgets", NULL},
	{"clear ipv6 neighbors", NULL, "forgets all IPv6 neighbours that were learnt",
	 clear_neighbours6},
	{"configure", "[terminal]", "changes the candidate configuration", configure},
	{"exit", NULL, "ends a session over the network", leave},
	{"quit", NULL, "the same", leave},
	{"reload", NULL, "restarts the machine", reload},
	{"poweroff", "[CODE]", "ends the machine (exit code CODE under QEMU)", poweroff},
	{"test", NULL, "for tests of Hayate itself", NULL},
	{"test churn", "RATE SECONDS", "routes change so often a second, and are restored", churn},
	{"test dma", "ethN", "has the card write to the kernel's memory", dma},
	{"test panic", "KIND", "makes the kernel fail", panic_test},
	{"test fault", "KIND [core N]", "makes a core's program fail", fault},
};

#define COMMANDS_MAX 64

const struct shell_command *commands_all(unsigned *count)
{
	static struct shell_command all[COMMANDS_MAX];
	const struct app_extension *e = extension_get();
	unsigned n = ARRAY_LEN(commands);
	memcpy(all, commands, sizeof commands);
	for (unsigned i = 0; e && i < e->command_count; i++) {
		assert(n < COMMANDS_MAX);
		all[n++] = e->commands[i];
	}
	*count = n;
	return all;
}
