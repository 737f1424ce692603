/* See values.h. The header of an entry: IEEE Std 1003.1-2017, pax, "ustar Interchange Format". */
#include "control/storage/values.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "net/archive/tar.h"

#define NAME 0
#define MODE 100
#define OWNER 108
#define GROUP 116
#define SIZE 124
#define TIME 136
#define CHECKSUM 148
#define CHECKSUM_BYTES 8
#define TYPE 156
#define MAGIC 257
#define SIZE_MOST 077777777777ull /* what the field holds */

static size_t whole(size_t n) { return align_up(n, TAR_BLOCK); }

void values_clear(struct values *v)
{
	memset(v->at, 0, VALUES_EMPTY);
	v->bytes = VALUES_EMPTY;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
	       c == '.';
}

static bool is_name(const char *name)
{
	size_t n = 0, part = 0;
	for (; name[n]; n++) {
		if (n == VALUES_NAME_MAX || (name[n] == '/' ? part == 0 : !is_name_char(name[n])))
			return false;
		part = name[n] == '/' ? 0 : part + 1;
		if (part == 2 && name[n] == '.' && name[n - 1] == '.' && (name[n + 1] == '/' || !name[n + 1]))
			return false;
	}
	return part > 0;
}

static bool equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool values_next(const struct values *v, size_t *at, struct values_entry *e)
{
	struct tar t;
	if (*at >= v->bytes)
		return false;
	tar_begin(&t, v->at + *at, v->bytes - *at);
	if (tar_next(&t) != TAR_ENTRY)
		return false;
	*e = (struct values_entry){.name = (const char *)v->at + *at + NAME, .data = t.entry.data,
	                           .bytes = (size_t)t.entry.size,
	                           .time_s = t.entry.mtime > 0 ? (uint64_t)t.entry.mtime : 0};
	*at += t.at;
	return true;
}

/* Where the entry of that name begins, and *end; v->bytes: there is none. */
static size_t find(const struct values *v, const char *name, struct values_entry *e, size_t *end)
{
	size_t at = 0, begin = 0;
	for (; values_next(v, &at, e); begin = at)
		if (equal(e->name, name)) {
			*end = at;
			return begin;
		}
	return v->bytes;
}

/* An entry as values_put writes it: a header and a file, so that the name in the header is the whole name. */
static bool is_plain(const struct values *v, size_t at, const struct tar_entry *e)
{
	const char *name = (const char *)v->at + at + NAME;
	return e->kind == TAR_FILE && e->offset == at && name[VALUES_NAME_MAX] == 0 && is_name(name) &&
	       equal(name, e->name) && (const uint8_t *)name + TAR_BLOCK == e->data;
}

bool values_are_whole(const struct values *v)
{
	struct tar t;
	struct values_entry e;
	enum tar_step step;
	size_t end = 0;
	tar_begin(&t, v->at, v->bytes);
	for (size_t at = 0; (step = tar_next(&t)) == TAR_ENTRY; at = t.at)
		if (!is_plain(v, at, &t.entry) || find(v, t.entry.name, &e, &end) != at)
			return false;
	return step == TAR_END;
}

int values_get(const struct values *v, const char *name, const uint8_t **data, size_t *n)
{
	struct values_entry e;
	size_t end;
	if (find(v, name, &e, &end) == v->bytes)
		return E_NOENT;
	*data = e.data;
	*n = e.bytes;
	return E_OK;
}

int values_remove(struct values *v, const char *name)
{
	struct values_entry e;
	size_t end;
	const size_t begin = find(v, name, &e, &end);
	if (begin == v->bytes)
		return E_NOENT;
	memmove(v->at + begin, v->at + end, v->bytes - end);
	v->bytes -= end - begin;
	return E_OK;
}

static void octal(uint8_t *field, unsigned digits, uint64_t n)
{
	for (unsigned i = digits; i-- > 0; n >>= 3)
		field[i] = (uint8_t)('0' + (n & 7));
}

static void write_header(uint8_t *h, const char *name, size_t bytes, uint64_t time_s)
{
	unsigned sum = 0;
	memset(h, 0, TAR_BLOCK);
	for (size_t i = 0; name[i]; i++)
		h[NAME + i] = (uint8_t)name[i];
	octal(h + MODE, 7, 0600);
	octal(h + OWNER, 7, 0);
	octal(h + GROUP, 7, 0);
	octal(h + SIZE, 11, bytes);
	octal(h + TIME, 11, u64_min(time_s, SIZE_MOST));
	h[TYPE] = '0';
	memcpy(h + MAGIC, "ustar\0" "00", 8);
	memset(h + CHECKSUM, ' ', CHECKSUM_BYTES);
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += h[i];
	octal(h + CHECKSUM, 6, sum);
	h[CHECKSUM + 6] = 0;
}

/* Where the entries end, and the blocks of zeros begin. */
static size_t entries_end(const struct values *v)
{
	struct values_entry e;
	size_t at = 0;
	while (values_next(v, &at, &e))
		;
	return at;
}

uint8_t *values_behind(const struct values *v, size_t *room)
{
	*room = v->room - v->bytes;
	return v->at + v->bytes;
}

int values_put(struct values *v, const char *name, const void *data, size_t n, uint64_t time_s)
{
	struct values_entry e;
	size_t end = 0, begin, free;
	if (!is_name(name))
		return E_INVAL;
	begin = find(v, name, &e, &end);
	free = begin == v->bytes ? 0 : end - begin;
	const size_t used = entries_end(v) - free;
	if (n > SIZE_MOST || n > v->room || v->room - n < used + 2 * TAR_BLOCK + VALUES_EMPTY)
		return E_NOMEM;
	(void)values_remove(v, name);
	memmove(v->at + used + TAR_BLOCK, data, n); /* first: it may lie where the header goes */
	write_header(v->at + used, name, n, time_s);
	memset(v->at + used + TAR_BLOCK + n, 0, whole(n) - n + VALUES_EMPTY);
	v->bytes = used + TAR_BLOCK + whole(n) + VALUES_EMPTY;
	return E_OK;
}
