/*
 * gen: a generator that judges the frames that come back. sink: only the judge. Both judge the
 * frames of generators in this process, and with outside=on those of others too (flows.h).
 *
 * All frames are prepared in advance, in a ring of slots long enough that no slot is used twice in
 * a burst. Sending a frame writes only addresses, ports, checksums and the stamp. Destinations come
 * from a table built once from the seed, so that two runs send the same, or from a file, which is
 * read cyclically. A table of millions is read in order, so the CPU prefetches it.
 *
 * Both answer every ARP request for another address than the sender's own, as a proxy for
 * everything behind the cable: a router needs a neighbour to send to. RFC 5227 probes and
 * announcements stay unanswered. arp=off disables this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/flows.h"
#include "tools/nicsim/wires/judge.h"
#include "tools/nicsim/wires/open.h"

#define SLOTS       128 /* at least two bursts */
#define SIZES_MAX   16  /* in a list */
#define FLOWS_MAX   16384
#define LISTED_MAX  (1u << 24) /* destinations of a file */
#define FCS         4
#define WIRE_EXTRA  24 /* FCS, preamble, gap: bytes on the wire beside the frame */
#define ARP_WAITING 16
#define ARP_BYTES   60
#define BACKLOG_NS  (2 * NS_PER_MS) /* maximum backlog sent late, if larger than a burst */

struct flow {
	uint32_t src, dst; /* network order, as are the ports */
	uint16_t sport, dport;
	/* Sums of the addresses, and of these with the ports; in flow_table, if frames have one size,
	 * the IP header's checksum and UDP's. */
	uint16_t sum, udp_sum;
};

struct gen {
	struct wire w;
	struct judge judge;
	struct flows *outside; /* NULL: frames of outside generators are foreign */
	uint8_t mac[6];
	bool arp;
	uint8_t arp_reply[ARP_WAITING][ARP_BYTES];
	unsigned arp_waiting;
	uint8_t arp_out[ARP_WAITING][ARP_BYTES]; /* given out: valid until the next pull */

	/* Used by the generator only. */
	struct stream *stream;
	unsigned stream_id;
	bool running, manual;
	uint64_t left;      /* frames still to send; UINT64_MAX: endless */
	uint64_t count;     /* as requested; 0: unlimited */
	uint64_t time;      /* ns from the first frame to the last, as requested; 0: unlimited */
	struct run {        /* since the last start, without what came after its end */
		uint64_t begin, ns, sent, received;
	} run;
	double rate;        /* frames or bits per nanosecond; 0: flat */
	bool rate_in_bits;
	double due;         /* when the next frame is due, in ns after epoch */
	uint64_t epoch;     /* 0: not started */
	uint64_t forgotten; /* times that part of the backlog was dropped */
	unsigned slot, flow, flow_mask;
	unsigned slots;
	uint8_t dmac[6];
	uint32_t src, dst, prefixes, flows;
	uint8_t *listed; /* a file's destinations, 4 bytes each in network order; NULL: no file */
	uint32_t listed_count;
	uint16_t sport, dport;
	uint64_t seed;
	uint32_t size[SIZES_MAX]; /* bytes without FCS */
	unsigned sizes;
	uint32_t stride;
	uint8_t *frames;
	struct slot {
		uint32_t bytes;
		uint32_t ip_sum, udp_sum; /* of the bytes that do not change */
		double cost;              /* ns at the rate */
	} slots_of[SLOTS + SIZES_MAX];
	struct flow *flow_table;
};

static struct gen *gen_of(struct wire *w)
{
	return (struct gen *)(void *)w;
}

/* --- ARP (RFC 826) --- */

static void answer_arp(struct gen *g, const uint8_t *data, uint32_t bytes)
{
	static const uint8_t request[] = {0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1};
	static const uint8_t nobody[4];
	if (!g->arp || bytes < 42 || memcmp(data + 12, request, sizeof request) != 0)
		return;
	const uint8_t *sender = data + 22, *sender_ip = data + 28, *target_ip = data + 38;
	if (memcmp(sender_ip, target_ip, 4) == 0 || memcmp(sender_ip, nobody, 4) == 0 ||
	    g->arp_waiting == ARP_WAITING)
		return;
	uint8_t *r = g->arp_reply[g->arp_waiting++];
	memset(r, 0, ARP_BYTES);
	memcpy(r, sender, 6);
	memcpy(r + 6, g->mac, 6);
	memcpy(r + 12, request, sizeof request);
	r[21] = 2; /* reply */
	memcpy(r + 22, g->mac, 6);
	memcpy(r + 28, target_ip, 4);
	memcpy(r + 32, sender, 10);
}

static unsigned pull_arp(struct gen *g, struct frame *v, unsigned max)
{
	unsigned n = g->arp_waiting < max ? g->arp_waiting : max;
	memcpy(g->arp_out, g->arp_reply, n * ARP_BYTES);
	for (unsigned i = 0; i < n; i++)
		v[i] = (struct frame){.data = g->arp_out[i], .bytes = ARP_BYTES};
	g->arp_waiting -= n;
	memmove(g->arp_reply, g->arp_reply[n], g->arp_waiting * ARP_BYTES);
	return n;
}

/* --- sending --- */

/* The checksum field for a sum of 16-bit words below 2^32 that is not 0. */
static inline uint16_t check_of(uint32_t sum)
{
	return (uint16_t)~((sum + (sum << 16 | sum >> 16)) >> 16);
}

/* The two checksums of a frame in that slot, in place of the sums of its flow. */
static inline struct flow checked(const struct slot *s, struct flow to)
{
	const uint16_t udp_check = check_of(s->udp_sum + to.udp_sum);
	to.sum = check_of(s->ip_sum + to.sum);
	to.udp_sum = udp_check ? udp_check : 0xffff;
	return to;
}

/* Writes the fields that differ from frame to frame; `to` has the checksums. */
static inline void finish(uint8_t *f, const struct flow *to, const struct stamp *t)
{
	memcpy(f + 24, &to->sum, 2);
	memcpy(f + 26, to, 12); /* addresses and ports, as they lie in the frame */
	memcpy(f + 40, &to->udp_sum, 2);
	memcpy(f + STAMP_AT, t, sizeof *t);
}

/* Records the start of the run, and ends it when its time is over. */
static void look_at_run(struct gen *g, uint64_t now)
{
	struct run *r = &g->run;
	if (r->begin == 0)
		*r = (struct run){.begin = now, .sent = g->stream->sent, .received = g->stream->received};
	if (g->time == 0 || now - r->begin < g->time)
		return;
	r->ns = now - r->begin;
	r->sent = g->stream->sent - r->sent;
	r->received = g->stream->received - r->received;
	g->running = false;
}

/* Makes the frames from v[i] on that are due at `time`, none of them v[end]; returns where they end.
 * one_size: all frames have one. */
static inline __attribute__((always_inline)) unsigned
make_due(struct gen *g, struct frame *v, unsigned i, unsigned end, double time, uint64_t now,
         bool one_size)
{
	struct stamp t = {STAMP_MAGIC, (uint16_t)g->stream_id, g->stream->first + g->stream->sent,
	                  (uint32_t)now, 0};
	/* of the stamp; the next number adds 1, also where its lower half overflows: 2^32 is 1 */
	uint32_t sum = sum_fold((t.number >> 32) + (uint32_t)t.number + t.ns + t.magic + t.stream);
	const struct flow *const flows = g->flow_table;
	const unsigned flow_mask = g->flow_mask, slots = g->slots;
	unsigned slot = g->slot, flow = g->flow;
	double due = g->due; /* 0 at full rate */
	for (; i < end && due <= time; i++, t.number++) {
		const struct slot *s = &g->slots_of[slot];
		const struct flow *to = &flows[flow++ & flow_mask];
		uint8_t *f = g->frames + (size_t)slot * g->stride;
		t.check = (uint16_t)~sum;
		sum = sum == 0xffff ? 1 : sum + 1;
		if (one_size) {
			finish(f, to, &t);
		} else {
			const struct flow here = checked(s, *to);
			finish(f, &here, &t);
		}
		v[i] = (struct frame){.data = f, .bytes = s->bytes, .flags = FRAME_UDP4};
		slot = slot + 1 == slots ? 0 : slot + 1;
		due += s->cost;
	}
	g->due = due;
	g->slot = slot;
	g->flow = flow;
	return i;
}

static unsigned gen_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	struct gen *g = gen_of(w);
	unsigned n = 0;
	if (__builtin_expect(g->arp_waiting != 0, 0))
		n = pull_arp(g, v, max);
	if (g->running)
		look_at_run(g, now);
	if (!g->running)
		return n;
	if (g->epoch == 0) {
		g->epoch = now;
		g->due = 0;
	}
	double time = (double)(now - g->epoch);
	double late = FRAME_BURST * g->slots_of[g->slot].cost;
	late = late > BACKLOG_NS ? late : BACKLOG_NS;
	if (g->rate != 0 && time - g->due > late) { /* drop the older backlog */
		g->due = time - late;
		g->forgotten++;
	}
	const unsigned end = g->left < max - n ? n + (unsigned)g->left : max;
	const unsigned i = g->sizes == 1 ? make_due(g, v, n, end, time, now, true)
	                                 : make_due(g, v, n, end, time, now, false);
	g->stream->sent += i - n;
	if (g->left != UINT64_MAX)
		g->left -= i - n;
	g->running = g->left != 0;
	return i;
}

static void gen_send_all(struct wire *w, const struct frame *v, unsigned n, uint64_t now)
{
	struct gen *g = gen_of(w);
	for (uint64_t left = judge_frames(&g->judge, v, n, now); left; left &= left - 1) {
		const struct frame *f = &v[__builtin_ctzll(left)];
		if (g->outside && flows_frame(g->outside, f->data, f->bytes))
			g->judge.foreign--;
		else
			answer_arp(g, f->data, f->bytes);
	}
}

static void gen_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	gen_send_all(w, &(struct frame){.data = data, .bytes = bytes}, 1, now);
}

static uint64_t gen_deadline(struct wire *w, uint64_t now)
{
	const struct gen *g = gen_of(w);
	if (g->arp_waiting || (g->running && (g->rate == 0 || g->epoch == 0)))
		return now;
	return g->running ? g->epoch + (uint64_t)g->due : UINT64_MAX;
}

static bool gen_carrier(struct wire *w)
{
	(void)w;
	return true;
}

static void gen_stats(struct wire *w, struct json *j)
{
	const struct gen *g = gen_of(w);
	json_u64(j, "judged", g->judge.judged);
	json_u64(j, "corrupted", g->judge.corrupted);
	json_u64(j, "foreign", g->judge.foreign);
	if (g->outside)
		flows_stats(g->outside, j);
	if (g->stream == NULL)
		return;
	json_u64(j, "stream", g->stream_id);
	json_bool(j, "running", g->running);
	json_u64(j, "backlog_forgotten", g->forgotten);
	if (g->run.ns) {
		json_object(j, "run");
		json_u64(j, "ns", g->run.ns);
		json_u64(j, "sent", g->run.sent);
		json_u64(j, "received", g->run.received);
		json_end(j);
	}
}

static void gen_reset_stats(struct wire *w)
{
	struct gen *g = gen_of(w);
	memset(&g->judge, 0, sizeof g->judge);
	g->forgotten = 0;
	if (g->outside)
		flows_reset(g->outside);
	if (g->stream)
		stream_restart(g->stream);
}

static void gen_close(struct wire *w)
{
	struct gen *g = gen_of(w);
	if (g->stream)
		g->stream->used = false;
	flows_close(g->outside);
	free(g->listed);
	free(g->frames);
	free(g->flow_table);
	free(g);
}

#define OPS(title) \
	{ \
		.name = title, \
		.pull = gen_pull, \
		.send = gen_send, \
		.send_all = gen_send_all, \
		.deadline = gen_deadline, \
		.carrier = gen_carrier, \
		.stats = gen_stats, \
		.reset_stats = gen_reset_stats, \
		.close = gen_close, \
	}
static const struct wire_ops gen_ops = OPS("gen"), sink_ops = OPS("sink");

/* --- frames built in advance --- */

static uint64_t random_next(uint64_t *state) /* xorshift64* */
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

/* Sets what each frame costs at the rate. */
static void set_costs(struct gen *g)
{
	for (unsigned i = 0; i < g->slots; i++) {
		double unit = g->rate_in_bits ? 8.0 * (g->slots_of[i].bytes + WIRE_EXTRA) : 1;
		g->slots_of[i].cost = g->rate != 0 ? unit / g->rate : 0;
	}
	g->w.realtime = g->rate != 0;
}

static void make_frame(struct gen *g, uint8_t *f, struct slot *s, uint32_t bytes)
{
	uint32_t total = bytes - 14, udp = total - 20;
	const uint8_t head[] = {0x08, 0x00, 0x45, 0, (uint8_t)(total >> 8), (uint8_t)total, 0, 0,
	                        0,    0,    64,   17};
	memcpy(f, pattern, bytes);
	memcpy(f, g->dmac, 6);
	memcpy(f + 6, g->mac, 6);
	memcpy(f + 12, head, sizeof head);
	f[38] = (uint8_t)(udp >> 8);
	f[39] = (uint8_t)udp;
	s->bytes = bytes;
	s->ip_sum = sum_load16(f + 14) + sum_load16(f + 16) + sum_load16(f + 22);
	/* RFC 768: protocol and length of the pseudo header, length of the header, the data. */
	s->udp_sum = sum_fold((17 << 8) + 2 * sum_load16(f + 38) + pattern_sum(bytes));
}

/* Each destination of a file is sent at least once per pass over the table, the first ones
 * twice. */
static uint32_t flows_wanted(const struct gen *g)
{
	uint32_t n = 1, max = g->listed_count > FLOWS_MAX ? LISTED_MAX : FLOWS_MAX;
	while (n < max && (n < g->flows || n < 4 * g->prefixes || n < g->listed_count))
		n *= 2;
	if (g->flows > 1 || g->prefixes > 1)
		while (n % g->flows != 0 && n < max)
			n *= 2;
	return n;
}

/* Network order. */
static uint32_t destination(struct gen *g, uint32_t number)
{
	uint32_t dst = g->dst;
	if (g->listed) {
		memcpy(&dst, g->listed + (size_t)(number % g->listed_count) * sizeof dst, sizeof dst);
		return dst;
	}
	if (g->prefixes) /* hosts 1 to 254 of any of them */
		dst = (dst & 0xffffff00) + (uint32_t)(random_next(&g->seed) % g->prefixes << 8) + 1 +
		      (uint32_t)(random_next(&g->seed) % 254);
	return __builtin_bswap32(dst);
}

/* The generator cycles through the table, whose length is a power of two. A number of flows that
 * does not divide the length gets the longest table: there, one entry less for some flows matters
 * least. */
static bool make_flows(struct gen *g)
{
	const uint32_t n = flows_wanted(g);
	g->flow_mask = n - 1;
	g->flow_table = calloc(n, sizeof *g->flow_table);
	if (g->flow_table == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct flow *f = &g->flow_table[i];
		f->src = __builtin_bswap32(g->src);
		f->dst = destination(g, i);
		f->sport = __builtin_bswap16((uint16_t)(g->sport + i % g->flows));
		f->dport = __builtin_bswap16(g->dport);
		f->sum = sum_fold((uint64_t)f->src + f->dst);
		f->udp_sum = sum_fold((uint64_t)f->sum + f->sport + f->dport);
	}
	return true;
}

static bool make_frames(struct gen *g)
{
	uint32_t longest = 0;
	for (unsigned i = 0; i < g->sizes; i++)
		longest = g->size[i] > longest ? g->size[i] : longest;
	judge_init();
	g->stride = (longest + 63) & ~63u;
	g->slots = (SLOTS + g->sizes - 1) / g->sizes * g->sizes;
	g->frames = aligned_alloc(64, (size_t)g->stride * g->slots);
	if (g->frames == NULL || !make_flows(g))
		return false;
	for (unsigned i = 0; i < g->slots; i++)
		make_frame(g, g->frames + (size_t)i * g->stride, &g->slots_of[i],
		           g->size[i % g->sizes]);
	for (uint32_t i = 0; g->sizes == 1 && i <= g->flow_mask; i++)
		g->flow_table[i] = checked(&g->slots_of[0], g->flow_table[i]);
	set_costs(g);
	return true;
}

/* --- options --- */

static bool parse_rate(struct gen *g, const char *text)
{
	const char *end;
	double rate;
	if (strcmp(text, "flat") == 0) {
		g->rate = 0;
		return true;
	}
	if (!parse_number(text, &rate, &end) || rate <= 0 || rate > 1e12)
		return false;
	if (strcmp(end, "bps") != 0 && strcmp(end, "pps") != 0 && *end != 0)
		return false;
	g->rate_in_bits = *end == 'b';
	g->rate = rate / 1e9;
	return true;
}

/* Sizes include the FCS, as is usual. */
static bool parse_sizes(struct gen *g, const char *text)
{
	static const uint32_t imix[] = {64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 64, 594};
	char list[128], *rest = list;
	g->sizes = 0;
	if (strcmp(text, "imix") == 0) {
		for (unsigned i = 0; i < sizeof imix / sizeof imix[0]; i++)
			g->size[g->sizes++] = imix[i] - FCS;
		return true;
	}
	if (strlen(text) >= sizeof list)
		return false;
	strcpy(list, text);
	for (const char *word; (word = strsep(&rest, "/"));) {
		uint64_t n;
		if (g->sizes == SIZES_MAX || !parse_u64(word, &n) || n < 64 || n > 9728 + FCS)
			return false;
		g->size[g->sizes++] = (uint32_t)n - FCS;
	}
	return true;
}

static bool parse_below(const char *text, uint64_t min, uint64_t max, uint64_t *n)
{
	return parse_u64(text, n) && *n >= min && *n <= max;
}

static bool parse_start(struct gen *g, const char *text)
{
	g->manual = strcmp(text, "manual") == 0;
	return g->manual || strcmp(text, "auto") == 0;
}

static bool parse_outside(struct gen *g, const char *text)
{
	bool on;
	if (!parse_switch(text, &on))
		return false;
	if (on && g->outside == NULL)
		g->outside = flows_open();
	return !on || g->outside;
}

static bool parse_common(struct gen *g, const char *word)
{
	const char *v;
	if ((v = parse_key(word, "outside")))
		return parse_outside(g, v);
	if ((v = parse_key(word, "vary")))
		return g->outside && flows_vary(g->outside, v);
	if ((v = parse_key(word, "arp")))
		return parse_switch(v, &g->arp);
	v = parse_key(word, "smac");
	return v && parse_mac(v, g->mac);
}

/* Parses an option that can be changed while the generator runs. */
static bool parse_running(struct gen *g, const char *word)
{
	const char *v;
	if ((v = parse_key(word, "rate")))
		return parse_rate(g, v);
	if ((v = parse_key(word, "time")))
		return parse_ns(v, &g->time);
	v = parse_key(word, "count");
	return v && parse_u64(v, &g->count);
}

/* Reads a file of addresses: a whole number of them, at least one. */
static bool parse_destinations(struct gen *g, const char *path)
{
	FILE *f = g->listed ? NULL : fopen(path, "rb");
	if (f == NULL)
		return false;
	long bytes = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
	bool ok = bytes > 0 && bytes % 4 == 0 && bytes / 4 <= (long)LISTED_MAX;
	rewind(f);
	g->listed = ok ? malloc((size_t)bytes) : NULL;
	ok = g->listed && fread(g->listed, 1, (size_t)bytes, f) == (size_t)bytes;
	fclose(f);
	g->listed_count = ok ? (uint32_t)(bytes / 4) : 0;
	return ok;
}

static bool parse_gen(struct gen *g, const char *word)
{
	const char *v;
	uint64_t n = 0;
	bool ok;
	if ((v = parse_key(word, "size")))
		return parse_sizes(g, v);
	if ((v = parse_key(word, "dmac")))
		return parse_mac(v, g->dmac);
	if ((v = parse_key(word, "src")))
		return parse_ip4(v, &g->src);
	if ((v = parse_key(word, "dst")))
		return parse_ip4(v, &g->dst);
	if ((v = parse_key(word, "start")))
		return parse_start(g, v);
	if ((v = parse_key(word, "seed")))
		return parse_below(v, 1, UINT64_MAX, &g->seed);
	if ((v = parse_key(word, "destinations")))
		return parse_destinations(g, v);
	if ((v = parse_key(word, "prefixes"))) {
		ok = parse_below(v, 1, 1 << 24, &n);
		g->prefixes = (uint32_t)n;
	} else if ((v = parse_key(word, "flows"))) {
		ok = parse_below(v, 1, FLOWS_MAX, &n);
		g->flows = (uint32_t)n;
	} else if ((v = parse_key(word, "sport"))) {
		ok = parse_below(v, 0, UINT16_MAX, &n);
		g->sport = (uint16_t)n;
	} else if ((v = parse_key(word, "dport"))) {
		ok = parse_below(v, 0, UINT16_MAX, &n);
		g->dport = (uint16_t)n;
	} else {
		ok = parse_running(g, word) || parse_common(g, word);
	}
	return ok;
}

static void start(struct gen *g)
{
	g->left = g->count ? g->count : UINT64_MAX;
	g->epoch = 0;
	g->run = (struct run){0};
	g->running = true;
}

const char *gen_command(struct wire *w, char *text)
{
	if (w->ops != &gen_ops)
		return "the wire of this port is no generator";
	struct gen *g = gen_of(w);
	for (char *word; (word = strsep(&text, " "));) {
		if (strcmp(word, "start") == 0)
			start(g);
		else if (strcmp(word, "stop") == 0)
			g->running = false;
		else if (!parse_running(g, word))
			return "start, stop, rate=N|Nbps|flat, count=N or time=T";
		set_costs(g);
		g->epoch = 0; /* a new rate begins now */
	}
	return NULL;
}

/* --- open --- */

static struct gen *make(const struct wire_spec *s, const struct wire_ops *ops)
{
	struct gen *g = calloc(1, sizeof *g);
	if (g == NULL)
		return NULL;
	g->w.ops = ops;
	g->w.fd = -1;
	g->arp = true;
	memcpy(g->mac, (const uint8_t[]){0x52, 0x54, 0, 0, 0x99, (uint8_t)s->port}, 6);
	return g;
}

static struct wire *fail(struct gen *g, const struct wire_spec *s, const char *word,
                         const char *what)
{
	gen_close(&g->w);
	return wire_bad(s, word, what);
}

struct wire *sink_open(const struct wire_spec *s)
{
	struct gen *g = make(s, &sink_ops);
	if (g == NULL || *s->argument) {
		free(g);
		return wire_bad(s, "sink", "takes options only");
	}
	for (unsigned i = 0; i < s->options; i++)
		if (!parse_common(g, s->option[i]))
			return fail(g, s, s->option[i],
			            "no option of a sink, or its value is wrong");
	judge_init();
	return &g->w;
}

struct wire *gen_open(const struct wire_spec *s)
{
	struct gen *g = make(s, &gen_ops);
	if (g == NULL || *s->argument || s->port >= STREAMS) {
		free(g);
		return wire_bad(s, "gen", "takes options only");
	}
	g->stream_id = s->port;
	g->stream = &streams[s->port];
	stream_restart(g->stream);
	g->w.patient = true;
	memcpy(g->dmac, s->mac, 6);
	g->src = 0xc0000202; /* 192.0.2.2 */
	g->dst = 0xc6336402; /* 198.51.100.2 */
	g->sport = 1024;
	g->dport = 9;
	g->flows = 1;
	g->seed = 1;
	g->size[g->sizes++] = 64 - FCS;
	for (unsigned i = 0; i < s->options; i++)
		if (!parse_gen(g, s->option[i]))
			return fail(g, s, s->option[i],
			            "no option of a generator, or its value is wrong");
	if (!make_frames(g))
		return fail(g, s, "gen", "no memory");
	if (!g->manual)
		start(g);
	return &g->w;
}
