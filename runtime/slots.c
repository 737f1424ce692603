/*
 * Sending by slots (runtime.h, core_slots_open), on top of the drivers' slots (struct nic_ops). The
 * application uses the whole ring; the runtime's own frames are inserted between its frames.
 *
 * An inserted frame takes the next place of the ring, so the application's slots move one place further:
 * the application's slot k, counted without wrapping, is the driver's slot k + (sent - next). The
 * descriptors are rewritten from the application's table as their turn comes. Until then `stale` of the
 * next slots differ from the ring. If none do, sending is a single call of the driver.
 *
 * core_tx() works as usual. While a port has slots, its queue has operations of its own: the driver's
 * with another tx_burst. Attaching the queue again ends this.
 */
#include "runtime/shared.h"
#include "lib/mem.h"

#define OWN_MAX 64 /* most frames of the runtime in a ring */
#define FRAME_MIN 60

static struct slots {
	struct nic_ops ops;     /* of the queue, while it has slots */
	struct nic_slot *table; /* the application's */
	uint32_t count;         /* number of slots, a power of two */
	uint32_t all;           /* free slots when the device owns none */
	uint32_t room;          /* free slots at the last check, less those sent since */
	uint32_t next;          /* slots sent by the application */
	uint32_t sent;          /* places of the ring sent in all */
	uint32_t stale;         /* next slots for which the ring's descriptors are out of date */
	uint32_t own_in, own_out;
	struct own {
		uint32_t place; /* counted like `sent` */
		struct pkt p;
	} own[OWN_MAX];
} ports[NIC_PORTS_MAX];

static bool moved; /* slots were sent since the last slots_moved() */

static bool is_open(const struct nic_queue *q, const struct slots *s)
{
	return q && q->ops == &s->ops;
}

/* Frees the runtime's frames that the device has sent. */
COLD static void free_own(struct slots *s, struct nic_queue *q)
{
	uint32_t done = s->sent - (s->all - s->room); /* the device has sent all places before this */
	for (; s->own_out != s->own_in; s->own_out++) {
		struct own *o = &s->own[s->own_out % OWN_MAX];
		if ((int32_t)(done - o->place) <= 0)
			break;
		pkt_free(q->pool, &o->p);
	}
}

static unsigned look(struct slots *s, struct nic_queue *q)
{
	s->room = q->ops->slots_free(q);
	if (unlikely(s->own_out != s->own_in))
		free_own(s, q);
	return s->room;
}

/* Completes a frame as a driver's tx_burst would: checksum and minimum length. */
static struct nic_slot complete(const struct bufpool *pool, const struct pkt *p)
{
	struct pkt done = *p;
	assert(!(p->flags & (PKT_CHAIN | PKT_TSO | PKT_USO | PKT_VLAN)));
	memset(done.data - NIC_SLOT_ROOM, 0, NIC_SLOT_ROOM);
	if (p->flags & PKT_CSUM_PARTIAL)
		pkt_csum_complete(pool, &done);
	if (done.len < FRAME_MIN)
		memset(done.data + done.len, 0, (size_t)(FRAME_MIN - done.len));
	return (struct nic_slot){done.data, done.len < FRAME_MIN ? FRAME_MIN : done.len};
}

/* Sends packets of the runtime; `stamped`: the device records the time. Returns how many had room. */
static unsigned send_own(struct nic_queue *q, const struct pkt *v, unsigned n, bool stamped)
{
	struct slots *s = &ports[q->port];
	struct nic_slot slot[OWN_MAX];
	uint64_t bytes = 0;
	unsigned room = look(s, q), k = 0;
	for (; k < n && k < room && s->own_in - s->own_out < OWN_MAX; k++) {
		slot[k] = complete(q->pool, &v[k]);
		bytes += v[k].len;
		s->own[s->own_in++ % OWN_MAX] = (struct own){s->sent + k, v[k]};
	}
	q->cnt->tx_full += k < n;
	if (k == 0)
		return 0;
	q->ops->slots_put(q, s->sent, slot, k);
	for (unsigned i = 0; i < k && stamped; i++)
		q->ops->slot_stamp(q, s->sent + i);
	q->ops->slots_send(q, k, bytes);
	s->sent += k;
	s->room -= k;
	s->stale = s->count;
	return k;
}

/* nic_ops.tx_burst of a queue with slots. */
static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	return send_own(q, v, n, false);
}

/* Opens slots on the queue, unless they are open. */
static int open_queue(struct nic_queue *q, struct slots *s)
{
	if (!q || q->broken)
		return E_AGAIN;
	if (!q->ops->slots_open)
		return E_NOTSUP;
	if (is_open(q, s))
		return E_OK;
	unsigned count = q->ops->slots_open(q);
	if (count == 0)
		return E_AGAIN;
	*s = (struct slots){.ops = *q->ops, .count = count};
	s->ops.tx_burst = tx_burst;
	s->all = q->ops->slots_free(q);
	q->ops = &s->ops;
	data_bind(q->port);
	return E_OK;
}

int core_tx_stamped(unsigned port, const struct pkt *p)
{
	struct nic_queue *q = data_queue(port);
	int error = open_queue(q, &ports[port]);
	if (error != E_OK)
		return error;
	if (!q->ops->slot_stamp)
		return E_NOTSUP;
	return send_own(q, p, 1, true) ? E_OK : E_AGAIN;
}

int core_slots_open(unsigned port, struct nic_slot *table)
{
	struct nic_queue *q = data_queue(port);
	struct slots *s = &ports[port];
	int error = open_queue(q, s);
	if (error != E_OK)
		return error;
	if (look(s, q) != s->all)
		return E_AGAIN;
	s->table = table;
	s->next = 0;
	s->stale = s->count;
	return (int)s->count;
}

uint32_t core_slots_len_max(unsigned port)
{
	uint32_t most = data_queue(port)->slot_len_max;
	return most ? most : UINT32_MAX;
}

unsigned core_slots_room(unsigned port)
{
	struct nic_queue *q = data_queue(port);
	struct slots *s = &ports[port];
	assert(is_open(q, s));
	if (unlikely(core_outs[port].n))
		core_tx_flush(port);
	if (unlikely(q->broken))
		return s->room = 0;
	if (unlikely(look(s, q) == 0))
		data_note_stall(port);
	return s->room;
}

bool core_slots_idle(unsigned port)
{
	struct nic_queue *q = data_queue(port);
	struct slots *s = &ports[port];
	return !is_open(q, s) || q->broken || look(s, q) == s->all;
}

void core_slots_changed(unsigned port, unsigned n)
{
	struct slots *s = &ports[port];
	assert(n <= s->count);
	s->stale = s->stale < n ? n : s->stale;
}

/* Writes the stale descriptors among the next n slots, in one run of the table or two. */
static void put_stale(struct slots *s, struct nic_queue *q, unsigned n)
{
	uint32_t left = n < s->stale ? n : s->stale, done = 0;
	s->stale -= left;
	while (done < left) {
		uint32_t first = (s->next + done) & (s->count - 1), most = s->count - first;
		uint32_t run = left - done < most ? left - done : most;
		q->ops->slots_put(q, s->sent + done, &s->table[first], run);
		done += run;
	}
}

bool slots_moved(void)
{
	bool was = moved;
	moved = false;
	return was;
}

void core_slots_send(unsigned port, unsigned n, uint64_t bytes)
{
	struct nic_queue *q = data_queue(port);
	struct slots *s = &ports[port];
	assert(is_open(q, s) && n <= s->room);
	if (s->stale)
		put_stale(s, q, n);
	q->ops->slots_send(q, n, bytes);
	s->next += n;
	s->sent += n;
	s->room -= n;
	moved |= n > 0;
}
