/*
 * The dialect: the table of statements, the search for the statement of a line, and the parsers
 * that have no file of their own.
 */
#include "control/config/config_parse.h"

#include "lib/assert.h"

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

int config_parse_hostname(struct parser *p, unsigned i, char out[CONFIG_HOSTNAME_SIZE])
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	struct text w = p->w.word[i];
	bool good = w.len < CONFIG_HOSTNAME_SIZE && is_alnum(w.at[0]) && is_alnum(w.at[w.len - 1]);
	for (size_t k = 0; good && k < w.len; k++)
		good = is_alnum(w.at[k]) || w.at[k] == '-';
	/* RFC 1123 2.1 */
	if (!good)
		return FAIL(p, i, "a hostname has 1 to %d letters, digits and inner hyphens",
		            CONFIG_HOSTNAME_SIZE - 1);
	copy_word(out, CONFIG_HOSTNAME_SIZE, w);
	return 0;
}

static int parse_hostname(struct parser *p, unsigned i)
{
	const int error = config_parse_hostname(p, i, p->out->hostname);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_application(struct parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	for (unsigned n = 0; n < CORE_APP_COUNT; n++) {
		if (words_is(&p->w, i, core_app_word((enum core_app_number)n))) {
			p->out->application = (enum core_app_number)n;
			return words_end(&p->w, i + 1);
		}
	}
	return FAIL(p, i, "unknown application; expected " CORE_APPS(CORE_APP_WORD, " or "));
}

static int parse_idle(struct parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	if (words_is(&p->w, i, "poll"))
		p->out->idle = CONFIG_IDLE_POLL;
	else if (words_is(&p->w, i, "sleep"))
		p->out->idle = CONFIG_IDLE_SLEEP;
	else if (words_is(&p->w, i, "auto"))
		p->out->idle = CONFIG_IDLE_AUTO;
	else
		return FAIL(p, i, "unknown idle mode; expected poll, sleep or auto");
	p->out->idle_spin_us = 0;
	if (p->out->idle == CONFIG_IDLE_POLL || !words_is(&p->w, i + 1, "spin"))
		return words_end(&p->w, i + 1);
	error = words_u32(&p->w, i + 2, "the time to poll", 1, CONFIG_IDLE_SPIN_MAX_US, &p->out->idle_spin_us);
	return error ? error : words_end(&p->w, i + 3);
}

static int parse_steering(struct parser *p, unsigned i)
{
	return words_choice(&p->w, i, "off", "on", "expected on or off", &p->out->steering_off);
}

static int parse_balance(struct parser *p, unsigned i)
{
	return words_choice(&p->w, i, "off", "on", "expected on or off", &p->out->balance_off);
}

static int parse_cores(struct parser *p, unsigned i)
{
	int error = words_u32(&p->w, i, "the number of cores", 1, CONFIG_CORES_MINIMUM_MAX, &p->out->cores_minimum);
	p->out->cores_wake_up_us = CONFIG_CORES_WAKE_UP_DEFAULT_US;
	if (error != 0 || !words_is(&p->w, i + 1, "wake-up"))
		return error ? error : words_end(&p->w, i + 1);
	error = words_u32(&p->w, i + 2, "the wake-up", CONFIG_CORES_WAKE_UP_MIN_US, CONFIG_CORES_WAKE_UP_MAX_US,
	                  &p->out->cores_wake_up_us);
	return error ? error : words_end(&p->w, i + 3);
}

static int parse_description(struct parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	const char *start = p->w.word[i].at;
	struct text rest = {start, (size_t)(p->w.body.at + p->w.body.len - start)};
	if (rest.len >= CONFIG_DESCRIPTION_SIZE)
		return FAIL(p, i, "the description has %u characters; at most %d are kept",
		            (unsigned)rest.len, CONFIG_DESCRIPTION_SIZE - 1);
	/* No other value can contain a tab, and the console would not show it. */
	if (text_find(rest, '\t') < rest.len)
		return FAIL(p, i, "a description must not hold a tab; use blanks");
	copy_word(p->interface->description, sizeof p->interface->description, rest);
	return 0;
}

static int parse_mtu(struct parser *p, unsigned i)
{
	uint32_t mtu;
	int error = words_u32(&p->w, i, "the MTU", CONFIG_MTU_MIN, CONFIG_MTU_MAX, &mtu);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	p->interface->mtu = (uint16_t)mtu;
	p->interface->mtu_line = p->w.line;
	return 0;
}

static int parse_shutdown(struct parser *p, unsigned i)
{
	p->interface->shutdown = true;
	return words_end(&p->w, i);
}

static int parse_no_shutdown(struct parser *p, unsigned i)
{
	p->interface->shutdown = false;
	return words_end(&p->w, i);
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

/* All statements "service NAME PROTOCOL": the words before i tell which. */
static int parse_service(struct parser *p, unsigned i)
{
	enum service_proto proto = words_is(&p->w, i - 1, "tcp") ? SERVICE_TCP : SERVICE_UDP;
	unsigned service = 0;
	while (!words_is(&p->w, i - 2, service_word((enum service)service)))
		service++;
	if (i >= p->w.n)
		return add_service_port(p, i, (enum service)service, proto,
		                        service_port_default((enum service)service));
	for (; i < p->w.n; i += 2) {
		uint32_t port;
		if (!words_is(&p->w, i, "port"))
			return words_end(&p->w, i);
		int error = words_u32(&p->w, i + 1, proto == SERVICE_UDP ? "a UDP port" : "a TCP port",
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
	int error = words_u32(&p->w, i, "the number of TCP connections of a data core", 1,
	                         CONFIG_TCP_CONNECTIONS_MAX, &p->out->tcp_connections);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_web_port(struct parser *p, unsigned i)
{
	uint32_t port;
	int error = words_u32(&p->w, i, "a TCP port", 1, 65535, &port);
	if (error == 0)
		p->out->web_port = (uint16_t)port;
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int parse_web_log(struct parser *p, unsigned i)
{
	p->out->web_log_sample = 1;
	if (!words_is(&p->w, i, "sample"))
		return words_end(&p->w, i);
	int error = words_u32(&p->w, i + 1, "the number of requests of which one is logged", 1,
	                      CONFIG_WEB_LOG_SAMPLE_MAX, &p->out->web_log_sample);
	return error != 0 ? error : words_end(&p->w, i + 2);
}

int config_exit(struct parser *p, unsigned i)
{
	if (p->interface == NULL && p->acl == NULL)
		return FAIL(p, i - 1, "exit without a block to leave");
	p->interface = NULL;
	p->acl = NULL;
	return words_end(&p->w, i);
}

static int parse_end(struct parser *p, unsigned i)
{
	int error = words_end(&p->w, i);
	p->ended = error == 0;
	return error;
}

int config_script(struct parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	if (p->w.word[i].len >= CONFIG_SCRIPT_NAME_SIZE)
		return FAIL(p, i, "the name has %u characters; at most %d are kept",
		            (unsigned)p->w.word[i].len, CONFIG_SCRIPT_NAME_SIZE - 1);
	copy_word(p->out->script.name, sizeof p->out->script.name, p->w.word[i]);
	p->out->script.line = p->w.line;
	p->script = true;
	return 0;
}

#define SUBNET "(A.B.C.D/LEN | A.B.C.D MASK)"
#define RULE "PROTO SOURCE [PORTS] DESTINATION [PORTS | TYPE [CODE]] [established | " \
	"match-all (+|-)FLAG... | fragments]"
#define NOWHERE "null0 | blackhole | unreachable | prohibit"
#define ACCESS "A.B.C.D/LEN | A.B.C.D MASK | X:X::X/LEN"
static const struct statement statements[] = {
	/* words, syntax, parser, in an interface block, enum statement_how */
	{"hostname", "hostname NAME", parse_hostname, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"application", "application (" CORE_APPS(CORE_APP_WORD, " | ") ")", parse_application,
	 false, STATEMENT_ONCE},
	{"idle", "idle (poll | (sleep | auto) [spin MICROSECONDS])", parse_idle, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"receive-steering", "receive-steering (on | off)", parse_steering, false, STATEMENT_ONCE},
	{"load-balance", "load-balance (on | off)", parse_balance, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"cores minimum", "cores minimum N [wake-up MICROSECONDS]", parse_cores, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"interface", "interface (ethN | ethN.VLAN | port-channelN | port-channelN.VLAN | vlanN | loN)",
	 config_interface, false, STATEMENT_OPENS},
	{"description", "description TEXT", parse_description, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip address", "ip address " SUBNET " [secondary]", config_ip4_address, true,
	 STATEMENT_UNLESS_LAST},
	{"ip address dhcp", "ip address dhcp [hostname NAME] [distance N]", config_dhcp_address, true, STATEMENT_ONCE},
	{"ip helper-address", "ip helper-address A.B.C.D", config_dhcp_helper, true, STATEMENT_LIVE},
	{"ip dhcp relay information option", "ip dhcp relay information option", config_dhcp_information, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip dhcp relay information policy", "ip dhcp relay information policy (drop | keep | replace)",
	 config_dhcp_policy, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip dhcp relay maximum-hops", "ip dhcp relay maximum-hops N", config_dhcp_hops, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip unnumbered", "ip unnumbered INTERFACE", config_ip4_unnumbered, true, STATEMENT_ONCE},
	{"mtu", "mtu BYTES", parse_mtu, true, STATEMENT_ONCE},
	{"shutdown", "shutdown", parse_shutdown, true, 0},
	{"no shutdown", "no shutdown", parse_no_shutdown, true, 0},
	{"ipv6 enable", "ipv6 enable", config_ip6_enable, true, STATEMENT_ONCE},
	{"ipv6 address", "ipv6 address (X:X::X/LEN | FE80::X link-local | autoconfig)",
	 config_ip6_address, true, STATEMENT_IF_LAST},
	{"ipv6 address autoconfig", "ipv6 address autoconfig", config_ip6_autoconfig, true,
	 STATEMENT_ONCE},
	{"ipv6 nd ra suppress", "ipv6 nd ra suppress", config_ip6_ra_suppress, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 nd ra interval", "ipv6 nd ra interval SECONDS", config_ip6_ra_interval, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 nd ra lifetime", "ipv6 nd ra lifetime SECONDS", config_ip6_ra_lifetime, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 nd ra dns", "ipv6 nd ra dns ADDRESS", config_ip6_ra_dns, true,
	 STATEMENT_LIVE},
	{"ipv6 nd managed-config-flag", "ipv6 nd managed-config-flag", config_ip6_ra_managed, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 nd other-config-flag", "ipv6 nd other-config-flag", config_ip6_ra_other, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 dhcp relay destination", "ipv6 dhcp relay destination X:X::X [INTERFACE]", config_dhcp_relay6, true,
	 STATEMENT_LIVE},
	{"ip access-group", "ip access-group NAME (in | out)", config_acl_group4, true,
	 STATEMENT_BY_LAST | STATEMENT_NAMED | STATEMENT_LIVE},
	{"ipv6 traffic-filter", "ipv6 traffic-filter NAME (in | out)", config_acl_group6, true,
	 STATEMENT_BY_LAST | STATEMENT_NAMED | STATEMENT_LIVE},
	{"mac access-group", "mac access-group NAME in", config_acl_group_mac, true,
	 STATEMENT_BY_LAST | STATEMENT_NAMED | STATEMENT_LIVE},
	{"no ip unreachables", "no ip unreachables", config_acl_silent4, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"no ipv6 unreachables", "no ipv6 unreachables", config_acl_silent6, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip unreachables", "ip unreachables", config_acl_tell4, true, STATEMENT_LIVE},
	{"ipv6 unreachables", "ipv6 unreachables", config_acl_tell6, true, STATEMENT_LIVE},
	{"ip verify unicast source",
	 "ip verify unicast source reachable-via (rx | any) allow-default", config_ip4_verify, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 verify unicast source",
	 "ipv6 verify unicast source reachable-via (rx | any) allow-default", config_ip6_verify, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip redirects", "ip redirects", config_ip4_redirects, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 redirects", "ipv6 redirects", config_ip6_redirects, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"no ip redirects", "no ip redirects", config_no_ip4_redirects, true, STATEMENT_LIVE},
	{"no ipv6 redirects", "no ipv6 redirects", config_no_ip6_redirects, true, STATEMENT_LIVE},
	{"ip directed-broadcast", "ip directed-broadcast", config_ip4_directed, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"no ip directed-broadcast", "no ip directed-broadcast", config_no_ip4_directed, true,
	 STATEMENT_LIVE},
	{"ip access-list", "ip access-list [extended] NAME", config_acl_list4, false,
	 STATEMENT_OPENS | STATEMENT_LIST | STATEMENT_NAMED | STATEMENT_LIVE},
	{"ipv6 access-list", "ipv6 access-list NAME", config_acl_list6, false,
	 STATEMENT_OPENS | STATEMENT_LIST | STATEMENT_NAMED | STATEMENT_LIVE},
	{"mac access-list", "mac access-list [extended] NAME", config_acl_list_mac, false,
	 STATEMENT_OPENS | STATEMENT_LIST | STATEMENT_NAMED | STATEMENT_LIVE},
	{"permit", "permit " RULE, config_acl_rule, false, STATEMENT_RULE | STATEMENT_LIVE},
	{"deny", "deny " RULE, config_acl_rule, false, STATEMENT_RULE | STATEMENT_LIVE},
	{"ip route", "ip route " SUBNET " (NEXT-HOP | " NOWHERE ") [DISTANCE]", config_ip4_route, false,
	 STATEMENT_ROUTE | STATEMENT_LIVE},
	{"ipv6 route", "ipv6 route X:X::X/LEN (NEXT-HOP [INTERFACE] | " NOWHERE ") [DISTANCE]",
	 config_ip6_route, false,
	 STATEMENT_ROUTE | STATEMENT_LIVE},
	{"ipv6 neighbor", "ipv6 neighbor ADDRESS INTERFACE MAC", config_ip6_neighbour, false,
	 STATEMENT_BY_2 | STATEMENT_LIVE},
	{"arp", "arp A.B.C.D MAC", config_ip4_arp, false, STATEMENT_BY_1 | STATEMENT_LIVE},
	{"arp timeout", "arp timeout SECONDS", config_ip4_arp_timeout, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip icmp rate-limit", "ip icmp rate-limit PER-SECOND [burst N]", config_ip4_icmp, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"service echo udp", "service echo udp [port N]...", parse_service, false, 0},
	{"service echo tcp", "service echo tcp [port N]...", parse_service, false, 0},
	{"service discard udp", "service discard udp [port N]...", parse_service, false, 0},
	{"service discard tcp", "service discard tcp [port N]...", parse_service, false, 0},
	{"service chargen udp", "service chargen udp [port N]...", parse_service, false, 0},
	{"service chargen tcp", "service chargen tcp [port N]...", parse_service, false, 0},
	{"tcp connections", "tcp connections N", parse_tcp_connections, false, STATEMENT_ONCE},
	{"web port", "web port N", parse_web_port, false, STATEMENT_ONCE},
	{"web access-log", "web access-log [sample N]", parse_web_log, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"username",
	 "username NAME (role (read | operate | configure) [password HASH] | ssh-key TYPE BASE64 | token HASH)",
	 config_username, false, STATEMENT_NAMED | STATEMENT_USER | STATEMENT_LIVE},
	{"http server", "http server [port N]", config_http_server, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"https server", "https server [port N]", config_https_server, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"https certificate", "https certificate FILE", config_https_certificate, false,
	 STATEMENT_ONCE | STATEMENT_NAMED | STATEMENT_LIVE},
	{"http access", "http access (" ACCESS ")", config_http_access, false, STATEMENT_LIVE},
	{"http host", "http host (NAME | ADDRESS)", config_http_host, false,
	 STATEMENT_HOST | STATEMENT_LIVE},
	{"console server", "console server [port N]", config_console_server, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"console access", "console access (" ACCESS ")", config_console_access, false,
	 STATEMENT_LIVE},
	{"console password", "console password HASH", config_console_password, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ssh server", "ssh server [port N]", config_ssh_server, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"ssh access", "ssh access (" ACCESS ")", config_ssh_access, false, STATEMENT_LIVE},
	{"capture server", "capture server [port N]", config_capture_server, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"capture access", "capture access (" ACCESS ")", config_capture_access, false,
	 STATEMENT_LIVE},
	{"routing engine", "routing engine (A.B.C.D | X:X::X)", config_engine_address, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine fpm port", "routing engine fpm port N", config_engine_port, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine distance", "routing engine distance N", config_engine_distance, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine hold-time", "routing engine hold-time SECONDS", config_engine_hold, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine settle-time", "routing engine settle-time SECONDS", config_engine_settle,
	 false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine maximum routes", "routing engine maximum routes N", config_engine_maximum,
	 false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine acknowledge", "routing engine acknowledge", config_engine_acknowledge, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine source", "routing engine source A.B.C.D", config_engine_source, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine bfd", "routing engine bfd [connect] [port N]", config_engine_bfd, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine index", "routing engine index N", config_engine_index, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine vni", "routing engine vni N", config_engine_vni, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"routing engine protocols",
	 "routing engine protocols (bgp | bfd | rip | ldp | ospf | pim | igmp | isis | lldp | "
	 "discovery)...", config_engine_protocols, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"xdp", "xdp OBJECT [PROGRAM]", config_xdp, true, STATEMENT_NAMED | STATEMENT_LIVE},
	{"steer", "steer (management | [vlan N] [PROTO SOURCE [eq PORT] DESTINATION [eq PORT]]) (core N | cores N-M)",
	 config_steer, true, STATEMENT_LIVE},
	{"channel-group", "channel-group N mode (active | passive | on)", config_lacp_group, true, STATEMENT_ONCE},
	{"lacp rate", "lacp rate (fast | normal)", config_lacp_rate, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"lacp port-priority", "lacp port-priority N", config_lacp_port_priority, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"lacp system-priority", "lacp system-priority N", config_lacp_system_priority, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"port-channel min-links", "port-channel min-links N", config_lacp_min_links, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"switchport mode", "switchport mode (access | trunk)", config_switch_mode, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"switchport access vlan", "switchport access vlan N", config_switch_access, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"switchport trunk native vlan", "switchport trunk native vlan (N | none)", config_switch_native, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"switchport trunk allowed vlan", "switchport trunk allowed vlan (LIST | all | none)",
	 config_switch_allowed, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"mac address-table limit", "mac address-table limit N", config_switch_limit, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"storm-control broadcast level", "storm-control broadcast level PPS", config_switch_storm_broadcast, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"storm-control multicast level", "storm-control multicast level PPS", config_switch_storm_multicast, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"storm-control unknown-unicast level", "storm-control unknown-unicast level PPS",
	 config_switch_storm_unicast, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"storm-control action", "storm-control action (drop | shutdown)", config_switch_storm_action, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"switchport unknown-multicast flood", "switchport unknown-multicast flood", config_snoop_unknown, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip igmp snooping off", "ip igmp snooping off", config_snoop_off4, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip igmp snooping querier", "ip igmp snooping querier", config_snoop_querier4, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip igmp snooping query-interval", "ip igmp snooping query-interval SECONDS", config_snoop_interval4, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ip igmp snooping vlan",
	 "ip igmp snooping vlan N (off | querier | fast-leave | mrouter interface ethN)", config_snoop_vlan4, false,
	 STATEMENT_LIVE},
	{"ipv6 mld snooping off", "ipv6 mld snooping off", config_snoop_off6, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 mld snooping querier", "ipv6 mld snooping querier", config_snoop_querier6, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 mld snooping query-interval", "ipv6 mld snooping query-interval SECONDS", config_snoop_interval6, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"ipv6 mld snooping vlan",
	 "ipv6 mld snooping vlan N (off | querier | fast-leave | mrouter interface ethN)", config_snoop_vlan6, false,
	 STATEMENT_LIVE},
	{"monitor session",
	 "monitor session N (source interface ethN [rx | tx | both] | destination interface ethN)", config_monitor,
	 false, STATEMENT_LIVE},
	{"mac address-table aging-time", "mac address-table aging-time SECONDS", config_switch_aging, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"mac address-table static", "mac address-table static MAC vlan N interface ethN",
	 config_switch_static, false, STATEMENT_LIVE},
	{"spanning-tree mode", "spanning-tree mode (rstp | stp | none)", config_stp_mode, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree priority", "spanning-tree priority N", config_stp_priority, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree hello-time", "spanning-tree hello-time SECONDS", config_stp_hello, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree max-age", "spanning-tree max-age SECONDS", config_stp_max_age, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree forward-time", "spanning-tree forward-time SECONDS", config_stp_forward, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree transmit hold-count", "spanning-tree transmit hold-count N", config_stp_hold, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree cost", "spanning-tree cost N", config_stp_cost, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree port-priority", "spanning-tree port-priority N", config_stp_port_priority, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree link-type", "spanning-tree link-type (auto | point-to-point | shared)",
	 config_stp_link_type, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree portfast", "spanning-tree portfast [auto | disable]", config_stp_portfast, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"spanning-tree bpduguard", "spanning-tree bpduguard (enable | disable)", config_stp_guard, true,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"errdisable recovery cause", "errdisable recovery cause (bpduguard | storm-control)", config_stp_recovery,
	 false, STATEMENT_LIVE},
	{"errdisable recovery interval", "errdisable recovery interval SECONDS", config_stp_interval, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"trust certificate", "trust certificate FILE", config_trust_certificate, false,
	 STATEMENT_ONCE | STATEMENT_NAMED | STATEMENT_LIVE},
	{"logging console", "logging console (LEVEL | off)", config_logging_console, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"logging buffered", "logging buffered (LEVEL | off)", config_logging_buffered, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"logging host", "logging host (NAME | A.B.C.D | X:X::X) [transport (udp | tls)] [port N] [level LEVEL] "
	 "[facility local0..local7] [fingerprint SHA256]",
	 config_logging_host, false, STATEMENT_BY_1 | STATEMENT_HOST | STATEMENT_LIVE},
	{"logging source-interface", "logging source-interface INTERFACE", config_logging_source, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"sflow collector", "sflow collector (A.B.C.D | X:X::X) [port N]", config_sflow_collector, false,
	 STATEMENT_BY_1 | STATEMENT_LIVE},
	{"sflow sampling-rate", "sflow sampling-rate N", config_sflow_rate, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"sflow polling-interval", "sflow polling-interval SECONDS", config_sflow_interval, false,
	 STATEMENT_ONCE | STATEMENT_LIVE},
	{"sflow enable", "sflow enable", config_sflow_enable, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"no sflow enable", "no sflow enable", config_no_sflow_enable, true, STATEMENT_LIVE},
	{"lldp run", "lldp run", config_lldp_run, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"lldp timer", "lldp timer SECONDS", config_lldp_timer, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"lldp holdtime", "lldp holdtime SECONDS", config_lldp_holdtime, false, STATEMENT_ONCE | STATEMENT_LIVE},
	{"no lldp transmit", "no lldp transmit", config_no_lldp_transmit, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"no lldp receive", "no lldp receive", config_no_lldp_receive, true, STATEMENT_ONCE | STATEMENT_LIVE},
	{"lldp transmit", "lldp transmit", config_lldp_transmit, true, STATEMENT_LIVE},
	{"lldp receive", "lldp receive", config_lldp_receive, true, STATEMENT_LIVE},
	{"ntp server", "ntp server (NAME | A.B.C.D | X:X::X) [prefer] [iburst] [minpoll N] [maxpoll N]",
	 config_ntp_server, false, STATEMENT_BY_1 | STATEMENT_HOST | STATEMENT_LIVE},
	{"ip name-server", "ip name-server (A.B.C.D | X:X::X)...", config_name_server, false, STATEMENT_LIVE},
	{"ip domain", "ip domain NAME", config_domain, false, STATEMENT_ONCE | STATEMENT_HOST | STATEMENT_LIVE},
	{"exit", "exit", config_exit, false, STATEMENT_NOT_TYPED},
	{"end", "end", parse_end, false, STATEMENT_NOT_TYPED},
	{"script", "script NAME", config_script, false, STATEMENT_ONCE | STATEMENT_NOT_TYPED},
};
_Static_assert(ARRAY_LEN(statements) <= CONFIG_STATEMENTS_MAX, "parser.seen has a slot for each");

/* Adds word to a list "a, b, c" unless the list contains it. */
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

int config_statement_unknown(struct parser *p, unsigned matched)
{
	char list[432] = "";
	size_t len = 0;
	if (p->w.err == NULL)
		return E_INVAL;
	for (unsigned s = 0; s < ARRAY_LEN(statements); s++) {
		bool all;
		struct text next;
		if (words_match(p->w.word, p->w.n, statements[s].words, &all, &next) == matched && !all)
			list_add(list, sizeof list, &len, next);
	}
	if (matched == 0)
		return FAIL(p, 0, "unknown statement; expected one of %s", list);
	struct text after = p->w.word[matched - 1];
	return FAIL(p, matched, "expected %s after \"%.*s\"", list, (int)after.len, after.at);
}

/* A quick test for every row of the table, which few rows pass. Without it, reading a million lines
 * takes twice as long (1.65 s instead of 0.75 s on the machine of docs/performance.md). */
static bool first_word_is(const struct statement *s, struct text word)
{
	size_t i = 0;
	while (i < word.len && s->words[i] && text_lower(word.at[i]) == s->words[i])
		i++;
	return i == word.len && (s->words[i] == ' ' || s->words[i] == 0);
}

/* As config_statement_find, for any words. */
static const struct statement *find(const struct text *word, unsigned words, unsigned *best)
{
	unsigned own = 0, partial = 0;
	const struct statement *found = NULL;
	for (unsigned s = 0; s < ARRAY_LEN(statements); s++) {
		bool all;
		struct text next;
		if (words == 0 || !first_word_is(&statements[s], word[0]))
			continue;
		unsigned n = words_match(word, words, statements[s].words, &all, &next);
		if (all && n > own) {
			own = n;
			found = &statements[s];
		}
		if (!all && n > partial)
			partial = n;
	}
	*best = found != NULL ? own : partial;
	return found;
}

/* A text of a million lines has nearly only routes, so a route of the line before is tried before
 * the table. No other statement begins with the words of a route. */
static const struct statement *find_again(const struct parser *p, unsigned *best)
{
	bool all;
	struct text next;
	if (p->statement == NULL || (p->statement->how & STATEMENT_ROUTE) == 0)
		return NULL;
	*best = words_match(p->w.word, p->w.n, p->statement->words, &all, &next);
	return all ? p->statement : NULL;
}

const struct statement *config_statement_find(const struct parser *p, unsigned *best)
{
	const struct statement *found = find_again(p, best);
	return found != NULL ? found : find(p->w.word, p->w.n, best);
}

const struct statement *config_statements(unsigned *count)
{
	*count = ARRAY_LEN(statements);
	return statements;
}

const struct statement *config_statement_of(struct text line)
{
	struct text word[WORDS_MAX];
	unsigned words = 0;
	while (words < WORDS_MAX && text_next_word(&line, &word[words]))
		words++;
	const bool numbered = words > 1 && word[0].at[0] >= '0' && word[0].at[0] <= '9';
	const struct statement *s = find(word + numbered, words - numbered, &(unsigned){0});
	return numbered && s && !(s->how & STATEMENT_RULE) ? NULL : s;
}
