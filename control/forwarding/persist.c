/* See persist.h. */
#include "control/forwarding/persist.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"

#define HEADER_BYTES 4096u
#define NO_HALF 2

struct header {
	uint64_t seal; /* hash of all that follows */
	uint64_t half; /* in force; NO_HALF: none */
	uint64_t opened; /* between persist_open and persist_close */
	struct persist_six six;
	uint32_t port; /* of the engine's connection; 0: none */
	struct net_addr local;
	struct rib_size size; /* of the base in force */
	uint32_t key[DP_INTERFACES_MAX];
};
_Static_assert(sizeof(struct header) <= HEADER_BYTES, "it has a page");

static const struct siphash_key seal_key = {0x6879617465206b65, 0x707420726f757465};
static struct persist_base left;
static const struct rib_size nothing;

/* --- the piece --- */

static uint64_t seal_of(const struct header *h)
{
	return siphash24(&seal_key, &h->half, sizeof *h - offsetof(struct header, half));
}

/* Empties the header. */
static void clear(struct header *h)
{
	*h = (struct header){.half = NO_HALF};
	h->seal = seal_of(h);
}

static size_t half_bytes(size_t bytes)
{
	return align_down((bytes - HEADER_BYTES) / 2, CACHE_LINE);
}

static uint8_t *half_of(struct header *h, size_t bytes, uint64_t n)
{
	return (uint8_t *)h + HEADER_BYTES + n * half_bytes(bytes);
}

/* The header, which is sound, and the size of the piece; NULL: there is no piece. */
static struct header *find(size_t *bytes)
{
	struct header *h = core_persist_find(CORE_PERSIST_ROUTES, bytes);
	if (!h)
		return NULL;
	if (*bytes < 2 * HEADER_BYTES || h->seal != seal_of(h) || h->half > NO_HALF ||
	    rib_bytes(&h->size) > half_bytes(*bytes))
		clear(h);
	return h;
}

/* --- bases --- */

void persist_open(bool wanted)
{
	size_t bytes;
	struct header *h = find(&bytes);
	left = (struct persist_base){.size = nothing};
	if (!h || !wanted)
		return;
	if (h->half != NO_HALF && !h->opened) {
		left.memory = half_of(h, bytes, h->half);
		left.size = h->size;
		left.six = h->six;
		memcpy(left.key, h->key, sizeof left.key);
	}
	h->opened = 1;
	h->seal = seal_of(h);
}

const struct persist_base *persist_previous(void) { return &left; }

void persist_close(void)
{
	size_t bytes;
	struct header *h = find(&bytes);
	left = (struct persist_base){.size = nothing};
	if (!h)
		return;
	h->opened = 0;
	h->seal = seal_of(h);
}

void *persist_begin(const struct rib_size *size)
{
	size_t bytes;
	struct header *h = find(&bytes);
	const size_t wanted = align_up(rib_bytes(size), CACHE_LINE);
	if (h && wanted <= half_bytes(bytes))
		return half_of(h, bytes, h->half == 0);
	struct header *more = core_persist_alloc(CORE_PERSIST_ROUTES, HEADER_BYTES + 2 * wanted);
	if (!more) /* the old piece is as it was */
		return NULL;
	core_persist_find(CORE_PERSIST_ROUTES, &bytes);
	clear(more);
	if (h) {
		more->port = h->port;
		more->local = h->local;
		more->seal = seal_of(more);
	}
	return half_of(more, bytes, 0); /* nobody takes the old piece's memory before this program ends */
}

void persist_commit(const void *memory, const struct rib_size *size, struct persist_six six)
{
	const struct dp_state *v = dp_get();
	size_t bytes;
	struct header *h = find(&bytes);
	if (!h)
		return;
	h->half = memory != half_of(h, bytes, 0);
	h->size = *size;
	h->six = six;
	for (unsigned n = 0; n < DP_INTERFACES_MAX; n++)
		h->key[n] = v->interface[n].key;
	h->seal = seal_of(h);
}

void persist_forget(void)
{
	size_t bytes;
	struct header *h = find(&bytes);
	if (h)
		clear(h);
}

/* --- the connection --- */

void persist_note_connection(const struct net_addr *local, uint16_t port)
{
	size_t bytes;
	struct header *h = find(&bytes);
	if (!h)
		return;
	h->local = *local;
	h->port = port;
	h->seal = seal_of(h);
}

uint16_t persist_connection(struct net_addr *local)
{
	size_t bytes;
	const struct header *h = find(&bytes);
	if (!h)
		return 0;
	*local = h->local;
	return (uint16_t)h->port;
}
