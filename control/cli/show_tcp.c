/*
 * `show tcp`: the state of TCP that data cores publish (struct dp_tcp). The form is an interface,
 * like that of show.c. A core may be writing while its state is copied; `sequence` shows that, and
 * the copy is repeated. A core writes for microseconds, four times a second; one that still writes
 * after COPY_TRIES copies is left out.
 */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "dataplane/state.h"

#include "lib/fmt.h"
#include "lib/mem.h"

#define COPY_TRIES 1000

static const char *const state_names[DP_TCP_STATES] = {
	[TCP_CLOSED] = "closed",           [TCP_SYN_SENT] = "syn_sent",
	[TCP_SYN_RECEIVED] = "syn_recv",   [TCP_ESTABLISHED] = "estab",
	[TCP_FIN_WAIT_1] = "fin_wait_1",   [TCP_FIN_WAIT_2] = "fin_wait_2",
	[TCP_CLOSE_WAIT] = "close_wait",   [TCP_CLOSING] = "closing",
	[TCP_LAST_ACK] = "last_ack",       [TCP_TIME_WAIT] = "time_wait",
};

/* Copies a core's state. False: the core has no TCP, or no copy was consistent. */
static bool copy_of(unsigned core, struct dp_tcp *to)
{
	const struct dp_tcp *from = &dp_shared_of(core)->tcp;
	for (unsigned i = 0; i < COPY_TRIES; i++) {
		uint32_t sequence = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE);
		if (sequence % 2)
			continue;
		memcpy(to, from, sizeof *to);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&from->sequence, __ATOMIC_RELAXED) == sequence)
			return to->capacity > 0;
	}
	return false;
}

static void show_row(struct shell *sh, const char *core, uint64_t capacity, const uint64_t *count)
{
	uint64_t sum = 0;
	for (unsigned s = TCP_SYN_SENT; s < DP_TCP_STATES; s++)
		sum += count[s];
	shell_print(sh, "%-4s %9llu %9llu", core, (unsigned long long)capacity,
	            (unsigned long long)sum);
	for (unsigned s = TCP_SYN_SENT; s < DP_TCP_STATES; s++)
		shell_print(sh, " %10llu", (unsigned long long)count[s]);
	shell_print(sh, "\n");
}

static void show_states(struct shell *sh)
{
	static struct dp_tcp t;
	uint64_t all[DP_TCP_STATES] = {0}, capacity = 0;
	shell_print(sh, "%-4s %9s %9s", "core", "capacity", "open");
	for (unsigned s = TCP_SYN_SENT; s < DP_TCP_STATES; s++)
		shell_print(sh, " %10s", state_names[s]);
	shell_print(sh, "\n");
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		uint64_t count[DP_TCP_STATES];
		char core[8];
		if (!copy_of(self.info->first_data_core + d, &t))
			continue;
		for (unsigned s = 0; s < DP_TCP_STATES; s++) {
			count[s] = t.count[s];
			all[s] += t.count[s];
		}
		capacity += t.capacity;
		fmt_format(core, sizeof core, "%u", self.info->first_data_core + d);
		show_row(sh, core, t.capacity, count);
	}
	show_row(sh, "all", capacity, all);
}

#define ENDPOINT_MAX (FMT_ADDR_MAX + 8)

/* An address and a port; RFC 3986 3.2.2 has an IPv6 address in brackets. */
static const char *endpoint(char text[ENDPOINT_MAX], const struct net_addr *a, uint16_t port)
{
	char addr[FMT_ADDR_MAX];
	const bool four = net_addr_is_ip4(a);
	fmt_format(text, ENDPOINT_MAX, "%s%s%s:%u", four ? "" : "[", fmt_addr(addr, a->w), four ? "" : "]", port);
	return text;
}

static void show_connection(struct shell *sh, unsigned core, const struct tcp_info *i)
{
	char local[ENDPOINT_MAX], remote[ENDPOINT_MAX];
	shell_print(sh, "%-4u %-21s %-21s %-10s %5u %9u %9u %9u %9u %7u %8u %8u\n", core,
	            endpoint(local, &i->local, i->local_port), endpoint(remote, &i->remote, i->remote_port),
	            i->state < DP_TCP_STATES ? state_names[i->state] : "?", i->mss, i->cwnd,
	            i->flight, i->snd_wnd, i->rcv_wnd, i->srtt_us, i->rto_us, i->retransmits);
}

static void show_connections(struct shell *sh)
{
	static struct dp_tcp t;
	uint64_t open = 0, shown = 0;
	shell_print(sh, "%-4s %-21s %-21s %-10s %5s %9s %9s %9s %9s %7s %8s %8s\n", "core", "local",
	            "remote", "state", "mss", "cwnd", "flight", "snd_wnd", "rcv_wnd", "rtt_us",
	            "rto_us", "retrans");
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		unsigned core = self.info->first_data_core + d;
		if (!copy_of(core, &t))
			continue;
		for (unsigned s = TCP_SYN_SENT; s < DP_TCP_STATES; s++)
			open += t.count[s];
		for (unsigned i = 0; i < t.listed && i < DP_TCP_LISTED; i++, shown++)
			show_connection(sh, core, &t.info[i]);
	}
	if (open > shown)
		shell_print(sh, "... %llu more\n", (unsigned long long)(open - shown));
}

void show_tcp(struct shell *sh)
{
	if (sh->argc == 0)
		show_states(sh);
	else if (strcmp(sh->argv[0], "connections") == 0)
		show_connections(sh);
	else
		shell_print(sh, "%% unknown word \"%s\"\n", sh->argv[0]);
}
