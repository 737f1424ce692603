/*
 * Link protocols on the control core (net/link.h): the receivers of their frames, and how frames are sent.
 */
#ifndef CONTROL_LINK_LINK_H
#define CONTROL_LINK_LINK_H

#include "net/counters.h"
#include "net/link.h"
#include "runtime/runtime.h"

/* A received frame with at least an Ethernet header, without FCS. It may be padded, or shorter than the
 * protocol wants. Returns its fate. */
typedef enum counter (*link_receiver)(unsigned port, const uint8_t *frame, unsigned len);

/* Gives the frames of a protocol to a receiver. To be called at each start of the ports, before link_enable. */
void link_receive(enum link_protocol protocol, link_receiver f);

/* Whether the port takes frames of the protocol: no port does after a start of the ports. Data cores obey in
 * their next turn. Frames that are not taken have the fate of any other frame to an unknown group. */
void link_enable(unsigned port, enum link_protocol protocol, bool on);

/* Sends a complete frame without a tag by that port, whatever an application does with the port. It is padded.
 * False: the link is down, or the port's ring to a data core is full. */
bool link_send(unsigned port, const uint8_t *frame, unsigned len);

/* For control/host/punt.c: a frame that a data core has punted; the port may be none. Returns its fate. */
enum counter link_input(enum link_protocol protocol, const struct core_msg *m);

#endif
