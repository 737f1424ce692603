/* /api/v1/ntp.json: what `show ntp status` and `show ntp associations` print (docs/http.md). */
#include "control/host/ntp_control.h"
#include "control/host/ntp_text.h"
#include "control/management/page.h"
#include "runtime/runtime.h"
#include "runtime/walltime.h"

typedef unsigned long long ull;

static bool part_status(struct page_walk *w, struct page_text *t)
{
	const struct ntp_client *c = ntp_control_client();
	char s[NTP_TEXT_MAX];
	(void)w;
	page_print(t, "{\"running\":%s,\"synchronized\":%s,\"time_ns\":", c ? "true" : "false",
	           c && c->synchronized ? "true" : "false");
	if (walltime_known())
		page_print(t, "%llu", (ull)walltime_ns());
	else
		page_print(t, "null");
	page_print(t, ",\"frequency_ppm\":%s,\"stratum\":%u", ntp_text_ppm(s, walltime_frequency()),
	           c ? ntp_client_stratum(c) : NTP_STRATUM_MAX);
	if (c)
		page_print(t, ",\"offset_ns\":%lld,\"jitter_ns\":%lld,\"root_delay_ns\":%lld,"
		              "\"root_dispersion_ns\":%lld,\"steps\":%llu,\"slews\":%llu,\"spikes\":%llu,"
		              "\"panics\":%llu", (long long)c->offset_ns,
		           (long long)c->jitter_ns, (long long)ntp_client_root_delay(c),
		           (long long)ntp_client_root_dispersion(c, core_now_ns()), (ull)c->steps, (ull)c->slews,
		           (ull)c->spikes, (ull)c->panics);
	page_print(t, ",\"servers\":[");
	return false;
}

static bool part_servers(struct page_walk *w, struct page_text *t)
{
	const struct ntp_client *c = ntp_control_client();
	unsigned i = 0, n = 0;
	while (c && i < NTP_SERVERS_MAX && !(c->server[i].used && n++ == w->item))
		i++;
	if (!c || i == NTP_SERVERS_MAX) {
		page_print(t, "]}\n");
		return false;
	}
	const struct ntp_server *s = &c->server[i];
	const uint64_t clock = walltime_known() ? walltime_at(core_now_ns()) - core_now_ns() : s->estimate.offset_ns;
	page_print(t, "%s\n{\"name\":", page_comma(w));
	page_json(t, ntp_control_name(i));
	page_print(t, ",\"state\":\"%s\",\"stratum\":%u,\"reach\":%u,\"delay_ns\":%lld,\"offset_ns\":%lld,"
	              "\"jitter_ns\":%lld,\"sent\":%llu,\"answers\":%llu,\"dropped\":%llu,\"kisses\":%llu}",
	           ntp_text_verdict(s), s->answers ? s->last.stratum : NTP_STRATUM_MAX, s->reach,
	           (long long)s->estimate.delay_ns,
	           s->estimate.at_ns ? (long long)(s->estimate.offset_ns - clock) : 0, (long long)s->estimate.jitter_ns,
	           (ull)s->sent, (ull)s->answers, (ull)s->dropped, (ull)s->kisses);
	return true;
}

const page_part page_ntp[] = {part_status, part_servers, NULL};
