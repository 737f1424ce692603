/*
 * /api/v1/lldp.json: what `show lldp` and `show lldp neighbors detail` print (docs/http.md). What a neighbour
 * announces may be longer than an item of a page, so each item has one field of it. A neighbour that is forgotten
 * between two of its items lacks the fields behind.
 */
#include "control/link/lldp_control.h"
#include "control/link/lldp_text.h"
#include "control/management/page.h"
#include "dataplane/state.h"
#include "lib/fmt.h"
#include "runtime/runtime.h"

typedef unsigned long long ull;

/* --- the agent and its ports --- */

static const char *admin(unsigned port, bool on)
{
	return lldp_control_is_engines(port) ? "engine" : on ? "on" : "off";
}

static bool part_ports(struct page_walk *w, struct page_text *t)
{
	const struct lldp *l = lldp_control_agent();
	const unsigned port = w->item;
	if (w->item == 0 && l)
		page_print(t, "{\"running\":true,\"timer_s\":%u,\"holdtime_s\":%u,\"ports\":[", l->params.interval_s,
		           l->params.ttl_s);
	else if (w->item == 0)
		page_print(t, "{\"running\":false,\"timer_s\":null,\"holdtime_s\":null,\"ports\":[");
	if (l == NULL || port >= l->ports) {
		page_print(t, "]");
		return false;
	}
	const struct lldp_port *p = &l->port[port];
	page_print(t, "%s\n{\"name\":\"%s\",\"transmit\":\"%s\",\"receive\":\"%s\",\"neighbours\":%u", page_comma(w),
	           dp_name(dp_get(), port), admin(port, p->transmit), admin(port, p->receive),
	           lldp_neighbours(l, port));
	page_print(t, ",\"sent\":%llu,\"received\":%llu,\"dropped\":%llu,\"refused\":%llu,\"aged\":%llu}",
	           (ull)(p->counters.tx + p->counters.tx_shutdown), (ull)p->counters.rx, (ull)p->counters.rx_dropped,
	           (ull)p->counters.rx_refused, (ull)p->counters.rx_aged);
	return true;
}

/* --- neighbours --- */

struct seen {
	const struct lldp_neighbour *b;
	struct lldp_pdu pdu;
	unsigned port;
};

static void print_text(struct page_text *t, const char *name, const struct lldp_string *s)
{
	char text[LLDP_TEXT_MAX];
	page_print(t, ",\"%s\":", name);
	if (s->at)
		page_json(t, s->len ? lldp_text_string(text, s) : "");
	else
		page_print(t, "null");
}

static void print_number(struct page_text *t, const char *name, bool has, unsigned n)
{
	if (has)
		page_print(t, ",\"%s\":%u", name, n);
	else
		page_print(t, ",\"%s\":null", name);
}

static void print_capabilities(struct page_text *t, const char *name, const struct lldp_pdu *n, unsigned set)
{
	char words[LLDP_TEXT_MAX];
	const char *comma = "";
	page_print(t, n->has_capabilities ? ",\"%s\":[" : ",\"%s\":null", name);
	for (unsigned bit = 0; n->has_capabilities && bit < LLDP_CAPABILITIES; bit++) {
		if (!(set >> bit & 1))
			continue;
		page_print(t, "%s\"%s\"", comma, lldp_text_capabilities(words, 1u << bit));
		comma = ",";
	}
	page_print(t, n->has_capabilities ? "]" : "");
}

static void field_times(struct page_text *t, const struct seen *s)
{
	char mac[FMT_MAC_MAX];
	const uint64_t now = core_now_ns(), end = s->b->expires_ns;
	page_print(t, "{\"port\":\"%s\",\"source\":\"%s\",\"ttl_s\":%u", dp_name(dp_get(), s->port),
	           fmt_mac(mac, s->b->source), s->pdu.ttl_s);
	page_print(t, ",\"left_s\":%llu,\"known_s\":%llu,\"heard_s\":%llu",
	           (ull)(end > now ? (end - now + SECOND_NS - 1) / SECOND_NS : 0),
	           (ull)((now - s->b->since_ns) / SECOND_NS), (ull)((now - s->b->heard_ns) / SECOND_NS));
	print_number(t, "port_vlan", s->pdu.has_vlan, s->pdu.vlan);
	print_number(t, "frame_size_max", s->pdu.has_frame_max, s->pdu.frame_max);
}

static void field_chassis(struct page_text *t, const struct seen *s)
{
	char id[LLDP_TEXT_ID_MAX];
	page_print(t, ",\"chassis_id\":");
	page_json(t, lldp_text_chassis(id, &s->pdu.chassis));
}

static void field_port(struct page_text *t, const struct seen *s)
{
	char id[LLDP_TEXT_ID_MAX];
	page_print(t, ",\"port_id\":");
	page_json(t, lldp_text_port(id, &s->pdu.port));
}

static void field_port_description(struct page_text *t, const struct seen *s)
{
	print_text(t, "port_description", &s->pdu.port_description);
}

static void field_name(struct page_text *t, const struct seen *s)
{
	print_text(t, "system_name", &s->pdu.system_name);
}

static void field_description(struct page_text *t, const struct seen *s)
{
	print_text(t, "system_description", &s->pdu.system_description);
}

static void field_capabilities(struct page_text *t, const struct seen *s)
{
	print_capabilities(t, "capabilities", &s->pdu, s->pdu.capabilities);
	print_capabilities(t, "enabled", &s->pdu, s->pdu.enabled);
}

static void field_addresses(struct page_text *t, const struct seen *s)
{
	char text[LLDP_TEXT_ID_MAX];
	page_print(t, ",\"management_addresses\":[");
	for (unsigned i = 0; i < s->pdu.addresses; i++)
		page_print(t, "%s{\"address\":\"%s\",\"interface\":%u}", i ? "," : "",
		           lldp_text_address(text, s->pdu.address[i].family, &s->pdu.address[i].value),
		           s->pdu.address[i].number);
	page_print(t, "]");
}

static void (*const fields[])(struct page_text *t, const struct seen *s) = {
	field_times, field_chassis, field_port, field_port_description, field_name, field_description,
	field_capabilities, field_addresses,
};

/* The neighbour at that place of the table. */
static bool look(uint64_t place, struct seen *s)
{
	const struct lldp *l = lldp_control_agent();
	s->port = (unsigned)(place / LLDP_EACH);
	s->b = l && s->port < l->ports ? lldp_neighbour(l, s->port, (unsigned)(place % LLDP_EACH)) : NULL;
	return s->b && lldp_pdu_read(s->b->pdu, s->b->len, &s->pdu) == CNT_NONE;
}

/* The cursor: place and next field of the neighbour, since when it is known, and whether one has been written. */
static bool part_neighbours(struct page_walk *w, struct page_text *t)
{
	enum { PLACE, FIELD, SINCE, ANY };
	uint64_t *at = w->cursor.own;
	const struct lldp *l = lldp_control_agent();
	struct seen s;
	if (w->item == 0)
		page_print(t, ",\"neighbours\":[");
	if (at[FIELD]) {
		if (look(at[PLACE], &s) && s.b->since_ns == at[SINCE])
			fields[at[FIELD]](t, &s);
		if (++at[FIELD] == ARRAY_LEN(fields)) {
			page_print(t, "}");
			at[PLACE]++;
			at[FIELD] = 0;
		}
		return true;
	}
	while (l && at[PLACE] < (uint64_t)l->ports * LLDP_EACH && !look(at[PLACE], &s))
		at[PLACE]++;
	if (!l || at[PLACE] >= (uint64_t)l->ports * LLDP_EACH) {
		page_print(t, "]}\n");
		return false;
	}
	page_print(t, "%s\n", at[ANY] ? "," : "");
	fields[0](t, &s);
	at[FIELD] = at[ANY] = 1;
	at[SINCE] = s.b->since_ns;
	return true;
}

const page_part page_lldp[] = {part_ports, part_neighbours, NULL};
