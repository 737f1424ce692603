/* See message.h. */
#include "net/dns/message.h"

#include "lib/bytes.h"
#include "lib/mem.h"

#define HEADER_BYTES 12
#define QUESTION_END 4     /* type and class behind the name */
#define RECORD_END 10      /* type, class, TTL and length behind the name */
#define CLASS_IN 1
#define LABEL_MAX 63
#define WIRE_NAME_MAX 255  /* RFC 1035 3.1 */

#define FLAG_RESPONSE 0x8000u
#define FLAG_OPCODE 0x7800u
#define FLAG_TRUNCATED 0x0200u
#define FLAG_RECURSION 0x0100u
#define RCODE 0x000fu
#define RCODE_NO_NAME 3u

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* A name as in a message, without compression; 0: it is none. */
static unsigned put_name(uint8_t *out, const char *name)
{
	unsigned at = 0, n = 0; /* at: of the length of the label; n: its characters so far */
	for (;; name++) {
		if (is_label_char(*name) && n < LABEL_MAX && at + n + 3 <= WIRE_NAME_MAX) {
			out[at + 1 + n++] = (uint8_t)*name;
			continue;
		}
		if ((*name && *name != '.') || n == 0)
			return 0;
		out[at] = (uint8_t)n;
		at += n + 1;
		n = 0;
		if (!*name)
			break;
	}
	out[at++] = 0;
	return at;
}

unsigned dns_question(uint8_t out[DNS_MESSAGE_MAX], uint16_t id, const char *name, enum dns_type type)
{
	memset(out, 0, HEADER_BYTES);
	be16_store(out, id);
	be16_store(out + 2, FLAG_RECURSION);
	be16_store(out + 4, 1); /* QDCOUNT */
	const unsigned n = put_name(out + HEADER_BYTES, name);
	if (n == 0)
		return 0;
	be16_store(out + HEADER_BYTES + n, (uint16_t)type);
	be16_store(out + HEADER_BYTES + n + 2, CLASS_IN);
	return HEADER_BYTES + n + QUESTION_END;
}

/* The message, and where reading it has come. */
struct reader {
	const uint8_t *data;
	unsigned len, at;
};

/* Reads the name at r->at, and moves behind it. `to` gets it as text; a byte that is in no name of ours becomes
 * '?', so that the name equals none. False: it is malformed. */
static bool take_name(struct reader *r, char to[DNS_NAME_MAX])
{
	unsigned at = r->at, n = 0, first = r->at; /* first: a pointer must point before this */
	bool followed = false;
	for (;;) {
		if (at >= r->len)
			return false;
		const unsigned c = r->data[at];
		if (c >= 0xc0) {
			if (at + 2 > r->len)
				return false;
			const unsigned to_at = (c & 0x3f) << 8 | r->data[at + 1];
			if (!followed)
				r->at = at + 2;
			followed = true;
			if (to_at >= first)
				return false;
			at = first = to_at;
			continue;
		}
		if (c > LABEL_MAX || at + 1 + c > r->len)
			return false;
		at++;
		if (c == 0)
			break;
		if (n + c + 1 > DNS_NAME_MAX) /* with the dot behind each label, the last of which becomes the NUL */
			return false;
		for (unsigned i = 0; i < c; i++)
			to[n++] = is_label_char((char)r->data[at + i]) ? (char)r->data[at + i] : '?';
		to[n++] = '.';
		at += c;
	}
	to[n ? n - 1 : 0] = '\0';
	if (!followed)
		r->at = at;
	return true;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

static bool is_same_name(const char *a, const char *b)
{
	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) == lower(*b);
}

static bool take(struct reader *r, unsigned bytes)
{
	if (bytes > r->len - r->at)
		return false;
	r->at += bytes;
	return true;
}

/* --- records --- */

struct record {
	char name[DNS_NAME_MAX];
	uint16_t type, class;
	uint32_t ttl;
	struct reader data; /* from its first byte; its end is the record's for bytes, the message's for names */
	unsigned bytes;
};

static bool take_record(struct reader *r, struct record *to)
{
	if (!take_name(r, to->name) || !take(r, RECORD_END))
		return false;
	const uint8_t *p = r->data + r->at - RECORD_END;
	to->type = be16_load(p);
	to->class = be16_load(p + 2);
	to->ttl = be32_load(p + 4);
	to->bytes = be16_load(p + 8);
	to->data = *r;
	return take(r, to->bytes);
}

/* RFC 2181 8: a TTL with its high bit set counts as 0. */
static void use_ttl(struct dns_answer *a, uint32_t ttl)
{
	ttl = ttl >> 31 ? 0 : ttl;
	if (ttl < a->ttl_s)
		a->ttl_s = ttl;
}

static void take_address(struct dns_answer *a, const struct record *r, enum dns_type type)
{
	const uint8_t *p = r->data.data + r->data.at;
	if (r->bytes != (type == DNS_A ? 4u : 16u) || a->addresses == DNS_ADDRESSES_MAX)
		return;
	a->address[a->addresses++] = type == DNS_A ? net_addr_ip4(be32_load(p)) : net_addr_load(p);
	use_ttl(a, r->ttl);
}

/* Looks through the answers for those of `name`. True: it has an alias, which is now in `name`. False: it has
 * not. *whole is false if a record is malformed. */
static bool look(struct reader r, unsigned records, char name[DNS_NAME_MAX], enum dns_type type,
                 struct dns_answer *a, bool *whole)
{
	struct record record;
	for (unsigned i = 0; i < records; i++) {
		if (!take_record(&r, &record)) {
			*whole = false;
			return false;
		}
		if (record.class != CLASS_IN || !is_same_name(record.name, name))
			continue;
		if (record.type == type) {
			take_address(a, &record, type);
		} else if (record.type == DNS_CNAME && a->addresses == 0) {
			*whole = take_name(&record.data, name);
			use_ttl(a, record.ttl);
			return *whole;
		}
	}
	return false;
}

/* Follows the aliases from the name of the question on. */
static enum counter read_answers(struct reader r, unsigned records, const char *question, enum dns_type type,
                                 struct dns_answer *a)
{
	char name[DNS_NAME_MAX];
	bool whole = true, alias = true;
	unsigned aliases = 0;
	memcpy(name, question, strlen(question) + 1);
	for (; alias && aliases <= DNS_ALIASES_MAX; aliases++)
		alias = look(r, records, name, type, a, &whole);
	if (!whole)
		return CNT_drop_dns_malformed;
	/* a recursive server sends the chain to its end: one that ends in nothing has no address of that family */
	a->result = a->addresses ? DNS_FOUND : alias ? DNS_FAILED : DNS_NO_DATA;
	return CNT_NONE;
}

enum counter dns_answer(const uint8_t *data, unsigned len, uint16_t id, const char *name, enum dns_type type,
                        struct dns_answer *a)
{
	struct reader r = {data, len, HEADER_BYTES};
	char question[DNS_NAME_MAX];
	*a = (struct dns_answer){.result = DNS_FAILED, .ttl_s = DNS_TTL_MAX_S};
	if (len < HEADER_BYTES)
		return CNT_drop_dns_malformed;
	const uint16_t flags = be16_load(data + 2), records = be16_load(data + 6);
	if (!(flags & FLAG_RESPONSE) || flags & FLAG_OPCODE || be16_load(data) != id || be16_load(data + 4) != 1)
		return CNT_drop_dns_question;
	if (!take_name(&r, question) || !take(&r, QUESTION_END))
		return CNT_drop_dns_malformed;
	const uint8_t *end = data + r.at - QUESTION_END;
	if (be16_load(end) != type || be16_load(end + 2) != CLASS_IN || !is_same_name(question, name))
		return CNT_drop_dns_question;
	if (flags & FLAG_TRUNCATED) {
		a->result = DNS_TRUNCATED;
		return CNT_NONE;
	}
	if (flags & RCODE) {
		a->result = (flags & RCODE) == RCODE_NO_NAME ? DNS_NO_NAME : DNS_FAILED;
		return CNT_NONE;
	}
	return read_answers(r, records < DNS_RECORDS_MAX ? records : DNS_RECORDS_MAX, name, type, a);
}
