/* See config_rig.h. */
#include "tests/unit/rig/config_rig.h"

struct config_route routes[ROUTES];
struct config_route6 routes6[ROUTES];
static struct config_route routes_before[ROUTES];
static struct config_route6 routes6_before[ROUTES];
uint32_t scratch[SCRATCH];
uint32_t progress_calls, progress_lines;

static void note_progress(uint32_t lines)
{
	progress_calls++;
	progress_lines = lines;
}

static struct config_acl_rule acl_rules[ACL_RULES], acl_rules_before[ACL_RULES];
static struct config_memory memory = {.routes = routes,
                                      .route_max = ROUTES,
                                      .routes6 = routes6,
                                      .route6_max = ROUTES,
                                      .acl_rules = acl_rules,
                                      .acl_rule_max = ACL_RULES,
                                      .scratch = scratch,
                                      .scratch_words = SCRATCH,
                                      .progress = note_progress};
struct config config;
struct text_error error;

int parse_bytes(const char *text, size_t len)
{
	static char *copy; /* of the text parsed last; config.script points into it */
	free(copy);
	copy = malloc(len ? len : 1);
	assert_non_null(copy);
	memcpy(copy, text, len);
	memset(&error, 0x5a, sizeof error);
	memory.wrong = NULL;
	return config_parse(len ? copy : NULL, len, &memory, &config, &error);
}

int parse_all(const char *text, size_t len, struct config_wrong *wrong)
{
	memory.wrong = wrong;
	memset(wrong, 0x5a, sizeof *wrong);
	memset(&error, 0x5a, sizeof error);
	return config_parse(text, len, &memory, &config, &error);
}

void admit(const char *text)
{
	if (parse_bytes(text, strlen(text)) != 0)
		fail_msg("line %u: %s, at \"%s\"", error.line, error.reason, error.word);
}

/* assert_memory_equal compares byte by byte, which takes a third of these tests. */
static void equal(const void *a, const void *b, size_t n)
{
	if (memcmp(a, b, n) != 0)
		assert_memory_equal(a, b, n);
}

void refuse(const char *text, uint32_t line, const char *word, const char *reason)
{
	struct config empty;
	config_default(&empty);
	if (parse_bytes(text, strlen(text)) == 0)
		fail_msg("accepted: %s", text);
	if (strncmp(error.reason, reason, strlen(reason)) != 0)
		fail_msg("reason \"%s\", expected \"%s\"", error.reason, reason);
	assert_string_equal(error.word, word);
	assert_int_equal(error.line, line);
	equal(&config, &empty, sizeof config);
}

struct text_buffer {
	char *at;
	size_t len, size;
};

static void collect(void *ctx, const char *text, size_t len)
{
	struct text_buffer *b = ctx;
	assert_true(len > 0);
	assert_true(b->len + len <= b->size);
	memcpy(b->at + b->len, text, len);
	b->len += len;
}

static void forget_lines(struct config *c)
{
	for (unsigned i = 0; i < CONFIG_USERS_MAX; i++) {
		c->users.user[i].line = 0;
		c->users.user[i].role_line = c->users.user[i].role_line != 0;
	}
	for (unsigned i = 0; i < CONFIG_USER_KEYS_MAX; i++)
		c->users.key[i].line = 0;
	for (unsigned i = 0; i < CONFIG_TOKENS_MAX; i++)
		c->users.token[i].line = 0;
	c->trust_line = c->http.line = c->console.line = c->ssh.line = c->capture.line = 0;
	c->console.password_line = c->console.password_line != 0; /* nonzero means that there is one */
	for (unsigned i = 0; i < CONFIG_ACCESS_MAX; i++)
		c->http.access.row[i].line = c->console.access.row[i].line =
			c->ssh.access.row[i].line = c->capture.access.row[i].line = 0;
	c->engine.line = c->engine.line != 0; /* nonzero means that there is one */
	c->engine.other_line = 0;
	c->engine.source_line = 0;
	for (unsigned i = 0; i < CONFIG_HTTP_HOSTS_MAX; i++)
		c->http.host[i].line = 0;
	for (unsigned i = 0; i < CONFIG_IFS_MAX; i++) {
		struct config_interface *f = &c->interface[i];
		f->line = f->mtu_line = f->ipv6_line = f->autoconfig_line = 0;
		f->link_local_line = f->ra_lifetime_line = 0;
		f->verify_line[0] = f->verify_line[1] = 0;
		f->redirects_line[0] = f->redirects_line[1] = f->directed_line = 0;
		f->lender_line = f->lender_line != 0; /* nonzero means that there is one */
		f->dhcp_line = f->dhcp_line != 0;
		f->relay_line[0] = f->relay_line[0] != 0;
		f->relay_line[1] = f->relay_line[1] != 0;
		f->engine_line = f->engine_vni_line = f->engine_protocols_line = 0;
		for (unsigned k = 0; k < CONFIG_ADDRESSES_MAX; k++)
			f->address[k].line = f->address6[k].line = 0;
		for (unsigned k = 0; k < CONFIG_FILTERS; k++)
			f->filter[k].line = 0;
	}
	for (unsigned i = 0; i < CONFIG_ACLS_MAX; i++)
		c->acl[i].line = 0;
	for (unsigned i = 0; i < CONFIG_XDP_MAX; i++)
		c->xdp[i].line = 0;
	for (unsigned i = 0; i < CONFIG_STEER_MAX; i++)
		c->steer[i].line = 0;
	for (unsigned i = 0; i < CONFIG_SWITCHPORTS; i++)
		c->switchport[i].line = 0;
	for (unsigned i = 0; i < CONFIG_MACS_MAX; i++)
		c->mac[i].line = 0;
	for (unsigned f = 0; f < CONFIG_SNOOPS; f++)
		c->snoop[f].line = 0;
	for (unsigned k = 0; k < CONFIG_MROUTERS_MAX; k++)
		c->mrouter[k].line = 0;
	c->aging_line = c->stp.line = c->stp.times_line = 0;
	for (unsigned i = 0; i < CONFIG_ARPS_MAX; i++)
		c->arp[i].line = 0;
	for (unsigned i = 0; i < CONFIG_NEIGHBOURS6_MAX; i++)
		c->neighbour6[i].line = 0;
	c->lldp.hold_line = 0;
	for (unsigned k = 0; k < CONFIG_RELAYS_MAX; k++)
		c->dhcp.relay[k].line = 0;
	for (unsigned k = 0; k < CONFIG_DHCP_CLIENTS_MAX; k++)
		c->dhcp.client[k].line = 0;
	for (unsigned k = 0; k < CONFIG_LOG_HOSTS_MAX; k++)
		c->logging.host[k].host.line = 0;
	for (unsigned k = 0; k < CONFIG_COLLECTORS_MAX; k++)
		c->sflow.collector[k].line = 0;
	c->logging.source_line = c->logging.source_line != 0; /* these three say whether there is such a statement */
	c->logging.console.line = c->logging.console.line != 0;
	c->logging.buffered.line = c->logging.buffered.line != 0;
	for (unsigned n = 0; n < CONFIG_NTP_SERVERS_MAX; n++)
		c->time.server[n].host.line = 0;
	memset(c->time.name_server_line, 0, sizeof c->time.name_server_line);
	for (unsigned n = 0; n < CONFIG_PORTS_MAX; n++)
		c->member[n].line = 0;
	c->lacp_priority_line = c->lacp_priority_line != 0; /* nonzero means that there is one */
	for (unsigned n = 0; n < CONFIG_MONITORS; n++)
		c->monitor[n].line = c->monitor[n].line != 0; /* nonzero means that there is one */
	c->routes = NULL;
	c->routes6 = NULL;
	c->acl_rules = NULL;
	c->script.text = (struct text){NULL, 0};
	c->script.line = c->script.line != 0;
}

static void compare_routes(uint32_t n, uint32_t n6)
{
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(routes[i].prefix, routes_before[i].prefix);
		assert_int_equal(routes[i].next_hop, routes_before[i].next_hop);
		assert_int_equal(routes[i].plen, routes_before[i].plen);
		assert_int_equal(routes[i].kind, routes_before[i].kind);
		assert_int_equal(routes[i].distance, routes_before[i].distance);
	}
	for (uint32_t i = 0; i < n6; i++) {
		assert_true(net_addr_equal(&routes6[i].prefix, &routes6_before[i].prefix));
		assert_true(net_addr_equal(&routes6[i].next_hop, &routes6_before[i].next_hop));
		assert_int_equal(routes6[i].plen, routes6_before[i].plen);
		assert_int_equal(routes6[i].interface, routes6_before[i].interface);
		assert_int_equal(routes6[i].kind, routes6_before[i].kind);
		assert_int_equal(routes6[i].distance, routes6_before[i].distance);
	}
}

static void compare_acl_rules(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		acl_rules[i].line = acl_rules_before[i].line;
		equal(&acl_rules[i], &acl_rules_before[i], sizeof acl_rules[i]);
	}
}

/* Printed a few lines at a time, however few, the text is the same. */
static void print_by_pieces(const char *whole, size_t len)
{
	char piece[CONFIG_PRINT_NEXT_MAX];
	struct config_cursor at = {0};
	size_t done = 0;
	for (bool more = true; more;) {
		struct text_buffer b = {piece, 0, sizeof piece};
		more = config_print_next(&config, &at, collect, &b);
		assert_true(done + b.len <= len);
		assert_memory_equal(piece, whole + done, b.len);
		done += b.len;
	}
	assert_int_equal(done, len);
}

void round_trip(void)
{
	static char printed[ROUTES * 64], first_script[8192];
	static struct config first;
	struct text_buffer b = {printed, 0, sizeof printed};
	config_print(&config, collect, &b);
	print_by_pieces(printed, b.len);
	first = config;
	size_t first_script_len = config.script.text.len;
	if (first_script_len > 0)
		memcpy(first_script, config.script.text.at, first_script_len);
	if (first_script_len > 0 && first_script[first_script_len - 1] != '\n')
		first_script[first_script_len++] = '\n'; /* as it is printed */
	memcpy(routes_before, routes, config.route_count * sizeof *routes);
	memcpy(routes6_before, routes6, config.route6_count * sizeof *routes6);
	memcpy(acl_rules_before, acl_rules, config.acl_rule_count * sizeof *acl_rules);
	if (parse_bytes(printed, b.len) != 0)
		fail_msg("printed text, line %u: %s", error.line, error.reason);
	assert_int_equal(first_script_len, config.script.text.len);
	if (first_script_len > 0)
		assert_memory_equal(first_script, config.script.text.at, first_script_len);
	compare_routes(config.route_count, config.route6_count);
	compare_acl_rules(config.acl_rule_count);
	forget_lines(&first);
	forget_lines(&config);
	equal(&first, &config, sizeof config);
}

static void same_error(const struct text_error *a, const struct text_error *b)
{
	assert_int_equal(a->line, b->line);
	assert_string_equal(a->word, b->word);
	assert_string_equal(a->reason, b->reason);
}

/* The text is wrong: with all wrong lines requested the first one is the same, and they are in
 * order. */
static void survive_all(const char *text, size_t len)
{
	static struct config_wrong wrong;
	const struct text_error first = error;
	assert_int_equal(parse_all(text, len, &wrong), E_INVAL);
	same_error(&error, &first);
	if (wrong.count > 0)
		same_error(&wrong.row[0], &first);
	for (uint32_t i = 1; i < wrong.count && i < CONFIG_WRONG_MAX; i++) {
		assert_true(wrong.row[i].line > wrong.row[i - 1].line);
		assert_true(strlen(wrong.row[i].reason) > 10);
	}
}

void survive(const char *text, size_t len)
{
	static struct config empty;
	if (parse_bytes(text, len) == 0) {
		round_trip();
		return;
	}
	uint32_t lines = 1;
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	assert_in_range(error.line, 1, lines);
	assert_true(strlen(error.reason) > 10 && strlen(error.reason) < sizeof error.reason - 1);
	assert_true(strlen(error.word) < sizeof error.word);
	for (const char *c = error.word; *c; c++)
		assert_true(text_is_printable(*c));
	survive_all(text, len);
	config_default(&empty);
	equal(&config, &empty, sizeof config);
}

/* One change of the text: a byte changed, a few removed, one of the n pieces inserted, or the end
 * removed. */
static size_t mutate(char *text, size_t len, const char *const *pieces, unsigned n)
{
	size_t at = random_below((uint32_t)len), cut = 1 + random_below(20);
	const char *piece = pieces[random_below(n)];
	switch (random_below(5)) {
	case 0:
		text[at] = (char)random64();
		return len;
	case 1:
		text[at] = "\0\r\n\t 019./!:"[random_below(12)];
		return len;
	case 2: /* never all of it */
		cut = cut < len - at ? cut : (len - at) / 2;
		memmove(text + at, text + at + cut, len - at - cut);
		return len - cut;
	case 3:
		memmove(text + at + strlen(piece), text + at, len - at);
		memcpy(text + at, piece, strlen(piece));
		return len + strlen(piece);
	default:
		return random_below(8) == 0 ? at + 1 : len;
	}
}

void hostile(const char *full, const char *const *pieces, unsigned n)
{
	static char text[8192];
	const size_t size = strlen(full);
	assert_true(size + 4 * 64 < sizeof text);
	for (unsigned round = 0; round < random_rounds(8000); round++) {
		size_t len = size;
		memcpy(text, full, len);
		for (uint32_t k = random_below(4); k < 4; k++)
			len = mutate(text, len, pieces, n);
		survive(text, len);
	}
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		size_t len = random_below((uint32_t)(2 * size));
		for (size_t i = 0; i < len; i++)
			text[i] = (char)random64();
		survive(text, len);
		for (size_t i = 0; i < len; i++)
			text[i] = "ipv6aderouth0123./: \n"[random_below(21)];
		survive(text, len);
	}
}
