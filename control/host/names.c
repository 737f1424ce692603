/* See names.h. */
#include "control/host/names.h"

#include "control/config/running.h"
#include "control/host/udp_control.h"
#include "control/text/text.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/runtime.h"

struct lookup {
	bool used;
	char name[DNS_NAME_MAX];
	enum names_family family;
	enum dns_type type;   /* of the question */
	names_done *done;
	void *ctx;
	unsigned asked;       /* questions of this type so far */
	uint16_t id, port;    /* of the question that waits; port 0: none does */
	struct net_addr server;
	uint64_t due_ns;
};

static struct lookup lookups[NAMES_AT_ONCE];
static struct names_entry kept[NAMES_KEPT];
static struct net_addr learned[NAMES_LEARNED]; /* see names_learn */
static unsigned learned_count;
static char learned_domain[CONFIG_HTTP_HOST_SIZE];

/* RFC 1123 2.1: the last label of a name is not a number, because an address looks so. */
static bool is_host_name(const char *name)
{
	uint8_t unused[DNS_MESSAGE_MAX];
	bool number = true;
	for (const char *c = name; *c; c++)
		number = *c == '.' || (number && *c >= '0' && *c <= '9');
	return !number && strlen(name) < DNS_NAME_MAX && dns_question(unused, 0, name, DNS_A);
}

bool names_is_name(const char *word)
{
	struct net_addr addr;
	return text_parse_addr(text_of(word), &addr) == E_OK || is_host_name(word);
}

/* --- what is kept --- */

static bool is_kept(const struct names_entry *k) { return k->until_ns > core_now_ns(); }

static const struct names_entry *find(const char *name, enum dns_type type)
{
	for (unsigned i = 0; i < NAMES_KEPT; i++)
		if (is_kept(&kept[i]) && kept[i].type == type && strcmp(kept[i].name, name) == 0)
			return &kept[i];
	return NULL;
}

/* The place of an answer: a free one, or that which would be free first. */
static void keep(const struct lookup *l, const struct dns_answer *a)
{
	const uint64_t ttl_s = a->result == DNS_FOUND ? a->ttl_s : NAMES_NEGATIVE_S;
	unsigned at = 0;
	if (ttl_s == 0 || a->result > DNS_NO_NAME)
		return;
	for (unsigned i = 1; i < NAMES_KEPT; i++)
		if (kept[i].until_ns < kept[at].until_ns)
			at = i;
	memcpy(kept[at].name, l->name, sizeof l->name);
	kept[at].type = l->type;
	kept[at].answer = *a;
	kept[at].until_ns = core_now_ns() + ttl_s * SECOND_NS;
}

const struct names_entry *names_next(unsigned *cursor)
{
	while (*cursor < NAMES_KEPT) {
		const struct names_entry *k = &kept[(*cursor)++];
		if (is_kept(k))
			return k;
	}
	return NULL;
}

void names_clear(void) { memset(kept, 0, sizeof kept); }

/* --- lookups --- */

static void close_port(struct lookup *l)
{
	if (l->port)
		udp_unlisten(l->port);
	l->port = 0;
}

static void finish(struct lookup *l, const struct net_addr *addr, const char *why)
{
	names_done *done = l->done;
	void *ctx = l->ctx;
	close_port(l);
	l->used = false; /* before the call, which may begin another one */
	done(ctx, addr, why);
}

static void ask(struct lookup *l);

/* An answer that was received or kept: the end, or the other family. */
static void settle(struct lookup *l, const struct dns_answer *a)
{
	const struct net_addr first = a->address[0];
	if (a->result == DNS_FOUND) {
		finish(l, &first, NULL);
	} else if (a->result == DNS_NO_DATA && l->family == NAMES_ANY && l->type == DNS_A) {
		close_port(l);
		l->type = DNS_AAAA;
		l->asked = 0;
		ask(l);
	} else {
		finish(l, NULL, a->result == DNS_NO_NAME ? "the name does not exist"
		                : a->result == DNS_NO_DATA ? "the name has no address of that kind"
		                                           : "the name servers cannot say");
	}
}

static enum counter receive(const struct udp_datagram *d, const struct udp_arrival *from)
{
	(void)from;
	for (unsigned i = 0; i < NAMES_AT_ONCE; i++) {
		struct lookup *l = &lookups[i];
		struct dns_answer a;
		if (!l->used || l->port == 0 || l->port != d->dst_port)
			continue;
		if (d->src_port != DNS_PORT || !net_addr_equal(&d->src, &l->server))
			return CNT_drop_dns_question;
		const enum counter why = dns_answer(d->data, d->data_len, l->id, l->name, l->type, &a);
		if (why != CNT_NONE)
			return why;
		keep(l, &a);
		if (a.result > DNS_NO_NAME) { /* another server may know */
			close_port(l);
			l->due_ns = core_now_ns();
		} else {
			settle(l, &a);
		}
		return CNT_delivered_udp;
	}
	return CNT_drop_dns_question;
}

/* The name servers in use: the configured ones, else those that a DHCP server named. */
static const struct net_addr *servers_of(unsigned *n)
{
	const struct config_time *t = &running.config.time;
	*n = t->name_servers ? t->name_servers : learned_count;
	return t->name_servers ? t->name_server : learned;
}

void names_learn(const struct net_addr *server, unsigned n, const char *domain)
{
	learned_count = u32_min(n, NAMES_LEARNED);
	memcpy(learned, server, learned_count * sizeof *server);
	fmt_format(learned_domain, sizeof learned_domain, "%s", domain);
}

/* Sends the next question. False: no server is left to be asked. */
static bool ask_next(struct lookup *l)
{
	unsigned servers;
	const struct net_addr *server = servers_of(&servers);
	uint8_t question[DNS_MESSAGE_MAX];
	close_port(l);
	if (l->asked >= servers * NAMES_ROUNDS)
		return false;
	l->server = server[l->asked++ % servers];
	core_random(&l->id, sizeof l->id);
	l->port = udp_listen_any(receive);
	l->due_ns = core_now_ns() + NAMES_WAIT_NS;
	const struct udp_message m = {.dst = l->server, .src_port = l->port, .dst_port = DNS_PORT, .data = question,
	                              .data_len = dns_question(question, l->id, l->name, l->type)};
	if (l->port == 0 || !udp_send(&m)) {
		close_port(l);
		l->due_ns = core_now_ns(); /* the next one, in the next turn */
	} else {
		count(CNT_dns_tx);
	}
	return true;
}

static void ask(struct lookup *l)
{
	const struct names_entry *k = find(l->name, l->type);
	if (k) {
		const struct dns_answer a = k->answer; /* done() may clear what is kept */
		settle(l, &a);
	} else if (running.config.time.name_servers + learned_count == 0) {
		finish(l, NULL, "there is no name server: the statement `ip name-server` names one");
	} else if (!ask_next(l)) {
		finish(l, NULL, "no name server answers");
	}
}

/* The name to ask for. False: it is none. */
static bool complete(char to[DNS_NAME_MAX], const char *name)
{
	const char *domain = running.config.time.domain[0] ? running.config.time.domain : learned_domain;
	const bool bare = text_find(text_of(name), '.') == strlen(name) && domain[0];
	const size_t n = fmt_format(to, DNS_NAME_MAX, "%s%s%s", name, bare ? "." : "", bare ? domain : "");
	for (size_t i = 0; i < n && i < DNS_NAME_MAX; i++)
		to[i] = text_lower(to[i]);
	return n < DNS_NAME_MAX && is_host_name(to);
}

void names_lookup(const char *name, enum names_family family, names_done *done, void *ctx)
{
	struct net_addr addr;
	struct lookup *l = NULL;
	if (text_parse_addr(text_of(name), &addr) == E_OK) {
		const bool wrong = family != NAMES_ANY && (family == NAMES_IP4) != net_addr_is_ip4(&addr);
		done(ctx, wrong ? NULL : &addr, wrong ? "this is an address of the other family" : NULL);
		return;
	}
	for (unsigned i = 0; i < NAMES_AT_ONCE && !l; i++)
		if (!lookups[i].used)
			l = &lookups[i];
	if (!l) {
		done(ctx, NULL, "too many names are being looked up");
		return;
	}
	if (!complete(l->name, name)) {
		done(ctx, NULL, "this is no name");
		return;
	}
	l->used = true;
	l->family = family;
	l->type = family == NAMES_IP6 ? DNS_AAAA : DNS_A;
	l->done = done;
	l->ctx = ctx;
	l->asked = 0;
	l->port = 0;
	ask(l);
}

void names_cancel(const void *ctx)
{
	for (unsigned i = 0; i < NAMES_AT_ONCE; i++) {
		struct lookup *l = &lookups[i];
		if (l->used && l->ctx == ctx) {
			close_port(l);
			l->used = false;
		}
	}
}

uint64_t names_timer(void)
{
	uint64_t due = UINT64_MAX;
	for (unsigned i = 0; i < NAMES_AT_ONCE; i++) {
		struct lookup *l = &lookups[i];
		if (l->used && core_now_ns() >= l->due_ns && !ask_next(l))
			finish(l, NULL, "no name server answers");
		if (l->used && l->due_ns < due)
			due = l->due_ns;
	}
	return due;
}
