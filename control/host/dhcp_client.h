/*
 * The DHCP client on the control core: an instance of net/dhcp/client4.h for each interface with `ip address dhcp`.
 * The lease is not part of the configuration. It outlives a restart of the ports and of the control program; after a
 * restart of the machine the client asks for the address that it had, if the disk remembers it (control/storage).
 */
#ifndef CONTROL_HOST_DHCP_CLIENT_H
#define CONTROL_HOST_DHCP_CLIENT_H

#include "control/config/config.h"
#include "net/dhcp/client4.h"
#include "net/udp.h"

/* By running.config, when the tables are there: gives interfaces the addresses that are still ours. */
void dhcp_client_control_start(void);

/* The configuration is about to be `next`, for which the ports restart: gives back the addresses of interfaces that
 * take none any more. */
void dhcp_client_leave(const struct config *next);

/* Follows the links and does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t dhcp_client_timer(void);

/* A message to the client's port that came by that interface, with a correct UDP checksum. Returns its fate. */
enum counter dhcp_client_message(const struct udp_datagram *d, unsigned interface);

/* An ARP frame that came by that interface, before ARP takes it. */
void dhcp_client_arp_frame(unsigned interface, const uint8_t *frame, unsigned len);

/* Asks all servers now; gives all addresses back and begins anew. */
void dhcp_client_renew_all(void);
void dhcp_client_clear_all(void);

/* Seconds from now to `s` seconds after the lease began; 0: that has passed. Of a lease that ends. */
unsigned dhcp_client_left_s(const struct dhcp_lease *l, uint32_t s);

/* Client number i, and the number of its interface; NULL: there are no more. */
const struct dhcp_client *dhcp_client_at(unsigned i, unsigned *interface);

#endif
