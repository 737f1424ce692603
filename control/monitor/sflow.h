/*
 * The sFlow agent (net/sflow.h): samples of the packets that ports receive, and counters of ports, sent to collectors
 * by UDP. A data source is a port with `sflow enable`; its ifIndex is its number plus one, as for XDP programs
 * (dp_ifindex).
 */
#ifndef CONTROL_MONITOR_SFLOW_H
#define CONTROL_MONITOR_SFLOW_H

#include "lib/types.h"

/* The running configuration is new, or is in force: at the start, and after a commit. */
void sflow_configure(void);

/* A row of the timers in control/control.c. */
uint64_t sflow_timer(void);

struct shell;
void show_sflow(struct shell *sh);

struct sflow_stats {
	uint64_t samples;   /* flow samples that were sent */
	uint64_t lost;      /* that data cores took and the control core came too late for */
	uint64_t counters;  /* counter samples */
	uint64_t datagrams; /* to all collectors */
	uint64_t unsent;    /* datagrams without a route or a source address */
};
const struct sflow_stats *sflow_stats(void);

#endif
