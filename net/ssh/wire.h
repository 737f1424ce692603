/*
 * The data types of SSH (RFC 4251 5) in bounded memory: a reader that never passes the end, a writer that
 * never does either, and name lists. Both remember that something did not fit; the caller asks once, at
 * the end.
 */
#ifndef NET_SSH_WIRE_H
#define NET_SSH_WIRE_H

#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/types.h"

/* A string of the wire: n bytes at `at`, without a NUL. */
struct ssh_text {
	const uint8_t *at;
	uint32_t n;
};

static inline bool ssh_text_is(struct ssh_text t, const char *word)
{
	return text_is((const char *)t.at, t.n, word);
}

static inline bool ssh_text_equal(struct ssh_text a, struct ssh_text b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static inline struct ssh_text ssh_text_of(const char *word)
{
	return (struct ssh_text){(const uint8_t *)word, (uint32_t)strlen(word)};
}

/* --- reading --- */

struct ssh_reader {
	const uint8_t *at;
	uint32_t left;
	bool bad; /* something was read beyond the end; what was read then is 0 or empty */
};

static inline struct ssh_text ssh_get_bytes(struct ssh_reader *r, uint32_t n)
{
	if (n > r->left) {
		r->bad = true;
		r->left = 0;
		return (struct ssh_text){r->at, 0};
	}
	const struct ssh_text t = {r->at, n};
	r->at += n;
	r->left -= n;
	return t;
}

static inline uint8_t ssh_get_u8(struct ssh_reader *r)
{
	const struct ssh_text t = ssh_get_bytes(r, 1);
	return t.n ? t.at[0] : 0;
}

/* "All non-zero values MUST be interpreted as TRUE." */
static inline bool ssh_get_bool(struct ssh_reader *r) { return ssh_get_u8(r) != 0; }

static inline uint32_t ssh_get_u32(struct ssh_reader *r)
{
	const struct ssh_text t = ssh_get_bytes(r, 4);
	return t.n ? be32_load(t.at) : 0;
}

static inline struct ssh_text ssh_get_string(struct ssh_reader *r)
{
	return ssh_get_bytes(r, ssh_get_u32(r));
}

/* A positive mpint: its bytes without leading zeros; negative ones and zero are bad. */
static inline struct ssh_text ssh_get_positive(struct ssh_reader *r)
{
	struct ssh_text t = ssh_get_string(r);
	r->bad |= t.n == 0 || t.at[0] & 0x80;
	while (t.n && t.at[0] == 0) {
		t.at++;
		t.n--;
	}
	r->bad |= t.n == 0;
	return t;
}

/* True if all was read, and nothing beyond the end. */
static inline bool ssh_get_end(const struct ssh_reader *r) { return !r->bad && r->left == 0; }

/* --- writing --- */

struct ssh_writer {
	uint8_t *at;
	uint32_t used, size;
	bool full; /* something did not fit and is missing */
};

static inline void ssh_put_bytes(struct ssh_writer *w, const void *data, uint32_t n)
{
	if (n > w->size - w->used) {
		w->full = true;
		return;
	}
	if (n)
		memcpy(w->at + w->used, data, n);
	w->used += n;
}

static inline void ssh_put_u8(struct ssh_writer *w, uint8_t v) { ssh_put_bytes(w, &v, 1); }
static inline void ssh_put_bool(struct ssh_writer *w, bool v) { ssh_put_u8(w, v); }

static inline void ssh_put_u32(struct ssh_writer *w, uint32_t v)
{
	const be32_t be = be32_make(v);
	ssh_put_bytes(w, &be, sizeof be);
}

static inline void ssh_put_string(struct ssh_writer *w, const void *data, uint32_t n)
{
	ssh_put_u32(w, n);
	ssh_put_bytes(w, data, n);
}

static inline void ssh_put_text(struct ssh_writer *w, struct ssh_text t) { ssh_put_string(w, t.at, t.n); }
static inline void ssh_put_word(struct ssh_writer *w, const char *word) { ssh_put_text(w, ssh_text_of(word)); }

/* A positive number of n bytes in network order as an mpint: without leading zeros, but one if the top bit
 * is set. */
static inline void ssh_put_mpint(struct ssh_writer *w, const uint8_t *data, uint32_t n)
{
	while (n && *data == 0) {
		data++;
		n--;
	}
	const bool pad = n && *data & 0x80;
	ssh_put_u32(w, n + pad);
	if (pad)
		ssh_put_u8(w, 0);
	ssh_put_bytes(w, data, n);
}

/* --- name lists --- */

/* Takes the first name of a list of names with commas between them. False: there is none. */
static inline bool ssh_list_next(struct ssh_text *list, struct ssh_text *name)
{
	uint32_t n = 0;
	if (list->n == 0)
		return false;
	while (n < list->n && list->at[n] != ',')
		n++;
	*name = (struct ssh_text){list->at, n};
	n += n < list->n;
	list->at += n;
	list->n -= n;
	return true;
}

static inline bool ssh_list_has(struct ssh_text list, const char *word)
{
	struct ssh_text name;
	while (ssh_list_next(&list, &name))
		if (ssh_text_is(name, word))
			return true;
	return false;
}

#endif
