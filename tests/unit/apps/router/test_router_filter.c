/*
 * apps/router/filter.c and dataplane/filter.c, with a list that denies some destinations: vectors of every
 * length whose packets have one destination, few or many. The packets that remain, in their order, with what
 * is beside them; those that are denied, in their order; and the counts of the rules.
 */
#include "tests/unit/rig/host.h"

#include "apps/router/filter.c"
#include "net/acl/acl.h"
#include "net/ip4.h"

#define RULES 100
#define FIRST_COUNT 5 /* index of the list's first counter */
#define FRAME 64
#define ROOM ((size_t)1 << 20)

struct core_self self;
struct core_current core_current;
struct core_trace core_trace;
struct router router;

static struct dp_state dp;
static struct dp_filter_set filters;
static _Alignas(64) uint8_t shared[DP_SHARED_BYTES];
static uint8_t frame[PKT_VECTOR_MAX][FRAME] __attribute__((aligned(64)));
static struct pkt denied_now[PKT_VECTOR_MAX];
static unsigned denials;

void *core_published_area(size_t *bytes) { return *bytes = sizeof dp, &dp; }
void *core_shared_area(size_t *bytes) { return *bytes = sizeof shared, shared; }
void trace_filter(const struct dp_filter *f, uint32_t rule) { (void)f, (void)rule, fail(); }

bool router_source_fails(const struct pkt *p, unsigned verify, bool six)
{
	(void)p, (void)verify, (void)six, fail();
	return false;
}

void router_deny(struct pkt *p, enum counter reason, bool is_told, bool six)
{
	assert_int_equal(reason, CNT_drop_acl_in);
	assert_true(is_told);
	assert_false(six);
	denied_now[denials++] = *p;
}

/* Rule r is of destination 198.51.100.r, and denies if r is odd. No rule is of destinations from RULES on. */
static const struct acl *make_list(enum acl_path path, void **memory)
{
	static struct acl_rule rule[RULES];
	const struct acl *a;
	size_t used;
	for (uint32_t r = 0; r < RULES; r++)
		rule[r] = (struct acl_rule){.src = net_addr_ip4(0), .src_plen = 96,
		                            .dst = net_addr_ip4(IP4(198, 51, 100, r)), .dst_plen = 128,
		                            .any_proto = true, .permit = r % 2 == 0,
		                            .src_port = ACL_ANY_PORT, .dst_port = ACL_ANY_PORT};
	void *scratch = malloc(acl_scratch_bytes(RULES));
	*memory = aligned_alloc(64, ROOM);
	assert_int_equal(acl_compile(rule, RULES, false, path, *memory, ROOM, scratch, &a, &used), E_OK);
	free(scratch);
	return a;
}

static void make_frame(unsigned i, uint32_t host)
{
	const struct ip4_build b = {.src = IP4(192, 0, 2, 1), .dst = IP4(198, 51, 100, host),
	                            .payload_len = 26, .ttl = 64, .proto = IP4_PROTO_UDP};
	memset(frame[i], 0, FRAME);
	ip4_header_build(frame[i] + ETH_HLEN, &b);
}

/* Asks about n packets to one of `hosts` hosts each, from `first` on. */
static void ask(const struct dp_filter *f, unsigned n, uint32_t first, uint32_t hosts, bool is_beside)
{
	uint64_t *count = &dp_counted()->filter[f->counts], want[RULES + ACL_OTHERS];
	struct pkt v[PKT_VECTOR_MAX], stay[PKT_VECTOR_MAX], gone[PKT_VECTOR_MAX];
	uint32_t beside[PKT_VECTOR_MAX];
	unsigned stays = 0, goes = 0;
	memcpy(want, count, sizeof want);
	for (unsigned i = 0; i < n; i++) {
		const uint32_t host = first + random_below(hosts);
		make_frame(i, host);
		v[i] = (struct pkt){.data = frame[i], .buf = i, .len = FRAME, .interface = 3};
		beside[i] = 1000 + i;
		want[host < RULES ? host : RULES + ACL_NO_RULE]++;
		if (host < RULES && host % 2 == 0)
			stay[stays++] = v[i];
		else
			gone[goes++] = v[i];
	}
	denials = 0;
	assert_int_equal(router_filter_in(v, is_beside ? beside : NULL, n, f), stays);
	assert_int_equal(denials, goes);
	for (unsigned i = 0; i < stays; i++) {
		assert_memory_equal(&v[i], &stay[i], sizeof v[i]);
		assert_true(!is_beside || beside[i] == 1000 + v[i].buf);
	}
	for (unsigned i = 0; i < goes; i++)
		assert_memory_equal(&denied_now[i], &gone[i], sizeof gone[i]);
	assert_memory_equal(count, want, sizeof want);
}

static void test_filter_in(void **state)
{
	(void)state;
	void *memory;
	struct dp_filter f = {.acl = make_list(acl_path_for(0), &memory), .counts = FIRST_COUNT};
	router.dp = &dp;
	router.filters = &filters;
	seed_random("test_router_filter");
	for (unsigned n = 0; n <= PKT_VECTOR_MAX; n += n < 40 ? 1 : 8)
		for (unsigned turn = 0; turn < 16; turn++) {
			const uint32_t hosts = turn % 4 == 0 ? 1 : turn % 4 == 1 ? 2 : turn % 4 == 2 ? 20 : 150;
			ask(&f, n, random_below(105), hosts, turn & 4);
		}
	free(memory);
}

/* No answer to a packet with an undetermined protocol is a permit, and its reason is another. */
static void test_answers_without_rule(void **state)
{
	(void)state;
	void *memory;
	struct dp_filter f = {.acl = make_list(acl_path_for(0), &memory), .counts = FIRST_COUNT};
	for (uint32_t other = 0; other < ACL_OTHERS; other++)
		assert_false(acl_permits(f.acl, RULES + other));
	assert_int_equal(filter_reason(&f, RULES + ACL_NO_RULE, CNT_drop_acl_in), CNT_drop_acl_in);
	assert_int_equal(filter_reason(&f, RULES + ACL_UNDETERMINED, CNT_drop_acl_in),
	                 CNT_drop_acl_undetermined);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_in),
		cmocka_unit_test(test_answers_without_rule),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
