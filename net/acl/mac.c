/* See mac.h. */
#include "net/acl/mac.h"

struct mac_row {
	struct acl_mac_key value, compared; /* bits that are not compared are 0 in both */
	uint64_t permit;
};

struct acl_mac {
	uint64_t rules;
	struct mac_row row[];
};

size_t acl_mac_bytes(uint32_t rules) { return sizeof(struct acl_mac) + rules * sizeof(struct mac_row); }

const struct acl_mac *acl_mac_compile(const struct acl_mac_rule *rule, uint32_t rules, void *mem)
{
	struct acl_mac *a = mem;
	a->rules = rules;
	for (uint32_t r = 0; r < rules; r++) {
		const struct acl_mac_rule *from = &rule[r];
		a->row[r] = (struct mac_row){
			.value = {acl_mac_word(from->dst, from->type), acl_mac_word(from->src, from->vid)},
			.compared = {~acl_mac_word(from->dst_any, from->type ? 0 : 0xffff),
			             ~acl_mac_word(from->src_any, from->vid ? 0 : 0xffff)},
			.permit = from->permit,
		};
	}
	return a;
}

uint32_t acl_mac_first(const struct acl_mac *a, struct acl_mac_key key)
{
	uint32_t r = 0;
	for (; r < a->rules; r++) {
		const struct mac_row *row = &a->row[r];
		const uint64_t differs = ((key.to ^ row->value.to) & row->compared.to) |
		                         ((key.from ^ row->value.from) & row->compared.from);
		if (differs == 0)
			break;
	}
	return r;
}

bool acl_mac_permits(const struct acl_mac *a, uint32_t rule) { return rule < a->rules && a->row[rule].permit; }
