/*
 * Steering by rule: L3/L4 5-tuple filters (7.1.2.5, 8.2.3.7.16 to 20), see device.h. Rule i is filter i. All have one
 * priority, so of several that match the lowest wins.
 *
 * A filter compares whole addresses of IPv4, and TCP, UDP or SCTP as the protocol. It names one queue, so there is no
 * group of cores. RSS comes after the filters.
 *
 * Deliberately missing: the flow director, which compares prefixes and VLANs, but with one mask for all its filters,
 * and takes packet memory.
 */
#include "drivers/ixgbe/device.h"

#include "lib/bytes.h"

#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_SCTP 132

_Static_assert(NIC_RULES_MAX <= 128, "there are as many filters");

/* A filter's registers, FTQF last. */
static const uint8_t regs[] = {IXGBE_L34TIMIR, IXGBE_SAQF, IXGBE_DAQF, IXGBE_SDPQF, IXGBE_FTQF};
#define FTQF_PLACE (ARRAY_LEN(regs) - 1)

const char *ixgbe_rules_refused(const struct nic *nic, const struct nic_rule *r)
{
	(void)nic;
	if (r->vlan)
		return "its filters do not compare VLANs";
	if (r->family != NIC_RULE_IP4)
		return "its filters compare IPv4 only, not IPv6";
	if (r->pairs & (r->pairs - 1))
		return "its filters lead to one core, not to a group";
	if ((r->src_plen != 0 && r->src_plen != 32) || (r->dst_plen != 0 && r->dst_plen != 32))
		return "its filters compare whole addresses only: any, or host A.B.C.D";
	if (r->proto != 0 && r->proto != PROTO_TCP && r->proto != PROTO_UDP && r->proto != PROTO_SCTP)
		return "its filters know the protocols TCP, UDP and SCTP only";
	return NULL;
}

/* A value whose bytes lie in the register in the order of the wire, the first one lowest. */
static uint32_t wire32(uint32_t v)
{
	uint8_t bytes[4];
	be32_store(bytes, v);
	return raw32_load(bytes);
}

static uint32_t wire16(uint16_t v)
{
	return (uint32_t)(uint16_t)(v >> 8 | v << 8);
}

static void encode(const struct nic_rule *r, uint32_t value[ARRAY_LEN(regs)])
{
	uint32_t ftqf = IXGBE_FTQF_ENABLE | IXGBE_FTQF_MASK_POOL | IXGBE_FTQF_PRIORITY;
	ftqf |= r->src_plen ? 0 : IXGBE_FTQF_MASK_SRC;
	ftqf |= r->dst_plen ? 0 : IXGBE_FTQF_MASK_DST;
	ftqf |= r->src_port ? 0 : IXGBE_FTQF_MASK_SRC_PORT;
	ftqf |= r->dst_port ? 0 : IXGBE_FTQF_MASK_DST_PORT;
	ftqf |= r->proto == 0            ? IXGBE_FTQF_MASK_PROTOCOL
	        : r->proto == PROTO_TCP  ? IXGBE_FTQF_TCP
	        : r->proto == PROTO_UDP  ? IXGBE_FTQF_UDP
	                                 : IXGBE_FTQF_SCTP;
	value[0] = IXGBE_L34TIMIR_RESERVED | (uint32_t)__builtin_ctzll(r->pairs) << IXGBE_L34TIMIR_QUEUE_SHIFT;
	value[1] = wire32(r->src[0]);
	value[2] = wire32(r->dst[0]);
	value[3] = wire16(r->src_port) | wire16(r->dst_port) << IXGBE_SDPQF_DST_SHIFT;
	value[FTQF_PLACE] = ftqf;
}

static bool is_set(struct nic *nic, unsigned i, const uint32_t value[ARRAY_LEN(regs)])
{
	for (unsigned k = 0; k < ARRAY_LEN(regs); k++)
		if (intel_read(nic, regs[k], i) != value[k])
			return false;
	return true;
}

int ixgbe_rules(struct nic *nic, const struct nic_rule *r, unsigned n)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	const unsigned before = d->rules;
	d->rules = n;
	for (unsigned i = 0; i < n; i++) {
		uint32_t value[ARRAY_LEN(regs)];
		encode(&r[i], value);
		if (is_set(nic, i, value))
			continue;
		intel_write(nic, IXGBE_FTQF, i, 0); /* it matches nothing while it changes */
		for (unsigned k = 0; k < ARRAY_LEN(regs); k++)
			intel_write(nic, regs[k], i, value[k]);
	}
	for (unsigned i = n; i < before; i++)
		intel_write(nic, IXGBE_FTQF, i, 0);
	return intel_gone(nic) ? intel_fail(nic, E_DEVICE, "") : E_OK;
}
