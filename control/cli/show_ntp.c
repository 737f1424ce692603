/* See show_ntp.h. docs/console.md specifies the form, which is an interface. */
#include "control/cli/show_ntp.h"

#include "control/host/names.h"
#include "control/host/ntp_control.h"
#include "control/host/ntp_text.h"
#include "lib/fmt.h"
#include "lib/rfc3339.h"
#include "runtime/runtime.h"
#include "runtime/walltime.h"

typedef unsigned long long ull;

/* NULL: no server is configured, which has been printed. */
static const struct ntp_client *client(struct shell *sh)
{
	const struct ntp_client *c = ntp_control_client();
	if (!c)
		shell_print(sh, "ntp does not run: the statement `ntp server` names a server\n");
	return c;
}

void show_ntp_status(struct shell *sh)
{
	const struct ntp_client *c = client(sh);
	char text[NTP_TEXT_MAX], more[NTP_TEXT_MAX], time[RFC3339_MAX];
	if (!c)
		return;
	if (c->synchronized)
		shell_print(sh, "state            synchronized to %s\n", ntp_control_name(c->peer));
	else
		shell_print(sh, "state            not synchronized\n");
	shell_print(sh, "stratum          %u\n", ntp_client_stratum(c));
	shell_print(sh, "time             %s\n", walltime_known() ? rfc3339_put(time, walltime_ns(), 6) : "not known");
	shell_print(sh, "offset_ms        %s\njitter_ms        %s\n", ntp_text_ms(text, c->offset_ns),
	            ntp_text_ms(more, c->jitter_ns));
	shell_print(sh, "slewing_ms       %s\n", ntp_text_ms(text, walltime_remaining()));
	shell_print(sh, "frequency_ppm    %s\n", ntp_text_ppm(text, walltime_frequency()));
	shell_print(sh, "root_delay_ms    %s\nroot_disp_ms     %s\n", ntp_text_ms(text, ntp_client_root_delay(c)),
	            ntp_text_ms(more, ntp_client_root_dispersion(c, core_now_ns())));
	shell_print(sh, "poll_s           %u\n", 1u << c->discipline.poll);
	if (c->updated_ns)
		shell_print(sh, "updated_s_ago    %llu\n", (ull)((core_now_ns() - c->updated_ns) / SECOND_NS));
	shell_print(sh, "updates          steps %llu slews %llu spikes %llu panics %llu\n", (ull)c->steps,
	            (ull)c->slews, (ull)c->spikes, (ull)c->panics);
}

static char mark(const struct ntp_server *s)
{
	static const char marks[] = {[NTP_REJECTED] = ' ', [NTP_FALSETICKER] = 'x', [NTP_OUTLIER] = '-',
	                             [NTP_COMBINED] = '+', [NTP_SYSTEM_PEER] = '*'};
	return s->denied ? '!' : marks[s->verdict];
}

static void print_server(struct shell *sh, const struct ntp_client *c, unsigned i)
{
	const struct ntp_server *s = &c->server[i];
	char reference[NTP_TEXT_MAX], delay[NTP_TEXT_MAX], offset[NTP_TEXT_MAX], jitter[NTP_TEXT_MAX], when[24] = "-";
	const uint64_t clock = walltime_known() ? walltime_at(core_now_ns()) - core_now_ns() : s->estimate.offset_ns;
	const unsigned stratum = s->answers ? s->last.stratum : NTP_STRATUM_MAX;
	if (s->estimate.at_ns)
		fmt_format(when, sizeof when, "%llu", (ull)((core_now_ns() - s->estimate.at_ns) / SECOND_NS));
	ntp_text_reference(reference, s->kiss ? 0 : stratum, s->kiss ? s->kiss : s->last.reference_id);
	shell_print(sh, "%c%-28s %-15s %2u %5s %5u   %u%u%u %12s %14s %12s  %s\n", mark(s), ntp_control_name(i),
	            reference, stratum, when, 1u << c->discipline.poll, s->reach >> 6, s->reach >> 3 & 7u,
	            s->reach & 7u, ntp_text_ms(delay, s->estimate.delay_ns),
	            s->estimate.at_ns ? ntp_text_ms(offset, (int64_t)(s->estimate.offset_ns - clock)) : "-",
	            ntp_text_ms(jitter, s->estimate.jitter_ns), ntp_text_verdict(s));
}

void show_ntp_associations(struct shell *sh)
{
	const struct ntp_client *c = ntp_control_client();
	shell_print(sh, " %-28s %-15s %2s %5s %5s %5s %12s %14s %12s  %s\n", "server", "reference", "st", "when",
	            "poll", "reach", "delay_ms", "offset_ms", "jitter_ms", "state");
	for (unsigned i = 0; c && i < NTP_SERVERS_MAX; i++)
		if (c->server[i].used)
			print_server(sh, c, i);
}

void show_hosts(struct shell *sh)
{
	const struct names_entry *k;
	char addr[FMT_ADDR_MAX];
	shell_print(sh, "%-40s %6s %s\n", "name", "ttl_s", "addresses");
	for (unsigned cursor = 0; (k = names_next(&cursor)) != NULL;) {
		shell_print(sh, "%-40s %6llu", k->name, (ull)((k->until_ns - core_now_ns()) / SECOND_NS));
		for (unsigned i = 0; i < k->answer.addresses; i++)
			shell_print(sh, " %s", fmt_addr(addr, &k->answer.address[i]));
		if (k->answer.addresses == 0)
			shell_print(sh, " %s", k->answer.result == DNS_NO_NAME ? "none: no such name"
			                       : k->type == DNS_A              ? "none of IPv4"
			                                                       : "none of IPv6");
		shell_print(sh, "\n");
	}
}

void clear_hosts(struct shell *sh)
{
	(void)sh;
	names_clear();
}
