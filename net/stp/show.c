/* Parameters and what `show spanning-tree` reads: see stp.h. */
#include "lib/assert.h"
#include "net/stp/inside.h"

const char *stp_params_wrong(const struct stp_params *p)
{
	if (p->priority % 4096 != 0)
		return "the bridge priority is not a multiple of 4096";
	if (p->hello_s < 1 || p->hello_s > 2)
		return "the hello time is not 1 or 2 seconds";
	if (p->max_age_s < 6 || p->max_age_s > 40)
		return "the max age is not 6 to 40 seconds";
	if (p->forward_delay_s < 4 || p->forward_delay_s > 30)
		return "the forward delay is not 4 to 30 seconds";
	if (p->tx_hold < 1 || p->tx_hold > 10)
		return "the transmit hold count is not 1 to 10";
	if (p->version != STP_VERSION_STP && p->version != STP_VERSION_RSTP)
		return "the protocol version is not 0 or 2";
	/* 17.14 */
	if (2 * (p->forward_delay_s - 1) < p->max_age_s)
		return "the max age is more than 2 * (forward delay - 1 second)";
	if (p->max_age_s < 2 * (p->hello_s + 1))
		return "the max age is less than 2 * (hello time + 1 second)";
	return NULL;
}

const char *stp_port_params_wrong(const struct stp_port_params *p)
{
	if (p->priority % 16 != 0)
		return "the port priority is not a multiple of 16";
	if (p->path_cost > STP_COST_MAX)
		return "the path cost is more than 200000000";
	if (p->link_type > STP_LINK_SHARED)
		return "the link type is unknown";
	if (!eth_is_station(p->mac))
		return "the source address is not a station's";
	return NULL;
}

/* Table 17-3: 20,000,000 at 1 Mb/s, and inversely proportional, down to 1. */
uint32_t stp_path_cost(uint32_t speed_mbps)
{
	return speed_mbps == 0 ? 20000 : u32_max(20000000 / speed_mbps, 1);
}

void stp_bridge_status(const struct stp *b, struct stp_bridge_status *out)
{
	*out = (struct stp_bridge_status){
		.bridge_id = b->BridgeIdentifier,
		.root_id = b->rootPriority.RootBridgeID,
		.root_path_cost = b->rootPriority.RootPathCost,
		.root_port = b->rootPort,
		.times = b->rootTimes,
		.topology_change = b->tcActive,
		.topology_changes = b->tcCount,
		.topology_change_ns = b->tcSince_ns,
		.topology_change_port = b->tcPort,
	};
}

void stp_port_status(const struct stp *b, unsigned port, struct stp_port_status *out)
{
	assert(port < b->ports);
	const struct stp_port *p = &b->port[port];
	*out = (struct stp_port_status){
		.role = p->role,
		.state = p->portState,
		.port_id = p->portId,
		.path_cost = p->PortPathCost,
		.link_up = p->linkUp,
		.edge = p->operEdge,
		.point_to_point = p->operPointToPointMAC,
		.rstp = p->sendRSTP,
		.guarded = p->guarded,
		.looped = p->loopedWhile != 0,
		.proposing = p->proposing,
		.disputed = p->disputed,
		.designated = p->portPriority,
		.counters = p->counters,
	};
}

const char *stp_role_name(enum stp_role role)
{
	static const char *const names[] = {"disabled", "root", "designated", "alternate", "backup"};
	return role < ARRAY_LEN(names) ? names[role] : "unknown";
}

const char *stp_state_name(enum stp_state state)
{
	static const char *const names[] = {"discarding", "learning", "forwarding"};
	return state < ARRAY_LEN(names) ? names[state] : "unknown";
}
