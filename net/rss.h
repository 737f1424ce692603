/*
 * The hash by which a network card spreads flows over its queues, computed in software ("RSS
 * hashing functions", Windows driver documentation, Microsoft; NdisHashFunctionToeplitz). Who opens
 * a connection picks a port whose replies will come to its own core; who has a packet of a card
 * without RSS learns which core it belongs to.
 *
 * It is meant for the first packet of a flow and for tests: one step for each bit of the input, 96
 * for TCP over IPv4. The key is the card's (40 bytes, first byte first). Addresses and ports are in
 * host order, IPv6 addresses 16 bytes as on the wire; src and dst as in the packet that the card
 * receives. Hashes of UDP are those of TCP with UDP's ports, on cards that take them.
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
