/*
 * What an application says of a packet that is being followed (docs/console.md, `trace`), at the
 * places where it decides. Counters, frames sent and messages to the control core need no words:
 * dataplane/trace.c sees what has changed.
 *
 * A packet that is followed comes as a vector of one through the very code that every other takes.
 * So the hot loops ask once a vector (core_traces), and what they found is noted behind them.
 */
#ifndef DATAPLANE_TRACE_NOTE_H
#define DATAPLANE_TRACE_NOTE_H

#include "dataplane/state.h"

/* The filter f, one of the data-plane state's, was asked, and said so (acl_classify). */
void trace_filter(const struct dp_filter *f, uint32_t rule);

/* The way back to its source, which is being verified, is nh. */
void trace_source(uint32_t nh);

/* A look-up gave nh to the packet of `total` bytes of IP. The same twice is told once. */
void trace_way(uint32_t nh, unsigned total);

#endif
