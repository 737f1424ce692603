/*
 * The flow of a received frame, for receive packet steering (runtime/steer.h): a hash over fields that are
 * the same in all packets of a flow.
 *
 *     TCP, UDP            addresses, protocol, ports
 *     fragments, others   addresses, protocol: only the first fragment of a datagram has ports
 *     not IP              0
 *
 * Up to two VLAN tags are skipped; a tag is not part of the hash. IPv6 extension headers are not followed:
 * their packets are hashed by addresses. Nothing is read beyond the frame. The seed is random, so that nobody
 * outside can choose flows with one hash.
 */
#ifndef RUNTIME_FLOW_H
#define RUNTIME_FLOW_H

#include "lib/bytes.h"
#include "lib/types.h"

#define FLOW_ETH_BYTES 14
#define FLOW_TAG_BYTES 4

static inline uint64_t flow_mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio */
	return h ^ h >> 29;
}

/* Without this, ports in sequence would differ by a multiple of three buckets, and meet in one of three cores. */
static inline uint64_t flow_finish(uint64_t h)
{
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull; /* odd, bits without a pattern */
	return h ^ h >> 32;
}

static inline bool flow_has_ports(uint8_t protocol)
{
	return protocol == 6 || protocol == 17; /* TCP, UDP */
}

/* The hash of the packet at ip, of which `bytes` are in the frame. */
static inline uint64_t flow_hash4(uint64_t seed, const uint8_t *ip, size_t bytes)
{
	if (bytes < 20)
		return 0;
	const size_t header = (size_t)(ip[0] & 15) * 4;
	const bool fragment = (ip[6] & 0x3f) | ip[7]; /* MF, offset */
	uint64_t h = flow_mix(seed ^ ip[9], raw64_load(ip + 12));
	if (flow_has_ports(ip[9]) && !fragment && header >= 20 && bytes >= header + 4)
		h = flow_mix(h, raw32_load(ip + header));
	return flow_finish(h);
}

static inline uint64_t flow_hash6(uint64_t seed, const uint8_t *ip, size_t bytes)
{
	if (bytes < 40)
		return 0;
	uint64_t h = seed ^ ip[6];
	for (unsigned i = 8; i < 40; i += 8)
		h = flow_mix(h, raw64_load(ip + i));
	if (flow_has_ports(ip[6]) && bytes >= 44)
		h = flow_mix(h, raw32_load(ip + 40));
	return flow_finish(h);
}

/* The hash of the frame of `bytes` bytes; 0: it belongs to no flow. Its upper bits are the best mixed. */
static inline uint64_t flow_hash(uint64_t seed, const uint8_t *frame, size_t bytes)
{
	size_t at = FLOW_ETH_BYTES;
	for (unsigned tags = 0; bytes >= at; tags++, at += FLOW_TAG_BYTES) {
		const uint16_t type = (uint16_t)(frame[at - 2] << 8 | frame[at - 1]);
		if (type == 0x0800)
			return flow_hash4(seed, frame + at, bytes - at);
		if (type == 0x86dd)
			return flow_hash6(seed, frame + at, bytes - at);
		if ((type != 0x8100 && type != 0x88a8) || tags == 2)
			return 0;
	}
	return 0;
}

#endif
