/* See replay.h. */
#include "tools/pktgen/frames/replay.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "net/eth.h"
#include "tools/pktgen/frames/pcap.h"
#include "tools/pktgen/plan.h"

/* A packet of the file that can be sent. */
struct found {
	const uint8_t *data;
	unsigned has; /* bytes in the file */
	unsigned len; /* bytes to send: has, and padding */
	uint64_t ns;
};

/* A pass over a file. There are two: replay_measure and replay_lay. */
struct reader {
	struct pcap file;
	struct replay_count *count;
	uint64_t first_ns;
	bool begun;
};

static int begin(struct reader *r, const uint8_t *file, size_t bytes, struct replay_count *count)
{
	memset(count, 0, sizeof *count);
	*r = (struct reader){.count = count};
	return pcap_open(&r->file, file, bytes);
}

/* The counter of the reason for which the packet is left out; NULL: it can be sent. */
static uint64_t *unfit(struct replay_count *c, const struct pcap_packet *p)
{
	if (p->wire_len > PLAN_FRAME_MAX)
		return &c->too_long;
	if (p->len < p->wire_len)
		return &c->cut;
	return p->len < ETH_HLEN ? &c->too_short : NULL;
}

/* The packet's time since the first one. A packet older than one before it gets the latest time. */
static uint64_t time_of(struct reader *r, uint64_t ns)
{
	if (!r->begun)
		r->first_ns = ns;
	r->begun = true;
	ns -= r->first_ns;
	bool older = ns < r->count->ns || ns >> 63; /* bit 63 is the sign: 2^63 ns are 292 years */
	r->count->older += older;
	r->count->ns = older ? r->count->ns : ns;
	return r->count->ns;
}

/* As pcap_next, but passes only packets that can be sent. Counts all packets. */
static int next(struct reader *r, struct found *out)
{
	struct pcap_packet p;
	int more;
	while ((more = pcap_next(&r->file, &p)) == 1) {
		uint64_t *left_out = unfit(r->count, &p);
		if (left_out) {
			++*left_out;
			continue;
		}
		unsigned len = p.len < PLAN_FRAME_MIN ? PLAN_FRAME_MIN : p.len;
		*out = (struct found){p.data, p.len, len, time_of(r, p.ns)};
		r->count->filled += p.len < PLAN_FRAME_MIN;
		r->count->frames++;
		r->count->bytes += len;
		r->count->memory += sizeof(struct replay_frame) + REPLAY_ROOM + align_up(len, REPLAY_ALIGN);
		break;
	}
	return more;
}

static const char *none(const struct replay_count *c)
{
	if (c->cut)
		return "all its packets were cut off when they were captured: capture them whole";
	return c->too_short || c->too_long ? "it has no packet of a length that can be sent"
	                             : "it has no packets";
}

int replay_measure(const uint8_t *file, size_t bytes, struct replay_count *out)
{
	struct reader r;
	struct found f;
	int more = begin(&r, file, bytes, out);
	if (more == E_OK)
		while ((more = next(&r, &f)) == 1)
			;
	out->packet = r.file.packet;
	out->why = more < 0 ? r.file.why : NULL;
	if (more >= 0 && out->frames == 0) {
		out->packet = 0;
		out->why = none(out);
	} else if (more >= 0 && (out->frames > UINT32_MAX || out->memory / REPLAY_ALIGN > UINT32_MAX)) {
		out->why = "it is too large";
	}
	return out->why ? E_INVAL : E_OK;
}

void replay_lay(struct replay *t, uint8_t *memory, const uint8_t *file, size_t bytes,
                const struct replay_count *count, const uint8_t *mac_dst, const uint8_t *mac_src)
{
	struct replay_frame *table = (void *)memory;
	struct replay_count again;
	struct reader r;
	struct found f;
	size_t at = count->frames * sizeof *table;
	*t = (struct replay){.frame = table, .frames = (uint32_t)count->frames, .bytes = count->bytes};
	t->round_ns = count->ns + (t->frames > 1 ? count->ns / (t->frames - 1) : 0);
	begin(&r, file, bytes, &again);
	for (uint32_t i = 0; i < t->frames && next(&r, &f) == 1; i++) {
		memset(memory + at, 0, REPLAY_ROOM);
		at += REPLAY_ROOM;
		table[i] = (struct replay_frame){f.ns, (uint32_t)(at / REPLAY_ALIGN), (uint16_t)f.len};
		memcpy(memory + at, f.data, f.has);
		memset(memory + at + f.has, 0, align_up(f.len, REPLAY_ALIGN) - f.has);
		if (mac_dst)
			eth_copy(memory + at, mac_dst);
		if (mac_src)
			eth_copy(memory + at + 6, mac_src);
		t->len_max = f.len > t->len_max ? (uint16_t)f.len : t->len_max;
		at += align_up(f.len, REPLAY_ALIGN);
	}
}
