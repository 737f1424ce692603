/* See logging.h. */
#include "control/management/logging.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/tables.h"
#include "control/host/output6.h"
#include "control/host/udp_control.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/syslog.h"
#include "runtime/sealed.h"
#include "runtime/walltime.h"

#define APP_NAME "hayate"
#define MESSAGE_MAX 1024

/* A host, and the number of its next message. What outlives the program is untrusted: any number is one of a message. */
struct position {
	struct net_addr addr;
	uint64_t port;
	uint64_t next; /* 0: from the oldest message on */
};
struct positions {
	uint64_t hosts;
	struct position v[CONFIG_LOG_HOSTS_MAX];
};
static struct sealed kept = SEALED(CORE_PERSIST_SYSLOG, 2, struct positions);

static struct {
	struct positions at;
	struct host {
		uint64_t sent, lost;
		uint64_t due_ns;   /* not before */
		uint64_t retry_ns; /* 0: the next hop is known */
	} host[CONFIG_LOG_HOSTS_MAX];
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

static const struct position *find(const struct positions *p, const struct config_log_host *h)
{
	for (unsigned i = 0; p && i < p->hosts && i < CONFIG_LOG_HOSTS_MAX; i++)
		if (p->v[i].port == h->port && net_addr_equal(&p->v[i].addr, &h->addr))
			return &p->v[i];
	return NULL;
}

/* Where the host begins: where it was, as this program or the one before knows. A host of the configuration at boot gets
 * what has happened since the boot, a new one what happens from now on. */
static struct position begin(const struct positions *before, const struct config_log_host *h)
{
	const struct position *was = find(before, h);
	return was ? *was : (struct position){h->addr, h->port, before ? log_head() : 0};
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

/* Nobody sends us anything. */
static enum counter refuse(const struct udp_datagram *d, const struct udp_arrival *from)
{
	(void)d, (void)from;
	return CNT_drop_udp_port;
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
	memset(syslog.host, 0, sizeof syslog.host);
	if (l->hosts && !syslog.port)
		syslog.port = udp_listen_any(refuse);
	begun = true;
	syslog.changed |= l->hosts || (before && before->hosts);
	keep();
}

/* --- sending --- */

/* The source address for messages to dst. All zeros, by the route to dst, unless the configuration has named an interface
 * that has an address of dst's family. */
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

static bool send(const struct config_log_host *h, const struct log_record *r)
{
	char text[MESSAGE_MAX];
	struct udp_message m = {.dst = h->addr, .src_port = syslog.port, .dst_port = h->port, .data = text};
	const struct syslog_message s = {
		.facility = SYSLOG_LOCAL0 + h->facility, .level = r->level, .utc_ns = r->utc_ns,
		.synchronized = walltime_source() == WALLTIME_NTP, .hostname = running.config.hostname, .app = APP_NAME,
		.msgid = r->facility, .sequence = r->number, .since_boot_ns = r->since_boot_ns, .text = r->text};
	m.data_len = (unsigned)syslog_put(text, sizeof text, &s);
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

/* Sends what is due to a host; returns when the next is. */
static uint64_t serve(const struct config_log_host *h, struct host *o, struct position *p)
{
	const uint64_t now = core_now_ns();
	for (unsigned n = 0; n < LOGGING_BURST; n++) {
		uint64_t at = p->next, lost;
		if (at == log_head())
			return UINT64_MAX;
		if (o->retry_ns && now < o->due_ns && !is_known(&h->addr))
			return o->due_ns;
		const struct log_record *r = next(h, &at, &lost);
		const bool known = r && is_known(&h->addr);
		if (r && !send(h, r)) {
			o->retry_ns = LOGGING_RETRY_MIN_NS;
			return o->due_ns = now + o->retry_ns;
		}
		o->sent += r != NULL;
		o->lost += lost;
		p->next = at;
		syslog.changed = true;
		o->retry_ns = known || !r ? 0 : u64_min(u64_max(2 * o->retry_ns, LOGGING_RETRY_MIN_NS), LOGGING_RETRY_MAX_NS);
		o->due_ns = now + o->retry_ns;
	}
	return now;
}

uint64_t logging_timer(void)
{
	const struct config_logging *l = &running.config.logging;
	uint64_t due = UINT64_MAX;
	if (!forwarding.ready || !core_ports_running() || !syslog.port)
		return due;
	for (unsigned i = 0; i < l->hosts && i < syslog.at.hosts; i++)
		due = u64_min(due, serve(&l->host[i], &syslog.host[i], &syslog.at.v[i]));
	keep();
	return due;
}

bool logging_stats(unsigned i, struct logging_stats *s)
{
	if (i >= running.config.logging.hosts || i >= syslog.at.hosts)
		return false;
	*s = (struct logging_stats){syslog.at.v[i].addr, (uint16_t)syslog.at.v[i].port, syslog.host[i].sent,
	                            syslog.host[i].lost};
	return true;
}
