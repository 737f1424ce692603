/*
 * The TCP of the control core (net/tcp/tcp.h): one instance for the servers of management, and for
 * connections that the control core opens (control/host/stream.h). It exists from the first of these
 * on. Without it, TCP to our addresses is refused (control/host/input.c).
 *
 * Segments arrive as messages from the data cores (PUNT_TCP; SYN: PUNT_LOCAL) and are copied to buffers of its own
 * pool. Its own segments are copied to a data core (core_inject). Where all ports have NIC_TSO, a run of segments is
 * one packet that the device cuts (core_inject_whole). An application with TCP on its data cores hands over segments
 * for a management port (dp_is_management, dataplane/state.h).
 *
 * A restart of the ports ends all its connections, as it does on the data cores.
 */
#ifndef CONTROL_HOST_TCP_CONTROL_H
#define CONTROL_HOST_TCP_CONTROL_H

#include "runtime/runtime.h"
#include "net/icmp4.h"
#include "net/tcp/tcp.h"

#define TCP_CONTROL_CONNECTIONS 256
#define TCP_CONTROL_RCV_BUF 4095 /* of one connection: requests are short */
#define TCP_CONTROL_SND_BUF 65536 /* more than one packet that a device segments */
#define TCP_CONTROL_SND_GIVEN 655360 /* of a capture's reader: at 40 MB/s what is sent in 16 ms */
#define TCP_CONTROL_RCV_GIVEN 131072 /* of the routing engine: 90 segments, which the ring of messages holds */
/* Local ports of connections that the control core opens. Data cores open theirs below (TCP_PARAMS_DEFAULT). */
#define TCP_CONTROL_PORT_FIRST 61000
#define TCP_CONTROL_SYN_MAX (TCP_CONTROL_CONNECTIONS / 4) /* half-open ones */

extern struct tcp *tcp_control;          /* NULL: there is none */
extern struct bufpool tcp_control_pool;  /* its packet buffers */

/* In control_plane_start: takes the memory, once. False: there is not enough. */
bool tcp_control_prepare(void);

/* When the ports run: makes a new instance, without connections or listeners. */
void tcp_control_start(void);

/* In control_plane_start: ends the instance. tcp_control_start makes the next one. */
void tcp_control_stop(void);

/* Takes a segment to one of our addresses, checked as tcp_input() requires, of a message with these
 * flags. Returns its fate for the caller to count, or CNT_NONE if it has been counted. */
enum counter tcp_control_input(const uint8_t *ip, unsigned len, uint8_t flags);

/* An ICMP error, as icmp4_input() or icmp6_input() read it. */
void tcp_control_icmp(const struct icmp4_msg *icmp);
void tcp_control_icmp6(const struct icmp6_msg *icmp);

/* Free buffers beyond those reserved for received segments. */
uint32_t tcp_control_spare(void);

/* True if there are none: the caller must not send more for now. */
bool tcp_control_is_short(void);

/* Does what is due, and gives the instance the time. Call it also before using the instance outside
 * of its callbacks, because it measures from the last time that it was given. */
void tcp_control_tick(void);

/* core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t tcp_control_deadline(void);

#endif
