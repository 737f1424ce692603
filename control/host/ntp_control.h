/*
 * The NTP client of the machine (net/ntp/client.h): the servers of the configuration or of a DHCP lease, their names,
 * UDP, and the clock (runtime/walltime.h).
 *
 * Each server is asked from an ephemeral port of its own, chosen at random when the server begins (RFC 9109 4), and
 * not from port 123: an attacker who is not on the path must guess the port besides the cookie, and the machine does
 * not look like an NTP server.
 */
#ifndef CONTROL_HOST_NTP_CONTROL_H
#define CONTROL_HOST_NTP_CONTROL_H

#include "net/ntp/client.h"

/* In control_plane_start, and after a commit: the servers of the running configuration. Those that stay keep their
 * state. */
void ntp_control_changed(void);

/* The servers that DHCP servers have named, asked while the configuration names none; of more than
 * CONFIG_NTP_SERVERS_MAX the first ones are used. */
void ntp_control_learn(const struct net_addr *server, unsigned n);

/* The client; NULL: there is no server. */
const struct ntp_client *ntp_control_client(void);

/* The name, or else the address, of server i as configured. */
const char *ntp_control_name(unsigned i);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t ntp_control_timer(void);

#endif
