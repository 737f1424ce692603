/* See filter.h. */
#include "dataplane/filter.h"

#include "dataplane/trace_note.h"

enum counter filter_readable(const uint8_t *ip, unsigned avail, bool six)
{
	const enum counter why = six ? ip6_check(ip, avail) : ip4_check(ip, avail);
	/* these are found after the header has been found right (ip4_check_slow, ip6_check_slow) */
	const bool whole = why == CNT_drop_ip4_src_martian || why == CNT_drop_ip4_dst_martian ||
	                   why == CNT_drop_ip4_options || why == CNT_drop_ip6_src_martian ||
	                   why == CNT_drop_ip6_dst_martian;
	return whole ? CNT_NONE : why;
}

/*
 * Adds one for each of n results. Packets often have the same result, and then each addition would wait for
 * the store of the one before: such blocks are added at once.
 */
#define BLOCK 8
static void count_results(uint64_t *count, const uint32_t *rule, unsigned n)
{
	unsigned i = 0;
	for (; i + BLOCK <= n; i += BLOCK) {
		uint32_t differ = 0;
		for (unsigned k = 0; k < BLOCK; k++)
			differ |= rule[i + k] ^ rule[i];
		if (differ == 0) {
			count[rule[i]] += BLOCK;
			continue;
		}
		for (unsigned k = 0; k < BLOCK; k++)
			count[rule[i + k]]++;
	}
	for (; i < n; i++)
		count[rule[i]]++;
}

void filter_ask(const struct dp_filter *f, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	acl_classify(f->acl, ip, rule, n);
	if (core_traces() && n)
		trace_filter(f, rule[0]);
	count_results(&dp_counted()->filter[f->counts], rule, n);
}

enum counter filter_reason(const struct dp_filter *f, uint32_t rule, enum counter reason)
{
	return rule == acl_rule_count(f->acl) + ACL_UNDETERMINED ? CNT_drop_acl_undetermined : reason;
}
