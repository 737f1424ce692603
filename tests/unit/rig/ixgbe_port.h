/* For the cards of ixgbe, which ixgbe_card.c (82599) and x550_card.c make the card of model_port.h: the owners of
 * their buffers, and frames for their tests. */
#ifndef TESTS_UNIT_RIG_IXGBE_PORT_H
#define TESTS_UNIT_RIG_IXGBE_PORT_H

#include "tests/unit/rig/model_port.h"

#include "drivers/ixgbe/ixgbe.h"

#define FRAME_BYTES_MAX 10000
#define ALL \
	(NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_USO | NIC_SG)

void ixgbe_assert_owners(const struct port_pair *p);

/* A frame under construction: its Ethernet header, to the station; TCP or UDP over IPv4 with n
 * bytes behind the L4 header and a correct checksum, whose length is returned. */
extern uint8_t frame[FRAME_BYTES_MAX];
void ether(uint16_t type);
unsigned make_l4(uint8_t proto, uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport,
                 unsigned n, uint32_t seq);
unsigned make_udp(uint32_t seq, unsigned n);

/* The model has sent the first len bytes of `frame`, and nothing before them. */
void assert_sent(unsigned len);

#endif
