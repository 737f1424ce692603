/*
 * Access lists of MAC addresses: an ordered list of rules about the Ethernet header and the VLAN of a frame.
 * The first rule that matches decides; the caller drops and counts.
 *
 * A rule compares the addresses under masks of any form, for which the trees of net/acl/acl.h cannot be used.
 * The rules are compared one after the other, two words each. The cost grows with the number of rules in
 * front of the one that matches.
 *
 * A finished table does not change, and holds no pointer: it may be copied.
 */
#ifndef NET_ACL_MAC_H
#define NET_ACL_MAC_H

#include "lib/bytes.h"
#include "lib/types.h"

struct acl_mac_rule {
	uint8_t src[6], src_any[6]; /* bits set in src_any are not compared, and are 0 in src */
	uint8_t dst[6], dst_any[6];
	uint16_t type; /* EtherType, host order; 0: any */
	uint16_t vid;  /* VLAN; 0: any */
	bool permit;
};

/* What a list compares of a frame: destination and EtherType, source and VLAN. */
struct acl_mac_key {
	uint64_t to, from;
};

struct acl_mac;

/* Bytes of the table of `rules` rules, which is 8-byte aligned. */
size_t acl_mac_bytes(uint32_t rules);

/* Makes the table of 1 or more rules in the caller's memory of acl_mac_bytes(rules). */
const struct acl_mac *acl_mac_compile(const struct acl_mac_rule *rule, uint32_t rules, void *mem);

static inline uint64_t acl_mac_word(const uint8_t *mac, uint16_t more)
{
	return (uint64_t)more << 48 | (uint64_t)be16_load(mac) << 32 | be32_load(mac + 2);
}

/* The key of a frame with a whole Ethernet header; type: the EtherType behind its tags, in host order. */
static inline struct acl_mac_key acl_mac_key(const uint8_t *frame, uint16_t type, uint16_t vid)
{
	return (struct acl_mac_key){acl_mac_word(frame, type), acl_mac_word(frame + 6, vid)};
}

/* The number of the first rule that matches; the number of rules: none does. */
uint32_t acl_mac_first(const struct acl_mac *a, struct acl_mac_key key);

/* Does the frame pass? rule: the result of acl_mac_first. A frame that no rule matches does not. */
bool acl_mac_permits(const struct acl_mac *a, uint32_t rule);

#endif
