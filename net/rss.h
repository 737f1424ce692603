/*
 * The hash by which a NIC spreads flows over its queues, computed in software ("RSS hashing
 * functions", Windows driver documentation, Microsoft; NdisHashFunctionToeplitz). An active open
 * uses it to choose a port whose replies reach the opening core. For a packet from a NIC without
 * RSS it gives the core that owns the flow.
 *
 * It is meant for the first packet of a flow and for tests: one step per bit of the input, 96 for
 * TCP over IPv4. The key is the NIC's (40 bytes, first byte first). Addresses and ports are in host
 * order, IPv6 addresses are 16 bytes in wire order; src and dst are those of the packet that the
 * NIC receives. The UDP hash is the TCP hash with UDP ports, on NICs that support it.
 */
#ifndef NET_RSS_H
#define NET_RSS_H

#include "lib/types.h"

#define RSS_KEY_BYTES 40

/* NDIS_HASH_IPV4 */
uint32_t rss_hash_ip4(const uint8_t key[RSS_KEY_BYTES], uint32_t src, uint32_t dst);

/* NDIS_HASH_TCP_IPV4 */
uint32_t rss_hash_tcp4(const uint8_t key[RSS_KEY_BYTES], uint32_t src, uint32_t dst,
                       uint16_t src_port, uint16_t dst_port);

/* NDIS_HASH_IPV6 */
uint32_t rss_hash_ip6(const uint8_t key[RSS_KEY_BYTES], const uint8_t src[16],
                      const uint8_t dst[16]);

/* NDIS_HASH_TCP_IPV6 */
uint32_t rss_hash_tcp6(const uint8_t key[RSS_KEY_BYTES], const uint8_t src[16],
                       const uint8_t dst[16], uint16_t src_port, uint16_t dst_port);

#endif
