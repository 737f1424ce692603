/* See spanning.h. The form of `show` output is an interface, as in control/cli/show.c. */
#include "apps/switch/spanning.h"
#include "apps/switch/tables.h"

#include "control/config/running.h"
#include "control/text/interface_name.h"
#include "dataplane/state.h"
#include "net/eth.h"

typedef unsigned long long ull;

char *spanning_id(char text[SPANNING_ID_MAX], uint64_t id)
{
	char mac[FMT_MAC_MAX];
	uint8_t address[ETH_ALEN];
	for (unsigned i = 0; i < ETH_ALEN; i++)
		address[i] = (uint8_t)(STP_BRIDGE_ADDRESS(id) >> (40 - 8 * i));
	fmt_format(text, SPANNING_ID_MAX, "%u %s", (unsigned)(id >> 48), fmt_mac(mac, address));
	return text;
}

/* A time of the protocol in whole seconds. */
static unsigned seconds_of(uint16_t time) { return time / STP_TIME_UNIT; }

/* False, with a line about it: the protocol does not run. */
static bool runs(struct shell *sh)
{
	if (!spanning.runs)
		shell_print(sh, "the spanning tree protocol is off\n");
	return spanning.runs;
}

/* --- show spanning-tree --- */

static void show_times(struct shell *sh, unsigned hello, unsigned max_age, unsigned forward)
{
	shell_print(sh, "        hello %u s, max age %u s, forward delay %u s\n", hello, max_age, forward);
}

static void show_bridge(struct shell *sh)
{
	const struct stp_params *q = &running.config.stp.bridge;
	struct stp_bridge_status b;
	char id[SPANNING_ID_MAX];
	stp_bridge_status(&spanning.bridge, &b);
	shell_print(sh, "protocol %s\n", q->version == STP_VERSION_STP ? "stp" : "rstp");
	shell_print(sh, "root    %s", spanning_id(id, b.root_id));
	if (b.root_port < 0)
		shell_print(sh, ", this switch\n");
	else
		shell_print(sh, ", cost %u, by %s\n", b.root_path_cost, tables_port_name((unsigned)b.root_port));
	show_times(sh, seconds_of(b.times.HelloTime), seconds_of(b.times.MaxAge), seconds_of(b.times.ForwardDelay));
	shell_print(sh, "bridge  %s\n", spanning_id(id, b.bridge_id));
	show_times(sh, q->hello_s, q->max_age_s, q->forward_delay_s);
	shell_print(sh, "topology changes %llu", (ull)b.topology_changes);
	if (b.topology_changes)
		shell_print(sh, ", the last %llu s ago", (ull)((core_now_ns() - b.topology_change_ns) / SECOND_NS));
	if (b.topology_change_port >= 0)
		shell_print(sh, " by %s", tables_port_name((unsigned)b.topology_change_port));
	shell_print(sh, "\n");
}

/* Why the port has its state, or what is known of its link. */
static const char *type_of(const struct stp_port_status *p)
{
	return !p->link_up         ? "down"
	       : p->guarded        ? "BPDU guard"
	       : p->looped         ? "loop"
	       : p->disputed       ? "dispute"
	       : p->edge           ? "edge"
	       : !p->rstp          ? "STP neighbour"
	       : p->point_to_point ? "point-to-point"
	                           : "shared";
}

static void show_port(struct shell *sh, unsigned port)
{
	struct stp_port_status p;
	char id[16];
	stp_port_status(&spanning.bridge, port, &p);
	fmt_format(id, sizeof id, "%u.%u", p.port_id >> 8 & 0xf0u, STP_PORT_NUMBER(p.port_id));
	shell_print(sh, PORT_COLUMN " %-11s %-11s %9u  %-8s  %s\n", tables_port_name(port), stp_role_name(p.role),
	            stp_state_name(p.state), p.path_cost, id, type_of(&p));
}

void spanning_show(struct shell *sh)
{
	if (!runs(sh))
		return;
	show_bridge(sh);
	shell_print(sh, "\n" PORT_COLUMN " %-11s %-11s %9s  %-8s  %s\n", "port", "role", "state", "cost", "priority", "type");
	for (unsigned p = 0; p < core_port_count(); p++)
		if (tables_is_logical(p))
			show_port(sh, p);
}

/* --- show spanning-tree interface --- */

/* The port that an argument names. False: it names none, which has been said. */
static bool read_port(struct shell *sh, const char *name, uint32_t *port)
{
	if (tables_read_port(text_of(name), port))
		return true;
	shell_print(sh, "expected the name of a port, such as eth0\n");
	return false;
}

static void show_neighbour(struct shell *sh, const struct stp_vector *v)
{
	char id[SPANNING_ID_MAX];
	shell_print(sh, "designated_root %s\n", spanning_id(id, v->RootBridgeID));
	shell_print(sh, "designated_cost %u\n", v->RootPathCost);
	shell_print(sh, "designated_bridge %s\n", spanning_id(id, v->DesignatedBridgeID));
	shell_print(sh, "designated_port %u.%u\n", v->DesignatedPortID >> 8 & 0xf0u,
	            STP_PORT_NUMBER(v->DesignatedPortID));
}

static void show_counters(struct shell *sh, const struct stp_port_counters *c)
{
	shell_print(sh, "received_rst %llu\nreceived_config %llu\nreceived_tcn %llu\nreceived_dropped %llu\n",
	            (ull)c->rx_rst, (ull)c->rx_config, (ull)c->rx_tcn, (ull)c->rx_dropped);
	shell_print(sh, "sent_rst %llu\nsent_config %llu\nsent_tcn %llu\n", (ull)c->tx_rst, (ull)c->tx_config,
	            (ull)c->tx_tcn);
	shell_print(sh, "times_forwarding %llu\ntimes_flushed %llu\n", (ull)c->forwarded, (ull)c->flushed);
}

void spanning_show_port(struct shell *sh)
{
	struct stp_port_status p;
	uint32_t port;
	if (!runs(sh) || !read_port(sh, sh->argv[0], &port))
		return;
	stp_port_status(&spanning.bridge, port, &p);
	shell_print(sh, "role %s\nstate %s\ntype %s\n", stp_role_name(p.role), stp_state_name(p.state),
	            type_of(&p));
	shell_print(sh, "cost %u\npriority %u\nnumber %u\n", p.path_cost, p.port_id >> 8 & 0xf0u,
	            STP_PORT_NUMBER(p.port_id));
	shell_print(sh, "edge %s\nlink_type %s\nbpdu_guard %s\n", p.edge ? "yes" : "no",
	            p.point_to_point ? "point-to-point" : "shared",
	            p.guarded                                   ? "has disabled the port"
	            : config_switchport(&running.config, port)->stp.guard ? "on"
	                                                        : "off");
	show_neighbour(sh, &p.designated);
	show_counters(sh, &p.counters);
}

/* --- clear spanning-tree detected-protocols --- */

void spanning_clear_protocols(struct shell *sh)
{
	uint32_t first = 0, last = core_port_count();
	if (!runs(sh))
		return;
	if (sh->argc && !read_port(sh, sh->argv[0], &first))
		return;
	if (sh->argc)
		last = first + 1;
	for (uint32_t p = first; p < last; p++)
		stp_port_migrate(&spanning.bridge, p, core_now_ns());
	spanning_keep();
}

/* --- JSON --- */

void spanning_json_port(unsigned port, struct page_text *t)
{
	struct stp_port_status p;
	if (!spanning.runs) {
		page_print(t, ",\"role\":null,\"type\":null");
		return;
	}
	stp_port_status(&spanning.bridge, port, &p);
	page_print(t, ",\"role\":\"%s\",\"type\":\"%s\"", stp_role_name(p.role), type_of(&p));
}

void spanning_json_root(struct page_text *t)
{
	struct stp_bridge_status b;
	char id[SPANNING_ID_MAX];
	if (!spanning.runs) {
		page_print(t, "null");
		return;
	}
	stp_bridge_status(&spanning.bridge, &b);
	page_print(t, "{\"root\":\"%s\",\"bridge\":", spanning_id(id, b.root_id));
	page_print(t, "\"%s\",\"cost\":%u,\"port\":", spanning_id(id, b.bridge_id), b.root_path_cost);
	if (b.root_port < 0)
		page_print(t, "null");
	else
		page_print(t, "\"%s\"", tables_port_name((unsigned)b.root_port));
	page_print(t, ",\"topology_changes\":%llu}", (ull)b.topology_changes);
}

/* --- /metrics --- */

struct family {
	const char *name, *type, *help;
};

static const struct family bridge_families[] = {
	{"hayate_spanning_tree_root", "gauge", "1: this switch is the root of the spanning tree."},
	{"hayate_spanning_tree_root_path_cost", "gauge", "Cost of the path to the root."},
	{"hayate_spanning_tree_topology_changes_total", "counter", "Topology changes."},
};

static uint64_t bridge_value(unsigned family)
{
	struct stp_bridge_status b;
	stp_bridge_status(&spanning.bridge, &b);
	return family == 0 ? b.root_port < 0 : family == 1 ? b.root_path_cost : b.topology_changes;
}

static const struct family port_families[] = {
	{"hayate_spanning_tree_port_state", "gauge", "State of the port: 0 discarding, 1 learning, 2 forwarding."},
	{"hayate_spanning_tree_port_role", "gauge", "1 for the role that the port has."},
	{"hayate_spanning_tree_port_guarded", "gauge", "1: BPDU guard has disabled the port."},
	{"hayate_spanning_tree_bpdus_received_total", "counter", "BPDUs received by the port."},
	{"hayate_spanning_tree_bpdus_sent_total", "counter", "BPDUs sent by the port."},
};

static void print_port(unsigned family, unsigned port, struct page_text *t)
{
	const char *name = port_families[family].name;
	struct stp_port_status p;
	stp_port_status(&spanning.bridge, port, &p);
	const struct stp_port_counters *c = &p.counters;
	if (family == 1) {
		page_print(t, "%s{port=\"%s\",role=\"%s\"} 1\n", name, tables_port_name(port), stp_role_name(p.role));
		return;
	}
	const uint64_t value[] = {p.state, 0, p.guarded, c->rx_rst + c->rx_config + c->rx_tcn + c->rx_dropped,
	                          c->tx_rst + c->tx_config + c->tx_tcn};
	page_print(t, "%s{port=\"%s\"} %llu\n", name, tables_port_name(port), (ull)value[family]);
}

static void print_head(const struct family *f, struct page_text *t)
{
	page_print(t, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
}

/* Items: the families of the bridge; then of each family of the ports its head, and each port. */
bool spanning_metrics(uint32_t item, struct page_text *t)
{
	const uint32_t each = core_port_count() + 1;
	if (!spanning.runs)
		return false;
	if (item < ARRAY_LEN(bridge_families)) {
		print_head(&bridge_families[item], t);
		page_print(t, "%s %llu\n", bridge_families[item].name, (ull)bridge_value(item));
		return true;
	}
	item -= ARRAY_LEN(bridge_families);
	if (item >= each * ARRAY_LEN(port_families))
		return false;
	if (item % each == 0)
		print_head(&port_families[item / each], t);
	else
		print_port(item / each, item % each - 1, t);
	return true;
}
