#include "tools/nicsim/wires/flows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nicsim/json.h"
#include "tools/nicsim/packet/bytes.h"
#include "tools/nicsim/packet/headers.h"
#include "tools/nicsim/packet/sum.h"
#include "tools/nicsim/wires/stamped.h"

#define FLOWS     64
#define FCS       4
#define FRONT_MAX 96 /* bytes before a stamp: Ethernet, two tags, IPv6 and TCP take 82 */

struct flow {
	uint16_t number;
	struct stream stream;
	uint64_t altered;              /* intact, but not like the first frame */
	uint32_t front;                /* bytes before the stamp */
	uint8_t first[FRONT_MAX];      /* those of the first frame, ... */
	bool varies[FRONT_MAX];        /* ... and which of them may differ in another frame */
	uint32_t sizes[FRAME_MAX + 1]; /* frames per size in bytes */
};

struct flows {
	struct flow *flow[FLOWS];
	unsigned count;
	bool varies[FRAME_MAX]; /* bytes of all frames, as given to flows_vary */
	uint64_t corrupted;     /* frames of unknown flows */
};

struct flows *flows_open(void)
{
	judge_init();
	return calloc(1, sizeof(struct flows));
}

void flows_reset(struct flows *f)
{
	for (unsigned i = 0; i < f->count; i++)
		free(f->flow[i]);
	f->count = 0;
	f->corrupted = 0;
}

void flows_close(struct flows *f)
{
	if (f)
		flows_reset(f);
	free(f);
}

bool flows_vary(struct flows *f, const char *text)
{
	for (;;) {
		unsigned first, last;
		int used = 0;
		if (sscanf(text, "%u%n", &first, &used) != 1)
			return false;
		text += used;
		last = first;
		if (*text == '-' && sscanf(text, "-%u%n", &last, &used) == 1)
			text += used;
		if (last < first || last >= FRAME_MAX || (*text && *text != '/'))
			return false;
		memset(f->varies + first, true, last - first + 1);
		if (*text++ == 0)
			return true;
	}
}

/* --- is the frame intact? --- */

/* Whether the checksum and length after the IP header are right; a UDP checksum must be present. */
static bool l4_is_right(const uint8_t *data, const struct stamped *s)
{
	const uint8_t *l4 = data + s->l4;
	uint32_t bytes = (uint32_t)s->end - s->l4;
	uint64_t pseudo = sum_pseudo(data + s->l3, s->version, s->protocol, bytes);
	switch (s->protocol) {
	case IP_UDP:
		if (be16(l4 + 4) != bytes || be16(l4 + 6) == 0)
			return false;
		break;
	case IP_ICMP:
		pseudo = 0;
		break;
	case IP_TCP:
	case IP_ICMP6:
		break;
	default:
		return true;
	}
	return sum_fold(sum_add(pseudo, l4, bytes)) == 0xffff;
}

static bool payload_is_right(const struct flows *f, const uint8_t *data, const struct stamped *s)
{
	for (uint32_t i = s->stamp + (uint32_t)sizeof(struct stamp); i < s->end; i++)
		if (data[i] != pattern[i - s->tags] && !f->varies[i])
			return false;
	return true;
}

static bool is_whole(const struct flows *f, const uint8_t *data, uint32_t bytes,
                     const struct stamped *s)
{
	return bytes == s->end &&
	       (s->version == 6 || sum_fold(sum_add(0, data + s->l3, 20)) == 0xffff) &&
	       sum_fold(sum_add(0, data + s->stamp, sizeof(struct stamp))) == 0xffff &&
	       l4_is_right(data, s) && payload_is_right(f, data, s);
}

/* --- does it match the flow's first frame? --- */

/* Marks the bytes that may vary: lengths and sums, which is_whole has checked, and those of
 * flows_vary. */
static void mark_variable(const struct flows *f, struct flow *w, const struct stamped *s)
{
	uint32_t sum = s->protocol == IP_UDP ? 6 : s->protocol == IP_TCP ? 16 : 2;
	memcpy(w->varies, f->varies, sizeof w->varies);
	memset(w->varies + s->l3 + (s->version == 4 ? 2 : 4), true, 2);
	if (s->version == 4)
		memset(w->varies + s->l3 + 10, true, 2);
	if (s->stamp == s->l4)
		return;
	memset(w->varies + s->l4 + sum, true, 2);
	if (s->protocol == IP_UDP)
		memset(w->varies + s->l4 + 4, true, 2);
}

static bool is_alike(const struct flow *w, const uint8_t *data, const struct stamped *s)
{
	if (s->stamp != w->front)
		return false;
	for (uint32_t i = 0; i < w->front; i++)
		if (data[i] != w->first[i] && !w->varies[i])
			return false;
	return true;
}

/* --- flows --- */

static struct flow *find(const struct flows *f, unsigned number)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->flow[i]->number == number)
			return f->flow[i];
	return NULL;
}

static struct flow *add(struct flows *f, const uint8_t *data, const struct stamped *s,
                        const struct stamp *t)
{
	struct flow *w = f->count < FLOWS ? calloc(1, sizeof *w) : NULL;
	if (w == NULL)
		return NULL;
	w->number = t->stream;
	stream_begin(&w->stream, t->number);
	w->front = s->stamp;
	memcpy(w->first, data, s->stamp);
	mark_variable(f, w, s);
	return f->flow[f->count++] = w;
}

bool flows_frame(struct flows *f, const uint8_t *data, uint32_t bytes)
{
	struct stamped s;
	struct stamp t;
	if (!stamped_find(data, bytes, &s))
		return false;
	memcpy(&t, data + s.stamp, sizeof t);
	struct flow *w = find(f, t.stream);
	if (!is_whole(f, data, bytes, &s)) {
		*(w ? &w->stream.corrupted : &f->corrupted) += 1;
		return true;
	}
	if (w == NULL && (w = add(f, data, &s, &t)) == NULL)
		return false;
	w->altered += !is_alike(w, data, &s);
	w->sizes[bytes]++;
	(void)stream_note(&w->stream, &t, bytes); /* stamped by another clock: no latency */
	return true;
}

/* --- statistics --- */

static void front_stats(const struct flow *w, struct json *j)
{
	char hex[2 * FRONT_MAX + 1];
	for (uint32_t i = 0; i < w->front; i++)
		snprintf(hex + 2 * i, 3, "%02x", w->first[i]);
	json_string(j, "headers", hex);
}

static void size_stats(const struct flow *w, struct json *j)
{
	json_object(j, "sizes");
	for (uint32_t bytes = 0; bytes <= FRAME_MAX; bytes++) {
		char size[16];
		if (w->sizes[bytes] == 0)
			continue;
		snprintf(size, sizeof size, "%u", bytes + FCS);
		json_u64(j, size, w->sizes[bytes]);
	}
	json_end(j);
}

void flows_stats(const struct flows *f, struct json *j)
{
	json_u64(j, "corrupted_unknown", f->corrupted);
	json_array(j, "flows");
	for (unsigned i = 0; i < f->count; i++) {
		const struct flow *w = f->flow[i];
		json_object(j, NULL);
		json_u64(j, "flow", w->number);
		json_u64(j, "first", w->stream.first);
		stream_stats(&w->stream, w->stream.next - w->stream.first, j);
		json_u64(j, "altered", w->altered);
		front_stats(w, j);
		size_stats(w, j);
		json_end(j);
	}
	json_end(j);
}
