/*
 * The hash by which cards choose a bucket of their indirection tables (nic_ops.table), computed by software
 * (net/rss.h) with NIC_RSS_KEY.
 *
 *     TCP, UDP            addresses, ports
 *     others              addresses
 *     fragments, IPv6 extension headers, two or more VLAN tags, frames cut short
 *                         cards differ: not known here
 *     not IP              cards do not hash them
 */
#ifndef RUNTIME_BUCKET_HASH_H
#define RUNTIME_BUCKET_HASH_H

#include "lib/types.h"

/* True: cards hash this received frame of `bytes` bytes, complete from the Ethernet header on, and *hash is the result.
 * False: they do not, or not all of them to the same result. Nothing is read beyond the frame. */
bool bucket_hash(const uint8_t *frame, size_t bytes, uint32_t *hash);

/* That of received TCP segments of a connection: addresses and ports in host order, or of IPv6 as in the packet. */
uint32_t bucket_hash_tcp4(uint32_t remote, uint32_t local, uint16_t remote_port, uint16_t local_port);
uint32_t bucket_hash_tcp6(const uint8_t *remote, const uint8_t *local, uint16_t remote_port, uint16_t local_port);

#endif
