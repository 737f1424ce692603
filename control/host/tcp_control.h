/*
 * The TCP of the control core (net/tcp/tcp.h): one instance for the management of the machine,
 * which control/management/http.c and control/management/remote.c listen on. It exists only when the configuration asks
 * for a server; without, TCP to our addresses is refused as ever (control/host/input.c).
 *
 * Segments come as messages from the data cores (PUNT_TCP, SYN: PUNT_LOCAL) and are copied into
 * buffers of a pool of its own; what it sends is copied to a data core (core_inject). This way is
 * slow and may be: a page a second. An application that has TCP on its data cores hands segments to
 * a management port over (dp_is_management, dataplane/state.h).
 *
 * Like the data cores' connections, all of its are forgotten when the ports are restarted.
 */
#ifndef CONTROL_HOST_TCP_CONTROL_H
#define CONTROL_HOST_TCP_CONTROL_H

#include "runtime/runtime.h"
#include "net/icmp4.h"
#include "net/tcp/tcp.h"

#define TCP_CONTROL_CONNECTIONS 256
#define TCP_CONTROL_RCV_BUF 4095 /* of one connection: requests are short */
#define TCP_CONTROL_SND_BUF 32768
#define TCP_CONTROL_SYN_MAX (TCP_CONTROL_CONNECTIONS / 4) /* half-open ones */

extern struct tcp *tcp_control;          /* NULL: there is none */
extern struct bufpool tcp_control_pool;  /* where its packets lie */

/* In control_plane_start: takes the memory, once. False: there is not enough. */
bool tcp_control_prepare(void);

/* The ports run: a new instance, without connections or listeners. */
void tcp_control_start(void);

/* From control_plane_start on there is none, until tcp_control_start. */
void tcp_control_stop(void);

/* A segment to one of our addresses, as tcp_input() wants it, of a message with these flags. Its
 * fate is counted, or returned for the caller to count, else CNT_NONE. */
enum counter tcp_control_input(const uint8_t *ip, unsigned len, uint8_t flags);

/* An ICMP error, as icmp4_input() or icmp6_input() read it. */
void tcp_control_icmp(const struct icmp4_msg *icmp);
void tcp_control_icmp6(const struct icmp6_msg *icmp);

/* Buffers beyond those that received segments should find. */
uint32_t tcp_control_spare(void);

/* There are none: send no more for now. */
bool tcp_control_is_short(void);

/* Does what is due, and tells the instance the time: before what is done outside of its callbacks,
 * too, for it counts from the last time it was told. */
void tcp_control_tick(void);

/* core_now_ns() of the next time, UINT64_MAX for none. */
uint64_t tcp_control_deadline(void);

#endif
