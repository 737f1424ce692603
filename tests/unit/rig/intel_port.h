/* What the ports of Intel's cards have in common (model_port.h): the owners of their buffers, and frames for tests. */
#ifndef TESTS_UNIT_RIG_INTEL_PORT_H
#define TESTS_UNIT_RIG_INTEL_PORT_H

#include "tests/unit/rig/model_port.h"

#define FRAME_BYTES_MAX 10000
/* That all drivers have. */
#define INTEL_FEATURES (NIC_RX_CSUM | NIC_TX_CSUM | NIC_LINK | NIC_RSS | NIC_TSO | NIC_SG)

void intel_assert_owners(const struct port_pair *p);

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
