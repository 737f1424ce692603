/*
 * Reads the configuration of the boot, once, because commits may have changed it when the ports restart: the startup
 * configuration (startup.h), or the loader's. Checks any configuration, of the boot or a commit's, against the
 * machine. A bad one is not applied, and its errors are logged line by line; in place of a bad startup configuration
 * the loader's is used.
 */
#include "control/commit/commit.h"
#include "control/management/plugin.h"
#include "control/commit/load.h"
#include "control/commit/startup.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/steer_rules.h"
#include "control/forwarding/tables.h"
#include "control/programs/programs.h"
#include "control/text/module.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define CONFIG_NAME "configuration" /* of the boot module, in error messages */

struct module boot_module;

static struct config_wrong wrong; /* bad lines of the text */
static bool from_store;           /* the text is the startup configuration's */
static uint64_t progress_tsc; /* when progress was last logged */

/* --- checks against the machine --- */

/* Access lists filter in a router and on a switch. */
static int check_filters(const struct config_interface *i, enum core_app_number app, struct text_error *err)
{
	for (unsigned direction = 0; direction < CONFIG_FILTERS; direction++) {
		const struct config_filter *f = &i->filter[direction];
		const bool out = direction == CONFIG_FILTER_OUT4 || direction == CONFIG_FILTER_OUT6;
		if (f->name[0] && app != CORE_APP_router && app != CORE_APP_switch)
			return text_fail(err, f->line, text_of(f->name), "the application %s does not filter packets",
			                 core_app_word(app));
		if (f->name[0] && direction == CONFIG_FILTER_IN_MAC && (app != CORE_APP_switch || config_is_svi(i)))
			return text_fail(err, f->line, text_of(f->name),
			                 "only a port of the switch takes a list of MAC addresses");
		if (f->name[0] && out && config_is_svi(i))
			return text_fail(err, f->line, text_of(f->name),
			                 "the machine's own packets, and no others, leave by this interface, and no "
			                 "list filters them");
	}
	return E_OK;
}

/* DHCP's client needs an application with IPv4 for itself, its relay agents one with several networks. */
static int check_dhcp(const struct config_interface *i, enum core_app_number app, struct text_error *err)
{
	const uint32_t relay = i->relay_line[0] ? i->relay_line[0] : i->relay_line[1];
	const bool several = app == CORE_APP_router || app == CORE_APP_switch;
	if (relay && !several)
		return text_fail(err, relay, text_of("dhcp"), "the application %s relays no DHCP", core_app_word(app));
	if (i->dhcp_line && !several && app != CORE_APP_echo && app != CORE_APP_web)
		return text_fail(err, i->dhcp_line, text_of("dhcp"), "the application %s asks no DHCP server",
		                 core_app_word(app));
	return E_OK;
}

/* For an interface in a VLAN of the switch. */
static int check_svi(const struct config *c, const struct config_interface *i, const char *name,
                     enum core_app_number app, struct text_error *err)
{
	char word[16];
	if (app != CORE_APP_switch)
		return text_fail(err, i->line, text_of(name), "the application %s has no VLANs of its own: "
		                 "its VLANs are of a port, such as eth0.%u", core_app_word(app), config_if_vid(i));
	int error = check_filters(i, app, err);
	if (error == E_OK)
		error = check_dhcp(i, app, err);
	if (error != E_OK)
		return error;
	if (core_port_count() == 0 || i->mtu <= interface_mtu_svi(c))
		return E_OK;
	fmt_format(word, sizeof word, "mtu %u", i->mtu);
	return text_fail(err, i->mtu_line, text_of(word), "the least MTU of a port is %u", interface_mtu_svi(c));
}

/* The statements of the switch need that application, whose ports have no addresses. */
static int check_switchport(const struct config *c, unsigned n, const char *name, enum core_app_number app,
                            struct text_error *err)
{
	const struct config_interface *i = &c->interface[n];
	const bool channel = config_is_channel(i);
	const uint32_t line = c->switchport[channel ? CONFIG_PORTS_MAX + (i->key & 0xff) - 1 : n].line;
	if (app != CORE_APP_switch)
		return line ? text_fail(err, line, text_of(name), "the application %s does not switch",
		                        core_app_word(app))
		            : E_OK;
	if (i->address_count || i->lender_line || i->dhcp_line)
		return text_fail(err, i->address_count ? i->address[0].line : i->lender_line + i->dhcp_line,
		                 text_of(name),
		                 "a port of the switch has no address; give it to a VLAN, such as vlan1");
	if (i->ipv6)
		return text_fail(err, i->ipv6_line, text_of(name),
		                 "a port of the switch takes no part in IPv6; a VLAN may, such as vlan1");
	return E_OK;
}

static int check_stations(const struct config *c, enum core_app_number app, struct text_error *err)
{
	const uint32_t line = c->mac_count ? c->mac[0].line : c->aging_line ? c->aging_line : c->stp.line;
	if (line && app != CORE_APP_switch)
		return text_fail(err, line, text_of(line == c->stp.line ? "spanning-tree" : "mac"),
		                 "the application %s does not switch", core_app_word(app));
	for (unsigned k = 0; k < c->mac_count; k++)
		if ((unsigned)config_mac_port(c, &c->mac[k]) >= core_port_count())
			return text_fail(err, c->mac[k].line, text_of("interface"), "this machine has %u port%s",
			                 core_port_count(), core_port_count() == 1 ? "" : "s");
	return E_OK;
}

static int check_snoop(const struct config *c, enum core_app_number app, struct text_error *err)
{
	for (unsigned f = 0; f < CONFIG_SNOOPS; f++)
		if (c->snoop[f].line && app != CORE_APP_switch)
			return text_fail(err, c->snoop[f].line, text_of("snooping"),
			                 "the application %s does not switch", core_app_word(app));
	for (unsigned k = 0; k < c->mrouter_count; k++)
		if (c->mrouter[k].port >= core_port_count())
			return text_fail(err, c->mrouter[k].line, text_of("interface"), "this machine has %u port%s",
			                 core_port_count(), core_port_count() == 1 ? "" : "s");
	return E_OK;
}

static int check_monitors(const struct config *c, enum core_app_number app, struct text_error *err)
{
	const unsigned ports = core_port_count();
	for (unsigned n = 0; n < CONFIG_MONITORS; n++) {
		const struct config_monitor *m = &c->monitor[n];
		if (m->line && app != CORE_APP_switch)
			return text_fail(err, m->line, text_of("monitor"), "the application %s does not switch",
			                 core_app_word(app));
		if ((uint32_t)(m->rx | m->tx) >> ports || (m->has_destination && m->destination >= ports))
			return text_fail(err, m->line, text_of("interface"), "this machine has %u port%s", ports,
			                 ports == 1 ? "" : "s");
	}
	return E_OK;
}

/* For an interface that is not a port. A VLAN's MTU is at most that of its port (802.1Q), and only
 * routers have such interfaces. */
static int check_beside(const struct config *c, const struct config_interface *i, const char *name,
                        enum core_app_number app, struct text_error *err)
{
	char word[16];
	if (app != CORE_APP_router)
		return text_fail(err, i->line, text_of(name),
		                 "the application %s has no interfaces but its ports",
		                 core_app_word(app));
	if (config_is_loopback(i) || i->mtu <= interface_mtu(c, config_if_port(c, i)))
		return E_OK;
	fmt_format(word, sizeof word, "mtu %u", i->mtu);
	return text_fail(err, i->mtu_line, text_of(word), "%s is on a port whose MTU is %u", name,
	                 interface_mtu(c, config_if_port(c, i)));
}

/* Refuses an interface block that needs something that the machine does not have, or that the
 * application, which the command line may have named, does not do. */
static int check_interface(const struct config *c, unsigned n, enum core_app_number app,
                           struct text_error *err)
{
	const struct config_interface *i = &c->interface[n];
	unsigned ports = core_port_count(), port = config_if_port(c, i), most;
	const bool channel = config_is_channel(i) && config_if_vid(i) == 0;
	char word[16], name[CONFIG_IF_NAME_SIZE];
	if (!i->present)
		return E_OK;
	config_name(name, c, n);
	if (config_is_svi(i))
		return check_svi(c, i, name, app, err);
	if (!config_is_loopback(i) && port >= ports)
		return text_fail(err, i->line, text_of(name), "this machine has %u port%s", ports,
		                 ports == 1 ? "" : "s");
	if (n >= CONFIG_PORTS_MAX && !channel) {
		int error = check_beside(c, i, name, app, err);
		if (error != E_OK || config_is_loopback(i))
			return error;
	} else {
		int error = check_switchport(c, n, name, app, err);
		if (error != E_OK)
			return error;
	}
	if ((channel || (n < CONFIG_PORTS_MAX && c->member[n].channel)) && app != CORE_APP_router &&
	    app != CORE_APP_switch)
		return text_fail(err, channel ? i->line : c->member[n].line, text_of(name),
		                 "the application %s has no port channels", core_app_word(app));
	most = interface_mtu_most(c, port);
	if (i->mtu > most) {
		fmt_format(word, sizeof word, "mtu %u", i->mtu);
		return text_fail(err, i->mtu_line, text_of(word), "the device of %s takes at most %u", name, most);
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
	int error = check_filters(i, app, err);
	if (error == E_OK)
		error = check_dhcp(i, app, err);
	if (error != E_OK)
		return error;
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
	return module_open(&boot_module, (struct text){at, self.info->config_bytes}, &running.error);
}

int load_check(const struct config *c, enum core_app_number app, struct text_error *err)
{
	const struct app_plugin *e = core_apps[app]->plugin;
	int error = E_OK;
	for (unsigned n = 0; error == E_OK && n < c->interfaces; n++)
		error = check_interface(c, n, app, err);
	if (error == E_OK && c->script.line && !(e && e->takes_script))
		error = text_fail(err, c->script.line, text_of("script"),
		                  "the application %s takes no script", core_app_word(app));
	if (error == E_OK)
		error = check_stations(c, app, err);
	if (error == E_OK)
		error = check_snoop(c, app, err);
	if (error == E_OK)
		error = check_monitors(c, app, err);
	if (error == E_OK)
		error = programs_check(c, err);
	return error == E_OK ? steer_rules_check(c, app, err) : error;
}

/* --- reading --- */

/* Logs progress once a second: a text of a million lines takes a second or more. */
static void say_progress(uint32_t lines)
{
	core_alive();
	if (log_is_due(&progress_tsc))
		log_event(LOG_INFO, "CONFIG", "configuration: %u lines read", lines);
}

/* Allocates memory for the routes and rules of either configuration, once per program start and in one
 * piece, so all of it or nothing. False: there is not enough. */
static bool take_memory(struct text text, struct text other)
{
	struct config_memory *m = &running.memory;
	const struct config_lines a = config_count_lines(text.at, text.len);
	const struct config_lines b = config_count_lines(other.at, other.len);
	const struct config_lines lines = {.ip = u32_max(a.ip, b.ip),
	                                   .ipv6 = u32_max(a.ipv6, b.ipv6),
	                                   .rules = u32_max(a.rules, b.rules)};
	*m = (struct config_memory){.route_max = u32_min(lines.ip + 1, ROUTES_MAX),
	                            .route6_max = u32_min(lines.ipv6, ROUTES_MAX),
	                            .acl_rule_max = u32_min(lines.rules, CONFIG_ACL_RULES_MAX),
	                            .progress = say_progress};
	m->scratch_words = config_scratch_words(m->route_max) + config_scratch_words(m->route6_max);
	const size_t routes = core_pages(m->route_max * sizeof *m->routes);
	const size_t routes6 = core_pages((m->route6_max + 1) * sizeof *m->routes6);
	const size_t rules = core_pages((m->acl_rule_max + 1) * sizeof *m->acl_rules);
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

/* Sets running.config from the text, or to the default if the text is bad or the machine does not
 * allow it. e: the result of open_module. */
static void read_config(struct text text, int e)
{
	struct config_memory m = running.memory;
	wrong.count = 0;
	m.wrong = &wrong;
	progress_tsc = clock_tsc();
	if (e == E_OK)
		e = config_parse(text.at, text.len, &m, &running.config, &running.error);
	core_set_app(running.config.application);
	if (e == E_OK)
		e = load_check(&running.config, core_app_number(), &running.error);
	running.applied = e == E_OK;
	if (!running.applied)
		config_default(&running.config);
}

/* Refuses a text for which there is not enough memory, like a bad one. */
static void refuse_config(uint64_t bytes)
{
	const struct boot_info *b = self.info;
	running.applied = false;
	text_fail(&running.error, 1, text_of(""),
	          "its %llu KiB are too much for this machine of %llu MiB",
	          (unsigned long long)(bytes + 1023) >> 10, (unsigned long long)b->ram_bytes >> 20);
}

static void report_lines(void);

/* A bad startup configuration gives way to the loader's, if there is one. */
static void read_startup(struct text stored)
{
	from_store = true;
	read_config(stored, E_OK);
	if (running.applied || self.info->config_bytes == 0)
		return;
	report_lines();
	log_event(LOG_ERR, "CONFIG-ERROR",
	          "nothing of the startup configuration is applied, but that of the boot module");
	from_store = false;
}

bool load_from_store(void) { return from_store; }

bool load_start(void)
{
	int module = open_module();
	core_alive();
	const struct text text = boot_module.text;
	struct text stored;
	const bool any = startup_take(&stored);
	programs_start(&boot_module);
	config_default(&running.config);
	running.applied = true;
	if (self.info->config_left_out)
		refuse_config(self.info->config_left_out);
	if (!take_memory(text, stored)) {
		refuse_config(text.len + stored.len);
		return take_memory(text_of(""), text_of(""));
	}
	core_alive();
	if (any)
		read_startup(stored);
	core_alive();
	if (self.info->config_bytes && !from_store)
		read_config(text, module);
	core_alive();
	return true;
}

void load_withdraw(void)
{
	running.applied = false;
	wrong.count = 0; /* load_report is to log running.error */
	config_default(&running.config);
	commit_forget_boot();
}

/* Logs what is wrong in the text. */
static void report_lines(void)
{
	char text[544], name[64];
	const struct text_error *row = wrong.count > 0 ? wrong.row : &running.error;
	const uint32_t reported = u32_min(wrong.count, CONFIG_WRONG_MAX);
	if (from_store)
		memcpy(name, STARTUP_NAME, sizeof STARTUP_NAME);
	else if (!core_option("config", name, sizeof name))
		memcpy(name, CONFIG_NAME, sizeof CONFIG_NAME);
	for (uint32_t i = 0; i == 0 || i < reported; i++) {
		text_error_format(text, sizeof text, name, &row[i]);
		log_event(LOG_ERR, "CONFIG-ERROR", "%s", text);
	}
	if (wrong.count > reported)
		log_event(LOG_ERR, "CONFIG-ERROR", "%s: %u more line%s wrong", name, wrong.count - reported,
		          wrong.count == reported + 1 ? " is" : "s are");
}

void load_report(void)
{
	report_lines();
	log_event(LOG_ERR, "CONFIG-ERROR", "nothing of the configuration is applied");
}
