/*
 * A cable between two ports of the process. Each end queues what its port sends; the other port
 * pulls it from there. Options apply to frames sent from this end: rate (bits a second on the wire;
 * frames then do not wait for room in the receiver), delay, and those of impair.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nicsim/json.h"
#include "tools/nicsim/options.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/impair.h"
#include "tools/nicsim/wires/open.h"

#define QUEUE_BYTES (8u << 20) /* 10 ms at 5 Gbit/s */
#define WIRE_EXTRA  24         /* FCS, preamble, gap */

struct queued {
	uint64_t due;
	uint32_t bytes;
	uint32_t room; /* of this entry; `bytes` 0: it only fills the end of the queue */
};

struct link {
	struct wire w;
	unsigned port, peer;
	uint64_t delay_ns;
	double ns_per_bit;
	double sent_until; /* when the last frame has been sent */
	struct impair impair;
	uint64_t head, tail, done; /* of the queue; entries before `done` are free */
	uint8_t *queue;
};

static struct link *links[PORTS_MAX];

static struct link *link_of(struct wire *w)
{
	return (struct link *)(void *)w;
}

static struct link *other_end(const struct link *l)
{
	return links[l->peer];
}

/* --- the queue: entries of 16-byte units, none wraps around the end --- */

static struct queued *entry_at(struct link *l, uint64_t at)
{
	return (struct queued *)(void *)(l->queue + at % QUEUE_BYTES);
}

static bool put(struct link *l, const uint8_t *data, uint32_t bytes, uint64_t due)
{
	uint32_t need = (uint32_t)(sizeof(struct queued) + bytes + 15) & ~15u;
	uint32_t to_end = QUEUE_BYTES - (uint32_t)(l->tail % QUEUE_BYTES);
	uint32_t skip = to_end < need ? to_end : 0;
	if (l->tail + skip + need - l->done > QUEUE_BYTES)
		return false;
	if (skip) {
		*entry_at(l, l->tail) = (struct queued){0, 0, skip};
		l->tail += skip;
	}
	struct queued *q = entry_at(l, l->tail);
	*q = (struct queued){due, bytes, need};
	memcpy(q + 1, data, bytes);
	l->tail += need;
	return true;
}

/* The next entry, or NULL. */
static struct queued *first(struct link *l)
{
	while (l->head != l->tail) {
		struct queued *q = entry_at(l, l->head);
		if (q->bytes)
			return q;
		l->head += q->room;
	}
	return NULL;
}

/* --- the wire --- */

/* impair_out of struct link. */
static void transmit(void *ctx, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	struct link *l = ctx;
	double start = (double)now > l->sent_until ? (double)now : l->sent_until;
	double until = start + 8.0 * (bytes + WIRE_EXTRA) * l->ns_per_bit;
	uint64_t due = (l->ns_per_bit != 0 ? (uint64_t)until : now) + l->delay_ns;
	if (!put(l, data, bytes, due))
		l->w.dropped++;
	else
		l->sent_until = until;
}

static void link_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	struct link *l = link_of(w);
	if (w->pulled || other_end(l)->w.pulled) {
		w->dropped++;
		return;
	}
	impair_frame(&l->impair, data, bytes, now, transmit, l);
}

static unsigned link_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	struct link *from = other_end(link_of(w));
	unsigned n = 0;
	from->done = from->head; /* the frames of the last pull are free now */
	for (struct queued *q; n < max && (q = first(from)) && q->due <= now; n++) {
		v[n] = (struct frame){.data = (const uint8_t *)(q + 1), .bytes = q->bytes, .at = q->due};
		from->head += q->room;
	}
	return n;
}

static uint64_t link_deadline(struct wire *w, uint64_t now)
{
	struct queued *q = first(other_end(link_of(w)));
	(void)now;
	return q ? q->due : UINT64_MAX;
}

static bool link_carrier(struct wire *w)
{
	return !other_end(link_of(w))->w.pulled;
}

static void link_stats(struct wire *w, struct json *j)
{
	const struct link *l = link_of(w);
	json_u64(j, "peer", l->peer);
	impair_stats(&l->impair, j);
}

static void link_reset_stats(struct wire *w)
{
	impair_begin(&link_of(w)->impair, &link_of(w)->impair.rules);
}

static void link_close(struct wire *w)
{
	struct link *l = link_of(w);
	links[l->port] = NULL;
	free(l->queue);
	free(l);
}

static const struct wire_ops link_ops = {
	.name = "link",
	.pull = link_pull,
	.send = link_send,
	.deadline = link_deadline,
	.carrier = link_carrier,
	.stats = link_stats,
	.reset_stats = link_reset_stats,
	.close = link_close,
};

/* --- open --- */

static uint64_t seed_of(const struct link *l)
{
	return 0x9e3779b97f4a7c15 + l->port;
}

const char *link_command(struct wire *w, char *text)
{
	if (w->ops != &link_ops)
		return "the wire of this port is no link";
	struct link *l = link_of(w);
	struct impair_rules rules;
	impair_rules_init(&rules, seed_of(l));
	for (char *word; (word = strsep(&text, " "));)
		if (*word && !impair_rules_parse(&rules, word))
			return "loss=, corrupt=, duplicate=, reorder=, overtake=, frames=, seed=";
	impair_begin(&l->impair, &rules);
	return NULL;
}

static bool parse_option(struct link *l, const char *word)
{
	const char *v, *end;
	double rate;
	if ((v = parse_key(word, "delay")))
		return parse_ns(v, &l->delay_ns);
	v = parse_key(word, "rate");
	if (v == NULL)
		return impair_rules_parse(&l->impair.rules, word);
	if (!parse_number(v, &rate, &end) || rate < 1000 ||
	    (*end != 0 && strcmp(end, "bps") != 0))
		return false;
	l->ns_per_bit = 1e9 / rate;
	return true;
}

struct wire *link_open(const struct wire_spec *s)
{
	uint64_t peer;
	if (!parse_u64(s->argument, &peer) || peer >= PORTS_MAX || peer == s->port)
		return wire_bad(s, s->argument, "link:PORT, another port");
	struct link *l = calloc(1, sizeof *l);
	if (l == NULL || (l->queue = aligned_alloc(64, QUEUE_BYTES)) == NULL) {
		free(l);
		return wire_bad(s, "link", "no memory");
	}
	l->w.ops = &link_ops;
	l->w.fd = -1;
	l->port = s->port;
	l->peer = (unsigned)peer;
	impair_rules_init(&l->impair.rules, seed_of(l));
	links[s->port] = l;
	for (unsigned i = 0; i < s->options; i++)
		if (!parse_option(l, s->option[i])) {
			link_close(&l->w);
			return wire_bad(s, s->option[i],
			                "no option of a link, or its value is wrong");
		}
	return &l->w;
}

bool links_complete(void)
{
	for (unsigned i = 0; i < PORTS_MAX; i++) {
		if (links[i] == NULL)
			continue;
		struct link *other = links[links[i]->peer];
		if (other == NULL || other->peer != i) {
			fprintf(stderr, "nicsim: port %u: wire: port %u needs wire=link:%u\n", i,
			        links[i]->peer, i);
			return false;
		}
		links[i]->w.realtime = other->ns_per_bit != 0;
	}
	return true;
}
