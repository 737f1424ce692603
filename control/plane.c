/*
 * The control plane's life: plane_start builds everything from the configuration while no data
 * core looks (the runtime has stopped them), then messages and timers keep it going. It may be
 * called again after a fault, or for a commit; it then builds everything anew in the same memory.
 */
#include "control/adjacency.h"
#include "control/candidate.h"
#include "control/capture.h"
#include "control/churn.h"
#include "control/commit.h"
#include "control/configure.h"
#include "control/extension.h"
#include "control/filter.h"
#include "control/fragments.h"
#include "control/groups.h"
#include "control/http.h"
#include "control/inside.h"
#include "control/plane.h"
#include "control/remote.h"
#include "control/routes.h"
#include "control/stats.h"
#include "control/tcp_control.h"
#include "control/trace.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/ip4.h"

#define CONFIG_NAME "configuration" /* of the boot module, in error messages */
#define ROUTES_MAX (1u << 20)
#define TABLES_LEAST (4u << 20) /* of the snapshot stay for the forwarding tables */
#define ROUTES_LEAST 1024
#define ROUTES_MORE CANDIDATE_ROUTES_MAX /* beside those of the text, where memory is scarce: then */
#define FILTERS_SHARE 4                  /* of its room, that filter_start may write to */
#define LEFT_EACH 24                     /* stays so much for what else a route takes, */
#define LEFT_ALL (4u << 20)              /* and so much for neighbours, fragments, the management */
#define ROUTES6_MORE 64 /* IPv6 routes that commits may add before fib6 has to be made anew */
#define HOSTS6_EACH (4 * VIEW_ADDRESSES6_MAX) /* of an interface, beside neighbours */

/* config.h knows neither machine nor runtime */
_Static_assert(CONFIG_PORTS_MAX == NIC_PORTS_MAX && CONFIG_IFS_MAX == VIEW_IFS_MAX &&
               CONFIG_VID_MAX == ETH_VID_MAX, "an interface has one number in both");
_Static_assert(CONFIG_ADDRESSES_MAX <= VIEW_ADDRESSES_MAX, "start_ports copies them");
_Static_assert(VIEW_NAME_MAX == CONFIG_IF_NAME_SIZE, "view_name has config_key_name write it");
_Static_assert(CONFIG_HOSTNAME_SIZE <= SHELL_HOSTNAME_SIZE, "none is cut");
_Static_assert(PUNT_KINDS <= CORE_PUNT_KINDS, "each has its part of the ring");
_Static_assert((int)CONFIG_IDLE_AUTO == (int)CORE_IDLE_AUTO &&
               (int)CONFIG_IDLE_POLL == (int)CORE_IDLE_POLL &&
               (int)CONFIG_IDLE_SLEEP == (int)CORE_IDLE_SLEEP, "plane_start converts them");

struct plane plane;

static void *fib_private, *fib6_private, *hosts6_private;
static size_t fib_private_bytes, fib_shared_bytes;
static uint64_t progress_tsc; /* when something was last said of the text being read */
static const struct config *sized = &plane.config; /* what the tables are to be large enough for */
static uint32_t hosts6_room, fib6_room; /* bytes of their private parts */
static uint32_t routes6_room;           /* prefixes that fib6 has been made for */
static size_t tables_at;                /* bytes of the snapshot before them */

/* --- console --- */

void plane_log(const char *format, ...)
{
	char text[256];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	shell_log(&plane.shell, text);
}

static void console_write(struct shell *sh, const char *text, size_t len)
{
	(void)sh;
	core_console_write(text, len);
}

static void plane_key(uint8_t c)
{
	shell_input(&plane.shell, (char)c);
}

/* --- start --- */

static size_t whole_pages(size_t bytes)
{
	return align_up(bytes, 4096);
}

/* IPv6 prefixes that there may be: those configured, each address' subnet, what uncover6 adds, and
 * what routers may tell an interface that listens to them. No more: each may cost 14 KiB. */
static uint32_t routes6(void)
{
	uint32_t n = sized->route6_count + ROUTES6_MORE;
	for (unsigned p = 0; p < sized->interfaces; p++) {
		const struct config_interface *i = &sized->interface[p];
		n += 3u * i->address6_count + (i->autoconfig ? VIEW_ADDRESSES6_MAX + 1 : 0);
	}
	return n;
}

/* IPv6 hosts that there may be: their table takes 1 MiB, and a few KiB where nobody speaks IPv6. */
static uint32_t hosts6(void)
{
	uint32_t n = 0;
	for (unsigned p = 0; p < sized->interfaces; p++)
		n += sized->interface[p].ipv6;
	return n ? VIEW_NEIGHBOURS + u32_max(n, NIC_PORTS_MAX) * HOSTS6_EACH : 0;
}

/* A text of a million lines takes a second and more: who waits sees that it goes on. */
static void say_progress(uint32_t lines)
{
	uint64_t now = clock_tsc();
	if (now - progress_tsc < self.info->tsc_hz)
		return;
	progress_tsc = now;
	plane_log("configuration: %u lines read", lines);
}

/* Memory for the configuration's routes, taken once per program start and in one piece, so all of it
 * or nothing. False: there is less. */
static bool take_memory(struct text text)
{
	struct config_memory *m = &plane.memory;
	const struct config_lines lines = config_count_lines(text.at, text.len);
	*m = (struct config_memory){.route_max = u32_min(lines.ip + 1, ROUTES_MAX),
	                            .route6_max = u32_min(lines.ipv6, ROUTES_MAX),
	                            .acl_rule_max = u32_min(lines.rules, CONFIG_ACL_RULES_MAX),
	                            .progress = say_progress};
	m->scratch_words = config_scratch_words(m->route_max) + config_scratch_words(m->route6_max);
	const size_t routes = whole_pages(m->route_max * sizeof *m->routes);
	const size_t routes6 = whole_pages((m->route6_max + 1) * sizeof *m->routes6);
	const size_t rules = whole_pages((m->acl_rule_max + 1) * sizeof *m->acl_rules);
	const size_t scratch = m->scratch_words * sizeof(uint32_t);
	uint8_t *at = core_private_alloc(routes + routes6 + rules + scratch);
	if (!at) {
		*m = (struct config_memory){0};
		return false;
	}
	m->routes = (struct config_route *)(void *)at;
	m->routes6 = (struct config_route6 *)(void *)(at + routes);
	m->acl_rules = (struct config_acl_rule *)(void *)(at + routes + routes6);
	m->scratch = (uint32_t *)(void *)(at + routes + routes6 + rules);
	return true;
}

bool plane_grow(void **at, uint32_t *max, size_t want, size_t each)
{
	const size_t n = want + want / 8 + 64;
	if (*at && want <= *max)
		return true;
	void *new = n * each <= UINT32_MAX ? core_private_alloc(n * each) : NULL;
	if (!new)
		return false;
	*at = new;
	*max = (uint32_t)n;
	return true;
}

/* The private parts of IPv6's tables. */
static bool take_memory6(void)
{
	const size_t fib6 = fib6_private_bytes(routes6(), fib6_shared_bytes(routes6()));
	return plane_grow(&hosts6_private, &hosts6_room, host6_private_bytes(hosts6()), 1) &&
	       plane_grow(&fib6_private, &fib6_room, fib6, 1);
}

/* Bytes of the snapshot that IPv6's tables take, and what IPv4's loses to alignment. */
static size_t shared6(void)
{
	return host6_shared_bytes(hosts6()) + fib6_shared_bytes(routes6()) + 2 * CACHE_LINE;
}

/* Finds the most routes from `least` to `most` whose table, behind the `used` bytes of the snapshot,
 * takes no more than so much of the memory that is left. How much of the shared part prefixes take
 * depends on how they lie: it is as large as for four times as many of the usual ones, or, where
 * there is little memory, as for a quarter. Either may fill up first: routes are then refused. In
 * steps of an eighth, for what a step leaves over is lost to routes. */
static bool choose_tables(uint32_t most, uint32_t least, size_t used, size_t bytes)
{
	const size_t room = core_snapshot_most();
	size_t have;
	core_snapshot_area(&have);
	used += shared6();
	for (uint32_t routes = most; routes >= least && used < room; routes -= routes / 8)
		for (uint32_t usual = 4 * routes; usual >= routes / 4; usual /= 2) {
			fib_shared_bytes = (size_t)u64_min(fib4_shared_bytes(usual), room - used);
			if (fib_shared_bytes < fib4_shared_bytes(0))
				return false;
			fib_private_bytes = fib4_private_bytes(routes, fib_shared_bytes);
			const size_t end = used + fib_shared_bytes;
			if (fib_private_bytes + (end > have ? end - have : 0) <= bytes)
				return true;
		}
	return false;
}

/* Memory of all tables, once, for as many routes as there is memory for: half of what is left, or,
 * when the text has more, most of it. used: bytes of the snapshot. */
static bool take_table_memory(size_t used)
{
	if (!take_memory6())
		return false;
	const uint32_t wanted = u32_min(ROUTES_MAX, plane.config.route_count + ROUTES_MORE);
	const size_t left = core_private_left(), others = LEFT_ALL + (size_t)LEFT_EACH * wanted;
	const size_t some = left / 2, most = left > others ? left - others : 0;
	const uint32_t least = core_takes_over() ? wanted : ROUTES_LEAST; /* or it gives up */
	if (choose_tables(ROUTES_MAX, wanted, used, some) ||
	    choose_tables(wanted, least, used, u64_max(some, most)))
		fib_private = core_private_alloc(fib_private_bytes);
	return fib_private != NULL;
}

/* Tables for the routes that there are, and a few more, would do. */
static void tell_spare(void)
{
	const uint32_t wanted = u32_min(ROUTES_MAX, plane.config.route_count + ROUTES_MORE);
	const size_t shared = u64_min(fib_shared_bytes, fib4_shared_bytes(wanted));
	const size_t private = u64_min(fib_private_bytes, fib4_private_bytes(wanted, shared));
	core_set_spare(fib_private_bytes - private, fib_shared_bytes - shared);
}

/* The MTU of a port: that configured, or the usual one if the device takes that (VIRTIO 1.2 5.1.4.1:
 * no more). */
static unsigned port_mtu(const struct config *c, unsigned port)
{
	unsigned most = core_port_nic(port)->mtu_max;
	return c->interface[port].mtu ? c->interface[port].mtu : u32_min(CONFIG_MTU_DEFAULT, most);
}

/* A VLAN carries no more than its port (802.1Q), and only routers have interfaces beside ports. */
static int check_beside(const struct config *c, const struct config_interface *i, const char *name,
                        enum core_app_number app, struct text_error *err)
{
	char word[16];
	if (app != CORE_APP_router)
		return text_fail(err, i->line, text_of(name),
		                 "the application %s has no interfaces but its ports",
		                 core_app_word(app));
	if (config_is_loopback(i) || i->mtu <= port_mtu(c, config_if_port(i)))
		return E_OK;
	fmt_format(word, sizeof word, "mtu %u", i->mtu);
	return text_fail(err, i->mtu_line, text_of(word), "%s is on eth%u, whose MTU is %u", name,
	                 config_if_port(i), port_mtu(c, config_if_port(i)));
}

/* An interface block may want what the machine does not have, or what the application that runs,
 * which the command line may have named, does not do: as bad as any bad line. */
static int check_port(const struct config *c, unsigned n, enum core_app_number app,
                      struct text_error *err)
{
	const struct config_interface *i = &c->interface[n];
	unsigned ports = core_port_count(), p = config_if_port(i), most;
	char word[16], name[CONFIG_IF_NAME_SIZE];
	if (!i->present)
		return E_OK;
	config_name(name, c, n);
	if (!config_is_loopback(i) && p >= ports)
		return text_fail(err, i->line, text_of(name), "this machine has %u port%s", ports,
		                 ports == 1 ? "" : "s");
	if (n >= CONFIG_PORTS_MAX) {
		int error = check_beside(c, i, name, app, err);
		if (error != E_OK || config_is_loopback(i))
			return error;
	}
	most = core_port_nic(p)->mtu_max;
	if (i->mtu > most) {
		fmt_format(word, sizeof word, "mtu %u", i->mtu);
		return text_fail(err, i->line, text_of(word),
		                 "the device of %s takes at most %u", name, most);
	}
	if (i->ipv6 && most < CONFIG_MTU_IP6_MIN)
		return text_fail(err, i->ipv6_line, text_of("ipv6"),
		                 "IPv6 needs an MTU of %d (RFC 8200 5); the device of %s takes %u",
		                 CONFIG_MTU_IP6_MIN, name, most);
	/* RFC 4862 5.5, RFC 4861 6.2.7: advertisements are for hosts */
	if (i->autoconfig && app == CORE_APP_router)
		return text_fail(err, i->autoconfig_line, text_of("autoconfig"),
		                 "a router does not take its addresses from the advertisements of "
		                 "others (RFC 4862); give %s an address", name);
	for (unsigned way = 0; way < CONFIG_FILTERS; way++)
		if (i->filter[way].name[0] && app != CORE_APP_router)
			return text_fail(err, i->filter[way].line, text_of(i->filter[way].name),
			                 "the application %s does not filter packets",
			                 core_app_word(app));
	for (unsigned six = 0; six < 2; six++)
		if (i->verify[six] && app != CORE_APP_router)
			return text_fail(err, i->verify_line[six], text_of("verify"),
			                 "the application %s does not verify sources", core_app_word(app));
	for (unsigned six = 0; six < 2; six++)
		if (i->redirects[six] && app != CORE_APP_router)
			return text_fail(err, i->redirects_line[six], text_of("redirects"),
			                 "the application %s sends no redirects", core_app_word(app));
	if (i->directed && app != CORE_APP_router)
		return text_fail(err, i->directed_line, text_of("directed-broadcast"),
		                 "the application %s forwards no broadcasts", core_app_word(app));
	return E_OK;
}

static int open_module(void)
{
	const char *at = (const char *)(uintptr_t)self.info->config;
	return module_open(&plane.module, (struct text){at, self.info->config_bytes}, &plane.error);
}

int plane_check(const struct config *c, enum core_app_number app, struct text_error *err)
{
	const struct app_extension *e = core_apps[app]->extension;
	int error = E_OK;
	for (unsigned n = 0; error == E_OK && n < c->interfaces; n++)
		error = check_port(c, n, app, err);
	if (error == E_OK && c->script.line && !(e && e->takes_script))
		error = text_fail(err, c->script.line, text_of("script"),
		                  "the application %s takes no script", core_app_word(app));
	return error;
}

bool plane_room(const struct config *c, bool *as_it_is)
{
	sized = c;
	*as_it_is = routes6() - ROUTES6_MORE <= routes6_room;
	bool fits = take_memory6() &&
	            core_snapshot_most() >= tables_at + shared6() + TABLES_LEAST && routes_room(c) &&
	            neighbour_room(c) && neighbour6_room(c);
	sized = &plane.config;
	return fits;
}

static struct config_wrong wrong; /* lines of the loader's text */

/* Fills plane.config, with the default one where the text or the machine does not allow another. e:
 * what open_module said. */
static void read_config(int e)
{
	const struct text text = plane.module.text;
	struct config_memory m = plane.memory;
	m.wrong = &wrong;
	progress_tsc = clock_tsc();
	if (e == E_OK)
		e = config_parse(text.at, text.len, &m, &plane.config, &plane.error);
	core_set_app(plane.config.application);
	if (e == E_OK)
		e = plane_check(&plane.config, core_app_number(), &plane.error);
	plane.configured = e == E_OK;
	if (!plane.configured)
		config_default(&plane.config);
}

/* The access lists of the configuration, behind the view's `used` bytes; returns how much is kept
 * for them, but not taken where there are none yet. Lists that do not fit are a configuration that is
 * not applied, for without them it would say something else. */
static size_t start_filters(struct view *v, size_t used)
{
	size_t bytes, have;
	core_snapshot_area(&have);
	size_t room = u64_max(have, core_snapshot_most() / 2); /* the rest will be private memory */
	if (plane.config.acl_count && core_snapshot_take(used + room / FILTERS_SHARE) != E_OK)
		room = have;
	if (filter_start(v, (uint8_t *)v + used, room - used, &bytes, &plane.error) != E_OK) {
		plane.configured = false;
		wrong.count = 0; /* it is plane.error that is told */
		config_default(&plane.config);
		commit_forget_boot();
	}
	return whole_pages(bytes);
}

/* What a port and its VLANs have. */
static void start_link(struct view *v, unsigned n, const struct config_interface *i)
{
	const struct config *c = &plane.config;
	struct view_port *vp = &v->port[n];
	unsigned port = config_if_port(i), vid = config_if_vid(i);
	bool shutdown = i->shutdown || c->interface[port].shutdown;
	*vp = (struct view_port){.mtu = (uint16_t)(i->mtu ? i->mtu : port_mtu(c, port)),
	                         .enabled = !shutdown && i->address_count,
	                         .enabled6 = !shutdown && i->ipv6,
	                         .port = (uint8_t)port,
	                         .key = i->key,
	                         .vid = (uint16_t)vid};
	eth_copy(vp->mac, core_port_nic(port)->mac);
	if (vid) {
		v->vlan[port][vid] = (uint8_t)n;
		v->tagged |= 1u << port;
	}
	struct adj *glean = &v->adj[NH_CONNECTED + n];
	glean->port = (uint8_t)port;
	glean->interface = (uint8_t)n;
	glean->state = ADJ_UNRESOLVED;
	glean->mtu = vp->mtu;
}

/* Its addresses are the machine's, whatever link is up; IPv6's need no DAD, for nobody else is
 * there (RFC 4862 5.4). */
static void start_loopback(struct view *v, unsigned n, const struct config_interface *i)
{
	struct view_port6 *six = &v->port6[n];
	v->port[n] = (struct view_port){.mtu = NIC_MTU_MAX,
	                                .enabled = !i->shutdown && i->address_count,
	                                .enabled6 = !i->shutdown && i->address6_count,
	                                .link_up = true,
	                                .port = VIEW_PORT_NONE,
	                                .key = i->key};
	plane.link_up[n] = true;
	six->count = v->port[n].enabled6 ? i->address6_count : 0;
	for (unsigned a = 0; a < six->count; a++) {
		six->addr[a] = i->address6[a].addr;
		six->plen[a] = i->address6[a].plen;
	}
}

static void start_ports(struct view *v)
{
	const struct config *c = &plane.config;
	unsigned mtu_most = CONFIG_MTU_DEFAULT;
	v->ifs = c->interfaces > NIC_PORTS_MAX ? c->interfaces : core_port_count();
	for (unsigned n = 0; n < v->ifs; n++) {
		const struct config_interface *i = &c->interface[n];
		struct view_port *vp = &v->port[n];
		if (config_is_loopback(i))
			start_loopback(v, n, i);
		else if (config_if_port(i) < core_port_count())
			start_link(v, n, i);
		else
			continue;
		vp->addresses = i->address_count;
		for (unsigned a = 0; a < i->address_count; a++) {
			vp->addr[a] = i->address[a].addr;
			vp->plen[a] = i->address[a].plen;
		}
		v->port6[n].mtu = vp->mtu;
		v->port6[n].hop_limit = IP6_HOP_LIMIT_DEFAULT;
		if (!view_is_loopback(vp) && vp->mtu > mtu_most)
			mtu_most = vp->mtu;
	}
	core_set_mtu(mtu_most);
}

static void add_route(uint32_t prefix, unsigned plen, uint32_t nh)
{
	if (fib4_insert(&plane.fib, prefix & ip4_prefix_mask(plen), plen, nh) != E_OK)
		plane.refused_routes++;
}

/* Routes that follow from an interface: its subnets, its addresses, their broadcasts. */
static void add_connected(unsigned port, const struct view_port *vp)
{
	for (unsigned a = 0; a < vp->addresses; a++) {
		uint32_t addr = vp->addr[a];
		const struct net_addr subnet = net_addr_ip4(addr);
		bool loopback = view_is_loopback(vp); /* nobody else is on its subnet */
		if (!loopback || vp->plen[a] < 32)
			routes_connected(&subnet, vp->plen[a], false,
			                 loopback ? NH_NULL0 : NH_CONNECTED + port);
		if (vp->plen[a] <= 30 && !loopback) {
			add_route(ip4_subnet_broadcast(addr, vp->plen[a]), 32, NH_BROADCAST);
			/* all zeros: the old broadcast, RFC 1812 5.3.5 */
			add_route(addr & ip4_prefix_mask(vp->plen[a]), 32, NH_BROADCAST);
		}
		add_route(addr, 32, NH_LOCAL);
	}
}

/* IPv6's part of start_routes: the prefixes alone (view.h). */
static void add_route6(const struct net_addr *prefix, unsigned plen, uint32_t nh)
{
	const struct net_addr masked = ip6_prefix_of(prefix, plen);
	if (fib6_insert(&plane.fib6, &masked, plen, nh) != E_OK)
		plane.refused_routes++;
}

/* What hosts6 says of an address counts where the prefixes lead to its link alone: one of ours, on a
 * subnet of that length, that a route to a part of it covers, now or when a link comes up, gets a
 * prefix for itself. */
static void uncover6(const struct net_addr *addr, unsigned plen, unsigned port)
{
	if (routes_cover6(addr, plen))
		add_route6(addr, 128, NH_CONNECTED + port);
}

static void start_own6(unsigned port, const struct config_interface *i)
{
	if (config_is_loopback(i))
		return; /* add_connected6 has */
	for (unsigned a = 0; a < i->address6_count; a++) {
		const struct config_address6 *own = &i->address6[a];
		const struct net_addr anycast = ip6_prefix_of(&own->addr, own->plen);
		uncover6(&own->addr, own->plen, port);
		if (ip6_is_subnet_router(&anycast, &own->addr, own->plen))
			uncover6(&anycast, own->plen, port);
	}
}

/* A link's subnets; a loopback's addresses, which no host of hosts6 is, and the rest of their
 * subnets, where nobody is. */
static void add_connected6(unsigned port, const struct config_interface *i)
{
	for (unsigned a = 0; a < i->address6_count; a++) {
		const struct config_address6 *own = &i->address6[a];
		bool loopback = config_is_loopback(i);
		if (!loopback || own->plen < 128)
			routes_connected(&own->addr, own->plen, true,
			                 loopback ? NH_NULL0 : NH_CONNECTED + port);
		if (loopback)
			add_route6(&own->addr, 128, NH_LOCAL);
	}
}

static void start_connected6(const struct view *v)
{
	for (unsigned p = 0; p < v->ifs; p++)
		if (v->port[p].enabled6)
			add_connected6(p, &plane.config.interface[p]);
}

static void start_routes(const struct view *v)
{
	add_route(IP4(224, 0, 0, 0), 4, NH_MULTICAST);
	add_route(IP4_BROADCAST, 32, NH_BROADCAST);
	for (unsigned p = 0; p < v->ifs; p++)
		if (v->port[p].enabled)
			add_connected(p, &v->port[p]);
	start_connected6(v);
	routes_configured();
	for (unsigned p = 0; p < v->ifs; p++)
		if (v->port[p].enabled6)
			start_own6(p, &plane.config.interface[p]);
}

static void start_services(struct view *v)
{
	v->services = plane.config.services;
	/* app=echo of the command line comes without `application echo`, which implies this */
	if (!services_any(&v->services, SERVICE_UDP) && !services_any(&v->services, SERVICE_TCP))
		services_default(&v->services);
	v->tcp_connections = plane.config.tcp_connections;
	servers_prepare(v);
}

/* The tables that data cores read, behind the view: IPv6's as large as need be, IPv4's has the
 * rest, as far as it has memory for that (take_table_memory). */
static bool start_tables(struct view *v, size_t used)
{
	uint8_t *at = (uint8_t *)v + used;
	const size_t bytes = u64_min(core_snapshot_most(), used + shared6() + fib_shared_bytes);
	if (bytes < used || core_snapshot_take(bytes) != E_OK)
		return false;
	const size_t room = bytes - used;
	const size_t hosts = host6_shared_bytes(hosts6()), six = fib6_shared_bytes(routes6());
	uint64_t key[2];
	if (room < shared6())
		return false;
	core_random(key, sizeof key);
	host6_init(&plane.hosts6, hosts6(), at, hosts6_private, key);
	at += align_up(hosts, CACHE_LINE);
	if (fib6_init(&plane.fib6, at, six, fib6_private, fib6_private_bytes(routes6(), six)) != E_OK)
		return false;
	at += align_up(six, CACHE_LINE);
	routes6_room = routes6();
	if (fib4_init(&plane.fib, at, u64_min(room - shared6(), fib_shared_bytes), fib_private,
	              fib_private_bytes) != E_OK)
		return false;
	fib_use(&plane.fib, fib_path_for(vector_bits()));
	fib_use(&plane.fib6, fib_path_for(vector_bits()));
	v->hosts6 = plane.hosts6.table;
	v->fib6 = plane.fib6.fib;
	v->fib = plane.fib.fib;
	return true;
}

void plane_snapshot_used(size_t *before, size_t *tables)
{
	*before = tables_at;
	*tables = plane.fib_ready ? shared6() + fib_shared_bytes : 0;
}

/* The application's commands, and its part of the snapshot behind the view's `used` bytes; returns
 * how large that is. */
static size_t place_extension(struct view *v, size_t used)
{
	const struct app_extension *e = extension_get();
	size_t more = e && e->snapshot_more ? whole_pages(e->snapshot_more()) : 0;
	if (!shell_runs(&plane.shell))
		commands_set(&plane.shell);
	assert(!e || e->shared_bytes <= view_extension_room());
	const size_t room = core_snapshot_most();
	if (!e || core_snapshot_take(used + e->snapshot_bytes) != E_OK)
		return 0;
	v->extension = (uint8_t *)v + used;
	memset(v->extension, 0, e->snapshot_bytes);
	size_t bytes = whole_pages(e->snapshot_bytes);
	if (more == 0 || room - used < bytes + TABLES_LEAST ||
	    room - used - bytes - TABLES_LEAST < more ||
	    core_snapshot_take(used + bytes + more) != E_OK)
		return bytes;
	v->extension_more = (uint8_t *)v->extension + bytes;
	return bytes + more;
}

/* A text that there is no memory for is as a bad one. */
static void refuse_config(uint64_t bytes)
{
	const struct boot_info *b = self.info;
	plane.configured = false;
	text_fail(&plane.error, 1, text_of(""),
	          "its %llu KiB are too much for this machine of %llu MiB",
	          (unsigned long long)(bytes + 1023) >> 10, (unsigned long long)b->ram_bytes >> 20);
}

/* The configuration that the loader brought: once, for what commits make of it stays. False: there
 * is no memory even for an empty one. */
static bool start_config(void)
{
	int module = open_module();
	const struct text text = plane.module.text;
	config_default(&plane.config);
	plane.configured = true;
	if (self.info->config_left_out)
		refuse_config(self.info->config_left_out);
	if (!take_memory(text)) {
		refuse_config(text.len);
		return take_memory(text_of(""));
	}
	if (self.info->config_bytes)
		read_config(module);
	return true;
}

/* The tables beside those of forwarding; returns what there is no memory for, NULL: nothing. */
static const char *start_others(void)
{
	if (neighbour_start() != E_OK || neighbour6_start() != E_OK)
		return "neighbours";
	if (fragments_start() != E_OK)
		return "fragments";
	memory_note("neighbours, fragments");
	if (!routes_start())
		return "routes";
	memory_note("routes of all sources");
	return NULL;
}

static void plane_start(void)
{
	static bool have_memory, ok, have_tables;
	struct view *v;
	size_t have, view_bytes = whole_pages(sizeof *v);
	v = core_snapshot_area(&have);
	assert(have >= view_bytes); /* the kernel gives megabytes (kernel/shares.c) */
	count_n(CNT_drop_restart, plane.waiting);
	plane.waiting = 0;
	memset(v, 0, sizeof *v); /* data cores have let go of the ports, and with them of all of it */
	v->started = clock_tsc();
	memset(plane.link_up, 0, sizeof plane.link_up);
	memset(adjacency_carried, 0, sizeof adjacency_carried);
	stats_restart();
	remote_stop();
	capture_stop();
	trace_stop();
	churn_forget();
	tcp_control_stop();
	plane.refused_routes = plane.refused_hosts = 0;
	memory_note(have_memory ? memory_later : "devices");
	if (!have_memory) {
		shell_init(&plane.shell, NULL, 0, console_write);
		ok = start_config();
		have_memory = true;
		if (ok)
			commit_resume();
	} else {
		commit_take();
	}
	memory_note("configuration");
	view_bytes += start_filters(v, view_bytes);
	shell_set_hostname(&plane.shell, plane.config.hostname);
	core_set_app(plane.config.application);
	view_bytes += place_extension(v, view_bytes);
	memory_note("access lists, application");
	have_tables = have_tables || (ok && take_table_memory(view_bytes));
	tables_at = view_bytes;
	plane.fib_ready = have_tables && start_tables(v, view_bytes);
	tell_spare();
	memory_note("forwarding tables, the writer's part");
	core_set_idle((enum core_idle)plane.config.idle);
	start_ports(v);
	policy_set();
	groups_start();
	local_start();
	const char *missing = plane.fib_ready ? start_others() : ok ? "forwarding" : "the configuration";
	plane.fib_ready = !missing;
	if (missing) {
		plane_log("not enough memory for the tables (%s): nothing is forwarded", missing);
		memset(v->port, 0, sizeof v->port);
		return;
	}
	start_routes(v);
	start_services(v);
	memory_note("management");
	if (extension_get() && extension_get()->start)
		extension_get()->start();
}

static void report_ready(void)
{
	uint64_t us = clock_ns(&self.clock, clock_tsc() - self.info->tsc_boot) / 1000;
	unsigned cores = core_data_count();
	plane_log("ready: %u port%s, %u data core%s, %llu.%llu ms after boot", core_port_count(),
	          core_port_count() == 1 ? "" : "s", cores, cores == 1 ? "" : "s",
	          (unsigned long long)us / 1000, (unsigned long long)us / 100 % 10);
}

static void report_wrong(void)
{
	char text[400], name[64];
	const struct text_error *row = wrong.count > 0 ? wrong.row : &plane.error;
	const uint32_t told = u32_min(wrong.count, CONFIG_WRONG_MAX);
	if (!core_option("config", name, sizeof name))
		memcpy(name, CONFIG_NAME, sizeof CONFIG_NAME);
	for (uint32_t i = 0; i == 0 || i < told; i++) {
		text_error_format(text, sizeof text, name, &row[i]);
		plane_log("%s", text);
	}
	if (wrong.count > told)
		plane_log("%s: %u more line%s wrong", name, wrong.count - told,
		          wrong.count == told + 1 ? " is" : "s are");
	plane_log("nothing of the configuration is applied");
}

static void plane_ports(void)
{
	static bool greeted;
	if (!plane.configured) {
		report_wrong();
	} else if (self.info->config_bytes == 0) {
		plane_log("no configuration was given: all interfaces are down");
	}
	servers_start();
	commit_done();
	if (core_ports_running())
		report_ready();
	if (!greeted) {
		shell_start(&plane.shell);
		core_console_open();
	}
	greeted = true;
	if (extension_get() && extension_get()->ports)
		extension_get()->ports();
}

/* An interface whose port's link went up or down. */
static void interface_link(unsigned n, bool up)
{
	plane.link_up[n] = up;
	__atomic_store_n(&view_get()->port[n].link_up, up, __ATOMIC_RELAXED);
	if (!plane.fib_ready)
		return;
	if (up)
		arp_announce(&plane.arp, n);
	else
		arp_flush_port(&plane.arp, n);
	neighbour_link(n, up);
	routes_link(n);
}

static void plane_link(unsigned port, const struct nic_link *link)
{
	const struct view *v = view_get();
	plane_log("eth%u: link %s", port, link->up ? "up" : "down");
	for (unsigned n = 0; n < v->ifs; n++)
		if (view_has_link(v, n) && v->port[n].port == port)
			interface_link(n, link->up);
	if (!plane.fib_ready)
		return;
	if (extension_get() && extension_get()->link)
		extension_get()->link(port, link->up);
}

/* --- messages and timers --- */

/* Version 6, as the packet itself says: in one that waits there is no Ethernet header. */
static bool is_ip6(const struct core_msg *m)
{
	return m->len > ETH_HLEN && m->frame[ETH_HLEN] >> 4 == 6;
}

/* A packet whose neighbour is not known yet. Its fate comes when it leaves the ARP queue. */
static void resolve(const struct core_msg *m, enum frame_origin origin)
{
	static uint8_t frame[BUF_STRIDE_JUMBO];
	struct view *v = view_get();
	const uint8_t *ip = frame + ETH_HLEN;
	bool transit = origin == FRAME_TRANSIT;
	if (is_ip6(m)) {
		local6_resolve(m, origin);
		return;
	}
	if (m->len < ETH_HLEN + IP4_HLEN) {
		if (transit)
			plane_fate(CNT_drop_ip4_short);
		return;
	}
	memcpy(frame, m->frame, m->len);
	/* Looked up anew: since the data core did, its neighbour may have been forgotten. */
	uint32_t nh = transit ? view_flow4(v, ip) : view_way4(v, ip4_dst(ip));
	int port = view_port_of(v, nh);
	if (port < 0) {
		if (transit) {
			plane_fate(CNT_drop_ip4_no_route);
			local_error(ip, m->len - ETH_HLEN, ICMP4_UNREACH, ICMP4_UNREACH_NET);
		}
		return;
	}
	if (!plane.link_up[port] && !transit) {
		count(CNT_originated_drop_tx);
		return;
	}
	if (!plane.link_up[port]) {
		plane_fate(CNT_drop_tx_down);
		local_error(ip, m->len - ETH_HLEN, ICMP4_UNREACH, ICMP4_UNREACH_HOST);
		return;
	}
	int pair = transit ? -1 : core_pair_of(m->core);
	neighbour_output(nh, ip4_dst(ip), frame, m->len, origin,
	                 pair < 0 ? PAIR_ANY : (unsigned)pair);
}

/* CNT_NONE: it has been counted, or there is none yet. */
static void count_fate(enum counter fate)
{
	if (fate != CNT_NONE)
		plane_fate(fate);
}

static void serve_msg(const struct core_msg *m)
{
	/* a data core names an interface that there is, unless it is out of its mind */
	if (!plane.fib_ready || !view_exists(view_get(), m->port)) {
		if (m->kind != PUNT_OWN)
			plane_fate(CNT_drop_port_down);
		return;
	}
	switch ((enum punt_kind)m->kind) {
	case PUNT_ARP:
		plane_fate(arp_input(&plane.arp, m->port, m->frame, m->len, core_now_ns()));
		break;
	case PUNT_ND:
	case PUNT_LOCAL:
	case PUNT_TCP:
	case PUNT_FRAGMENT:
		count_fate(is_ip6(m) ? local6_input(m) : local_input(m));
		break;
	case PUNT_RESOLVE:
		resolve(m, FRAME_TRANSIT);
		break;
	case PUNT_OWN:
		resolve(m, FRAME_OWN);
		break;
	}
}

static void plane_msg(const struct core_msg *m)
{
	bool followed = unlikely(m->traced != 0) && trace_message(m);
	plane.from = m->port;
	serve_msg(m);
	plane.from = VIEW_IFS_MAX;
	if (followed)
		trace_leave();
}

/* What data cores may have been reading when it was given up can be used again. */
static void reclaim(void)
{
	if (!plane.fib_ready || (!fib_retired(&plane.fib) && !fib_retired(&plane.fib6) &&
	                         !host6_resting(&plane.hosts6) && !groups_resting()) ||
	    !core_quiesce())
		return;
	fib_reclaim(&plane.fib);
	fib_reclaim(&plane.fib6);
	host6_reclaim(&plane.hosts6);
	groups_reclaim();
	routes_retry();
}

/* The TSC when TCP or its servers want to be called again. */
static uint64_t management_timer(void)
{
	uint64_t now = core_now_us();
	tcp_control_tick();
	uint64_t due = http_turn(), remote = remote_turn(), capture = capture_turn();
	uint64_t trace = trace_turn();
	due = trace < due ? trace : due;
	due = remote < due ? remote : due;
	due = capture < due ? capture : due;
	uint64_t tcp = tcp_control_deadline();
	due = tcp < due ? tcp : due;
	if (due == UINT64_MAX)
		return UINT64_MAX;
	/* counted from now, not from time 0: the two conversions round differently */
	return self.now_tsc + (due > now ? clock_ticks(&self.clock, (due - now) * 1000) + 1 : 0);
}

static uint64_t plane_timer(void)
{
	uint64_t next = ping_timer(), arp = plane.fib_ready ? neighbour_timer() : UINT64_MAX;
	next = arp < next ? arp : next;
	uint64_t rates = rates_timer(), summary = summary_timer();
	next = rates < next ? rates : next;
	next = summary < next ? summary : next;
	uint64_t fragments = fragments_timer();
	next = fragments < next ? fragments : next;
	uint64_t commit = commit_timer(), churn = churn_timer();
	next = commit < next ? commit : next;
	next = churn < next ? churn : next;
	next = u64_min(next, config_hash_timer());
	reclaim();
	next = plane.fib_ready && routes_work() ? core_now_ns() : next;
	next = next == UINT64_MAX ? UINT64_MAX : clock_ticks(&self.clock, next) + 1;
	uint64_t management = management_timer();
	next = management < next ? management : next;
	const struct app_extension *e = extension_get();
	uint64_t more = e && e->timer && plane.fib_ready ? e->timer() : UINT64_MAX;
	return more < next ? more : next;
}

static void plane_inject(struct pkt *p, uint32_t kind, uint32_t arg)
{
	core_hand_set(p, 1);
	if (kind == INJECT_FAULT)
		view_test_fault((enum test_fault)arg);
	if (kind != INJECT_APP)
		core_tx(p->port, p);
	else if (core_app()->data_msg)
		core_app()->data_msg(p, arg);
	else
		pkt_free(&self.pool, p);
}

const struct control_hooks plane_hooks = {
	.start = plane_start,
	.adopt = adopt_tables,
	.ports = plane_ports,
	.link = plane_link,
	.msg = plane_msg,
	.punt_kinds = PUNT_KINDS,
	.key = plane_key,
	.timer = plane_timer,
	.tap = view_tap,
	.trace = view_follow,
	.inject = plane_inject,
};
