/* /api/v1/dhcp.json: what `show dhcp lease` and `show ip dhcp relay` print (docs/http.md). */
#include "control/config/running.h"
#include "control/host/dhcp_client.h"
#include "control/host/dhcp_relay.h"
#include "control/management/page.h"
#include "dataplane/state.h"
#include "lib/fmt.h"

typedef unsigned long long ull;

/* --- the client: two items each --- */

static void print_times(struct page_text *t, const struct dhcp_lease *l)
{
	if (l->lease_s == DHCP_LEASE_FOREVER)
		page_print(t, ",\"lease_s\":null,\"left_s\":null,\"renew_s\":null,\"rebind_s\":null");
	else
		page_print(t, ",\"lease_s\":%u,\"left_s\":%u,\"renew_s\":%u,\"rebind_s\":%u", l->lease_s,
		           dhcp_client_left_s(l, l->lease_s), dhcp_client_left_s(l, l->t1_s),
		           dhcp_client_left_s(l, l->t2_s));
}

static void print_client(struct page_text *t, const struct dhcp_client *c, unsigned interface)
{
	char prefix[FMT_PREFIX_MAX], addr[FMT_IP4_MAX];
	const struct dhcp_lease *l = &c->lease;
	page_print(t, "\n{\"interface\":\"%s\",\"state\":\"%s\",\"sent\":%llu,\"received\":%llu,\"naks\":%llu,"
	              "\"declines\":%llu,\"timeouts\":%llu",
	           dp_name(dp_get(), interface), dhcp_client_state_name(c->state), (ull)c->counts.sent,
	           (ull)c->counts.received, (ull)c->counts.naks, (ull)c->counts.declines, (ull)c->counts.timeouts);
	if (!c->installed) {
		page_print(t, ",\"address\":null,\"server\":null,\"lease_s\":null,\"left_s\":null,\"renew_s\":null,"
		              "\"rebind_s\":null");
		return;
	}
	page_print(t, ",\"address\":\"%s\",\"server\":\"%s\"", fmt_prefix(prefix, l->addr, l->plen),
	           fmt_ip4(addr, l->server));
	print_times(t, l);
}

static void print_hosts(struct page_text *t, const char *name, const uint32_t *host, uint32_t n)
{
	char addr[FMT_IP4_MAX];
	page_print(t, ",\"%s\":[", name);
	for (uint32_t i = 0; i < n; i++)
		page_print(t, "%s\"%s\"", i ? "," : "", fmt_ip4(addr, host[i]));
	page_print(t, "]");
}

static void print_rest(struct page_text *t, const struct dhcp_client *c)
{
	static const struct dhcp_lease none;
	const struct dhcp_lease *l = c->installed ? &c->lease : &none;
	char prefix[FMT_PREFIX_MAX], via[FMT_IP4_MAX];
	page_print(t, ",\"routes\":[");
	for (uint32_t i = 0; i < l->routes; i++)
		page_print(t, "%s{\"prefix\":\"%s\",\"via\":\"%s\"}", i ? "," : "",
		           fmt_prefix(prefix, l->route[i].prefix, l->route[i].plen), fmt_ip4(via, l->route[i].via));
	page_print(t, "]");
	print_hosts(t, "name_servers", l->dns, l->dns_count);
	print_hosts(t, "ntp_servers", l->ntp, l->ntp_count);
	if (l->domain[0])
		page_print(t, ",\"domain\":\"%s\"}", l->domain);
	else
		page_print(t, ",\"domain\":null}");
}

static bool part_clients(struct page_walk *w, struct page_text *t)
{
	unsigned interface;
	const struct dhcp_client *c = dhcp_client_at(w->item / 2, &interface);
	if (w->item == 0)
		page_print(t, "{\"clients\":[");
	if (!c) { /* its item before may have been the last one before a commit removed it */
		page_print(t, w->item % 2 ? "}]" : "]");
		return false;
	}
	if (w->item % 2) {
		print_rest(t, c);
		return true;
	}
	page_print(t, "%s", page_comma(w));
	print_client(t, c, interface);
	return true;
}

/* --- the relay agents: an item for each interface and family --- */

static bool part_relays(struct page_walk *w, struct page_text *t)
{
	const struct dp_state *v = dp_get();
	const unsigned n = w->item / 2, six = w->item % 2;
	if (w->item == 0)
		page_print(t, ",\"relays\":[");
	if (n >= v->ifs) {
		page_print(t, "]}\n");
		return false;
	}
	if (!dp_exists(v, n) || !running.config.interface[n].relay_line[six])
		return true;
	const struct dhcp_relay_counts *c = &dhcp_relay_counts[n][six];
	page_print(t, "%s\n{\"interface\":\"%s\",\"family\":\"%s\",\"requests\":%llu,\"replies\":%llu,\"sent\":%llu}",
	           w->cursor.n ? "," : "", dp_name(v, n), six ? "ipv6" : "ipv4", (ull)c->requests, (ull)c->replies,
	           (ull)c->sent);
	w->cursor.n = 1;
	return true;
}

const page_part page_dhcp[] = {part_clients, part_relays, NULL};
