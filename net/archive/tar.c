/*
 * See tar.h. An entry is a header of a block, and its content in further blocks. Before it may come headers
 * whose content describes it: pax's 'x' (records "LENGTH KEYWORD=VALUE\n") and GNU's 'L' and 'K' (long names).
 * What they say goes before the fields of the header itself.
 */
#include "net/archive/tar.h"

#include "lib/mem.h"

/* The header; numbers are octal text. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], owner[32], group[32], major[8], minor[8];
	char prefix[155]; /* of ustar only; GNU tar has other things there */
	char rest[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "header is a block");
_Static_assert(offsetof(struct tar_header, checksum) == 148, "as in ustar Interchange Format");
_Static_assert(offsetof(struct tar_header, magic) == 257, "as in ustar Interchange Format");
_Static_assert(offsetof(struct tar_header, prefix) == 345, "as in ustar Interchange Format");

/* A name before it is copied. n may be greater than TAR_NAME_MAX. */
struct name {
	const char *at; /* NULL: no header has given one */
	size_t n;
};

/* What the headers before an entry say of it. */
struct extra {
	bool any; /* there was such a header */
	struct name name, link;
	bool has_size, has_mtime, sparse;
	uint64_t size;
	int64_t mtime;
};

void tar_begin(struct tar *t, const void *archive, size_t size)
{
	memset(t, 0, offsetof(struct tar, name));
	t->archive = archive;
	t->size = size;
	t->step = TAR_ENTRY;
}

static bool fail(struct tar *t, const char *why)
{
	t->step = TAR_ERROR;
	t->why = why;
	return false;
}

/* --- fields of a header --- */

/* Bytes of a field up to a NUL, or all. */
static size_t text_length(const char *field, size_t max)
{
	size_t n = 0;
	while (n < max && field[n])
		n++;
	return n;
}

/* GNU's base-256: the first byte has the bit 0x80, and 0xff begins a negative number; the others are the
 * number, most significant byte first. */
static bool read_binary(const char *field, size_t n, int64_t *number)
{
	const uint8_t *byte = (const uint8_t *)field;
	const bool negative = byte[0] == 0xff;
	const uint8_t sign = negative ? 0xff : 0;
	uint64_t value = negative ? UINT64_MAX : 0;
	if (byte[0] != 0x80 && !negative)
		return false; /* so large that no archive has it */
	for (size_t i = 1; i < n; i++) {
		if (i + 8 < n && byte[i] != sign)
			return false;
		value = value << 8 | byte[i];
	}
	*number = (int64_t)value;
	return negative == (*number < 0);
}

/* Octal digits, blanks before them allowed, up to a blank, a NUL or the end; empty is 0. */
static bool read_octal(const char *field, size_t n, int64_t *number)
{
	size_t i = 0;
	int64_t value = 0;
	while (i < n && field[i] == ' ')
		i++;
	for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
		value = value * 8 + (field[i] - '0'); /* 12 digits at most */
	*number = value;
	return i == n || field[i] == ' ' || field[i] == 0;
}

static bool read_number(const char *field, size_t n, int64_t *number)
{
	return (uint8_t)field[0] & 0x80 ? read_binary(field, n, number) : read_octal(field, n, number);
}

/* The sum of all bytes, with blanks in place of the sum. Some early programs added signed bytes. */
static bool has_right_checksum(const struct tar_header *h)
{
	const uint8_t *byte = (const uint8_t *)h;
	const size_t from = offsetof(struct tar_header, checksum), end = from + sizeof h->checksum;
	int64_t want, sum = 0, signed_sum = 0;
	for (size_t i = 0; i < TAR_BLOCK; i++) {
		const uint8_t b = i >= from && i < end ? ' ' : byte[i];
		sum += b;
		signed_sum += (int8_t)b;
	}
	return read_octal(h->checksum, sizeof h->checksum, &want) && (want == sum || want == signed_sum);
}

static bool is_zero(const struct tar_header *h)
{
	const char *byte = (const char *)h;
	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (byte[i])
			return false;
	return true;
}

/* --- pax: extended headers --- */

/* Decimal digits; stops at something else. False: none, or too great. */
static bool read_decimal(const char **at, const char *end, uint64_t *number)
{
	const char *from = *at;
	uint64_t n = 0;
	for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
		if (n > (uint64_t)__INT64_MAX__ / 10 - 1)
			return false;
		n = n * 10 + (uint64_t)(**at - '0');
	}
	*number = n;
	return *at > from;
}

/* "1350244992.023960108", "-1.5": seconds, rounded down. */
static bool read_time(const char *at, const char *end, int64_t *time)
{
	uint64_t seconds;
	const bool negative = at < end && *at == '-';
	bool fraction = false;
	at += negative;
	if (!read_decimal(&at, end, &seconds))
		return false;
	if (at < end && *at == '.')
		for (at++; at < end && *at >= '0' && *at <= '9'; at++)
			fraction |= *at != '0';
	*time = negative ? -(int64_t)seconds - fraction : (int64_t)seconds;
	return at == end;
}

/* A record of a header for one entry. An empty value removes what was said before. */
static bool note_record(struct extra *x, const char *key, size_t key_n, const char *value, size_t n)
{
	static const char sparse[] = "GNU.sparse.";
	const char *at = value;
	if (text_is(key, key_n, "path")) {
		x->name = (struct name){n ? value : NULL, n};
	} else if (text_is(key, key_n, "linkpath")) {
		x->link = (struct name){n ? value : NULL, n};
	} else if (text_is(key, key_n, "size")) {
		x->has_size = n > 0;
		return n == 0 || (read_decimal(&at, value + n, &x->size) && at == value + n);
	} else if (text_is(key, key_n, "mtime")) {
		x->has_mtime = n > 0;
		return n == 0 || read_time(value, value + n, &x->mtime);
	} else if (key_n >= sizeof sparse - 1 && memcmp(key, sparse, sizeof sparse - 1) == 0) {
		x->sparse = true;
	}
	return true;
}

static bool read_records(struct tar *t, struct extra *x, const char *at, const char *end)
{
	while (at < end) {
		const char *record = at, *key, *value;
		uint64_t length;
		if (!read_decimal(&at, end, &length) || length > (uint64_t)(end - record) || at == end || *at != ' ')
			return fail(t, "a record of a pax header has a wrong length");
		const char *record_end = record + length - 1; /* its line end; with length 0 still in the archive */
		key = ++at;
		if (key > record_end || *record_end != '\n')
			return fail(t, "a record of a pax header has a wrong length");
		for (value = key; value < record_end && *value != '='; value++)
			;
		if (value == record_end || value == key)
			return fail(t, "a record of a pax header has no keyword");
		if (!note_record(x, key, (size_t)(value - key), value + 1, (size_t)(record_end - value - 1)))
			return fail(t, "a pax header has a wrong number");
		at = record_end + 1;
	}
	return true;
}

/* A header for all entries that follow. Only a time makes sense there; a program that gives one name, or one
 * size, to all of them is not known. */
static bool read_global(struct tar *t, const char *at, const char *end)
{
	struct extra x = {.has_mtime = t->has_mtime, .mtime = t->mtime};
	if (!read_records(t, &x, at, end))
		return false;
	if (x.name.at || x.link.at || x.has_size)
		return fail(t, "a pax header has one name or size for all files");
	t->has_mtime = x.has_mtime;
	t->mtime = x.mtime;
	return true;
}

/* --- entries --- */

static const struct tar_header *header_at(const struct tar *t)
{
	return (const struct tar_header *)(t->archive + t->at);
}

/* Checks the header at t->at. False: there is none, for which t->step has the reason. */
static bool check_header(struct tar *t)
{
	if (t->size - t->at < TAR_BLOCK)
		return fail(t, t->at ? "the archive is cut off" : "this is not a tar archive");
	if (is_zero(header_at(t))) {
		t->step = TAR_END;
		return false;
	}
	if (!has_right_checksum(header_at(t)))
		return fail(t, t->at ? "a header has a wrong checksum" : "this is not a tar archive");
	return true;
}

/* Passes the header at t->at and `bytes` of content with their padding. *content: the content's first byte.
 * False: the archive does not have as many. */
static bool pass(struct tar *t, uint64_t bytes, const uint8_t **content)
{
	const size_t left = t->size - t->at - TAR_BLOCK;
	const size_t padding = (size_t)(-bytes & (TAR_BLOCK - 1));
	if (bytes > left || padding > left - (size_t)bytes)
		return fail(t, "the archive is cut off in a file's content");
	*content = t->archive + t->at + TAR_BLOCK;
	t->at += TAR_BLOCK + (size_t)bytes + padding;
	return true;
}

static bool is_extension(char type)
{
	return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

/* Reads the headers before an entry. */
static bool read_extensions(struct tar *t, struct extra *x)
{
	while (check_header(t)) {
		const struct tar_header *h = header_at(t);
		const size_t at = t->at;
		const uint8_t *content;
		int64_t size;
		if (!is_extension(h->type))
			return true;
		if (!read_number(h->size, sizeof h->size, &size) || size < 0)
			return fail(t, "a header has a wrong size");
		if (!pass(t, (uint64_t)size, &content))
			return false;
		const char *from = (const char *)content, *end = from + size;
		bool good = true;
		if (h->type == 'x')
			good = read_records(t, x, from, end);
		else if (h->type == 'g')
			good = read_global(t, from, end);
		else
			*(h->type == 'L' ? &x->name : &x->link) = (struct name){from, text_length(from, (size_t)size)};
		x->any |= h->type != 'g';
		if (!good) {
			t->at = at;
			return false;
		}
	}
	if (t->step == TAR_END && x->any)
		return fail(t, "a header describes an entry that does not follow");
	return false;
}

/* Copies prefix + "/" + name, or name alone, with a NUL. Returns NULL or why not. */
static const char *copy_name(char to[TAR_NAME_MAX + 1], struct name prefix, struct name name)
{
	const size_t slash = prefix.n > 0;
	to[0] = 0;
	if (prefix.n > TAR_NAME_MAX || name.n > TAR_NAME_MAX - prefix.n - slash)
		return "the name is too long";
	if (text_length(name.at, name.n) != name.n)
		return "the name has a NUL";
	if (prefix.n)
		memcpy(to, prefix.at, prefix.n);
	if (slash)
		to[prefix.n] = '/';
	memcpy(to + prefix.n + slash, name.at, name.n);
	to[prefix.n + slash + name.n] = 0;
	return to[0] ? NULL : "the name is empty";
}

/* Both names of the entry. Returns NULL or why they cannot be read. */
static const char *read_names(struct tar *t, const struct tar_header *h, const struct extra *x)
{
	const bool ustar = memcmp(h->magic, "ustar", sizeof h->magic) == 0; /* with its NUL; GNU has a blank */
	struct name prefix = {h->prefix, ustar ? text_length(h->prefix, sizeof h->prefix) : 0};
	struct name name = {h->name, text_length(h->name, sizeof h->name)};
	struct name link = {h->link, text_length(h->link, sizeof h->link)};
	const struct name none = {NULL, 0};
	const char *why = x->name.at ? copy_name(t->name, none, x->name) : copy_name(t->name, prefix, name);
	t->link[0] = 0;
	if (!why && (h->type == '1' || h->type == '2'))
		why = copy_name(t->link, none, x->link.at ? x->link : link);
	return why;
}

/* The kind of an entry, and why it is skipped. A name that ends in '/' is a folder's: Unix V7 had no type for
 * these. */
static enum tar_kind kind_of(const struct tar_header *h, const struct extra *x, const char *name, const char **why)
{
	const size_t n = strlen(name);
	if (x->sparse || h->type == 'S') {
		*why = "sparse file";
		return TAR_SKIPPED;
	}
	switch (h->type) {
	case 0: case '0': case '7': /* 7: contiguous, to be treated as a file */
		return n && name[n - 1] == '/' ? TAR_DIRECTORY : TAR_FILE;
	case '1': return TAR_HARD_LINK;
	case '2': return TAR_SYMLINK;
	case '5': return TAR_DIRECTORY;
	case '3': case '4': *why = "device"; break;
	case '6': *why = "FIFO"; break;
	default: *why = "unknown type of entry"; break;
	}
	return TAR_SKIPPED;
}

/* Types 1 to 6 have no content, whatever their size says: it is that of the linked file, or how much room a
 * folder may have. */
static bool has_content(char type)
{
	return type < '1' || type > '6';
}

/* Bytes of the blocks between the header of an old sparse file and its content: lists of its pieces, of which
 * all but the last say that another follows (GNU tar manual, "Storing Sparse Files"). */
static uint64_t sparse_lists(const struct tar *t)
{
	enum { MORE_IN_HEADER = 482, MORE_IN_LIST = 504 };
	const uint8_t *block = t->archive + t->at, *end = t->archive + t->size;
	uint64_t bytes = 0;
	bool more = block[MORE_IN_HEADER];
	while (more && (size_t)(end - block) >= 2 * TAR_BLOCK) {
		block += TAR_BLOCK;
		bytes += TAR_BLOCK;
		more = block[MORE_IN_LIST];
	}
	return bytes;
}

static bool read_entry(struct tar *t, const struct extra *x)
{
	const struct tar_header *h = header_at(t);
	const uint8_t *content;
	int64_t size, mtime;
	if (!read_number(h->size, sizeof h->size, &size) || size < 0)
		return fail(t, "a header has a wrong size");
	if (!read_number(h->mtime, sizeof h->mtime, &mtime))
		return fail(t, "a header has a wrong time");
	struct tar_entry *e = &t->entry;
	*e = (struct tar_entry){.offset = t->at, .name = t->name, .link = t->link};
	const char *unreadable = read_names(t, h, x);
	e->kind = kind_of(h, x, t->name, &e->why);
	if (e->kind != TAR_SKIPPED && unreadable) {
		e->kind = TAR_SKIPPED;
		e->why = unreadable;
	}
	e->mtime = x->has_mtime ? x->mtime : t->has_mtime ? t->mtime : mtime;
	uint64_t bytes = !has_content(h->type) ? 0 : x->has_size ? x->size : (uint64_t)size;
	if (h->type == 'S')
		bytes += sparse_lists(t);
	if (!pass(t, bytes, &content))
		return false;
	if (e->kind == TAR_FILE) {
		e->data = content;
		e->size = bytes;
	}
	return true;
}

enum tar_step tar_next(struct tar *t)
{
	struct extra x = {.any = false};
	if (t->step == TAR_ENTRY && read_extensions(t, &x))
		read_entry(t, &x);
	return t->step;
}

/* --- paths --- */

const char *tar_path(char *to, size_t room, const char *name)
{
	size_t n = 0;
	if (!name[0])
		return "the name is empty";
	if (name[0] == '.' && (name[1] == '/' || !name[1]))
		name++; /* "./a", "." */
	name += name[0] == '/';
	while (*name) {
		size_t part = 0;
		for (; name[part] && name[part] != '/'; part++)
			if ((uint8_t)name[part] < 0x20 || name[part] == 0x7f)
				return "the name has a control character";
		if (part == 0)
			return "the name has an empty part";
		if (text_is(name, part, "..") || text_is(name, part, "."))
			return "the name has a part \".\" or \"..\"";
		if (n + 1 + part >= room)
			return "the name is too long";
		to[n++] = '/';
		memcpy(to + n, name, part);
		n += part;
		name += part;
		name += name[0] == '/';
	}
	if (n == 0) {
		if (room < 2)
			return "the name is too long";
		to[n++] = '/';
	}
	to[n] = 0;
	return NULL;
}
