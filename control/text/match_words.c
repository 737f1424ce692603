/* See match_words.h. */
#include "control/text/match_words.h"

#include "lib/mem.h"
#include "net/eth.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define PROTO_SCTP 132
#define VLAN_MAX 4094 /* IEEE 802.1Q table 9-2: 4095 is reserved */

struct reader {
	char *const *word;
	unsigned n, at;
	const char *why;
};

static bool take(struct reader *r, const char *word)
{
	if (r->at == r->n || !text_is_word(text_of(r->word[r->at]), text_of(word)))
		return false;
	r->at++;
	return true;
}

static int fail(struct reader *r, const char *why)
{
	r->why = why;
	return E_INVAL;
}

/* The next word; at the end an empty text, which every parser refuses. */
static struct text next(const struct reader *r)
{
	return text_of(r->at < r->n ? r->word[r->at] : "");
}

static int read_number(struct reader *r, uint32_t max, uint16_t *out, const char *why)
{
	uint32_t v;
	if (text_parse_u32(next(r), 0, max, &v) != E_OK)
		return fail(r, why);
	r->at++;
	*out = (uint16_t)v;
	return E_OK;
}

/* A prefix of either family. t->plen counts all 128 bits. */
static int read_net(struct reader *r, struct match_term *t)
{
	unsigned plen;
	uint32_t four;
	if (text_parse_prefix(next(r), &four, &plen) == E_OK) {
		t->addr = net_addr_ip4(four);
		plen += 96;
	} else if (text_parse_prefix6(next(r), &t->addr, &plen) != E_OK) {
		return fail(r, "net takes a prefix");
	}
	t->plen = (uint8_t)plen;
	r->at++;
	return E_OK;
}

static int read_host(struct reader *r, struct match_term *t)
{
	if (text_parse_addr(next(r), &t->addr) != E_OK)
		return fail(r, "host takes an address");
	t->plen = 128;
	r->at++;
	return E_OK;
}

/* A primitive of one word. */
static bool read_word(struct reader *r, struct match_term *t)
{
	static const struct {
		const char *word;
		uint8_t kind;
		uint16_t number;
	} row[] = {
		{"ip", MATCH_TYPE, ETH_TYPE_IP4},      {"ip6", MATCH_TYPE, ETH_TYPE_IP6},
		{"arp", MATCH_TYPE, ETH_TYPE_ARP},     {"tcp", MATCH_PROTO, IP4_PROTO_TCP},
		{"udp", MATCH_PROTO, IP4_PROTO_UDP},   {"icmp", MATCH_PROTO, IP4_PROTO_ICMP},
		{"icmp6", MATCH_PROTO, IP6_ICMP6},     {"sctp", MATCH_PROTO, PROTO_SCTP},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		if (take(r, row[i].word)) {
			t->kind = row[i].kind;
			t->number = row[i].number;
			return true;
		}
	return false;
}

static int read_vlan(struct reader *r, struct match_term *t)
{
	t->kind = MATCH_VLAN;
	t->number = MATCH_ANY;
	/* the number is optional; another word begins the next term */
	if (r->at == r->n || r->word[r->at][0] < '0' || r->word[r->at][0] > '9')
		return E_OK;
	return read_number(r, VLAN_MAX, &t->number, "a VLAN is a number from 0 to 4094");
}

static int read_primitive(struct reader *r, struct match_term *t)
{
	t->direction = take(r, "src") ? MATCH_SRC : take(r, "dst") ? MATCH_DST : MATCH_EITHER;
	if (take(r, "host")) {
		t->kind = MATCH_NET;
		return read_host(r, t);
	}
	if (take(r, "net")) {
		t->kind = MATCH_NET;
		return read_net(r, t);
	}
	if (take(r, "port")) {
		t->kind = MATCH_PORT;
		return read_number(r, 65535, &t->number, "a port is a number from 0 to 65535");
	}
	if (t->direction != MATCH_EITHER)
		return fail(r, "host, net or port has to follow");
	if (take(r, "proto")) {
		t->kind = MATCH_PROTO;
		return read_number(r, 255, &t->number, "a protocol is a number from 0 to 255");
	}
	if (take(r, "vlan"))
		return read_vlan(r, t);
	return read_word(r, t) ? E_OK : fail(r, "expected a filter term");
}

static int read_terms(struct reader *r, struct match *m)
{
	while (r->at < r->n) {
		struct match_term t = {0};
		if (m->terms) {
			t.or = take(r, "or");
			if (!t.or)
				take(r, "and");
		}
		t.not = take(r, "not");
		if (m->terms == MATCH_TERMS_MAX)
			return fail(r, "too many terms; at most 8");
		int error = read_primitive(r, &t);
		if (error != E_OK)
			return error;
		m->term[m->terms++] = t;
	}
	return E_OK;
}
_Static_assert(MATCH_TERMS_MAX == 8, "read_terms says so");

int match_words(struct match *m, char *const *word, unsigned n, unsigned *bad, const char **why)
{
	struct reader r = {.word = word, .n = n};
	memset(m, 0, sizeof *m);
	int error = read_terms(&r, m);
	*bad = r.at;
	*why = r.why;
	return error;
}
