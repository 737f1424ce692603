/* See client.h. */
#include "net/ntp/client.h"

#include "lib/mem.h"

#define RATE_MAX 6 /* after kisses a server is asked at most 64 times more rarely, and not beyond NTP_POLL_MAX */

/* 7.4 */
#define KISS_DENY 0x44454e59u /* DENY */
#define KISS_RSTR 0x52535452u /* RSTR */
#define KISS_RATE 0x52415445u /* RATE */

void ntp_client_init(struct ntp_client *c, const struct ntp_ops *ops, void *ctx, int32_t frequency)
{
	memset(c, 0, sizeof *c);
	c->ops = ops;
	c->ctx = ctx;
	ntp_discipline_init(&c->discipline, frequency, NTP_POLL_DEFAULT, NTP_POLL_MAX);
}

/* --- servers --- */

/* The discipline's range of intervals is that which suits all servers. */
static void set_poll_range(struct ntp_client *c)
{
	uint8_t low = NTP_POLL_MAX, high = NTP_POLL_MIN;
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++) {
		const struct ntp_server *s = &c->server[i];
		if (s->used && s->options.poll_min < low)
			low = s->options.poll_min;
		if (s->used && s->options.poll_max > high)
			high = s->options.poll_max;
	}
	struct ntp_discipline *d = &c->discipline;
	d->poll_min = low;
	d->poll_max = high < low ? low : high;
	d->poll = d->poll < low ? low : d->poll > d->poll_max ? d->poll_max : d->poll;
	if (c->updated_ns == 0)
		d->poll = low;
}

void ntp_server_set(struct ntp_client *c, unsigned i, const struct net_addr *addr, const struct ntp_server_options *o,
                    uint64_t now_ns)
{
	c->server[i] = (struct ntp_server){.used = true, .addr = *addr, .options = *o, .next_ns = now_ns,
	                                   .burst = o->iburst ? NTP_BURST : 0};
	set_poll_range(c);
}

static void choose(struct ntp_client *c, uint64_t now_ns);

void ntp_server_clear(struct ntp_client *c, unsigned i, uint64_t now_ns)
{
	if (!c->server[i].used)
		return;
	c->server[i] = (struct ntp_server){.used = false};
	set_poll_range(c);
	choose(c, now_ns);
}

static bool is_asked(const struct ntp_server *s) { return s->used && !s->denied && !net_addr_is_any(&s->addr); }

/* --- requests --- */

/* Time until the next request but one of a burst. */
static uint64_t interval_ns(const struct ntp_client *c, const struct ntp_server *s)
{
	unsigned poll = c->discipline.poll;
	poll = poll < s->options.poll_min ? s->options.poll_min : poll > s->options.poll_max ? s->options.poll_max : poll;
	if (s->unanswered > NTP_UNREACHABLE)
		poll += s->unanswered - NTP_UNREACHABLE;
	poll += s->rate;
	poll = poll > NTP_POLL_MAX ? NTP_POLL_MAX : poll;
	const uint64_t base = (uint64_t)NTP_SECOND_NS << poll;
	return base + (base >> 24) * ((uint32_t)c->ops->random(c->ctx) >> 12); /* 1/16 of it at most */
}

static void ask(struct ntp_client *c, unsigned i, uint64_t now_ns)
{
	struct ntp_server *s = &c->server[i];
	uint8_t request[NTP_BYTES];
	do
		s->cookie = c->ops->random(c->ctx);
	while (s->cookie == 0);
	ntp_request(request, s->cookie);
	s->sent_ns = c->ops->send(c->ctx, i, request);
	s->waiting = s->sent_ns != 0;
	if (!s->waiting && s->burst && s->reach == 0) { /* no route yet */
		s->next_ns = now_ns + NTP_BURST_NS;
		return;
	}
	s->sent += s->waiting;
	s->reach = (uint8_t)(s->reach << 1);
	if ((s->reach & 7) == 0) /* A.5.7.3: old samples give way */
		ntp_filter_add(&s->filter, &(struct ntp_sample){.at_ns = 0});
	if (s->unanswered < 0xffff)
		s->unanswered++;
	if (s->burst)
		s->burst--;
	s->next_ns = now_ns + (s->burst ? NTP_BURST_NS : interval_ns(c, s));
	if (s->reach == 0)
		choose(c, now_ns); /* it may have been the system peer */
}

uint64_t ntp_client_tick(struct ntp_client *c, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++) {
		struct ntp_server *s = &c->server[i];
		if (is_asked(s) && now_ns >= s->next_ns)
			ask(c, i, now_ns);
		if (is_asked(s) && s->next_ns < due)
			due = s->next_ns;
	}
	return due;
}

/* --- the choice of servers --- */

int64_t ntp_server_distance(const struct ntp_server *s)
{
	int64_t delay = s->last.root_delay_ns + s->estimate.delay_ns;
	delay = delay < NTP_DISTANCE_MIN_NS ? NTP_DISTANCE_MIN_NS : delay;
	return delay / 2 + s->last.root_dispersion_ns + s->estimate.dispersion_ns + s->estimate.jitter_ns;
}

/* 11.2.1, and fit() of A.5.2: is this server a candidate? No loop is looked for, because no server
 * can follow this client. */
static bool is_fit(const struct ntp_server *s)
{
	return is_asked(s) && s->reach && s->estimate.at_ns && ntp_server_distance(s) < NTP_DISTANCE_MAX_NS;
}

static void estimate_all(struct ntp_client *c, uint64_t now_ns)
{
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++)
		if (c->server[i].used)
			ntp_filter_estimate(&c->server[i].filter, now_ns, c->discipline.frequency, &c->server[i].estimate);
}

/* Fills in each server's verdict, and the system peer. */
static void select(struct ntp_client *c, uint64_t now_ns, struct ntp_selection *result)
{
	struct ntp_candidate candidate[NTP_SERVERS_MAX];
	estimate_all(c, now_ns);
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++) {
		const struct ntp_server *s = &c->server[i];
		candidate[i] = (struct ntp_candidate){.offset_ns = s->estimate.offset_ns,
		                                      .distance_ns = ntp_server_distance(s),
		                                      .jitter_ns = s->estimate.jitter_ns,
		                                      .stratum = s->last.stratum,
		                                      .fit = is_fit(s),
		                                      .prefer = s->options.prefer};
	}
	ntp_select(candidate, NTP_SERVERS_MAX, result);
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++)
		c->server[i].verdict = candidate[i].verdict;
	c->peer = result->peer;
	if (result->survivors == 0)
		c->synchronized = false;
}

static void choose(struct ntp_client *c, uint64_t now_ns)
{
	struct ntp_selection unused;
	select(c, now_ns, &unused);
}

/* Has the discipline act on the offset of the clock. */
static void update(struct ntp_client *c, uint64_t offset_ns, int64_t jitter_ns, uint64_t now_ns)
{
	const uint64_t clock = c->ops->clock(c->ctx, now_ns);
	const int64_t offset = clock ? (int64_t)(offset_ns - clock) : 0;
	if (clock == 0)
		c->discipline.state = NTP_UNSET;
	else if (c->discipline.state == NTP_UNSET) /* an earlier client has set it */
		c->discipline.state = NTP_SYNC;
	const struct ntp_order order = ntp_discipline_update(&c->discipline, offset, jitter_ns, now_ns);
	c->offset_ns = offset;
	c->jitter_ns = jitter_ns;
	c->steps += order.action == NTP_STEP;
	c->slews += order.action == NTP_SLEW;
	c->panics += order.action == NTP_PANIC;
	c->spikes += order.action == NTP_NOTHING;
	if (order.action == NTP_PANIC)
		c->synchronized = false;
	if (order.action == NTP_PANIC || order.action == NTP_NOTHING)
		return;
	c->synchronized = true;
	c->updated_ns = now_ns;
	c->ops->adjust(c->ctx, &order, offset_ns, now_ns);
}

/* While the clock has not been set, the first server whose samples suffice does not decide alone, as long as
 * the majority of those that answer may follow: a wrong clock would stay for WATCH. */
static bool is_too_early(struct ntp_client *c, unsigned survivors, uint64_t now_ns)
{
	unsigned answering = 0;
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++)
		answering += is_asked(&c->server[i]) && c->server[i].reach;
	if (c->chosen_ns == 0)
		c->chosen_ns = now_ns;
	return c->updated_ns == 0 && c->ops->clock(c->ctx, now_ns) == 0 && 2 * survivors <= answering &&
	       now_ns - c->chosen_ns < NTP_SETTLE_NS;
}

/* After a sample of server i: the system peer's, or that of a combined server, changes the clock if it is newer. */
static void judge(struct ntp_client *c, unsigned i, uint64_t now_ns)
{
	struct ntp_selection chosen;
	select(c, now_ns, &chosen);
	const struct ntp_server *s = &c->server[i];
	if (chosen.survivors == 0 || s->verdict < NTP_COMBINED || c->server[chosen.peer].estimate.at_ns <= c->sample_ns)
		return;
	if (is_too_early(c, chosen.survivors, now_ns))
		return;
	c->sample_ns = c->server[chosen.peer].estimate.at_ns;
	update(c, chosen.offset_ns, chosen.jitter_ns, now_ns);
}

/* --- answers --- */

static void take_kiss(struct ntp_client *c, struct ntp_server *s, uint32_t code, uint64_t now_ns)
{
	s->kisses++;
	s->kiss = code;
	if (code == KISS_DENY || code == KISS_RSTR) {
		s->denied = true;
		s->reach = 0;
		s->filter = (struct ntp_filter){.next = 0};
		choose(c, now_ns);
	} else if (code == KISS_RATE) {
		if (s->rate < RATE_MAX)
			s->rate++;
		s->burst = 0;
		s->next_ns = now_ns + interval_ns(c, s);
	}
}

static void take_answer(struct ntp_client *c, struct ntp_server *s, const struct ntp_packet *p, uint64_t now_ns)
{
	struct ntp_sample sample;
	const bool again = s->unanswered > NTP_STAGES; /* it begins to answer */
	s->answers++;
	s->last = *p;
	s->reach |= 1;
	s->unanswered = 0;
	if (again && s->options.iburst && s->burst == 0) {
		s->burst = NTP_BURST - 1;
		s->next_ns = now_ns + NTP_BURST_NS;
	}
	const int64_t precision_ns = ntp_precision_ns(p->precision) + 1000;
	if (!ntp_sample_make(&sample, s->sent_ns, p->receive_ns, p->transmit_ns, now_ns, precision_ns))
		return;
	ntp_filter_add(&s->filter, &sample);
	judge(c, (unsigned)(s - c->server), now_ns);
}

enum counter ntp_client_input(struct ntp_client *c, unsigned i, const uint8_t *data, unsigned len, uint64_t now_ns)
{
	struct ntp_server *s = &c->server[i];
	struct ntp_packet p;
	if (!is_asked(s))
		return CNT_drop_ntp_origin;
	const enum counter why = ntp_answer(data, len, s->cookie, &p);
	if (why == CNT_drop_ntp_malformed || why == CNT_drop_ntp_origin || !s->waiting) {
		s->dropped++;
		return why == CNT_NONE ? CNT_drop_ntp_origin : why;
	}
	s->waiting = false; /* an answer came, whatever it says: its copy does not count */
	if (why != CNT_NONE)
		s->dropped++;
	else if (p.kiss)
		take_kiss(c, s, p.reference_id, now_ns);
	else
		take_answer(c, s, &p, now_ns);
	return why;
}

/* --- what the client knows --- */

uint8_t ntp_client_stratum(const struct ntp_client *c)
{
	return c->synchronized ? (uint8_t)(c->server[c->peer].last.stratum + 1) : NTP_STRATUM_MAX;
}

int64_t ntp_client_root_delay(const struct ntp_client *c)
{
	const struct ntp_server *s = &c->server[c->peer];
	return c->synchronized ? s->last.root_delay_ns + s->estimate.delay_ns : 0;
}

int64_t ntp_client_root_dispersion(const struct ntp_client *c, uint64_t now_ns)
{
	const struct ntp_server *s = &c->server[c->peer];
	if (!c->synchronized)
		return 0;
	const int64_t offset = c->offset_ns < 0 ? -c->offset_ns : c->offset_ns;
	const int64_t own = s->estimate.dispersion_ns + s->estimate.jitter_ns + offset +
	                    ntp_drift_ns(now_ns - c->updated_ns);
	return s->last.root_dispersion_ns + (own < NTP_DISTANCE_MIN_NS ? NTP_DISTANCE_MIN_NS : own);
}
