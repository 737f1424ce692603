/* See bucket_hash.h. */
#include "runtime/bucket_hash.h"

#include "drivers/nic.h"
#include "lib/bytes.h"
#include "net/rss.h"

#define ETH_BYTES 14
#define TAG_BYTES 4
#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define PROTO_TCP 6
#define PROTO_UDP 17

static const uint8_t key[NIC_RSS_KEY_BYTES] = NIC_RSS_KEY;

static bool has_ports(uint8_t protocol)
{
	return protocol == PROTO_TCP || protocol == PROTO_UDP;
}

static bool hash4(const uint8_t *ip, size_t bytes, uint32_t *hash)
{
	const size_t header = bytes ? (size_t)(ip[0] & 15) * 4 : 0;
	if (bytes < 20 || ip[0] >> 4 != 4 || header < 20 || bytes < header || be16_load(ip + 6) & 0x3fff)
		return false;
	const uint32_t src = be32_load(ip + 12), dst = be32_load(ip + 16);
	const uint8_t *ports = ip + header;
	if (!has_ports(ip[9]))
		*hash = rss_hash_ip4(key, src, dst);
	else if (bytes < header + 4)
		return false;
	else
		*hash = rss_hash_tcp4(key, src, dst, be16_load(ports), be16_load(ports + 2));
	return true;
}

/* Headers that extend IPv6 (RFC 8200, 4; IANA's list), and those of which cards may look for more. */
static bool is_extension(uint8_t next)
{
	return next == 0 || next == 43 || next == 44 || next == 50 || next == 51 || next == 60 || next == 135 ||
	       next == 139 || next == 140;
}

static bool hash6(const uint8_t *ip, size_t bytes, uint32_t *hash)
{
	if (bytes < 40 || ip[0] >> 4 != 6 || is_extension(ip[6]))
		return false;
	if (!has_ports(ip[6]))
		*hash = rss_hash_ip6(key, ip + 8, ip + 24);
	else if (bytes < 44)
		return false;
	else
		*hash = rss_hash_tcp6(key, ip + 8, ip + 24, be16_load(ip + 40), be16_load(ip + 42));
	return true;
}

bool bucket_hash(const uint8_t *frame, size_t bytes, uint32_t *hash)
{
	size_t at = ETH_BYTES;
	if (bytes >= ETH_BYTES && be16_load(frame + 12) == ETHERTYPE_VLAN)
		at += TAG_BYTES;
	if (bytes < at)
		return false;
	const uint16_t type = be16_load(frame + at - 2);
	if (type == ETHERTYPE_IP4)
		return hash4(frame + at, bytes - at, hash);
	return type == ETHERTYPE_IP6 && hash6(frame + at, bytes - at, hash);
}

uint32_t bucket_hash_tcp4(uint32_t remote, uint32_t local, uint16_t remote_port, uint16_t local_port)
{
	return rss_hash_tcp4(key, remote, local, remote_port, local_port);
}

uint32_t bucket_hash_tcp6(const uint8_t *remote, const uint8_t *local, uint16_t remote_port, uint16_t local_port)
{
	return rss_hash_tcp6(key, remote, local, remote_port, local_port);
}
