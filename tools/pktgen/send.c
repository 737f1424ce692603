/* See send.h. */
#include "tools/pktgen/send.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "tools/pktgen/frames/frames.h"
#include "tools/pktgen/measure/pace.h"

/* Offset of a frame in its buffer: at a cache line, so that the bytes written before each sending
 * (stamp, fields) are in as few lines as possible, and not in that of the zeros before it. */
#define FRAME_AT CACHE_LINE
_Static_assert(FRAME_AT >= NIC_SLOT_ROOM, "NIC_SLOT_ROOM zeros precede the frame");

/* The most memory that frames take, enough for 16 streams of jumbo frames. They take at most half
 * of the core's memory, so that enough is left for receiving. */
#define BYTES_MAX (192u << 20)

/* Frames of a paced replay that are considered at once, because few are due at a time. */
#define TIMED_MAX 16

struct flow {
	unsigned stream, sender;
	bool over;       /* sends no more in this run */
	bool alike;      /* all its frames are identical */
	bool flat;
	bool recorded;   /* its frames are due at their times in the capture */
	uint16_t weight; /* of flat flows: frames per turn */
	uint16_t credit; /* frames left in the present turn */
	uint64_t n;      /* frames sent; number of the next */
	uint64_t limit;
	uint64_t end_tsc;
	const struct replay *replay; /* NULL: the frames are built, in `buffers` */
	uint32_t at;     /* next frame of the replay */
	uint8_t **buffers; /* one for each slot of the port, then the first RUN_BURST_MAX again */
	struct frames frames;
	struct pace pace;
};

/* A port. */
struct outlet {
	unsigned slots;  /* 0: not opened for this run */
	uint32_t next;   /* slot to be sent next, counted without end */
	struct nic_slot *table;
	unsigned flows;
	unsigned turn;   /* the flow whose turn it is */
	struct flow *flow[PLAN_STREAMS_MAX];
};

static struct outlet outlets[NIC_PORTS_MAX];
static uint8_t used[NIC_PORTS_MAX]; /* ports whose outlets have flows */
static unsigned used_count;
static const struct run_order *order;
static struct run_result *result;
static uint8_t *all_memory;
static size_t all_bytes;
static uint8_t *memory; /* not used yet in this run */
static size_t memory_left;

size_t send_bytes(size_t room)
{
	return room / 2 < BYTES_MAX ? room / 2 : BYTES_MAX;
}

static void reset(void)
{
	memset(outlets, 0, sizeof outlets);
	used_count = 0;
	memory = all_memory;
	memory_left = all_bytes;
}

void send_start(uint8_t *of, size_t bytes)
{
	all_memory = of;
	all_bytes = bytes;
	reset();
}

/* --- preparing --- */

static void *take(size_t bytes)
{
	bytes = align_up(bytes, CACHE_LINE);
	if (bytes > memory_left)
		return NULL;
	void *at = memory;
	memory += bytes;
	memory_left -= bytes;
	return at;
}

static enum run_why open_outlet(struct outlet *o, unsigned port)
{
	if (o->slots)
		return RUN_WHY_NOT;
	o->table = take(NIC_SLOTS_MAX * sizeof *o->table);
	if (!o->table)
		return RUN_WHY_MEMORY;
	int slots = core_slots_open(port, o->table);
	if (slots < 0)
		return slots == E_AGAIN ? RUN_WHY_BUSY : RUN_WHY_SLOTS;
	memset(o->table, 0, NIC_SLOTS_MAX * sizeof *o->table);
	o->slots = (unsigned)slots;
	o->next = 0;
	return RUN_WHY_NOT;
}

/* The part of sender number `sender` in `frames`, which `senders` share round robin. frames 0: no
 * limit, UINT64_MAX. */
static uint64_t share_of(uint64_t frames, unsigned sender, unsigned senders)
{
	return frames == 0 ? UINT64_MAX : (frames + senders - 1 - sender) / senders;
}

static void start_pace(struct flow *f)
{
	const struct plan_stream *s = &order->plan.stream[f->stream];
	f->end_tsc = order->end_tsc;
	if (s->limit.ns)
		f->end_tsc = u64_min(f->end_tsc, order->begin_tsc + clock_ticks(&self.clock, s->limit.ns));
	struct pace_rate rate = {
		.hz = self.clock.tsc_hz,
		.line_bps = order->line_bps[s->port],
		.sender = f->sender,
		.senders = order->stream[f->stream].senders,
		.end_tsc = f->end_tsc,
		.owed_max = order->owed_max,
		.tolerance_ppm = order->tolerance_ppm,
	};
	if (f->replay) {
		rate.len_mean = (uint16_t)(f->replay->bytes / f->replay->frames);
		f->limit = replay_total(f->replay, s->replay.rounds);
	}
	pace_start(&f->pace, s, &rate, order->begin_tsc);
	f->limit = u64_min(f->limit, share_of(s->limit.frames, f->sender, rate.senders));
	f->flat = s->rate.unit == PLAN_FLAT;
	f->recorded = s->rate.unit == PLAN_RECORDED;
	f->weight = s->weight ? s->weight : 1;
}

/* Allocates and builds the frames of a flow. The stride is an odd number of cache lines, so that
 * the lines written before sending, one in each frame, are spread over all sets of the cache. With
 * a stride of two lines they would use half of the sets, and a stamp would cost 5.0 cycles instead
 * of 4.5 (1024 frames). */
static bool make_frames(struct flow *f, unsigned slots)
{
	size_t stride = align_up(FRAME_AT + frames_len_max(&f->frames), CACHE_LINE) | CACHE_LINE;
	uint8_t *frames = take(slots * stride);
	f->buffers = take((slots + RUN_BURST_MAX) * sizeof *f->buffers);
	if (!frames || !f->buffers)
		return false;
	for (unsigned i = 0; i < slots + RUN_BURST_MAX; i++)
		f->buffers[i] = frames + (i & (slots - 1)) * stride + FRAME_AT;
	for (unsigned i = 0; i < slots; i++) {
		memset(f->buffers[i] - NIC_SLOT_ROOM, 0, NIC_SLOT_ROOM); /* struct nic_slot */
		frames_make(&f->frames, f->buffers[i], i, 0);
	}
	return true;
}

/* Prepares a flow whose frames are built. */
static enum run_why make_flow(struct flow *f, const struct plan_stream *s, unsigned sender,
                              unsigned slots)
{
	const struct run_stream *rs = &order->stream[f->stream];
	if (frames_init(&f->frames, s, rs->mac_src, rs->mac_dst, stamp_flow(f->stream, sender), sender,
	                rs->senders) != E_OK)
		return RUN_WHY_FRAMES;
	frames_use(&f->frames, vector_bits());
	if (!make_frames(f, slots))
		return RUN_WHY_MEMORY;
	f->alike = frames_fixed(&f->frames, 1);
	return RUN_WHY_NOT;
}

static bool is_too_long(const struct flow *f, unsigned port)
{
	uint32_t longest = f->replay ? f->replay->len_max : frames_len_max(&f->frames);
	return longest > core_slots_len_max(port);
}

static enum run_why add_flow(unsigned stream, unsigned sender)
{
	const struct plan_stream *s = &order->plan.stream[stream];
	const struct run_stream *rs = &order->stream[stream];
	struct outlet *o = &outlets[s->port];
	struct flow *f = take(sizeof *f);
	if (!f)
		return RUN_WHY_MEMORY;
	memset(f, 0, sizeof *f);
	f->stream = stream;
	f->sender = sender;
	f->limit = UINT64_MAX;
	f->replay = rs->replay.frame ? &rs->replay : NULL;
	enum run_why why = open_outlet(o, s->port);
	if (why == RUN_WHY_NOT && !f->replay)
		why = make_flow(f, s, sender, o->slots);
	if (why == RUN_WHY_NOT && is_too_long(f, s->port))
		why = RUN_WHY_LENGTH;
	if (why != RUN_WHY_NOT)
		return why;
	if (o->flows == 0)
		used[used_count++] = s->port;
	o->flow[o->flows++] = f;
	return RUN_WHY_NOT;
}

/* One flow of one size: slot i keeps buffer i, and its descriptor is never rewritten. */
static bool is_bound(const struct outlet *o)
{
	return o->flows == 1 && !o->flow[0]->replay && frames_one_size(&o->flow[0]->frames);
}

static void bind(struct outlet *o)
{
	const struct flow *f = o->flow[0];
	for (unsigned i = 0; i < o->slots; i++)
		o->table[i] = (struct nic_slot){f->buffers[i], frames_len_max(&f->frames)};
}

enum run_why send_prepare(const struct run_order *of, struct run_result *into, unsigned *stream)
{
	int pair = core_pair();
	enum run_why why = RUN_WHY_NOT;
	order = of;
	result = into;
	reset();
	for (unsigned i = 0; i < order->plan.streams && why == RUN_WHY_NOT; i++) {
		const struct run_stream *rs = &order->stream[i];
		unsigned sender = ((unsigned)pair + order->cores - rs->first) % order->cores;
		*stream = i;
		if (rs->send && pair >= 0 && sender < rs->senders)
			why = add_flow(i, sender);
	}
	for (unsigned i = 0; i < used_count && why == RUN_WHY_NOT; i++)
		if (is_bound(&outlets[used[i]]))
			bind(&outlets[used[i]]);
	if (why != RUN_WHY_NOT)
		send_stop();
	for (unsigned i = 0; i < order->plan.streams; i++)
		histogram_clear(&result->pacing[i]);
	return why;
}

void send_begin(void)
{
	for (unsigned i = 0; i < used_count; i++)
		for (unsigned k = 0; k < outlets[used[i]].flows; k++)
			start_pace(outlets[used[i]].flow[k]);
}

/* --- sending --- */

static void publish(const struct flow *f)
{
	struct run_sent *sent = &result->sent[f->stream];
	const struct pace_result *pace = &f->pace.result;
	sent->forgiven = pace->forgiven;
	sent->behind = pace->behind;
	sent->worst_lag_ns = pace->worst_lag_ns;
}

static void finish(struct flow *f)
{
	f->over = true;
	publish(f);
	result->sent[f->stream].unkept = !pace_kept(&f->pace);
	histogram_merge(&result->pacing[f->stream], &f->pace.result.error);
}

/* Puts the next n frames of the flow into the slots from `slot` on. */
static void fill(struct outlet *o, const struct flow *f, uint32_t slot, const uint16_t *lens,
                 unsigned n, uint64_t now)
{
	bool bound = is_bound(o);
	uint64_t from = bound ? slot : f->n;
	uint8_t *const *bufs = &f->buffers[from & (o->slots - 1)];
	frames_patch(&f->frames, bufs, n, f->n, (uint32_t)clock_ns(&self.clock, now));
	if (bound)
		return;
	for (unsigned i = 0; i < n; i++)
		o->table[(slot + i) & (o->slots - 1)] =
			(struct nic_slot){bufs[i], lens ? lens[i] : frames_len_max(&f->frames)};
}

/* Puts the frames that are due, at most `most`, into the slots from `slot` on. Returns their number
 * and adds their bytes to *bytes. For a flow whose frames are built. */
static unsigned put_made(struct outlet *o, struct flow *f, uint64_t now, uint32_t slot,
                         unsigned most, uint64_t *bytes)
{
	uint16_t lens[RUN_BURST_MAX];
	bool one_size = frames_one_size(&f->frames);
	if (!one_size)
		frames_lens(&f->frames, f->n, most, lens);
	unsigned n = pace_due(&f->pace, now, one_size ? NULL : lens, most);
	if (n == 0)
		return 0;
	if (!f->alike || !is_bound(o))
		fill(o, f, slot, one_size ? NULL : lens, n, now);
	for (unsigned i = 0; i < n && !one_size; i++)
		*bytes += lens[i];
	*bytes += one_size ? (uint64_t)n * frames_len_max(&f->frames) : 0;
	pace_sent(&f->pace, one_size ? NULL : lens, n);
	return n;
}

/* The same for a replay. Its frames are in published memory; the slots point to them. */
static unsigned put_replay(struct outlet *o, struct flow *f, uint64_t now, uint32_t slot,
                           unsigned most, uint64_t *bytes)
{
	const struct replay *t = f->replay;
	uint16_t lens[RUN_BURST_MAX];
	uint64_t gaps[TIMED_MAX];
	uint32_t at = f->at;
	if (!f->flat)
		most = most < TIMED_MAX ? most : TIMED_MAX;
	for (unsigned i = 0; i < most; i++) {
		lens[i] = t->frame[at].len;
		if (f->recorded)
			gaps[i] = replay_gap_ns(t, at);
		at = at + 1 < t->frames ? at + 1 : 0;
	}
	unsigned n = f->recorded ? pace_due_gaps(&f->pace, now, gaps, most)
	                         : pace_due(&f->pace, now, lens, most);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *data = (uint8_t *)replay_data(t, f->at); /* only read: struct nic_slot */
		o->table[(slot + i) & (o->slots - 1)] = (struct nic_slot){data, lens[i]};
		*bytes += lens[i];
		f->at = f->at + 1 < t->frames ? f->at + 1 : 0;
	}
	if (f->recorded)
		pace_sent_gaps(&f->pace, gaps, n);
	else
		pace_sent(&f->pace, lens, n);
	return n;
}

static unsigned send_flow(struct outlet *o, struct flow *f, uint64_t now, uint32_t slot,
                          unsigned most, uint64_t *bytes)
{
	struct run_sent *sent = &result->sent[f->stream];
	uint64_t add = 0;
	most = (unsigned)u64_min(most, f->limit - f->n);
	unsigned n = f->replay ? put_replay(o, f, now, slot, most, &add)
	                       : put_made(o, f, now, slot, most, &add);
	if (n == 0)
		return 0;
	f->n += n;
	sent->frames += n;
	sent->bytes += add;
	sent->first_tsc = sent->first_tsc ? sent->first_tsc : now;
	sent->last_tsc = now;
	*bytes += add;
	if (!f->flat)
		publish(f);
	return n;
}

/* The end has passed, and all frames that were due before it have been sent. */
static bool is_past_end(const struct flow *f, uint64_t now)
{
	return now >= f->end_tsc && (f->flat || pace_next(&f->pace) >= f->end_tsc);
}

/* The flow whose turn it is puts its due frames, at most `room`, into the slots from `slot` on. Flat
 * flows take turns by their weights. Returns the number of frames. */
static unsigned send_next(struct outlet *o, uint64_t now, uint32_t slot, unsigned room,
                          uint64_t *bytes)
{
	struct flow *f = o->flow[o->turn];
	unsigned most = room, n = 0;
	if (!f->over && (f->n == f->limit || is_past_end(f, now)))
		finish(f);
	if (!f->over && now >= order->begin_tsc) {
		if (f->flat && o->flows > 1) {
			f->credit = f->credit ? f->credit : f->weight;
			most = f->credit < room ? f->credit : room;
		}
		n = send_flow(o, f, now, slot, most, bytes);
		f->credit = f->flat && o->flows > 1 ? (uint16_t)(f->credit - n) : 0;
	}
	if (f->over || f->credit == 0 || n == 0)
		o->turn = o->turn + 1 < o->flows ? o->turn + 1 : 0;
	return n;
}

/* The TSC at which more is due; 0, at once: all flows are over, and the ring is to be polled until
 * it is empty. */
static uint64_t next_of(const struct outlet *o)
{
	uint64_t next = UINT64_MAX;
	for (unsigned i = 0; i < o->flows; i++) {
		const struct flow *f = o->flow[i];
		if (!f->over)
			next = u64_min(next, u64_min(pace_next(&f->pace), f->end_tsc));
	}
	return next == UINT64_MAX ? 0 : next;
}

/* False: all flows of the port are over and all its slots are free. True: *next is at most the TSC
 * of the next call. */
static bool send_outlet(struct outlet *o, unsigned port, uint64_t now, uint64_t *next)
{
	unsigned room = core_slots_room(port), idle = 0, n = 0;
	uint64_t bytes = 0;
	room = room < order->burst ? room : order->burst;
	/* until no flow has a frame to send */
	while (idle < o->flows && (n < room || room == 0)) {
		unsigned k = send_next(o, now, o->next + n, room - n, &bytes);
		idle = k ? 0 : idle + 1;
		n += k;
	}
	if (n) {
		if (!is_bound(o))
			core_slots_changed(port, n);
		core_slots_send(port, n, bytes);
		o->next += n;
	}
	*next = u64_min(*next, n == room ? 0 : next_of(o));
	for (unsigned i = 0; i < o->flows; i++)
		if (!o->flow[i]->over)
			return true;
	return n || !core_slots_idle(port);
}

bool send_turn(uint64_t now, uint64_t *next)
{
	bool going = false;
	*next = UINT64_MAX;
	for (unsigned i = 0; i < used_count; i++) {
		if (i > 0)
			now = clock_tsc(); /* filling the slots of a port takes time */
		going |= send_outlet(&outlets[used[i]], used[i], now, next);
	}
	return going;
}

void send_stop(void)
{
	for (unsigned i = 0; i < used_count; i++) {
		struct outlet *o = &outlets[used[i]];
		for (unsigned k = 0; k < o->flows; k++)
			if (!o->flow[k]->over)
				finish(o->flow[k]);
	}
}
