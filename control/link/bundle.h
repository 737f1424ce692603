/*
 * Port channels: bundles of ports that carry frames as one (IEEE 802.1AX), on the control core. Runs
 * LACP (net/lacp), tells data cores from which ports a bundle collects (dp_state.logical) and to which it
 * distributes (core_bundle), and the rest of the control plane when a bundle is up.
 *
 * The number of a bundle is that of the first port of its port channel, whichever ports are in use.
 */
#ifndef CONTROL_LINK_BUNDLE_H
#define CONTROL_LINK_BUNDLE_H

#include "dataplane/state.h"
#include "net/lacp/lacp.h"

/* A bundle, by its number, has a port that distributes, or has none any more. */
typedef void (*bundle_changed_fn)(unsigned bundle, bool up);

/* Begins anew from the running configuration, with all links down: at each start of the ports, when the
 * data-plane state has its interfaces. */
void bundle_start(struct dp_state *v, bundle_changed_fn changed);

/* The link of a port in a port channel. */
void bundle_link(unsigned port, bool up);

/* Rates, priorities and least numbers of links, from the running configuration. The rest begins with a start. */
void bundle_configure(void);

/* Does the work due. Returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t bundle_timer(void);

/* The ports of a port channel that are in use for sending, one bit each. */
uint32_t bundle_ports(unsigned channel);

/* The port by which a frame of the control plane leaves for a logical port: the first that a bundle uses. */
unsigned bundle_sender(unsigned port);

/* The state of LACP; NULL: no port is in a port channel. */
const struct lacp *bundle_lacp(void);

#endif
