/*
 * The TCP connections of a bucket move from one data core to another (runtime/move.h): net/tcp/move.h makes messages of
 * them, and these files carry the messages.
 *
 * 1. A core checks all that it reads of the other's area: positions are bounded by the rings' sizes,
 *    tcp_move_read() checks the messages, and an answer must be to the oldest connection without one.
 * 2. The core that gives has at most TCP_MOVE_ANSWERS connections on their way, so the answers always have room.
 * 3. A connection that was given and has no answer stays frozen until the other core has closed: it has answered all
 *    that it took, and takes no more. Then the connection goes on here. A core's program that restarts has closed too,
 *    because its connections are gone with it. So there is one owner at most, whenever either side stops.
 * 4. After a refusal the core gives no more: the bucket goes back, with the connections that were taken.
 *
 * A turn looks at TCP_MOVE_LOOKS records and carries TCP_MOVE_EACH messages at most, on either side. Both take about as
 * long as a vector of packets: a record that is not in the cache costs 100 ns, and its hash as much. So a ring of 512
 * descriptors does not overflow meanwhile, and a million records take some 4,000 turns.
 */
#ifndef DATAPLANE_TCP_MOVE_H
#define DATAPLANE_TCP_MOVE_H

#include "runtime/runtime.h"
#include "net/tcp/move.h"

#define TCP_MOVE_LOOKS 256
#define TCP_MOVE_EACH 32

/* The hooks of an application with TCP on data cores whose connections can all move (tcp_move_apps). */
extern const struct app_flows tcp_move_flows;

/* The instance of this core is new: what was on its way is gone. */
void tcp_move_start(void);

/* Connections that wait for the other core to close (3); then tcp_move_settle is to be called in each turn. */
bool tcp_move_waits(void);
void tcp_move_settle(void);

/* tcp_ops.elsewhere */
bool tcp_move_elsewhere(void *ctx, const struct net_addr *local, uint16_t local_port, const struct net_addr *remote,
                        uint16_t remote_port);

#endif
