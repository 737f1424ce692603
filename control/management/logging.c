/* See logging.h. */
#include "control/management/logging.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/tables.h"
#include "control/host/names.h"
#include "control/host/output6.h"
#include "control/host/udp_control.h"
#include "control/management/tls_stream.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"
#include "net/syslog.h"
#include "runtime/sealed.h"
#include "runtime/walltime.h"

#define APP_NAME "hayate"
#define MESSAGE_MAX 1024
#define FRAME_MAX (MESSAGE_MAX + 5) /* MSG-LEN SP (RFC 5425 4.3) */
#define NAME_AGAIN_NS (300 * SECOND_NS) /* after an answer; the resolver keeps it for its time to live */
#define STABLE_NS (60 * SECOND_NS) /* behind a connection that lasted so long the pauses begin with the shortest */

/* A host, and the number of its next message. What outlives the program is untrusted: any number is one of a
 * message. */
struct position {
	struct net_addr addr;
	uint64_t name; /* hash of its name; 0: it has none */
	uint64_t port;
	uint64_t next; /* 0: from the oldest message on. TLS: the first that the host has not acknowledged */
};
struct positions {
	uint64_t hosts;
	struct position v[CONFIG_LOG_HOSTS_MAX];
};
static struct sealed kept = SEALED(CORE_PERSIST_SYSLOG, 2, struct positions);

struct host {
	struct config_log_host config;
	struct net_addr addr; /* NET_ADDR_ANY: its name has not been found yet */
	bool looking;         /* its name is being looked up */
	uint64_t look_ns;     /* not before */
	uint64_t sent, lost;
	uint64_t due_ns;      /* not before: of a message by UDP, a connection by TLS */
	uint64_t retry_ns;    /* UDP: 0: the next hop is known. TLS: pause before the next connection */
	/* TLS */
	struct stream *stream; /* NULL: there is none */
	bool open;
	uint64_t at;           /* number of the next message to be sent */
	uint64_t since_ns;     /* when the connection was established */
	uint64_t connected, failed;
	const char *why;       /* of the last failure, static; NULL: none since the last success */
};

static struct {
	struct positions at;
	struct host host[CONFIG_LOG_HOSTS_MAX];
	uint16_t port; /* from which they are sent; 0: none yet */
	bool changed;  /* positions that are not kept yet */
} syslog;

/* --- positions --- */

static void keep(void)
{
	if (syslog.changed && sealed_take(&kept))
		sealed_write(&kept, &syslog.at);
	syslog.changed = false;
}

static struct position position_of(const struct config_log_host *h, uint64_t next)
{
	static const struct siphash_key key;
	const size_t n = strlen(h->host.name);
	return (struct position){h->host.addr, n ? siphash24(&key, h->host.name, n) | 1 : 0, h->port, next};
}

static const struct position *find(const struct positions *p, const struct config_log_host *h)
{
	const struct position wanted = position_of(h, 0);
	for (unsigned i = 0; p && i < p->hosts && i < CONFIG_LOG_HOSTS_MAX; i++)
		if (p->v[i].port == wanted.port && p->v[i].name == wanted.name &&
		    net_addr_equal(&p->v[i].addr, &wanted.addr))
			return &p->v[i];
	return NULL;
}

/* Where the host begins: where it was, as this program or the one before knows. A host of the configuration at boot
 * gets what has happened since the boot, a new one what happens from now on. */
static struct position begin(const struct positions *before, const struct config_log_host *h)
{
	const struct position *was = find(before, h);
	return was ? *was : position_of(h, before ? log_head() : 0);
}

/* --- levels --- */

static int level_of(const struct config_log_level *l)
{
	return l->line == 0 ? (int)LOG_DEBUG : l->off ? LOG_NONE : (int)l->level;
}

static void set_levels(const struct config_logging *l)
{
	struct log_levels levels = {level_of(&l->console), level_of(&l->buffered), LOG_NONE};
	for (unsigned i = 0; i < l->hosts; i++)
		if (levels.others < (int)l->host[i].level)
			levels.others = l->host[i].level;
	log_set_levels(&levels);
}

/* --- hosts --- */

/* Nobody sends us anything. */
static enum counter refuse(const struct udp_datagram *d, const struct udp_arrival *from)
{
	(void)d, (void)from;
	return CNT_drop_udp_port;
}

static const char *name_of(const struct host *o)
{
	static char text[FMT_ADDR_MAX];
	return o->config.host.name[0] ? o->config.host.name : fmt_addr(text, o->config.host.addr.w);
}

/* Begins with nothing, or ends what there is if h is NULL. */
static void set_host(struct host *o, const struct config_log_host *h)
{
	names_cancel(o);
	if (o->stream)
		stream_abort(o->stream);
	memset(o, 0, sizeof *o);
	if (h)
		o->config = *h;
}

/* Do both say the same, but for their lines? */
static bool is_same(const struct config_log_host *a, const struct config_log_host *b)
{
	return strcmp(a->host.name, b->host.name) == 0 && net_addr_equal(&a->host.addr, &b->host.addr) &&
	       a->port == b->port && a->level == b->level && a->facility == b->facility && a->tls == b->tls &&
	       a->pinned == b->pinned &&
	       memcmp(a->fingerprint, b->fingerprint, sizeof a->fingerprint) == 0;
}

void logging_configure(void)
{
	static bool begun;
	const struct config_logging *l = &running.config.logging;
	const struct positions was = syslog.at, *before = begun ? &was : sealed_newest(&kept);
	set_levels(l);
	syslog.at.hosts = l->hosts;
	for (unsigned i = 0; i < l->hosts; i++)
		syslog.at.v[i] = begin(before, &l->host[i]);
	for (unsigned i = 0; i < CONFIG_LOG_HOSTS_MAX; i++)
		if (i >= l->hosts || !is_same(&syslog.host[i].config, &l->host[i]))
			set_host(&syslog.host[i], i < l->hosts ? &l->host[i] : NULL);
	if (l->hosts && !syslog.port)
		syslog.port = udp_listen_any(refuse);
	begun = true;
	syslog.changed |= l->hosts || (before && before->hosts);
	keep();
}

/* A host cannot be reached; the log has it once. */
static void trouble(struct host *o, const char *why)
{
	o->failed++;
	if (o->why != why)
		log_event(LOG_WARNING, "LOGGING-HOST", "logging host %s: %s", name_of(o), why);
	o->why = why;
}

static void found(void *ctx, const struct net_addr *addr, const char *why)
{
	struct host *o = ctx;
	o->looking = false;
	o->look_ns = core_now_ns() + (addr ? NAME_AGAIN_NS : LOGGING_RETRY_MAX_NS);
	if (addr)
		o->addr = *addr;
	else
		trouble(o, why);
}

/* Is there an address to send to? Looks the name up when that is due. */
static bool has_address(struct host *o, uint64_t now)
{
	const struct config_http_host *h = &o->config.host;
	if (!h->name[0]) {
		o->addr = h->addr;
	} else if (!o->looking && now >= o->look_ns) {
		o->looking = true;
		names_lookup(h->name, NAMES_ANY, found, o);
	}
	return !net_addr_is_any(&o->addr);
}

/* When to look the name up; never while that is under way. */
static uint64_t look_up_due(const struct host *o)
{
	return o->looking ? UINT64_MAX : o->look_ns;
}

/* --- messages --- */

/* The source address for messages to dst. All zeros, by the route to dst, unless the configuration has named an
 * interface that has an address of dst's family. */
static struct net_addr source_of(const struct net_addr *dst)
{
	const struct dp_state *v = dp_get();
	const struct config_logging *l = &running.config.logging;
	struct net_addr src = NET_ADDR_ANY;
	for (unsigned n = 0; l->source_line && n < v->ifs; n++) {
		if (!dp_exists(v, n) || v->interface[n].key != l->source)
			continue;
		if (!net_addr_is_ip4(dst))
			(void)dp_source6(v, n, dst, &src);
		else if (v->interface[n].enabled && v->interface[n].addr[0])
			src = net_addr_ip4(v->interface[n].addr[0]);
	}
	return src;
}

/* Can a packet to dst be sent without asking a neighbour first? */
static bool is_known(const struct net_addr *dst)
{
	const struct dp_state *v = dp_get();
	const uint32_t nh = net_addr_is_ip4(dst) ? dp_next_hop4(v, net_addr_to_ip4(dst)) : local6_next_hop(dst, 0);
	return nh < NH_MAX && v->adj[nh].state == ADJ_FORWARD;
}

/* Writes the message; returns its bytes. */
static size_t put(char text[MESSAGE_MAX], const struct config_log_host *h, const struct log_record *r)
{
	const struct syslog_message s = {
		.facility = SYSLOG_LOCAL0 + h->facility, .level = r->level, .utc_ns = r->utc_ns,
		.synchronized = walltime_source() == WALLTIME_NTP, .hostname = running.config.hostname, .app = APP_NAME,
		.msgid = r->facility, .sequence = r->number, .since_boot_ns = r->since_boot_ns, .text = r->text};
	return syslog_put(text, MESSAGE_MAX, &s);
}

static bool send(const struct host *o, const struct log_record *r)
{
	char text[MESSAGE_MAX];
	struct udp_message m = {.dst = o->addr, .src_port = syslog.port, .dst_port = o->config.port, .data = text};
	m.data_len = (unsigned)put(text, &o->config, r);
	m.src = source_of(&m.dst);
	return udp_send(&m);
}

/* The next message that the host wants; *at is its position behind it. *lost: those that were overwritten before it. */
static const struct log_record *next(const struct config_log_host *h, uint64_t *at, uint64_t *lost)
{
	const struct log_record *r;
	*lost = 0;
	for (uint64_t wanted = *at; (r = log_next(at)); wanted = *at) {
		*lost += wanted ? r->number - wanted : 0;
		if ((uint8_t)r->level <= h->level)
			return r;
	}
	return NULL;
}

/* --- by UDP --- */

/* The pause behind a pause of that length, 0: none. */
static uint64_t longer(uint64_t retry_ns)
{
	return u64_min(u64_max(2 * retry_ns, LOGGING_RETRY_MIN_NS), LOGGING_RETRY_MAX_NS);
}

/* Sends what is due to a host; returns when the next is. */
static uint64_t serve(struct host *o, struct position *p)
{
	const uint64_t now = core_now_ns();
	if (!has_address(o, now))
		return look_up_due(o);
	for (unsigned n = 0; n < LOGGING_BURST; n++) {
		uint64_t at = p->next, lost;
		if (at == log_head())
			return UINT64_MAX;
		if (o->retry_ns && now < o->due_ns && !is_known(&o->addr))
			return o->due_ns;
		const struct log_record *r = next(&o->config, &at, &lost);
		const bool known = r && is_known(&o->addr);
		if (r && !send(o, r)) {
			o->retry_ns = LOGGING_RETRY_MIN_NS;
			return o->due_ns = now + o->retry_ns;
		}
		o->sent += r != NULL;
		o->lost += lost;
		p->next = at;
		syslog.changed = true;
		o->retry_ns = known || !r ? 0 : longer(o->retry_ns);
		o->due_ns = now + o->retry_ns;
	}
	return now;
}

/* --- by TLS (RFC 5425) --- */

/* No connection, for that reason; the next one in a while. */
static void lost_connection(struct host *o, const char *why)
{
	const uint64_t now = core_now_ns();
	const bool stable = o->open && now - o->since_ns >= STABLE_NS;
	o->stream = NULL;
	o->open = false;
	o->retry_ns = longer(stable ? 0 : o->retry_ns);
	o->due_ns = now + o->retry_ns;
	trouble(o, why);
}

/* All that was sent has been acknowledged: it need not be sent again. */
static void note_acknowledged(struct host *o)
{
	struct position *p = &syslog.at.v[o - syslog.host];
	struct tcp_info info;
	if (p->next == o->at)
		return;
	stream_info(o->stream, &info);
	if (info.unsent || info.unacked)
		return;
	p->next = o->at;
	syslog.changed = true;
}

static void on_connected(struct stream *s)
{
	struct host *o = s->arg;
	o->open = true;
	o->since_ns = core_now_ns();
	o->at = syslog.at.v[o - syslog.host].next;
	o->connected++;
	o->why = NULL;
	log_event(LOG_NOTICE, "LOGGING-HOST", "logging host %s: connected by %s", name_of(o), tls_stream_version(s));
}

static void on_acked(struct stream *s, uint32_t bytes)
{
	(void)bytes;
	note_acknowledged(s->arg);
}

/* A receiver has nothing to say to a sender. */
static uint32_t on_data(struct stream *s, const uint8_t *data, uint32_t n)
{
	(void)data;
	stream_consumed(s, n);
	return n;
}

static void on_fin(struct stream *s)
{
	stream_close(s);
}

static void on_closed(struct stream *s, int why)
{
	lost_connection(s->arg, stream_why(s, why));
}

static void connect(struct host *o)
{
	static const struct stream_app app = {.connected = on_connected, .data = on_data, .acked = on_acked,
	                                      .fin = on_fin, .closed = on_closed};
	const struct stream_target to = {.remote = o->addr, .local = source_of(&o->addr), .port = o->config.port};
	struct tls_peer peer = {.pinned = o->config.pinned};
	const char *why;
	memcpy(peer.name, o->config.host.name, sizeof peer.name);
	memcpy(peer.fingerprint, o->config.fingerprint, sizeof peer.fingerprint);
	o->stream = tls_stream_connect(&to, &peer, &app, o, &why);
	if (!o->stream)
		lost_connection(o, why);
}

/* A message in a frame, by octet counting (RFC 5425 4.3); false: there is no room now. */
static bool send_frame(struct host *o, const struct log_record *r)
{
	char text[MESSAGE_MAX], frame[FRAME_MAX + 1];
	const size_t n = put(text, &o->config, r), head = fmt_format(frame, sizeof frame, "%zu ", n);
	memcpy(frame + head, text, n);
	return stream_room(o->stream) >= head + n && stream_send(o->stream, frame, (uint32_t)(head + n)) == head + n;
}

static uint64_t serve_tls(struct host *o)
{
	const uint64_t now = core_now_ns();
	if (!o->stream) {
		if (now < o->due_ns)
			return o->due_ns;
		if (!has_address(o, now))
			return look_up_due(o);
		connect(o);
		return o->stream ? UINT64_MAX : o->due_ns;
	}
	for (unsigned n = 0; o->open && n < LOGGING_BURST; n++) {
		uint64_t at = o->at, lost;
		if (at == log_head())
			return UINT64_MAX;
		const struct log_record *r = next(&o->config, &at, &lost);
		if (r && !send_frame(o, r))
			return UINT64_MAX; /* on_acked() says that there is room, or on_closed() that there is none */
		o->sent += r != NULL;
		o->lost += lost;
		o->at = at;
		if (!r)
			note_acknowledged(o);
	}
	return o->open ? now : UINT64_MAX;
}

uint64_t logging_timer(void)
{
	uint64_t due = UINT64_MAX;
	if (!forwarding.ready || !core_ports_running() || !syslog.port)
		return due;
	for (unsigned i = 0; i < syslog.at.hosts; i++) {
		struct host *o = &syslog.host[i];
		due = u64_min(due, o->config.tls ? serve_tls(o) : serve(o, &syslog.at.v[i]));
	}
	keep();
	return due;
}

bool logging_stats(unsigned i, struct logging_stats *s)
{
	const struct host *o = &syslog.host[i];
	if (i >= syslog.at.hosts)
		return false;
	*s = (struct logging_stats){.name = o->config.host.name,
	                            .addr = o->config.host.name[0] ? o->addr : o->config.host.addr,
	                            .port = o->config.port, .sent = o->sent, .lost = o->lost, .tls = o->config.tls,
	                            .version = o->open ? tls_stream_version(o->stream) : NULL,
	                            .connected = o->connected, .failed = o->failed, .why = o->why};
	return true;
}
