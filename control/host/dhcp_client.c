/* See dhcp_client.h. */
#include "control/host/dhcp_client.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/forwarding/adjacency.h"
#include "control/forwarding/leased.h"
#include "control/forwarding/tables.h"
#include "control/host/names.h"
#include "control/host/ntp_control.h"
#include "control/host/udp_control.h"
#include "control/storage/storage.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/arp.h"
#include "net/ip4.h"
#include "runtime/sealed.h"

#define SILENT_TRIES 5 /* messages, in a minute */

static const uint8_t broadcast[ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static struct slot {
	bool used;
	bool up;           /* the link, as last seen */
	bool told;         /* since the last lease, that no server answers */
	uint32_t key;      /* of the interface's name */
	unsigned interface; /* its present number */
	unsigned distance;
	struct dhcp_client client;
} slots[CONFIG_DHCP_CLIENTS_MAX];

/* The leases in use, for the next program. */
static struct kept {
	struct {
		uint64_t key; /* of the interface, plus 1; 0: none */
		struct dhcp_lease lease;
	} lease[CONFIG_DHCP_CLIENTS_MAX];
} kept_now;
static struct sealed kept = SEALED(CORE_PERSIST_DHCP, 2, struct kept);

/* --- what is remembered --- */

/* Names and time of day learn the servers and the domain of all leases; the domain is the first one. */
static void tell(void)
{
	struct net_addr dns[ARRAY_LEN(slots) * DHCP_LEASE_SERVERS], ntp[ARRAY_LEN(slots) * DHCP_LEASE_SERVERS];
	unsigned dns_count = 0, ntp_count = 0;
	const char *domain = "";
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++) {
		const struct dhcp_lease *l = &slots[i].client.lease;
		if (!slots[i].used || !slots[i].client.installed)
			continue;
		for (unsigned k = 0; k < l->dns_count; k++)
			dns[dns_count++] = net_addr_ip4(l->dns[k]);
		for (unsigned k = 0; k < l->ntp_count; k++)
			ntp[ntp_count++] = net_addr_ip4(l->ntp[k]);
		if (!domain[0])
			domain = l->domain;
	}
	names_learn(dns, dns_count, domain);
	ntp_control_learn(ntp, ntp_count);
}

static void keep(void)
{
	tell();
	memset(&kept_now, 0, sizeof kept_now);
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++)
		if (slots[i].used && slots[i].client.installed) {
			kept_now.lease[i].key = slots[i].key + 1ull;
			kept_now.lease[i].lease = slots[i].client.lease;
		}
	if (sealed_take(&kept))
		sealed_write(&kept, &kept_now);
}

#define STORED_NAME 48
static char *stored_name(char buf[STORED_NAME], uint32_t key)
{
	char name[CONFIG_IF_NAME_SIZE];
	fmt_format(buf, STORED_NAME, "dhcp/%s", config_key_name(name, key));
	return buf;
}

/* The address that the interface had before the machine restarted; 0: the disk has none. */
static uint32_t stored(uint32_t key)
{
	char name[STORED_NAME];
	const uint8_t *data;
	size_t n;
	if (storage_get(stored_name(name, key), &data, &n) != E_OK || n != sizeof(uint32_t))
		return 0;
	const uint32_t addr = be32_load(data);
	return ip4_src_is_martian(addr) ? 0 : addr;
}

static void store(uint32_t key, uint32_t addr)
{
	char name[STORED_NAME];
	uint8_t bytes[4];
	be32_store(bytes, addr);
	if (storage_present() && stored(key) != addr) /* a put costs a write of all values */
		(void)storage_put(stored_name(name, key), bytes, sizeof bytes, NULL, NULL);
}

/* The interface takes its address from no server any more. */
static void forget(uint32_t key)
{
	char name[STORED_NAME];
	if (stored(key))
		(void)storage_remove(stored_name(name, key), NULL, NULL);
}

/* --- callbacks of client4.h --- */

static void op_send(void *ctx, uint32_t src, uint32_t dst, const uint8_t *message, unsigned n)
{
	static uint8_t frame[ETH_HLEN + IP4_HLEN + UDP_HLEN + DHCP4_BYTES_MAX];
	const struct slot *s = ctx;
	count(CNT_dhcp_tx);
	if (dst != IP4_BROADCAST) {
		const struct udp_message m = {.dst = net_addr_ip4(dst),
		                              .src = net_addr_ip4(src),
		                              .src_port = DHCP4_CLIENT_PORT,
		                              .dst_port = DHCP4_SERVER_PORT,
		                              .data = message,
		                              .data_len = n};
		if (!udp_send(&m))
			count(CNT_originated_drop_tx);
		return;
	}
	const struct udp_build b = {.src = net_addr_ip4(src),
	                            .dst = net_addr_ip4(dst),
	                            .src_port = DHCP4_CLIENT_PORT,
	                            .dst_port = DHCP4_SERVER_PORT,
	                            .ttl = IP4_TTL_DEFAULT,
	                            .df = true};
	eth_header_build(frame, broadcast, s->client.mac, ETH_TYPE_IP4);
	const unsigned len = udp_packet_build(frame + ETH_HLEN, sizeof frame - ETH_HLEN, &b, message, n);
	count(CNT_udp_tx);
	adjacency_send_own(s->interface, frame, len + ETH_HLEN);
}

static void op_probe(void *ctx, uint32_t addr)
{
	const struct slot *s = ctx;
	uint8_t frame[ARP_FRAME_LEN];
	struct arp_message m = {.htype = BE16(ARP_HTYPE_ETHERNET), /* RFC 5227 1.1: the sender's address is 0 */
	                        .ptype = BE16(ETH_TYPE_IP4),
	                        .hlen = ETH_ALEN,
	                        .plen = 4,
	                        .op = BE16(ARP_OP_REQUEST),
	                        .tpa = be32_make(addr)};
	eth_copy(m.sha, s->client.mac);
	eth_header_build(frame, broadcast, s->client.mac, ETH_TYPE_ARP);
	memcpy(frame + ETH_HLEN, &m, sizeof m);
	count(CNT_arp_tx_request);
	adjacency_send_own(s->interface, frame, sizeof frame);
}

static bool op_bound(void *ctx, const struct dhcp_lease *l)
{
	struct slot *s = ctx;
	char prefix[FMT_PREFIX_MAX], server[FMT_IP4_MAX];
	const char *name = dp_name(dp_get(), s->interface);
	const bool new = !s->client.installed;
	if (!leased_set(s->interface, l, s->distance)) {
		log_event(LOG_ERR, "DHCP-REFUSED",
		          "%s: the lease of %s is not used: it lies in a subnet of another interface", name,
		          fmt_prefix(prefix, l->addr, l->plen));
		return false;
	}
	if (new)
		log_event(LOG_NOTICE, "DHCP-BOUND", "%s: address %s of DHCP server %s", name,
		          fmt_prefix(prefix, l->addr, l->plen), fmt_ip4(server, l->server));
	store(s->key, l->addr);
	s->client.installed = true; /* for keep() */
	s->told = false;
	keep();
	return true;
}

static void op_unbound(void *ctx, const char *why)
{
	struct slot *s = ctx;
	char prefix[FMT_PREFIX_MAX];
	log_event(LOG_WARNING, "DHCP-UNBOUND", "%s: the address %s is given up: %s", dp_name(dp_get(), s->interface),
	          fmt_prefix(prefix, s->client.lease.addr, s->client.lease.plen), why);
	leased_clear(s->interface);
	s->client.installed = false;
	keep();
}

static uint32_t op_random(void *ctx)
{
	uint32_t number;
	(void)ctx;
	core_random(&number, sizeof number);
	return number;
}

static const struct dhcp_client_ops ops = {
	.send = op_send, .probe = op_probe, .bound = op_bound, .unbound = op_unbound, .random = op_random};

/* --- input --- */

static struct slot *slot_of(unsigned interface)
{
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++)
		if (slots[i].used && slots[i].interface == interface)
			return &slots[i];
	return NULL;
}

enum counter dhcp_client_message(const struct udp_datagram *d, unsigned interface)
{
	struct slot *s = slot_of(interface);
	if (!s || d->src_port != DHCP4_SERVER_PORT)
		return CNT_drop_dhcp_unwanted;
	return dhcp_client_input(&s->client, d->data, d->data_len, core_now_ns());
}

/* To our own address. */
static enum counter input(const struct udp_datagram *d, const struct udp_arrival *from)
{
	return dhcp_client_message(d, from->interface);
}

void dhcp_client_arp_frame(unsigned interface, const uint8_t *frame, unsigned len)
{
	char mac[FMT_MAC_MAX], addr[FMT_IP4_MAX];
	struct slot *s = slot_of(interface);
	struct arp_message m;
	if (!s || s->client.state != DHCP_PROBING || len < ARP_FRAME_LEN)
		return;
	memcpy(&m, frame + ETH_HLEN, sizeof m);
	const uint64_t declines = s->client.counts.declines;
	const uint32_t wanted = s->client.lease.addr;
	if (be16_get(m.htype) == ARP_HTYPE_ETHERNET && be16_get(m.ptype) == ETH_TYPE_IP4 && m.hlen == ETH_ALEN &&
	    m.plen == 4)
		dhcp_client_arp(&s->client, be32_get(m.spa), be32_get(m.tpa), m.sha, core_now_ns());
	if (s->client.counts.declines != declines)
		log_event(LOG_WARNING, "DHCP-CONFLICT", "%s: %s has the offered address %s, which is declined",
		          dp_name(dp_get(), interface), fmt_mac(mac, m.sha), fmt_ip4(addr, wanted));
}

/* --- by the configuration --- */

/* What the configuration wants of the interface with that key; NULL: nothing. Sets its number. */
static const struct config_dhcp_client *wanted(const struct config *c, uint32_t key, unsigned *interface)
{
	const struct config_dhcp_client *d = config_dhcp_client(c, key);
	const int n = d ? config_number(c, key) : -1;
	if (n < 0)
		return NULL;
	const struct config_interface *i = &c->interface[n];
	*interface = (unsigned)n;
	return i->shutdown || (!config_is_svi(i) && config_logical_shut(c, config_if_port(c, i))) ? NULL : d;
}

void dhcp_client_leave(const struct config *next)
{
	unsigned interface;
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++)
		if (slots[i].used && !wanted(next, slots[i].key, &interface)) {
			dhcp_client_release(&slots[i].client, core_now_ns());
			forget(slots[i].key);
		}
}

static struct slot *slot_for(uint32_t key, bool *new)
{
	struct slot *s = NULL;
	*new = false;
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++) {
		if (slots[i].used && slots[i].key == key)
			return &slots[i];
		if (!slots[i].used && !s)
			s = &slots[i];
	}
	assert(s); /* there are as many as clients of a configuration */
	*new = true;
	return s;
}

/* A client that this program did not have: it continues with the lease that the program before had, or asks for the
 * address that the machine had before it restarted. */
static void begin(struct slot *s, const struct kept *before)
{
	for (unsigned i = 0; before && i < ARRAY_LEN(before->lease); i++)
		if (before->lease[i].key == s->key + 1ull) {
			(void)dhcp_client_resume(&s->client, &before->lease[i].lease, core_now_ns());
			return;
		}
	dhcp_client_start(&s->client, stored(s->key), core_now_ns());
}

/* The ports have restarted: the tables are new, and the lease is as before. */
static void again(struct slot *s)
{
	if (s->client.installed && !leased_set(s->interface, &s->client.lease, s->distance))
		dhcp_client_release(&s->client, core_now_ns());
	if (s->client.state == DHCP_OFF)
		dhcp_client_start(&s->client, s->client.lease.addr, core_now_ns());
}

static void start(const struct config_dhcp_client *d, unsigned interface, const struct kept *before)
{
	bool new;
	struct slot *s = slot_for(d->interface, &new);
	const uint8_t *mac = dp_get()->interface[interface].mac;
	s->used = true;
	s->key = d->interface;
	s->interface = interface;
	s->distance = d->distance;
	if (new || memcmp(s->client.mac, mac, ETH_ALEN) != 0) { /* of a port channel, by another port: another client */
		s->up = false;
		dhcp_client_init(&s->client, &ops, s, mac, d->hostname);
		begin(s, before);
		return;
	}
	memcpy(s->client.hostname, d->hostname, sizeof s->client.hostname);
	again(s);
}

void dhcp_client_control_start(void)
{
	_Static_assert((int)CONFIG_HOSTNAME_SIZE == (int)DHCP_HOSTNAME_SIZE, "it is copied");
	_Static_assert((int)CONFIG_HTTP_HOST_SIZE == (int)DHCP_DOMAIN_SIZE, "names take it");
	static bool started;
	static struct kept before;
	const struct config *c = &running.config;
	const struct kept *found = started ? NULL : sealed_newest(&kept);
	bool any = false;
	unsigned interface;
	if (found)
		before = *found; /* keep() writes over it */
	leased_forget();
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++)
		if (slots[i].used && !wanted(c, slots[i].key, &interface))
			slots[i].used = false;
	for (unsigned k = 0; k < c->dhcp.clients; k++) {
		const struct config_dhcp_client *d = wanted(c, c->dhcp.client[k].interface, &interface);
		if (d && dp_has_link(dp_get(), interface)) {
			start(d, interface, found ? &before : NULL);
			any = true;
		}
	}
	started = true;
	tell();
	if (!any)
		udp_unlisten(DHCP4_CLIENT_PORT);
	else if (!udp_listen(DHCP4_CLIENT_PORT, input))
		log_event(LOG_ERR, "DHCP-PORT", "UDP port %u is taken: no DHCP client", DHCP4_CLIENT_PORT);
}

/* --- time --- */

/* RFC 2131 3.1: the user learns that it does not go on. */
static void tell_silence(struct slot *s)
{
	if (s->told || s->client.state != DHCP_SELECTING || s->client.tries < SILENT_TRIES)
		return;
	s->told = true;
	log_event(LOG_WARNING, "DHCP-SILENCE", "%s: no DHCP server has offered an address yet",
	          dp_name(dp_get(), s->interface));
}

static uint64_t serve(struct slot *s)
{
	const bool up = dp_link_is_up(dp_get(), s->interface);
	if (up && !s->up)
		dhcp_client_link_up(&s->client, core_now_ns());
	s->up = up;
	if (!up)
		return dhcp_client_tick_down(&s->client, core_now_ns());
	const uint64_t due = dhcp_client_tick(&s->client, core_now_ns());
	tell_silence(s);
	return due;
}

uint64_t dhcp_client_timer(void)
{
	uint64_t due = UINT64_MAX;
	if (!forwarding.ready || !core_ports_running())
		return due;
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++)
		if (slots[i].used)
			due = u64_min(due, serve(&slots[i]));
	return due;
}

/* --- for the console --- */

void dhcp_client_renew_all(void)
{
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++)
		if (slots[i].used)
			dhcp_client_renew(&slots[i].client, core_now_ns());
}

void dhcp_client_clear_all(void)
{
	for (unsigned i = 0; i < ARRAY_LEN(slots); i++)
		if (slots[i].used) {
			dhcp_client_release(&slots[i].client, core_now_ns());
			dhcp_client_start(&slots[i].client, 0, core_now_ns());
		}
}

unsigned dhcp_client_left_s(const struct dhcp_lease *l, uint32_t s)
{
	const uint64_t at = l->since_ns + s * SECOND_NS, now = core_now_ns();
	return at > now ? (unsigned)((at - now) / SECOND_NS) : 0;
}

const struct dhcp_client *dhcp_client_at(unsigned i, unsigned *interface)
{
	for (unsigned k = 0; k < ARRAY_LEN(slots); k++)
		if (slots[k].used && i-- == 0) {
			*interface = slots[k].interface;
			return &slots[k].client;
		}
	return NULL;
}
