/* Console commands that show something. */
#ifndef CONTROL_CLI_SHOW_H
#define CONTROL_CLI_SHOW_H

#include "control/console/shell.h"

void show_interfaces(struct shell *sh);
void show_arp(struct shell *sh);
void show_neighbours6(struct shell *sh);
void show_ip_brief(struct shell *sh);
void show_ipv6_brief(struct shell *sh);
void show_cores(struct shell *sh);
void show_tcp(struct shell *sh);
void show_events(struct shell *sh);
void show_version(struct shell *sh);
void show_config(struct shell *sh);

/* --- show_counters.c --- */

void show_counters(struct shell *sh);
void show_interfaces_counters(struct shell *sh);
void show_interfaces_drops(struct shell *sh);
void show_interfaces_rates(struct shell *sh);
void clear_counters(struct shell *sh);

/* `show interfaces rates`; returns core_now_ns() of its end, UINT64_MAX for none. */
uint64_t rates_timer(void);

/* --- show_hardware.c --- */

void show_hardware(struct shell *sh);
const char *show_iommu_name(void); /* the kind of IOMMU that the machine has */

/* --- show_route.c --- */

void show_route(struct shell *sh);
void show_route6(struct shell *sh);
void show_route_idle(struct shell *sh);
void show_route6_idle(struct shell *sh);

/* --- show_bfd.c --- */

void show_bfd(struct shell *sh);

/* --- show_engine.c --- */

void show_engine(struct shell *sh);

/* Lines that `show bfd` has as well: a count by name, nothing if it is 0; the state of a connection; why
 * the last one ended. */
struct engine_connection_stats;
void show_engine_count(struct shell *sh, const char *what, const char *name, uint64_t n);
void show_engine_connection(struct shell *sh, uint16_t port, const struct engine_connection_stats *s);
void show_engine_disconnected(struct shell *sh, const struct engine_connection_stats *s);

/* --- show_dhcp.c --- */

void show_dhcp_relay(struct shell *sh);
void show_dhcp_lease(struct shell *sh);
void renew_dhcp(struct shell *sh);
void clear_dhcp(struct shell *sh);

/* --- show_lldp.c --- */

void show_lldp(struct shell *sh);
void show_lldp_neighbours(struct shell *sh);
void show_lldp_neighbours_detail(struct shell *sh);
void clear_lldp_neighbours(struct shell *sh);
void clear_lldp_counters(struct shell *sh);

/* --- show_load_balance.c --- */

void show_load_balance(struct shell *sh);

/* --- show_etherchannel.c --- */

void show_etherchannel(struct shell *sh);
void show_lacp_neighbor(struct shell *sh);
void show_lacp_internal(struct shell *sh);
void show_lacp_counters(struct shell *sh);

/* --- show_steer.c --- */

void show_steer(struct shell *sh);

/* --- show_summary.c --- */

void show_route_summary(struct shell *sh);
void show_route6_summary(struct shell *sh);

/* Continues a summary; returns as rates_timer does. */
uint64_t summary_timer(void);

/* --- show_xdp.c --- */

void show_xdp(struct shell *sh);
void show_xdp_interfaces(struct shell *sh);
void show_xdp_map(struct shell *sh);
void show_crypto(struct shell *sh);
void crypto_key_generate(struct shell *sh);

/* certificate.c */
void crypto_certificate_import(struct shell *sh);
void crypto_certificate_request(struct shell *sh);
void crypto_certificate_reset(struct shell *sh);

void show_xdp_events(struct shell *sh);
void xdp_map(struct shell *sh);
void clear_xdp(struct shell *sh);

#endif
