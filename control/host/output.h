/* Packets that the control core sends itself. */
#ifndef CONTROL_HOST_OUTPUT_H
#define CONTROL_HOST_OUTPUT_H

#include "control/config/config.h"
#include "net/eth.h"
#include "net/ip6.h"

/* Limits ICMP errors as in this configuration, those of the control core and of data cores. */
void local_limit(const struct config *c);

/* The buffer in which packets of ours are built, up to the longest. One function of input.c or
 * input6.c uses it at a time. */
#define LOCAL_FRAME_BYTES (ETH_HLEN + IP6_PACKET_MAX)
extern uint8_t local_frame[LOCAL_FRAME_BYTES];

/* True if an ICMP error of either family may be sent now. `allowed`: the packet that the error is
 * about does not forbid it. Counts an error that may not be sent. */
bool local_error_permitted(bool allowed);

/* Sends a frame of our own by the route to its destination, in fragments if necessary. Its buffer
 * holds at least ETH_FRAME_MIN bytes. A frame that cannot be sent is counted as
 * originated_drop_tx. */
void local_output(uint8_t *frame, unsigned len);

/* Sends an ICMP error (without a second header word) about the received packet of which len bytes
 * are at ip, if one is allowed and the rate permits. The packet has passed ip4_check. */
void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code);

/* Our source address towards dst; dst itself when it is ours; 0: no route. */
uint32_t local_source(uint32_t dst);

#endif
