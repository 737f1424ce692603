/*
 * LLDP on the control core: the agent of net/lldp, for all applications, as the configuration says
 * (docs/configuration.md, "LLDP"). A port whose LLDP frames go to the routing engine (`routing engine
 * protocols lldp`) has no agent here: the engine has one for it.
 *
 * With LLDP off there is no agent, no timer, and data cores punt no LLDP frame.
 */
#ifndef CONTROL_LINK_LLDP_CONTROL_H
#define CONTROL_LINK_LLDP_CONTROL_H

#include "control/config/config.h"
#include "net/lldp/lldp.h"

/* Allocates memory for the neighbours, if that configuration runs LLDP. False: there is not enough. */
bool lldp_control_room(const struct config *c);

/* At the beginning of each start of the ports: there is no agent. */
void lldp_control_stop(void);

/* At each start of the ports, when the data-plane state has been built: begins without neighbours. */
void lldp_control_start(void);

/* A commit has taken effect without a restart of the ports. */
void lldp_control_changed(void);

/* Follows the links and does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t lldp_control_timer(void);

/* The agent of core_port_count() ports; NULL: LLDP is off. */
const struct lldp *lldp_control_agent(void);

/* Forgets all neighbours; sets the counters of all ports to 0. With LLDP off: nothing. */
void lldp_control_clear_neighbours(void);
void lldp_control_clear_counters(void);

/* Are the port's LLDP frames the routing engine's? */
bool lldp_control_is_engines(unsigned port);

/* lldp_describe.c: what the port announces, all but the time to live. The strings last until the next call. */
void lldp_describe(unsigned port, struct lldp_pdu *out);

#endif
