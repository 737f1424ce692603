/*
 * Lines and statements of the configuration; see config.h and docs/configuration.md.
 *
 * The table `statements` is the dialect. Each line is cut into words, the statement whose leading
 * words match is looked up, and its parser takes the rest. Bytes of the text reach a parser only
 * after the line was found to be printable ASCII of bounded length.
 *
 * The state between lines is which interface block is open (none at the start):
 *     in a block | interface statement -> stays    outside | interface statement -> error
 *                | `interface`         -> next                | `interface`      -> in a block
 *                | other, `exit`       -> outside             | other            -> outside
 *                                                             | `exit`           -> error
 */
#include "control/config.h"

#include "lib/assert.h"
#include "lib/fmt.h"
#include "net/ip4.h"

#define LINE_MAX 255
#define WORDS_MAX 24 /* no statement has more words than 19 */
#define STATEMENTS_MAX 32

#define IP4_WANTED \
	"an IPv4 address (four decimal numbers 0 to 255 without leading zeros, such as 192.0.2.1)"
#define SUBNET_WANTED "192.0.2.0/24 or 192.0.2.0 255.255.255.0"

struct parser {
	struct config *out;
	struct config_error *err;
	uint32_t route_max;
	uint32_t line;
	struct text body; /* the line, without blanks around it */
	struct text word[WORDS_MAX];
	unsigned words;
	const struct statement *statement;
	struct config_interface *interface; /* of the open block, or NULL */
	bool ended;
	uint32_t seen[STATEMENTS_MAX]; /* line that held the statement; per block for its own */
};

struct statement {
	const char *words;
	const char *syntax;
	/* `first` is the number of the word after the statement's own. */
	int (*parse)(struct parser *p, unsigned first);
	bool in_interface;
	bool once;
};

int config_fail(struct config_error *err, uint32_t line, struct text word, const char *format, ...)
{
	__builtin_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(err->reason, sizeof err->reason, format, args);
	__builtin_va_end(args);
	err->line = line;
	size_t n = word.len < sizeof err->word - 1 ? word.len : sizeof err->word - 1;
	for (size_t i = 0; i < n; i++)
		err->word[i] = text_is_printable(word.at[i]) ? word.at[i] : '?';
	err->word[n] = 0;
	return E_INVAL;
}

size_t config_error_format(char *buf, size_t size, const char *file,
                           const struct config_error *err)
{
	if (err->word[0] == 0)
		return fmt_format(buf, size, "%s:%u: %s", file, err->line, err->reason);
	return fmt_format(buf, size, "%s:%u: %s, at \"%s\"", file, err->line, err->reason, err->word);
}

/* The i-th word, or the empty one at the end of the line. */
static struct text word_at(const struct parser *p, unsigned i)
{
	return i < p->words ? p->word[i] : (struct text){p->body.at + p->body.len, 0};
}

#define FAIL(p, i, ...) config_fail((p)->err, (p)->line, word_at((p), (i)), __VA_ARGS__)

static int expect_word(struct parser *p, unsigned i)
{
	if (i < p->words)
		return 0;
	return FAIL(p, i, "the line ends too early; expected \"%s\"", p->statement->syntax);
}

static int expect_end(struct parser *p, unsigned i)
{
	if (i >= p->words)
		return 0;
	return FAIL(p, i, "unexpected word; expected \"%s\"", p->statement->syntax);
}

static bool word_is(const struct parser *p, unsigned i, const char *keyword)
{
	return i < p->words && text_is_word(p->word[i], text_of(keyword));
}

/* A number as the word i; `what` begins the error. */
static int parse_number(struct parser *p, unsigned i, const char *what, uint32_t min, uint32_t max,
                        uint32_t *out)
{
	int error = expect_word(p, i);
	if (error != 0)
		return error;
	if (text_parse_u32(p->word[i], min, max, out) != 0)
		return FAIL(p, i, "%s must be a decimal number from %u to %u", what, min, max);
	return 0;
}

static int parse_address(struct parser *p, unsigned i, uint32_t *out)
{
	int error = expect_word(p, i);
	if (error != 0)
		return error;
	if (text_parse_ip4(p->word[i], out) != 0)
		return FAIL(p, i, "expected " IP4_WANTED);
	return 0;
}

/* "A.B.C.D/LEN" in one word or "A.B.C.D MASK" in two, from word *i on; moves *i behind it. */
static int parse_subnet(struct parser *p, unsigned *i, uint32_t *addr, unsigned *plen)
{
	int error = expect_word(p, *i);
	if (error != 0)
		return error;
	struct text w = p->word[*i];
	size_t slash = text_find(w, '/');
	if (text_parse_ip4((struct text){w.at, slash}, addr) != 0)
		return FAIL(p, *i, "expected an address with its length, such as " SUBNET_WANTED);
	if (slash < w.len) {
		if (text_parse_prefix(w, addr, plen) != 0)
			return FAIL(p, *i, "the prefix length after / must be a number from 0 to 32");
		*i += 1;
		return 0;
	}
	uint32_t mask;
	if (*i + 1 >= p->words)
		return FAIL(p, *i, "the prefix length or mask is missing; expected " SUBNET_WANTED);
	w = p->word[*i + 1];
	if (text_parse_ip4(w, &mask) != 0)
		return FAIL(p, *i + 1, "expected a mask such as 255.255.255.0");
	if (text_parse_mask(w, plen) != 0) {
		char buf[FMT_IP4_MAX];
		if ((mask & (mask + 1)) == 0)
			return FAIL(p, *i + 1, "this is a wildcard; did you mean the mask %s?",
			            fmt_ip4(buf, ~mask));
		return FAIL(p, *i + 1, "the one bits of a mask must stand together at its left");
	}
	*i += 2;
	return 0;
}

/* Copies a word into a field of `size` bytes; the caller has checked its length. */
static void copy_word(char *dst, size_t size, struct text w)
{
	assert(w.len < size);
	memcpy(dst, w.at, w.len);
	memset(dst + w.len, 0, size - w.len);
}

static bool is_alnum(char c)
{
	c = text_lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static int parse_hostname(struct parser *p, unsigned i)
{
	int error = expect_word(p, i);
	if (error != 0 || (error = expect_end(p, i + 1)) != 0)
		return error;
	struct text w = p->word[i];
	bool good = w.len < CONFIG_HOSTNAME_SIZE && is_alnum(w.at[0]) && is_alnum(w.at[w.len - 1]);
	for (size_t k = 0; good && k < w.len; k++)
		good = is_alnum(w.at[k]) || w.at[k] == '-';
	/* RFC 1123 2.1 */
	if (!good)
		return FAIL(p, i, "a hostname has 1 to %d letters, digits and inner hyphens",
		            CONFIG_HOSTNAME_SIZE - 1);
	copy_word(p->out->hostname, sizeof p->out->hostname, w);
	return 0;
}

static int parse_application(struct parser *p, unsigned i)
{
	int error = expect_word(p, i);
	if (error != 0)
		return error;
	for (unsigned n = 0; n < CORE_APP_COUNT; n++) {
		if (word_is(p, i, core_app_word((enum core_app_number)n))) {
			p->out->application = (enum core_app_number)n;
			return expect_end(p, i + 1);
		}
	}
	return FAIL(p, i, "unknown application; expected " CORE_APPS(CORE_APP_WORD, " or "));
}

static int parse_idle(struct parser *p, unsigned i)
{
	int error = expect_word(p, i);
	if (error != 0)
		return error;
	if (word_is(p, i, "poll"))
		p->out->idle = CONFIG_IDLE_POLL;
	else if (word_is(p, i, "sleep"))
		p->out->idle = CONFIG_IDLE_SLEEP;
	else if (word_is(p, i, "auto"))
		p->out->idle = CONFIG_IDLE_AUTO;
	else
		return FAIL(p, i, "unknown idle mode; expected poll, sleep or auto");
	return expect_end(p, i + 1);
}

static int parse_interface(struct parser *p, unsigned i)
{
	int error = expect_word(p, i);
	if (error != 0 || (error = expect_end(p, i + 1)) != 0)
		return error;
	struct text w = p->word[i];
	uint32_t n;
	if (w.len < 4 || !text_is_word((struct text){w.at, 3}, text_of("eth")) ||
	    text_parse_u32((struct text){w.at + 3, w.len - 3}, 0, CONFIG_PORTS_MAX - 1, &n) != 0)
		return FAIL(p, i, "unknown interface; expected eth0 to eth%d", CONFIG_PORTS_MAX - 1);
	struct config_interface *interface = &p->out->interface[n];
	if (interface->present)
		return FAIL(p, i, "eth%u already has a block, at line %u", n, interface->line);
	interface->present = true;
	interface->line = p->line;
	p->interface = interface;
	return 0;
}

static int parse_description(struct parser *p, unsigned i)
{
	int error = expect_word(p, i);
	if (error != 0)
		return error;
	const char *start = p->word[i].at;
	struct text rest = {start, (size_t)(p->body.at + p->body.len - start)};
	if (rest.len >= CONFIG_DESCRIPTION_SIZE)
		return FAIL(p, i, "the description has %u characters; at most %d are kept",
		            (unsigned)rest.len, CONFIG_DESCRIPTION_SIZE - 1);
	/* Only here may a tab stand inside a value; the console would not show it. */
	if (text_find(rest, '\t') < rest.len)
		return FAIL(p, i, "a description must not hold a tab; use blanks");
	copy_word(p->interface->description, sizeof p->interface->description, rest);
	return 0;
}

static int parse_ip_address(struct parser *p, unsigned i)
{
	uint32_t addr;
	unsigned plen, at = i;
	int error = parse_subnet(p, &i, &addr, &plen);
	if (error != 0)
		return error;
	bool secondary = word_is(p, i, "secondary");
	if ((error = expect_end(p, i + secondary)) != 0)
		return error;
	if (plen == 0)
		return FAIL(p, at, "the prefix length of an interface address must be 1 to 32");
	if (ip4_src_is_martian(addr))
		return FAIL(p, at, "an interface needs a unicast address, not one of 0.0.0.0/8, "
		                   "127.0.0.0/8, or 224.0.0.0 and above");
	if (!ip4_is_subnet_host(addr, plen))
		return FAIL(p, at, "this is the %s address of its subnet; choose a host in it",
		            addr == ip4_subnet_broadcast(addr, plen) ? "broadcast" : "network");
	struct config_interface *interface = p->interface;
	if (!secondary && interface->address_count > 0)
		return FAIL(p, at, "the interface has its primary address at line %u; add the word "
		                   "secondary to have both", interface->address[0].line);
	if (secondary && interface->address_count == 0)
		return FAIL(p, i, "the primary address of the interface must come before");
	if (interface->address_count == CONFIG_ADDRESSES_MAX)
		return FAIL(p, at, "an interface has at most %d addresses", CONFIG_ADDRESSES_MAX);
	interface->address[interface->address_count++] =
		(struct config_address){addr, p->line, (uint8_t)plen};
	return 0;
}

static int parse_mtu(struct parser *p, unsigned i)
{
	uint32_t mtu;
	int error = parse_number(p, i, "the MTU", CONFIG_MTU_MIN, CONFIG_MTU_MAX, &mtu);
	if (error != 0 || (error = expect_end(p, i + 1)) != 0)
		return error;
	p->interface->mtu = (uint16_t)mtu;
	return 0;
}

static int parse_shutdown(struct parser *p, unsigned i)
{
	p->interface->shutdown = true;
	return expect_end(p, i);
}

static int parse_no_shutdown(struct parser *p, unsigned i)
{
	p->interface->shutdown = false;
	return expect_end(p, i);
}

/* The bits of a prefix behind its length are zero. */
static int check_host_bits(struct parser *p, unsigned at, uint32_t prefix, unsigned plen)
{
	char given[FMT_PREFIX_MAX], meant[FMT_PREFIX_MAX];
	uint32_t network = prefix & ip4_prefix_mask(plen);
	if (network == prefix)
		return 0;
	return FAIL(p, at, "prefix %s has host bits set; did you mean %s?",
	            fmt_prefix(given, prefix, plen), fmt_prefix(meant, network, plen));
}

static int parse_ip_route(struct parser *p, unsigned i)
{
	uint32_t prefix, next_hop = 0;
	unsigned plen, at = i;
	int error = parse_subnet(p, &i, &prefix, &plen);
	if (error != 0)
		return error;
	if ((error = check_host_bits(p, at, prefix, plen)) != 0)
		return error;
	bool null0 = word_is(p, i, "null0");
	if ((error = expect_word(p, i)) != 0)
		return error;
	if (!null0 && text_parse_ip4(p->word[i], &next_hop) != 0)
		return FAIL(p, i, "expected null0 or the next hop, " IP4_WANTED);
	if ((error = expect_end(p, i + 1)) != 0)
		return error;
	if (p->out->route_count == p->route_max)
		return FAIL(p, at, "too many routes; there is memory for %u", p->route_max);
	p->out->routes[p->out->route_count++] =
		(struct config_route){prefix, next_hop, p->line, (uint8_t)plen, null0};
	return 0;
}

static int parse_arp_timeout(struct parser *p, unsigned i)
{
	int error = parse_number(p, i, "the ARP timeout in seconds", 1, CONFIG_ARP_TIMEOUT_MAX_S,
	                         &p->out->arp_timeout_s);
	return error != 0 ? error : expect_end(p, i + 1);
}

static int parse_arp(struct parser *p, unsigned i)
{
	struct config_arp arp = {.line = p->line};
	int error = parse_address(p, i, &arp.addr);
	if (error != 0 || (error = expect_word(p, i + 1)) != 0)
		return error;
	if (text_parse_mac(p->word[i + 1], arp.mac) != 0)
		return FAIL(p, i + 1,
		            "expected a MAC address such as 00:11:22:33:44:55 or 0011.2233.4455");
	if ((error = expect_end(p, i + 2)) != 0)
		return error;
	static const uint8_t zero[6];
	if ((arp.mac[0] & 1) != 0 || memcmp(arp.mac, zero, sizeof zero) == 0)
		return FAIL(p, i + 1, "the MAC address of a neighbour must be a unicast one");
	if (p->out->arp_count == CONFIG_ARPS_MAX)
		return FAIL(p, i, "too many static ARP entries; at most %d", CONFIG_ARPS_MAX);
	p->out->arp[p->out->arp_count++] = arp;
	return 0;
}

static int parse_icmp(struct parser *p, unsigned i)
{
	struct config *c = p->out;
	int error = parse_number(p, i, "the rate in ICMP errors a second", 0, CONFIG_ICMP_RATE_MAX,
	                         &c->icmp_rate);
	if (error != 0)
		return error;
	if (!word_is(p, i + 1, "burst"))
		return expect_end(p, i + 1);
	error = parse_number(p, i + 2, "the burst", 1, CONFIG_ICMP_BURST_MAX, &c->icmp_burst);
	return error != 0 ? error : expect_end(p, i + 3);
}

static int add_service_port(struct parser *p, unsigned i, enum service service,
                            enum service_proto proto, uint32_t port)
{
	struct service_ports *s = &p->out->services.of[proto][service];
	enum service taken = service_of(&p->out->services, proto, (uint16_t)port);
	if (taken != SERVICES)
		return FAIL(p, i, "%s on %s port %u is already configured", service_word(taken),
		            proto == SERVICE_UDP ? "UDP" : "TCP", port);
	if (s->ports == SERVICE_PORTS_MAX)
		return FAIL(p, i, "%s listens on at most %d ports", service_word(service),
		            SERVICE_PORTS_MAX);
	s->port[s->ports++] = (uint16_t)port;
	return 0;
}

/* All rows "service NAME PROTOCOL": which one it is say the words before. */
static int parse_service(struct parser *p, unsigned i)
{
	enum service_proto proto = word_is(p, i - 1, "tcp") ? SERVICE_TCP : SERVICE_UDP;
	unsigned service = 0;
	while (!word_is(p, i - 2, service_word((enum service)service)))
		service++;
	if (i >= p->words)
		return add_service_port(p, i, (enum service)service, proto,
		                        service_port_default((enum service)service));
	for (; i < p->words; i += 2) {
		uint32_t port;
		if (!word_is(p, i, "port"))
			return expect_end(p, i);
		int error = parse_number(p, i + 1, proto == SERVICE_UDP ? "a UDP port" : "a TCP port",
		                         1, 65535, &port);
		if (error == 0)
			error = add_service_port(p, i + 1, (enum service)service, proto, port);
		if (error != 0)
			return error;
	}
	return 0;
}

static int parse_tcp_connections(struct parser *p, unsigned i)
{
	int error = parse_number(p, i, "the number of TCP connections of a data core", 1,
	                         CONFIG_TCP_CONNECTIONS_MAX, &p->out->tcp_connections);
	return error != 0 ? error : expect_end(p, i + 1);
}

static int parse_http_server(struct parser *p, unsigned i)
{
	uint32_t port = CONFIG_HTTP_PORT_DEFAULT;
	int error = 0;
	if (word_is(p, i, "port")) {
		error = parse_number(p, i + 1, "a TCP port", 1, 65535, &port);
		i += 2;
	}
	if (error != 0 || (error = expect_end(p, i)) != 0)
		return error;
	p->out->http.port = (uint16_t)port;
	p->out->http.line = p->line;
	return 0;
}

static int parse_http_access(struct parser *p, unsigned i)
{
	struct config_http *http = &p->out->http;
	uint32_t prefix;
	unsigned plen, at = i;
	int error = parse_subnet(p, &i, &prefix, &plen);
	if (error == 0)
		error = check_host_bits(p, at, prefix, plen);
	if (error != 0 || (error = expect_end(p, i)) != 0)
		return error;
	for (unsigned k = 0; k < http->access_count; k++)
		if (http->access[k].prefix == prefix && http->access[k].plen == plen)
			return FAIL(p, at, "this prefix stands already at line %u", http->access[k].line);
	if (http->access_count == CONFIG_HTTP_ACCESS_MAX)
		return FAIL(p, at, "too many prefixes; at most %d", CONFIG_HTTP_ACCESS_MAX);
	http->access[http->access_count].prefix = prefix;
	http->access[http->access_count].plen = (uint8_t)plen;
	http->access[http->access_count++].line = p->line;
	return 0;
}

static int parse_exit(struct parser *p, unsigned i)
{
	if (p->interface == NULL)
		return FAIL(p, i - 1, "exit without an interface block to leave");
	p->interface = NULL;
	return expect_end(p, i);
}

static int parse_end(struct parser *p, unsigned i)
{
	p->ended = true;
	return expect_end(p, i);
}

#define SUBNET "(A.B.C.D/LEN | A.B.C.D MASK)"
static const struct statement statements[] = {
	/* words, syntax, parser, in an interface block, once */
	{"hostname", "hostname NAME", parse_hostname, false, true},
	{"application", "application (" CORE_APPS(CORE_APP_WORD, " | ") ")", parse_application, false,
	 true},
	{"idle", "idle (poll | sleep | auto)", parse_idle, false, true},
	{"interface", "interface ethN", parse_interface, false, false},
	{"description", "description TEXT", parse_description, true, true},
	{"ip address", "ip address " SUBNET " [secondary]", parse_ip_address, true, false},
	{"mtu", "mtu BYTES", parse_mtu, true, true},
	{"shutdown", "shutdown", parse_shutdown, true, false},
	{"no shutdown", "no shutdown", parse_no_shutdown, true, false},
	{"ip route", "ip route " SUBNET " (NEXT-HOP | null0)", parse_ip_route, false, false},
	{"arp", "arp A.B.C.D MAC", parse_arp, false, false},
	{"arp timeout", "arp timeout SECONDS", parse_arp_timeout, false, true},
	{"ip icmp rate-limit", "ip icmp rate-limit PER-SECOND [burst N]", parse_icmp, false, true},
	{"service echo udp", "service echo udp [port N]...", parse_service, false, false},
	{"service echo tcp", "service echo tcp [port N]...", parse_service, false, false},
	{"service discard udp", "service discard udp [port N]...", parse_service, false, false},
	{"service discard tcp", "service discard tcp [port N]...", parse_service, false, false},
	{"service chargen udp", "service chargen udp [port N]...", parse_service, false, false},
	{"service chargen tcp", "service chargen tcp [port N]...", parse_service, false, false},
	{"tcp connections", "tcp connections N", parse_tcp_connections, false, true},
	{"http server", "http server [port N]", parse_http_server, false, true},
	{"http access", "http access " SUBNET, parse_http_access, false, false},
	{"exit", "exit", parse_exit, false, false},
	{"end", "end", parse_end, false, false},
};
_Static_assert(ARRAY_LEN(statements) <= STATEMENTS_MAX, "parser.seen has a slot for each");

/* How many leading words of the line are s's own, *all set when s has no more; *next is the
 * word of s after them. */
static unsigned match_words(const struct parser *p, const struct statement *s, bool *all,
                            struct text *next)
{
	struct text rest = text_of(s->words);
	unsigned n = 0;
	while (text_next_word(&rest, next)) {
		if (n >= p->words || !text_is_word(p->word[n], *next)) {
			*all = false;
			return n;
		}
		n++;
	}
	*all = true;
	return n;
}

/* Adds word to a list "a, b, c" unless it is in it. */
static void list_add(char *list, size_t size, size_t *len, struct text word)
{
	for (size_t i = 0; i + word.len <= *len; i++)
		if ((i == 0 || list[i - 1] == ' ') && memcmp(list + i, word.at, word.len) == 0 &&
		    (i + word.len == *len || list[i + word.len] == ','))
			return;
	size_t need = word.len + (*len > 0 ? 2 : 0);
	if (*len + need >= size)
		return;
	if (*len > 0) {
		list[(*len)++] = ',';
		list[(*len)++] = ' ';
	}
	memcpy(list + *len, word.at, word.len);
	*len += word.len;
	list[*len] = 0;
}

/* No statement fits: says what may stand where the line departs from all of them. */
static int fail_unknown(struct parser *p, unsigned matched)
{
	char list[160] = "";
	size_t len = 0;
	for (unsigned s = 0; s < ARRAY_LEN(statements); s++) {
		bool all;
		struct text next;
		if (match_words(p, &statements[s], &all, &next) == matched && !all)
			list_add(list, sizeof list, &len, next);
	}
	if (matched == 0)
		return FAIL(p, 0, "unknown statement; expected one of %s", list);
	struct text after = p->word[matched - 1];
	return FAIL(p, matched, "expected %s after \"%.*s\"", list, (int)after.len, after.at);
}

static int parse_statement(struct parser *p)
{
	unsigned best = 0, partial = 0;
	const struct statement *found = NULL;
	for (unsigned s = 0; s < ARRAY_LEN(statements); s++) {
		bool all;
		struct text next;
		unsigned n = match_words(p, &statements[s], &all, &next);
		if (all && n > best) {
			best = n;
			found = &statements[s];
		}
		if (!all && n > partial)
			partial = n;
	}
	if (found == NULL)
		return fail_unknown(p, partial);
	if (p->ended)
		return FAIL(p, 0, "nothing but comments may follow the line \"end\"");
	p->statement = found;
	if (found->in_interface && p->interface == NULL)
		return FAIL(p, 0, "\"%s\" belongs into an interface block; write \"interface ethN\" "
		                  "before it", found->words);
	if (!found->in_interface && found->parse != parse_exit)
		p->interface = NULL;
	uint32_t *seen = &p->seen[found - statements];
	if (found->once && *seen != 0)
		return FAIL(p, 0, "\"%s\" stands already at line %u", found->words, *seen);
	*seen = p->line;
	int error = found->parse(p, best);
	if (found->parse == parse_interface)
		for (unsigned s = 0; s < ARRAY_LEN(statements); s++)
			if (statements[s].in_interface)
				p->seen[s] = 0;
	return error;
}

/* One line without its end. */
static int parse_line(struct parser *p, struct text line)
{
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	struct text rest = line, word;
	p->body = (struct text){line.at, 0};
	p->words = 0;
	if (!text_next_word(&rest, &word) || word.at[0] == '!' || word.at[0] == '#')
		return 0;
	p->body = text_trim_end((struct text){word.at, (size_t)(line.at + line.len - word.at)});
	if (line.len > LINE_MAX)
		return config_fail(p->err, p->line, word, "the line has %u characters; at most %d",
		                   (unsigned)line.len, LINE_MAX);
	for (size_t i = 0; i < p->body.len; i++) {
		char c = p->body.at[i];
		if (!text_is_printable(c) && c != '\t')
			return config_fail(p->err, p->line, (struct text){p->body.at + i, 1},
			                   "byte 0x%02x in column %u is not plain ASCII text; only "
			                   "comments may hold such bytes", (unsigned)(uint8_t)c,
			                   (unsigned)(p->body.at + i - line.at) + 1);
	}
	rest = p->body;
	while (p->words < WORDS_MAX && text_next_word(&rest, &word))
		p->word[p->words++] = word;
	return parse_statement(p);
}

void config_default(struct config *out)
{
	*out = (struct config){
		.hostname = "hayate",
		.application = CORE_APP_router,
		.idle = CONFIG_IDLE_AUTO,
		.arp_timeout_s = CONFIG_ARP_TIMEOUT_DEFAULT_S,
		.icmp_rate = CONFIG_ICMP_RATE_DEFAULT,
		.icmp_burst = CONFIG_ICMP_BURST_DEFAULT,
	};
}

static int parse_lines(struct parser *p, struct text text)
{
	/* Editors on Windows put a byte-order mark in front of UTF-8. */
	if (text.len >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0)
		text = (struct text){text.at + 3, text.len - 3};
	while (text.len > 0) {
		size_t n = text_find(text, '\n');
		p->line++;
		int error = parse_line(p, (struct text){text.at, n});
		if (error != 0)
			return error;
		size_t used = n < text.len ? n + 1 : n;
		text = (struct text){text.at + used, text.len - used};
	}
	return 0;
}

int config_parse(const char *text, size_t len, const struct config_memory *mem, struct config *out,
                 struct config_error *err)
{
	assert(mem->scratch_words >= config_scratch_words(mem->route_max));
	config_default(out);
	out->routes = mem->routes;
	struct parser p = {.out = out, .err = err, .route_max = mem->route_max};
	int error = parse_lines(&p, (struct text){text, len});
	if (error == 0)
		error = config_check(out, mem->scratch, mem->scratch_words, err);
	if (error != 0) {
		config_default(out);
		return error;
	}
	if (out->application == CORE_APP_echo && !services_any(&out->services, SERVICE_UDP) &&
	    !services_any(&out->services, SERVICE_TCP))
		services_default(&out->services);
	return 0;
}
