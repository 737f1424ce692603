/*
 * An application's notes on a packet that is being followed (docs/console.md, `trace`), made where
 * it decides. Counters, sent frames and messages to the control core need no notes:
 * dataplane/trace.c compares them before and after.
 *
 * A followed packet arrives as a vector of one and takes the same code path as any other. So the
 * hot loops call core_traces once per vector, and note their results after the loop.
 */
#ifndef DATAPLANE_TRACE_NOTE_H
#define DATAPLANE_TRACE_NOTE_H

#include "dataplane/state.h"

/* Filter f of the data-plane state was asked. rule: its answer (acl_classify). */
void trace_filter(const struct dp_filter *f, uint32_t rule);

/* The same for a list of MAC addresses (acl_mac_first). */
void trace_filter_mac(const struct dp_filter_mac *f, uint32_t rule);

/* Source verification found nh as the next hop back to the packet's source. */
void trace_source(uint32_t nh);

/* A look-up returned nh for the packet of `total` bytes of IP. Each nh is noted once. */
void trace_way(uint32_t nh, unsigned total);

/* A bridge has looked up a frame of VLAN vid: the ports where it knows source and destination, TRACE_NOWHERE if
 * it does not know one. */
void trace_stations(unsigned vid, unsigned source, unsigned destination);

#endif
