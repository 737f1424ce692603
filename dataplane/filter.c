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

void filter_ask(const struct dp_filter *f, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	uint64_t *count = &dp_counted()->filter[f->counts];
	acl_classify(f->acl, ip, rule, n);
	if (core_traces() && n)
		trace_filter(f, rule[0]);
	for (unsigned i = 0; i < n; i++)
		count[rule[i]]++;
}

enum counter filter_reason(const struct dp_filter *f, uint32_t rule, enum counter reason)
{
	return rule == acl_rule_count(f->acl) + ACL_UNDETERMINED ? CNT_drop_acl_undetermined : reason;
}
