/* The configuration as text; see config.h, invariant 3. Defaults are left out, except in the first
 * three lines, which tell the reader what kind of machine this is. */
#include "control/config/config.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/log_level.h"
#include "net/ip6.h"
#include "net/routing.h"

struct printer {
	config_write_fn write;
	void *ctx;
};

static void PRINTF_LIKE(2, 3) print_line(const struct printer *p, const char *format, ...)
{
	char line[256];
	__builtin_va_list args;
	__builtin_va_start(args, format);
	size_t n = fmt_vformat(line, sizeof line - 1, format, args);
	__builtin_va_end(args);
	assert(n < sizeof line - 1);
	line[n] = '\n';
	p->write(p->ctx, line, n + 1);
}

static const char *idle_word(enum config_idle i)
{
	return i == CONFIG_IDLE_POLL ? "poll" : i == CONFIG_IDLE_SLEEP ? "sleep" : "auto";
}

static void print_interface6(const struct printer *p, const struct config_interface *i)
{
	char text[FMT_PREFIX6_MAX];
	const bool link_local = !net_addr_is_any(&i->link_local6);
	if (i->ipv6 && !link_local && !i->autoconfig && i->address6_count == 0)
		print_line(p, " ipv6 enable");
	if (link_local)
		print_line(p, " ipv6 address %s link-local", fmt_ip6(text, &i->link_local6));
	if (i->autoconfig)
		print_line(p, " ipv6 address autoconfig");
	for (unsigned k = 0; k < i->address6_count; k++)
		print_line(p, " ipv6 address %s",
		           fmt_prefix6(text, &i->address6[k].addr, i->address6[k].plen));
	if (i->ra_suppress)
		print_line(p, " ipv6 nd ra suppress");
	if (i->ra_interval_s != 0)
		print_line(p, " ipv6 nd ra interval %u", i->ra_interval_s);
	if (i->ra_lifetime_said)
		print_line(p, " ipv6 nd ra lifetime %u", i->ra_lifetime_s);
	for (unsigned k = 0; k < i->ra_server_count; k++)
		print_line(p, " ipv6 nd ra dns %s", fmt_ip6(text, &i->ra_server[k]));
	if (i->ra_managed)
		print_line(p, " ipv6 nd managed-config-flag");
	if (i->ra_other)
		print_line(p, " ipv6 nd other-config-flag");
}

static void print_filters(const struct printer *p, const struct config_interface *i)
{
	const struct config_filter *f = i->filter;
	if (f[CONFIG_FILTER_IN4].name[0] != 0)
		print_line(p, " ip access-group %s in", f[CONFIG_FILTER_IN4].name);
	if (f[CONFIG_FILTER_OUT4].name[0] != 0)
		print_line(p, " ip access-group %s out", f[CONFIG_FILTER_OUT4].name);
	if (f[CONFIG_FILTER_IN6].name[0] != 0)
		print_line(p, " ipv6 traffic-filter %s in", f[CONFIG_FILTER_IN6].name);
	if (f[CONFIG_FILTER_OUT6].name[0] != 0)
		print_line(p, " ipv6 traffic-filter %s out", f[CONFIG_FILTER_OUT6].name);
	if (f[CONFIG_FILTER_IN_MAC].name[0] != 0)
		print_line(p, " mac access-group %s in", f[CONFIG_FILTER_IN_MAC].name);
	if (i->deny_silently)
		print_line(p, " no ip unreachables");
	if (i->deny_silently6)
		print_line(p, " no ipv6 unreachables");
}

static void print_policy(const struct printer *p, const struct config_interface *i)
{
	for (unsigned six = 0; six < 2; six++)
		if (i->verify[six])
			print_line(p, " %s verify unicast source reachable-via %s allow-default",
			           six ? "ipv6" : "ip", i->verify[six] == VERIFY_RX ? "rx" : "any");
	for (unsigned six = 0; six < 2; six++)
		if (i->redirects[six])
			print_line(p, " %s redirects", six ? "ipv6" : "ip");
	if (i->directed)
		print_line(p, " ip directed-broadcast");
}

static void print_acl_head(const struct printer *p, const struct config_acl *l)
{
	print_line(p, "!");
	print_line(p, "%s access-list %s", config_acl_word(l->kind), l->name);
}

static void print_acl(const struct printer *p, const struct config *c, const struct config_acl *l)
{
	char text[CONFIG_ACL_RULE_TEXT];
	print_acl_head(p, l);
	for (uint32_t r = 0; r < l->rules; r++)
		print_line(p, " %s", config_acl_rule_text(text, &c->acl_rules[l->first + r], l->kind));
}

static void print_engine_interface(const struct printer *p, const struct config_interface *i)
{
	char words[128];
	struct fmt_buf b = {words, sizeof words, 0, false};
	if (i->engine_vni != 0)
		print_line(p, " routing engine vni %u", i->engine_vni);
	if (i->engine_protocols == 0)
		return;
	for (unsigned r = 0; r < ROUTING_PROTOCOLS_END; r++)
		if (i->engine_protocols >> r & 1)
			fmt_put(&b, " %s", routing_desc[r].word);
	print_line(p, " routing engine protocols%s", words);
}

static void print_xdp(const struct printer *p, const struct config *c, const struct config_interface *i)
{
	for (unsigned k = 0; k < c->xdp_count; k++) {
		const struct config_xdp *x = &c->xdp[k];
		if (x->interface == i->key)
			print_line(p, " xdp %s%s%s", x->object, x->program[0] ? " " : "", x->program);
	}
}

static void print_steer(const struct printer *p, const struct config *c, const struct config_interface *i)
{
	char text[CONFIG_STEER_TEXT];
	for (unsigned k = 0; k < c->steer_count; k++)
		if (c->steer[k].interface == i->key)
			print_line(p, " steer %s", config_steer_text(text, &c->steer[k]));
}

static void print_stp_port(const struct printer *p, const struct config_stp_port *s)
{
	if (s->cost)
		print_line(p, " spanning-tree cost %u", s->cost);
	if (s->priority != CONFIG_STP_PORT_PRIORITY)
		print_line(p, " spanning-tree port-priority %u", s->priority);
	if (s->link_type != STP_LINK_AUTO)
		print_line(p, " spanning-tree link-type %s",
		           s->link_type == STP_LINK_SHARED ? "shared" : "point-to-point");
	if (s->portfast != CONFIG_PORTFAST_AUTO)
		print_line(p, " spanning-tree portfast%s", s->portfast == CONFIG_PORTFAST_OFF ? " disable" : "");
	if (s->guard)
		print_line(p, " spanning-tree bpduguard enable");
}

static void print_stp(const struct printer *p, const struct config_stp *s)
{
	const struct stp_params *b = &s->bridge, d = STP_PARAMS_DEFAULT;
	if (s->off || b->version != d.version)
		print_line(p, "spanning-tree mode %s", s->off ? "none" : "stp");
	if (b->priority != d.priority)
		print_line(p, "spanning-tree priority %u", b->priority);
	if (b->hello_s != d.hello_s)
		print_line(p, "spanning-tree hello-time %u", b->hello_s);
	if (b->max_age_s != d.max_age_s)
		print_line(p, "spanning-tree max-age %u", b->max_age_s);
	if (b->forward_delay_s != d.forward_delay_s)
		print_line(p, "spanning-tree forward-time %u", b->forward_delay_s);
	if (b->tx_hold != d.tx_hold)
		print_line(p, "spanning-tree transmit hold-count %u", b->tx_hold);
	if (s->recovers)
		print_line(p, "errdisable recovery cause bpduguard");
	if (s->storm_recovers)
		print_line(p, "errdisable recovery cause storm-control");
	if (s->recovery_s != CONFIG_RECOVERY_DEFAULT_S)
		print_line(p, "errdisable recovery interval %u", s->recovery_s);
}

static void print_switchport(const struct printer *p, const struct config_switchport *s)
{
	static const char *const storms[CONFIG_STORMS] = {"broadcast", "multicast", "unknown-unicast"};
	char list[CONFIG_VID_LIST + 1];
	if (s->trunk)
		print_line(p, " switchport mode trunk");
	if (s->access)
		print_line(p, " switchport access vlan %u", s->access);
	if (s->no_native)
		print_line(p, " switchport trunk native vlan none");
	else if (s->native)
		print_line(p, " switchport trunk native vlan %u", s->native);
	if (s->lists)
		print_line(p, " switchport trunk allowed vlan %s",
		           config_vid_list(list, s->allowed)[0] ? list : "none");
	if (s->limit)
		print_line(p, " mac address-table limit %u", s->limit);
	if (s->unknown_multicast)
		print_line(p, " switchport unknown-multicast flood");
	for (unsigned k = 0; k < CONFIG_STORMS; k++)
		if (s->storm[k])
			print_line(p, " storm-control %s level %u", storms[k], s->storm[k]);
	if (s->storm_shutdown)
		print_line(p, " storm-control action shutdown");
	print_stp_port(p, &s->stp);
}

static void print_lldp(const struct printer *p, const struct config_lldp *l)
{
	if (l->run)
		print_line(p, "lldp run");
	if (l->timer_s)
		print_line(p, "lldp timer %u", l->timer_s);
	if (l->hold_s)
		print_line(p, "lldp holdtime %u", l->hold_s);
}

static void print_log_level(const struct printer *p, const char *what, const struct config_log_level *l)
{
	if (l->line)
		print_line(p, "logging %s %s", what, l->off ? "off" : log_level_word((enum log_level)l->level));
}

static void print_logging(const struct printer *p, const struct config_logging *l)
{
	char addr[FMT_ADDR_MAX], name[CONFIG_IF_NAME_SIZE];
	print_log_level(p, "console", &l->console);
	print_log_level(p, "buffered", &l->buffered);
	for (unsigned k = 0; k < l->hosts; k++) {
		const struct config_log_host *h = &l->host[k];
		char pin[2 * SHA256_BYTES + 1] = "";
		for (unsigned i = 0; h->pinned && i < SHA256_BYTES; i++)
			fmt_format(pin + 2 * i, 3, "%02x", h->fingerprint[i]);
		print_line(p, "logging host %s%s port %u level %s facility local%u%s%s",
		           h->host.name[0] ? h->host.name : fmt_addr(addr, h->host.addr.w),
		           h->tls ? " transport tls" : "", h->port, log_level_word((enum log_level)h->level),
		           h->facility, h->pinned ? " fingerprint " : "", pin);
	}
	if (l->source_line)
		print_line(p, "logging source-interface %s", config_key_name(name, l->source));
}

static void print_time(const struct printer *p, const struct config_time *t)
{
	char addr[FMT_ADDR_MAX];
	if (t->domain[0])
		print_line(p, "ip domain %s", t->domain);
	for (unsigned i = 0; i < t->name_servers; i++)
		print_line(p, "ip name-server %s", fmt_addr(addr, &t->name_server[i]));
	for (unsigned i = 0; i < t->servers; i++) {
		const struct config_ntp_server *s = &t->server[i];
		char low[16] = "", high[16] = "";
		if (s->poll_min != CONFIG_NTP_POLL_MIN_DEFAULT)
			fmt_format(low, sizeof low, " minpoll %u", s->poll_min);
		if (s->poll_max != CONFIG_NTP_POLL_MAX_DEFAULT)
			fmt_format(high, sizeof high, " maxpoll %u", s->poll_max);
		print_line(p, "ntp server %s%s%s%s%s", s->host.name[0] ? s->host.name : fmt_addr(addr, &s->host.addr),
		           s->prefer ? " prefer" : "", s->iburst ? " iburst" : "", low, high);
	}
}

static void print_sflow(const struct printer *p, const struct config_sflow *s)
{
	char addr[FMT_ADDR_MAX];
	for (unsigned k = 0; k < s->collectors; k++)
		print_line(p, "sflow collector %s port %u", fmt_addr(addr, s->collector[k].addr.w),
		           s->collector[k].port);
	if (s->rate)
		print_line(p, "sflow sampling-rate %u", s->rate);
	if (s->interval_s)
		print_line(p, "sflow polling-interval %u", s->interval_s);
}

static void print_snoop_vlans(const struct printer *p, const char *words, const uint64_t *set, const char *what)
{
	for (unsigned vid = 1; vid <= CONFIG_VID_MAX; vid++)
		if (set[vid / 64] >> vid % 64 & 1)
			print_line(p, "%s vlan %u %s", words, vid, what);
}

static void print_snoop(const struct printer *p, const struct config *c)
{
	static const char *const words[CONFIG_SNOOPS] = {"ip igmp snooping", "ipv6 mld snooping"};
	char name[CONFIG_IF_NAME_SIZE];
	for (unsigned f = 0; f < CONFIG_SNOOPS; f++) {
		const struct config_snoop *s = &c->snoop[f];
		if (s->off)
			print_line(p, "%s off", words[f]);
		if (s->querier)
			print_line(p, "%s querier", words[f]);
		if (s->interval_s)
			print_line(p, "%s query-interval %u", words[f], s->interval_s);
		print_snoop_vlans(p, words[f], s->vlan_off, "off");
		print_snoop_vlans(p, words[f], s->vlan_querier, "querier");
		print_snoop_vlans(p, words[f], s->fast_leave, "fast-leave");
	}
	for (unsigned k = 0; k < c->mrouter_count; k++)
		print_line(p, "%s vlan %u mrouter interface %s", words[c->mrouter[k].family], c->mrouter[k].vid,
		           config_key_name(name, c->mrouter[k].port));
}

static void print_monitors(const struct printer *p, const struct config *c)
{
	char name[CONFIG_IF_NAME_SIZE];
	for (unsigned n = 0; n < CONFIG_MONITORS; n++) {
		const struct config_monitor *m = &c->monitor[n];
		for (unsigned port = 0; port < CONFIG_PORTS_MAX; port++) {
			const bool rx = m->rx >> port & 1, tx = m->tx >> port & 1;
			if (rx || tx)
				print_line(p, "monitor session %u source interface %s%s", n + 1,
				           config_key_name(name, port), rx && tx ? "" : rx ? " rx" : " tx");
		}
		if (m->has_destination)
			print_line(p, "monitor session %u destination interface %s", n + 1,
			           config_key_name(name, m->destination));
	}
}

/* A port's part in a port channel, or what a port channel asks of its ports. */
static void print_lacp(const struct printer *p, const struct config *c, const struct config_interface *i)
{
	static const char *const modes[] = {
		[LACP_PASSIVE] = "passive", [LACP_ACTIVE] = "active", [LACP_ON] = "on"};
	const bool channel = config_is_channel(i) && config_if_vid(i) == 0;
	if (channel && c->min_links[i->key & 0xff])
		print_line(p, " port-channel min-links %u", c->min_links[i->key & 0xff]);
	if (i->key >= CONFIG_PORTS_MAX)
		return;
	const struct config_member *m = &c->member[i->key];
	if (m->channel)
		print_line(p, " channel-group %u mode %s", m->channel, modes[m->mode]);
	if (m->fast)
		print_line(p, " lacp rate fast");
	if (m->has_priority)
		print_line(p, " lacp port-priority %u", m->priority);
}

static void print_dhcp_interface(const struct printer *p, const struct config *c, const struct config_interface *i)
{
	const struct config_dhcp_client *d = config_dhcp_client(c, i->key);
	char text[CONFIG_DHCP_TEXT], addr[FMT_ADDR_MAX], name[CONFIG_IF_NAME_SIZE];
	if (d) {
		config_dhcp_text(d, text);
		print_line(p, " %s", text);
	}
	for (unsigned k = 0; k < c->dhcp.relays; k++) {
		const struct config_relay *r = &c->dhcp.relay[k];
		const bool named = r->link != CONFIG_INTERFACE_ANY;
		if (r->interface == i->key)
			print_line(p, " %s %s%s%s",
			           net_addr_is_ip4(&r->server) ? "ip helper-address" : "ipv6 dhcp relay destination",
			           fmt_addr(addr, r->server.w), named ? " " : "",
			           named ? config_key_name(name, r->link) : "");
	}
}

static void print_dhcp(const struct printer *p, const struct config_dhcp *d)
{
	if (d->insert)
		print_line(p, "ip dhcp relay information option");
	if (d->policy != DHCP_RELAY4_DROP)
		print_line(p, "ip dhcp relay information policy %s", config_dhcp_policy_word(d->policy));
	if (d->hops)
		print_line(p, "ip dhcp relay maximum-hops %u", d->hops);
}

static void print_interface(const struct printer *p, const struct config *c,
                            const struct config_interface *i)
{
	char prefix[FMT_PREFIX_MAX], name[CONFIG_IF_NAME_SIZE];
	print_line(p, "!");
	print_line(p, "interface %s", config_key_name(name, i->key));
	if (i->description[0] != 0)
		print_line(p, " description %s", i->description);
	for (unsigned k = 0; k < i->address_count; k++)
		print_line(p, " ip address %s%s",
		           fmt_prefix(prefix, i->address[k].addr, i->address[k].plen),
		           k > 0 ? " secondary" : "");
	if (i->lender_line != 0)
		print_line(p, " ip unnumbered %s", config_key_name(name, i->lender));
	print_dhcp_interface(p, c, i);
	print_interface6(p, i);
	print_filters(p, i);
	print_policy(p, i);
	print_xdp(p, c, i);
	print_steer(p, c, i);
	print_lacp(p, c, i);
	if (i->key < CONFIG_PORTS_MAX)
		print_switchport(p, &c->switchport[i->key]);
	else if (config_is_channel(i) && config_if_vid(i) == 0)
		print_switchport(p, &c->switchport[CONFIG_PORTS_MAX + (i->key & 0xff) - 1]);
	if (i->lldp_no_transmit)
		print_line(p, " no lldp transmit");
	if (i->lldp_no_receive)
		print_line(p, " no lldp receive");
	if (i->sflow)
		print_line(p, " sflow enable");
	if (i->mtu != 0)
		print_line(p, " mtu %u", i->mtu);
	if (i->engine_index != 0)
		print_line(p, " routing engine index %u", i->engine_index);
	print_engine_interface(p, i);
	if (i->shutdown)
		print_line(p, " shutdown");
}

static const char *distance_text(char buf[8], unsigned distance)
{
	buf[0] = 0;
	if (distance != CONFIG_DISTANCE_DEFAULT)
		fmt_format(buf, 8, " %u", distance);
	return buf;
}

void config_print_route(const struct config_route *r, config_write_fn write, void *ctx)
{
	const struct printer p = {write, ctx};
	char prefix[FMT_PREFIX_MAX], next_hop[FMT_IP4_MAX], distance[8];
	const char *word = config_route_word((enum config_route_kind)r->kind);
	print_line(&p, "ip route %s %s%s", fmt_prefix(prefix, r->prefix, r->plen),
	           word ? word : fmt_ip4(next_hop, r->next_hop), distance_text(distance, r->distance));
}

void config_print_route6(const struct config_route6 *r, config_write_fn write, void *ctx)
{
	const struct printer p = {write, ctx};
	char prefix[FMT_PREFIX6_MAX], next_hop[FMT_IP6_MAX], name[CONFIG_IF_NAME_SIZE], distance[8];
	const char *word = config_route_word((enum config_route_kind)r->kind);
	const bool named = !word && ip6_is_link_local(&r->next_hop);
	print_line(&p, "ipv6 route %s %s%s%s%s", fmt_prefix6(prefix, &r->prefix, r->plen),
	           word ? word : fmt_ip6(next_hop, &r->next_hop), named ? " " : "",
	           named ? config_key_name(name, r->interface) : "", distance_text(distance, r->distance));
}

static void print_services(const struct printer *p, const struct services *all)
{
	for (unsigned s = 0; s < SERVICES; s++)
		for (unsigned proto = 0; proto < SERVICE_PROTOS; proto++)
			for (unsigned i = 0; i < all->of[proto][s].ports; i++)
				print_line(p, "service %s %s port %u", service_word((enum service)s),
				           service_proto_word((enum service_proto)proto),
				           all->of[proto][s].port[i]);
}

static void print_access(const struct printer *p, const char *server,
                         const struct config_access_list *l)
{
	char prefix[FMT_PREFIX6_MAX];
	for (unsigned i = 0; i < l->count; i++) {
		const struct config_access *a = &l->row[i];
		if (net_addr_is_ip4(&a->prefix))
			fmt_prefix(prefix, net_addr_to_ip4(&a->prefix), a->plen - 96u);
		else
			fmt_prefix6(prefix, &a->prefix, a->plen);
		print_line(p, "%s access %s", server, prefix);
	}
}

static void print_hosts(const struct printer *p, const struct config_http *http)
{
	char addr[FMT_ADDR_MAX];
	for (unsigned i = 0; i < http->hosts; i++) {
		const struct config_http_host *h = &http->host[i];
		print_line(p, "http host %s", h->name[0] ? h->name : fmt_addr(addr, h->addr.w));
	}
}

/* A user and its keys and tokens; without a role, as a candidate may be, only those. */
static void print_user(const struct printer *p, const struct config_users *all, unsigned n)
{
	char text[PASSWORD_TEXT_MAX];
	const struct config_user *u = &all->user[n];
	if (u->role_line != 0)
		print_line(p, "username %s role %s%s%s", u->name, role_word(u->role),
		           u->has_password ? " password " : "",
		           u->has_password ? password_format(text, &u->password) : "");
	for (unsigned i = 0; i < all->keys; i++)
		if (all->key[i].user == n)
			print_line(p, "username %s ssh-key %s %s", u->name, config_ssh_type(all->key[i].type),
			           all->key[i].text);
	for (unsigned i = 0; i < all->tokens; i++) {
		for (unsigned k = 0; k < SHA256_BYTES; k++)
			fmt_format(text + 2 * k, 3, "%02x", all->token[i].hash[k]);
		if (all->token[i].user == n)
			print_line(p, "username %s token %s", u->name, text);
	}
}

static void print_management(const struct printer *p, const struct config *c)
{
	char hash[PASSWORD_TEXT_MAX];
	for (unsigned n = 0; n < c->users.count; n++)
		print_user(p, &c->users, n);
	if (c->http.port != 0)
		print_line(p, "http server port %u", c->http.port);
	if (c->http.tls_port != 0)
		print_line(p, "https server port %u", c->http.tls_port);
	if (c->http.certificate[0])
		print_line(p, "https certificate %s", c->http.certificate);
	print_access(p, "http", &c->http.access);
	print_hosts(p, &c->http);
	if (c->console.port != 0)
		print_line(p, "console server port %u", c->console.port);
	print_access(p, "console", &c->console.access);
	if (c->console.password_line != 0)
		print_line(p, "console password %s", password_format(hash, &c->console.password));
	if (c->ssh.port != 0)
		print_line(p, "ssh server port %u", c->ssh.port);
	print_access(p, "ssh", &c->ssh.access);
	if (c->capture.port != 0)
		print_line(p, "capture server port %u", c->capture.port);
	print_access(p, "capture", &c->capture.access);
}

static void print_engine(const struct printer *p, const struct config_engine *e)
{
	char addr[FMT_ADDR_MAX];
	if (e->line == 0)
		return;
	print_line(p, "routing engine %s", fmt_addr(addr, e->addr.w));
	if (e->source != 0)
		print_line(p, "routing engine source %s", fmt_ip4(addr, e->source));
	if (e->port != CONFIG_ENGINE_PORT_DEFAULT)
		print_line(p, "routing engine fpm port %u", e->port);
	if (e->distance != 0)
		print_line(p, "routing engine distance %u", e->distance);
	if (e->hold_s != CONFIG_ENGINE_HOLD_DEFAULT_S)
		print_line(p, "routing engine hold-time %u", e->hold_s);
	if (e->settle_s != CONFIG_ENGINE_SETTLE_DEFAULT_S)
		print_line(p, "routing engine settle-time %u", e->settle_s);
	if (e->routes_max != 0)
		print_line(p, "routing engine maximum routes %u", e->routes_max);
	if (e->acknowledge)
		print_line(p, "routing engine acknowledge");
	const char *connect = e->bfd_connect ? " connect" : "";
	if (e->bfd_port == CONFIG_ENGINE_BFD_PORT_DEFAULT)
		print_line(p, "routing engine bfd%s", connect);
	else if (e->bfd_port)
		print_line(p, "routing engine bfd%s port %u", connect, e->bfd_port);
}

/* Prints the script unchanged, and adds the end of its last line if it is missing. */
static void print_script(const struct printer *p, const struct config_script *s)
{
	struct text rest = s->text, line;
	print_line(p, "script %s", s->name);
	while (text_next_line(&rest, &line)) {
		if (line.len > 0)
			p->write(p->ctx, line.at, line.len);
		p->write(p->ctx, "\n", 1);
	}
}

/* All but the access lists. */
static void print_machine(const struct config *c, config_write_fn write, void *ctx)
{
	const struct printer p = {write, ctx};
	char addr[FMT_ADDR_MAX], mac[FMT_MAC_MAX], name[CONFIG_IF_NAME_SIZE];
	print_line(&p, "hostname %s", c->hostname);
	print_line(&p, "application %s", core_app_word(c->application));
	if (c->idle_spin_us != 0)
		print_line(&p, "idle %s spin %u", idle_word(c->idle), c->idle_spin_us);
	else
		print_line(&p, "idle %s", idle_word(c->idle));
	if (c->steering_off)
		print_line(&p, "receive-steering off");
	if (c->balance_off)
		print_line(&p, "load-balance off");
	if (c->cores_minimum && c->cores_wake_up_us != CONFIG_CORES_WAKE_UP_DEFAULT_US)
		print_line(&p, "cores minimum %u wake-up %u", c->cores_minimum, c->cores_wake_up_us);
	else if (c->cores_minimum)
		print_line(&p, "cores minimum %u", c->cores_minimum);
	if (c->arp_timeout_s != CONFIG_ARP_TIMEOUT_DEFAULT_S)
		print_line(&p, "arp timeout %u", c->arp_timeout_s);
	if (c->icmp_rate != CONFIG_ICMP_RATE_DEFAULT || c->icmp_burst != CONFIG_ICMP_BURST_DEFAULT)
		print_line(&p, "ip icmp rate-limit %u burst %u", c->icmp_rate, c->icmp_burst);
	if (c->lacp_priority_line != 0)
		print_line(&p, "lacp system-priority %u", c->lacp_priority);
	print_services(&p, &c->services);
	if (c->tcp_connections != 0)
		print_line(&p, "tcp connections %u", c->tcp_connections);
	if (c->web_port != 0)
		print_line(&p, "web port %u", c->web_port);
	if (c->web_log_sample == 1)
		print_line(&p, "web access-log");
	else if (c->web_log_sample != 0)
		print_line(&p, "web access-log sample %u", c->web_log_sample);
	print_management(&p, c);
	print_lldp(&p, &c->lldp);
	print_dhcp(&p, &c->dhcp);
	if (c->trust[0])
		print_line(&p, "trust certificate %s", c->trust);
	print_logging(&p, &c->logging);
	print_time(&p, &c->time);
	print_sflow(&p, &c->sflow);
	print_engine(&p, &c->engine);
	for (unsigned n = 0; n < c->interfaces; n++)
		if (c->interface[n].present)
			print_interface(&p, c, &c->interface[n]);
	print_line(&p, "!");
	for (unsigned k = 0; k < c->arp_count; k++)
		print_line(&p, "arp %s %s", fmt_ip4(addr, c->arp[k].addr), fmt_mac(mac, c->arp[k].mac));
	print_monitors(&p, c);
	if (c->aging_s != CONFIG_AGING_DEFAULT_S)
		print_line(&p, "mac address-table aging-time %u", c->aging_s);
	for (unsigned k = 0; k < c->mac_count; k++)
		print_line(&p, "mac address-table static %s vlan %u interface %s", fmt_mac(mac, c->mac[k].mac),
		           c->mac[k].vid, config_key_name(name, c->mac[k].port));
	print_stp(&p, &c->stp);
	print_snoop(&p, c);
	for (unsigned k = 0; k < c->neighbour6_count; k++)
		print_line(&p, "ipv6 neighbor %s %s %s", fmt_ip6(addr, &c->neighbour6[k].addr),
		           config_key_name(name, c->neighbour6[k].interface),
		           fmt_mac(mac, c->neighbour6[k].mac));
}

void config_print_statements(const struct config *c, config_write_fn write, void *ctx)
{
	const struct printer p = {write, ctx};
	print_machine(c, write, ctx);
	for (unsigned n = 0; n < c->acl_count; n++)
		print_acl(&p, c, &c->acl[n]);
}

void config_print(const struct config *c, config_write_fn write, void *ctx)
{
	const struct printer p = {write, ctx};
	config_print_statements(c, write, ctx);
	for (uint32_t k = 0; k < c->route_count; k++)
		config_print_route(&c->routes[k], write, ctx);
	for (uint32_t k = 0; k < c->route6_count; k++)
		config_print_route6(&c->routes6[k], write, ctx);
	print_line(&p, "end");
	if (c->script.line != 0)
		print_script(&p, &c->script);
}

/* --- a few lines at a time --- */

#define LINES_AT_ONCE 4
#define SCRIPT_AT_ONCE 1000 /* bytes */

/* Writes only the lines from `first` to before `end`. */
struct window {
	config_write_fn write;
	void *ctx;
	uint32_t line, first, end;
};

static void write_window(void *ctx, const char *text, size_t len)
{
	struct window *w = ctx;
	if (w->line >= w->first && w->line < w->end)
		w->write(w->ctx, text, len);
	w->line++;
}

/* Writes the next few lines by printing all of them into a window. Unlike routes and rules, they
 * are few enough for that. */
static bool next_of_machine(const struct config *c, struct config_cursor *at, config_write_fn write,
                            void *ctx)
{
	struct window w = {write, ctx, 0, at->n, at->n + LINES_AT_ONCE};
	print_machine(c, write_window, &w);
	at->n = w.end;
	return w.end < w.line;
}

static bool next_of_lists(const struct config *c, struct config_cursor *at, const struct printer *p)
{
	char text[CONFIG_ACL_RULE_TEXT];
	if (at->n >= c->acl_count)
		return false;
	const struct config_acl *l = &c->acl[at->n];
	if (at->line == 0)
		print_acl_head(p, l);
	if (at->line < l->rules)
		print_line(p, " %s", config_acl_rule_text(text, &c->acl_rules[l->first + at->line],
		                                          l->kind));
	if (++at->line >= l->rules) {
		at->n++;
		at->line = 0;
	}
	return at->n < c->acl_count;
}

static bool next_of_script(const struct config_script *s, struct config_cursor *at,
                           const struct printer *p)
{
	const size_t left = s->text.len - at->n;
	const size_t n = left < SCRIPT_AT_ONCE ? left : SCRIPT_AT_ONCE;
	if (at->n == 0)
		print_line(p, "script %s", s->name);
	if (n > 0)
		p->write(p->ctx, s->text.at + at->n, n);
	at->n += (uint32_t)n;
	if (n < left)
		return true;
	if (s->text.len > 0 && s->text.at[s->text.len - 1] != '\n')
		p->write(p->ctx, "\n", 1);
	return false;
}

bool config_print_next(const struct config *c, struct config_cursor *at, config_write_fn write,
                       void *ctx)
{
	const struct printer p = {write, ctx};
	bool more = false;
	switch ((enum config_part)at->part) {
	case CONFIG_PART_MACHINE:
		more = next_of_machine(c, at, write, ctx);
		break;
	case CONFIG_PART_LISTS:
		more = next_of_lists(c, at, &p);
		break;
	case CONFIG_PART_ROUTES:
		if (at->n < c->route_count)
			config_print_route(&c->routes[at->n++], write, ctx);
		more = at->n < c->route_count;
		break;
	case CONFIG_PART_ROUTES6:
		if (at->n < c->route6_count)
			config_print_route6(&c->routes6[at->n++], write, ctx);
		more = at->n < c->route6_count;
		break;
	case CONFIG_PART_END:
		print_line(&p, "end");
		break;
	case CONFIG_PART_SCRIPT:
		more = c->script.line != 0 && next_of_script(&c->script, at, &p);
		break;
	case CONFIG_PARTS:
		return false;
	}
	if (!more)
		*at = (struct config_cursor){.part = at->part + 1};
	return at->part < CONFIG_PARTS;
}
