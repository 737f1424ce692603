/* See journal.h. */
#include "control/config/journal.h"

#include "runtime/runtime.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"

#define SLOT_LEAST (64u << 10)
#define EFFORT_MAX (64u << 20) /* some tens of milliseconds */

struct slot {
	uint64_t seal; /* hash of all that follows; 0: the slot is invalid */
	uint64_t generation; /* of two valid slots the higher one counts */
	uint64_t statements, routes; /* bytes of each in text[], in this order */
	uint64_t on_boot; /* journal_stage */
	char text[];
};

struct journal {
	uint64_t unconfirmed; /* a slot is staged, not sealed */
	uint64_t unused; /* aligns the slots */
	/* two slots, each half of the rest */
};

static const struct siphash_key seal_key = {0x6879617465206a6f, 0x75726e616c206b65};
static struct slot *staged;
static bool broken; /* a commit could not be stored, so later ones cannot either */

/* --- slots --- */

static size_t slot_bytes(size_t bytes)
{
	return align_down((bytes - sizeof(struct journal)) / 2, sizeof(uint64_t));
}

static struct slot *slot_of(struct journal *j, size_t bytes, unsigned n)
{
	return (struct slot *)(void *)((uint8_t *)(j + 1) + n * slot_bytes(bytes));
}

static uint64_t seal_of(const struct slot *s)
{
	const size_t bytes = offsetof(struct slot, text) - offsetof(struct slot, generation);
	return siphash24(&seal_key, &s->generation, bytes + s->statements + s->routes) | 1;
}

static bool stands(const struct slot *s, size_t bytes)
{
	const size_t room = slot_bytes(bytes) - sizeof *s;
	return s->seal && s->statements <= room && s->routes <= room - s->statements &&
	       s->seal == seal_of(s);
}

/* The slot in force; NULL: none. *other: the slot to write next. */
static struct slot *current(struct journal *j, size_t bytes, struct slot **other)
{
	struct slot *a = slot_of(j, bytes, 0), *b = slot_of(j, bytes, 1);
	const bool good = stands(b, bytes);
	if (stands(a, bytes) && !(good && b->generation > a->generation)) {
		*other = b;
		return a;
	}
	*other = a;
	return good ? b : NULL;
}

/* --- writing --- */

struct writer {
	struct candidate_changes changes;
	size_t effort; /* bytes that may still be searched for lines that cancel each other */
};

/* Removes an earlier line for the same route with the other sign: the two cancel each other. False:
 * there is none, or *effort does not allow the search. */
static bool cancel(struct candidate_changes *w, size_t *effort, char sign, struct text line)
{
	const char other = sign == '+' ? '-' : '+';
	if (w->len > *effort)
		return false;
	*effort -= w->len;
	for (size_t i = 0; i < w->len;) {
		const size_t n = text_find((struct text){w->at + i, w->len - i}, '\n') + 1;
		if (w->at[i] == other && text_equal((struct text){w->at + i + 1, n - 2}, line)) {
			memmove(w->at + i, w->at + i + n, w->len - i - n);
			w->len -= n;
			return true;
		}
		i += n;
	}
	return false;
}

static void write_route(void *ctx, char sign, struct text line)
{
	struct writer *w = ctx;
	if (!w->changes.at || !cancel(&w->changes, &w->effort, sign, line))
		candidate_write_change(&w->changes, sign, line);
}

/* A slot for `text` bytes. *last: the slot in force, which moves if the journal has to grow. NULL:
 * no memory, or text exceeds JOURNAL_BYTES. */
static struct slot *place_for(size_t text, struct slot **last)
{
	struct slot *other = NULL;
	size_t bytes, wanted = sizeof(struct journal) + 2 * align_up(sizeof *other + text + text / 2,
	                                                             SLOT_LEAST);
	struct journal *j = core_persist_find(CORE_PERSIST_JOURNAL, &bytes);
	*last = j ? current(j, bytes, &other) : NULL;
	if (j && sizeof *other + text <= slot_bytes(bytes))
		return other;
	j = text <= JOURNAL_BYTES ? core_persist_alloc(CORE_PERSIST_JOURNAL, wanted) : NULL;
	if (!j)
		return NULL;
	core_persist_find(CORE_PERSIST_JOURNAL, &bytes);
	other = slot_of(j, bytes, 0);
	if (*last) /* the old piece is lost, but nothing has reused it yet */
		*last = memcpy(other, *last, sizeof **last + (*last)->statements + (*last)->routes);
	return slot_of(j, bytes, *last != NULL);
}

bool journal_stage(const struct candidate *c, bool on_boot)
{
	struct writer w = {0};
	struct slot *last = NULL;
	size_t bytes, before = 0;
	struct journal *j = core_persist_find(CORE_PERSIST_JOURNAL, &bytes);
	struct slot *unused;
	journal_seal();
	if (j && (last = current(j, bytes, &unused)) != NULL && last->on_boot == on_boot)
		before = last->routes; /* else they are changes of another configuration */
	candidate_compare_routes(c, write_route, &w);
	struct slot *s = broken ? NULL : place_for(c->len + before + w.changes.len, &last);
	if (!s) {
		broken = true;
		journal_forget();
		return false;
	}
	s->seal = 0;
	s->generation = last ? last->generation + 1 : 1;
	s->on_boot = on_boot;
	s->statements = c->len;
	memcpy(s->text, c->text, c->len);
	if (last)
		memcpy(s->text + c->len, last->text + last->statements, before);
	w = (struct writer){{.at = s->text + c->len, .len = before}, EFFORT_MAX};
	candidate_compare_routes(c, write_route, &w);
	s->routes = w.changes.len;
	staged = s;
	j = core_persist_find(CORE_PERSIST_JOURNAL, &bytes);
	j->unconfirmed = 1;
	return true;
}

static void unstage(void)
{
	size_t bytes;
	struct journal *j = core_persist_find(CORE_PERSIST_JOURNAL, &bytes);
	staged = NULL;
	if (j)
		j->unconfirmed = 0;
}

void journal_seal(void)
{
	if (!staged)
		return;
	__atomic_store_n(&staged->seal, seal_of(staged), __ATOMIC_RELEASE);
	unstage();
}

void journal_drop(void)
{
	unstage();
}

void journal_forget(void)
{
	size_t bytes;
	struct journal *j = core_persist_find(CORE_PERSIST_JOURNAL, &bytes);
	for (unsigned n = 0; j && n < 2; n++)
		slot_of(j, bytes, n)->seal = 0;
	unstage();
}

/* --- reading --- */

bool journal_find(struct journal_found *found)
{
	size_t bytes;
	struct slot *unused;
	struct journal *j = core_persist_find(CORE_PERSIST_JOURNAL, &bytes);
	*found = (struct journal_found){.unconfirmed = j && j->unconfirmed};
	if (j)
		j->unconfirmed = 0;
	const struct slot *s = j ? current(j, bytes, &unused) : NULL;
	if (!s)
		return false;
	found->on_boot = s->on_boot;
	found->statements = (struct text){s->text, s->statements};
	found->routes = (struct text){s->text + s->statements, s->routes};
	return true;
}
