/* What a port announces by LLDP; see lldp_control.h. Chassis ID is the MAC address of the first port, port ID
 * the name of the port's interface. */
#include "control/link/lldp_control.h"

#include "control/config/running.h"
#include "dataplane/state.h"
#include "lib/fmt.h"

#define FRAME_BEYOND_MTU (ETH_HLEN + 4) /* the maximum frame size counts header and FCS */
#define DESCRIPTION_MAX 64

static uint8_t addresses[LLDP_ADDRESSES_MAX][sizeof(struct net_addr)];

static struct lldp_string string(const char *text)
{
	return (struct lldp_string){(const uint8_t *)text, (uint16_t)strlen(text)};
}

/* bytes: those of the address, in wire order. */
static void add(struct lldp_pdu *out, unsigned interface, enum lldp_family family, const void *bytes, unsigned len)
{
	if (out->addresses == LLDP_ADDRESSES_MAX)
		return;
	uint8_t *own = addresses[out->addresses];
	memcpy(own, bytes, len);
	out->address[out->addresses++] = (struct lldp_address){
		.family = (uint8_t)family,
		.value = {own, (uint16_t)len},
		.numbering = LLDP_NUMBERING_IFINDEX,
		.number = interface + 1,
	};
}

/* The primary IPv4 address of the interface, and its first IPv6 address beyond the link-local one. An interface
 * that borrows an address has none of its own here. */
static void add_interface(struct lldp_pdu *out, unsigned interface)
{
	const struct dp_state *v = dp_get();
	const struct dp_interface *ifp = &v->interface[interface];
	const struct dp_interface6 *six = &v->interface6[interface];
	if (!dp_exists(v, interface))
		return;
	if (ifp->enabled && ifp->addresses) {
		const be32_t wire = be32_make(ifp->addr[0]);
		add(out, interface, LLDP_IP4, &wire, sizeof wire);
	}
	if (ifp->enabled6 && six->count > 1)
		add(out, interface, LLDP_IP6, &six->addr[1], sizeof six->addr[1]);
}

/* The port's own addresses come first: a neighbour reaches them on this link. */
static void add_addresses(struct lldp_pdu *out, unsigned port)
{
	add_interface(out, port);
	for (unsigned n = 0; n < dp_get()->ifs; n++)
		if (n != port)
			add_interface(out, n);
}

/* 8.5.8.1: a station is nothing else. */
static uint16_t capabilities(void)
{
	switch (core_app_number()) {
	case CORE_APP_router:
		return LLDP_ROUTER;
	case CORE_APP_switch:
		return LLDP_BRIDGE;
	default:
		return LLDP_STATION;
	}
}

void lldp_describe(unsigned port, struct lldp_pdu *out)
{
	static char system[DESCRIPTION_MAX];
	const struct dp_state *v = dp_get();
	const struct config *c = &running.config;
	const char *own = c->interface[port].description;
	fmt_format(system, sizeof system, "Hayate %s, %s, x86-64", HAYATE_VERSION, core_app_word(core_app_number()));
	*out = (struct lldp_pdu){
		.chassis = {LLDP_CHASSIS_MAC, {v->interface[0].mac, ETH_ALEN}},
		.port = {LLDP_PORT_INTERFACE, string(dp_name(v, port))},
		.port_description = string(own[0] ? own : dp_name(v, port)),
		.system_name = string(c->hostname),
		.system_description = string(system),
		.has_capabilities = true,
		.capabilities = capabilities(),
		.enabled = capabilities(),
		.has_frame_max = true,
		.frame_max = (uint16_t)(v->interface[port].mtu + FRAME_BEYOND_MTU),
	};
	add_addresses(out, port);
	if (core_app_number() == CORE_APP_switch) {
		out->has_vlan = true;
		out->vlan = (uint16_t)config_switch_untagged(c, port);
	}
}
