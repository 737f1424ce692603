/* See ntp_control.h. */
#include "control/host/ntp_control.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/host/names.h"
#include "control/host/udp_control.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "runtime/runtime.h"
#include "runtime/walltime.h"

_Static_assert(CONFIG_NTP_SERVERS_MAX <= NTP_SERVERS_MAX, "the client has all servers");
_Static_assert(CONFIG_NTP_POLL_MIN == NTP_POLL_MIN && CONFIG_NTP_POLL_MAX == NTP_POLL_MAX &&
               CONFIG_NTP_POLL_MIN_DEFAULT == NTP_POLL_DEFAULT && CONFIG_NTP_POLL_MAX_DEFAULT == NTP_POLL_MAX,
               "config.h does not include net/ntp");
_Static_assert(NTP_FREQUENCY_MAX <= WALLTIME_RATE_MAX, "what the discipline wants, the clock does");

#define NAME_AGAIN_NS (60 * SECOND_NS) /* after a lookup failed */
#define NAME_UNANSWERED 8              /* requests without an answer after which the name is looked up again */

/* Beside struct ntp_server. */
struct server {
	struct config_ntp_server config; /* config.host.line 0: the place is free */
	uint16_t port;
	bool looking;        /* its name is being looked up */
	uint64_t look_ns;    /* not before that time */
};

static struct config_ntp_server learned[CONFIG_NTP_SERVERS_MAX]; /* see ntp_control_learn */
static unsigned learned_count;
static struct ntp_client client;
static struct server servers[NTP_SERVERS_MAX];
static bool on;

const struct ntp_client *ntp_control_client(void) { return on ? &client : NULL; }

const char *ntp_control_name(unsigned i)
{
	static char text[FMT_ADDR_MAX];
	const struct config_http_host *h = &servers[i].config.host;
	return h->name[0] ? h->name : fmt_addr(text, &h->addr);
}

/* --- the client's operations --- */

static uint64_t moment_ns(void) { return clock_ns(&self.clock, clock_tsc()); }

static uint64_t send(void *ctx, unsigned i, const uint8_t request[NTP_BYTES])
{
	(void)ctx;
	const struct udp_message m = {.dst = client.server[i].addr, .src_port = servers[i].port, .dst_port = NTP_PORT,
	                              .data = request, .data_len = NTP_BYTES};
	const uint64_t now = moment_ns();
	if (servers[i].port == 0 || !udp_send(&m))
		return 0;
	count(CNT_ntp_tx);
	return now;
}

static uint64_t random(void *ctx)
{
	uint64_t n;
	(void)ctx;
	core_random(&n, sizeof n);
	return n;
}

/* A time of the CMOS clock, or one that was typed, is not NTP's: the next update sets it. */
static uint64_t clock_offset(void *ctx, uint64_t now_ns)
{
	(void)ctx;
	return walltime_source() == WALLTIME_NTP ? walltime_at(now_ns) - now_ns : 0;
}

static void step(uint64_t utc_minus_now)
{
	const bool known = walltime_known();
	const uint64_t tsc = clock_tsc(), now = clock_ns(&self.clock, tsc);
	const int64_t ms = (int64_t)(now + utc_minus_now - walltime_ns()) / 1000000;
	const unsigned long long size = (unsigned long long)(ms < 0 ? -ms : ms);
	walltime_set(now + utc_minus_now, tsc, WALLTIME_NTP);
	if (known)
		log_event(LOG_NOTICE, "NTP-STEP", "ntp: the clock was %s by %llu.%03llu s, and is set by %s",
		          ms < 0 ? "fast" : "slow", size / 1000, size % 1000, ntp_control_name(client.peer));
	else
		log_event(LOG_NOTICE, "NTP-STEP", "ntp: the clock is set by %s", ntp_control_name(client.peer));
}

static void adjust(void *ctx, const struct ntp_order *order, uint64_t utc_minus_now, uint64_t now_ns)
{
	(void)ctx, (void)now_ns;
	if (order->action == NTP_STEP)
		step(utc_minus_now);
	else
		walltime_slew(order->offset_ns, order->over_ns, order->frequency);
}

static const struct ntp_ops ops = {send, random, clock_offset, adjust};

static enum counter receive(const struct udp_datagram *d, const struct udp_arrival *from)
{
	(void)from;
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++) {
		if (!on || servers[i].port == 0 || servers[i].port != d->dst_port)
			continue;
		if (d->src_port != NTP_PORT || !net_addr_equal(&d->src, &client.server[i].addr))
			return CNT_drop_ntp_origin;
		const bool had = client.synchronized;
		const uint64_t panics = client.panics;
		const enum counter why = ntp_client_input(&client, i, d->data, d->data_len, moment_ns());
		if (client.synchronized && !had)
			log_event(LOG_NOTICE, "NTP-SYNC", "ntp: synchronized to %s", ntp_control_name(client.peer));
		if (client.panics > panics && had)
			log_event(LOG_ERR, "NTP-PANIC",
			          "ntp: the servers' time differs by more than %u s, and is not used: `clock set` allows the next update",
			          (unsigned)(NTP_PANIC_NS / NTP_SECOND_NS));
		return why == CNT_NONE ? CNT_delivered_udp : why;
	}
	return CNT_drop_ntp_origin;
}

/* --- servers --- */

static void give(unsigned i, const struct net_addr *addr)
{
	const struct config_ntp_server *c = &servers[i].config;
	const struct ntp_server_options o = {.prefer = c->prefer, .iburst = c->iburst, .poll_min = c->poll_min,
	                                     .poll_max = c->poll_max};
	ntp_server_set(&client, i, addr, &o, core_now_ns());
}

static void found(void *ctx, const struct net_addr *addr, const char *why)
{
	struct server *s = ctx;
	const unsigned i = (unsigned)(s - servers);
	s->looking = false;
	s->look_ns = core_now_ns() + NAME_AGAIN_NS;
	if (!addr)
		log_event(LOG_WARNING, "NTP-NAME", "ntp: %s: %s", s->config.host.name, why);
	else if (!net_addr_equal(addr, &client.server[i].addr))
		give(i, addr);
}

static void remove(unsigned i)
{
	struct server *s = &servers[i];
	if (s->config.host.line == 0)
		return;
	names_cancel(s);
	if (s->port)
		udp_unlisten(s->port);
	memset(s, 0, sizeof *s);
	ntp_server_clear(&client, i, core_now_ns());
}

static void add(unsigned i, const struct config_ntp_server *c)
{
	servers[i].config = *c;
	servers[i].port = udp_listen_any(receive);
	if (servers[i].port == 0)
		log_event(LOG_ERR, "NTP-PORT", "ntp: no UDP port is left for %s", ntp_control_name(i));
	give(i, c->host.name[0] ? &NET_ADDR_ANY : &c->host.addr);
}

static bool is_same(const struct config_ntp_server *a, const struct config_ntp_server *b)
{
	return strcmp(a->host.name, b->host.name) == 0 && net_addr_equal(&a->host.addr, &b->host.addr) &&
	       a->prefer == b->prefer && a->iburst == b->iburst && a->poll_min == b->poll_min &&
	       a->poll_max == b->poll_max;
}

/* The servers to ask: the configured ones, else those that a DHCP server named. */
static const struct config_ntp_server *list(unsigned *n)
{
	const struct config_time *t = &running.config.time;
	*n = t->servers ? t->servers : learned_count;
	return t->servers ? t->server : learned;
}

/* Is a server with that configuration in the list? */
static bool has(const struct config_ntp_server *c, const struct config_ntp_server *of, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (is_same(c, &of[k]))
			return true;
	return false;
}

static bool is_running(const struct config_ntp_server *c)
{
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++)
		if (servers[i].config.host.line != 0 && is_same(&servers[i].config, c))
			return true;
	return false;
}

void ntp_control_changed(void)
{
	unsigned n;
	const struct config_ntp_server *wanted = list(&n);
	if (!on && n)
		ntp_client_init(&client, &ops, NULL, walltime_frequency());
	on = on || n;
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++)
		if (!has(&servers[i].config, wanted, n))
			remove(i);
	for (unsigned k = 0, i = 0; k < n; k++) {
		if (is_running(&wanted[k]))
			continue;
		while (servers[i].config.host.line != 0)
			i++; /* there are no more servers than places */
		add(i, &wanted[k]);
	}
	on = n != 0;
}

static bool is_learned(const struct net_addr *server)
{
	for (unsigned i = 0; i < learned_count; i++)
		if (net_addr_equal(&learned[i].host.addr, server))
			return true;
	return false;
}

void ntp_control_learn(const struct net_addr *server, unsigned n)
{
	learned_count = 0;
	for (unsigned i = 0; i < n && learned_count < CONFIG_NTP_SERVERS_MAX; i++)
		if (!is_learned(&server[i]))
			learned[learned_count++] = (struct config_ntp_server){
				.host = {.addr = server[i], .line = 1}, /* of none: not 0, which is a free place */
				.iburst = true,
				.poll_min = CONFIG_NTP_POLL_MIN_DEFAULT,
				.poll_max = CONFIG_NTP_POLL_MAX_DEFAULT};
	ntp_control_changed();
}

/* Looks up the name of a server that has no address, or does not answer at the one it has. */
static void look_up(unsigned i)
{
	struct server *s = &servers[i];
	const struct ntp_server *n = &client.server[i];
	const bool wanted = net_addr_is_any(&n->addr) || n->unanswered >= NAME_UNANSWERED || n->denied;
	if (!s->config.host.name[0] || s->looking || !wanted || core_now_ns() < s->look_ns)
		return;
	s->looking = true;
	names_lookup(s->config.host.name, NAMES_ANY, found, s);
}

uint64_t ntp_control_timer(void)
{
	if (!on || !core_ports_running())
		return UINT64_MAX;
	uint64_t due = UINT64_MAX;
	for (unsigned i = 0; i < NTP_SERVERS_MAX; i++) {
		look_up(i);
		if (servers[i].config.host.name[0] && !servers[i].looking && net_addr_is_any(&client.server[i].addr))
			due = servers[i].look_ns < due ? servers[i].look_ns : due;
	}
	const uint64_t next = ntp_client_tick(&client, core_now_ns());
	return next < due ? next : due;
}
