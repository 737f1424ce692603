/*
 * The control plane, which all applications share. It runs on the control core and publishes what
 * data cores need in the data-plane state (dataplane/state.h). An application names
 * control_plane_hooks in its struct app. The rooms, each of which may use those before it:
 *
 *     text/        words, numbers and addresses in text; the boot module; filters in words
 *     console/     the shell, and the machine's own console
 *     config/      the configuration: parser, checks, printer, candidate, history, journal
 *     forwarding/  interfaces, routes, neighbours, filters: what data cores forward by
 *     host/        the machine's own packets: ICMP, reassembly, the management's TCP, ping
 *     management/  HTTP, metrics, the console over TCP, reports of failures
 *     monitor/     capture, trace
 *     commit/      the configuration at boot, commits, the ports of the servers
 *     cli/         the console's commands
 *     test/        commands for tests of Hayate itself
 *     control.c    the order of the start, timers
 *     restore.c    a new control program takes over the previous one's neighbours
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "runtime/runtime.h"

/* Messages: enum punt_kind from data cores, enum inject_kind to them (dataplane/state.h). */
extern const struct control_hooks control_plane_hooks;

#endif
