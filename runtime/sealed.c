/* See sealed.h. */
#include "runtime/sealed.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"

/* In front of each copy. */
struct head {
	uint64_t seal;   /* 0: not valid */
	uint64_t number; /* 0: never written */
};

static size_t copy_bytes(const struct sealed *s) { return align_up(sizeof(struct head) + s->bytes, 16); }

static struct head *head_of(const struct sealed *s, unsigned i)
{
	return (struct head *)(void *)(s->at + i * copy_bytes(s));
}

static uint64_t seal_of(const struct sealed *s, const struct head *h)
{
	const struct siphash_key key = {0x6879617465207365, 0x616c656400000000 | (uint64_t)s->what};
	return siphash24(&key, &h->number, sizeof h->number + s->bytes) | 1;
}

/* The valid copy with the greatest number; NULL: there is none. */
static const struct head *newest(const struct sealed *s)
{
	const struct head *found = NULL;
	for (unsigned i = 0; s->at && i < s->versions; i++) {
		const struct head *h = head_of(s, i);
		if (h->seal && h->seal == seal_of(s, h) && (!found || h->number > found->number))
			found = h;
	}
	return found;
}

static void find(struct sealed *s)
{
	size_t bytes = 0;
	if (s->at)
		return;
	uint8_t *at = core_persist_find(s->what, &bytes);
	if (!at || bytes < s->versions * copy_bytes(s))
		return;
	s->at = at;
	const struct head *h = newest(s);
	s->number = h ? h->number : 0;
}

bool sealed_take(struct sealed *s)
{
	find(s);
	if (!s->at)
		s->at = core_persist_alloc(s->what, s->versions * copy_bytes(s));
	return s->at;
}

const void *sealed_newest(struct sealed *s)
{
	find(s);
	const struct head *h = newest(s);
	return h ? h + 1 : NULL;
}

bool sealed_is_new(const struct sealed *s)
{
	for (unsigned i = 0; s->at && i < s->versions; i++)
		if (head_of(s, i)->seal || head_of(s, i)->number)
			return false;
	return s->at;
}

/* Where the version of that number is. The newest one is in the other copy, if there are two. */
static struct head *next(const struct sealed *s) { return head_of(s, (unsigned)((s->number + 1) % s->versions)); }

/* The order of the stores is that of the program, which may fail between any two. */
static void in_order(void) { __asm__ volatile("" ::: "memory"); }

void *sealed_begin(struct sealed *s)
{
	if (!s->at)
		return NULL;
	struct head *h = next(s);
	h->seal = 0;
	in_order();
	h->number = s->number + 1;
	return h + 1;
}

void sealed_end(struct sealed *s)
{
	struct head *h = next(s);
	in_order();
	h->seal = seal_of(s, h);
	s->number = h->number;
}

void sealed_write(struct sealed *s, const void *value)
{
	void *to = sealed_begin(s);
	assert(to);
	memcpy(to, value, s->bytes);
	sealed_end(s);
}

void sealed_forget(struct sealed *s)
{
	for (unsigned i = 0; s->at && i < s->versions; i++) {
		struct head *h = head_of(s, i);
		h->seal = 0;
		h->number = u64_max(h->number, 1);
	}
}
