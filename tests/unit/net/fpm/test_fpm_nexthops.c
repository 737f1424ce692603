/* net/fpm/nexthops.h: each function, and all together against an oracle that keeps the objects in an
 * array and searches it. Few ids, so that objects are replaced, removed and missing often. */
#include "tests/unit/rig/host.h"

#include "lib/mem.h"
#include "net/fpm/nexthops.h"
#include "net/ip4.h"

static struct fpm_nexthops table;
static uint64_t *memory;

static void open_table(uint32_t objects, uint32_t members)
{
	const struct fpm_nexthops_size size = {objects, members};
	const struct siphash_key key = {random64(), random64()};
	free(memory);
	memory = malloc(fpm_nexthops_bytes(&size));
	random_fill(memory, fpm_nexthops_bytes(&size));
	fpm_nexthops_init(&table, memory, &size, &key);
}

/* The object with a hop that follows from its id. */
static struct fpm_nexthop single(uint32_t id)
{
	return (struct fpm_nexthop){
		.id = id,
		.protocol = FPM_BGP,
		.hop = {net_addr_ip4(IP4(10, 0, 0, 0) + id), id + 100, 1, id & 1},
	};
}

static struct fpm_nexthop blackhole(uint32_t id)
{
	return (struct fpm_nexthop){.id = id, .blackhole = true, .hop = {.weight = 1}};
}

/* A group of n ids from `first` on; the weights are 10, 20 ... */
static struct fpm_nexthop group(uint32_t id, uint32_t first, unsigned n)
{
	struct fpm_nexthop nh = {.id = id, .members = n, .hop = {.weight = 1}};
	for (unsigned i = 0; i < n; i++)
		nh.member[i] = (struct fpm_member){first + i, 10 * (i + 1)};
	return nh;
}

static void set(struct fpm_nexthop nh)
{
	assert_int_equal(fpm_nexthops_set(&table, &nh), E_OK);
}

static void objects(void **state)
{
	(void)state;
	struct fpm_nexthop out;
	struct fpm_hops hops;
	open_table(8, 8);
	assert_false(fpm_nexthops_find(&table, 5, &out));
	assert_false(fpm_nexthops_resolve(&table, 5, &hops));
	assert_int_equal(hops.hops + hops.blackholes + hops.missing + hops.nested, 0);
	assert_false(fpm_nexthops_remove(&table, 5));
	set(single(5));
	assert_true(fpm_nexthops_find(&table, 5, &out));
	assert_int_equal(out.id, 5);
	assert_int_equal(out.protocol, FPM_BGP);
	assert_int_equal(out.members, 0);
	assert_false(out.blackhole);
	assert_int_equal(out.hop.ifindex, 105);
	assert_true(fpm_nexthops_resolve(&table, 5, &hops));
	assert_int_equal(hops.hops, 1);
	assert_int_equal(net_addr_to_ip4(&hops.hop[0].gateway), IP4(10, 0, 0, 5));
	assert_int_equal(hops.hop[0].weight, 1);
	assert_true(hops.hop[0].onlink);
	set(blackhole(5));
	assert_true(fpm_nexthops_resolve(&table, 5, &hops));
	assert_int_equal(hops.hops, 0);
	assert_int_equal(hops.blackholes, 1);
	assert_int_equal(table.objects, 1);
	assert_true(fpm_nexthops_remove(&table, 5));
	assert_false(fpm_nexthops_find(&table, 5, &out));
	assert_int_equal(table.objects, 0);
}

static void groups(void **state)
{
	(void)state;
	struct fpm_nexthop out;
	struct fpm_hops hops;
	open_table(8, 16);
	/* before its members */
	set(group(9, 1, 4));
	assert_true(fpm_nexthops_resolve(&table, 9, &hops));
	assert_int_equal(hops.missing, 4);
	set(single(3));
	set(single(1));
	set(blackhole(2));
	assert_true(fpm_nexthops_resolve(&table, 9, &hops));
	assert_int_equal(hops.hops, 2);
	assert_int_equal(hops.blackholes, 1);
	assert_int_equal(hops.missing, 1);
	/* in the group's order, with its weights */
	assert_int_equal(hops.hop[0].ifindex, 101);
	assert_int_equal(hops.hop[0].weight, 10);
	assert_int_equal(hops.hop[1].ifindex, 103);
	assert_int_equal(hops.hop[1].weight, 30);
	assert_true(fpm_nexthops_find(&table, 9, &out));
	assert_int_equal(out.members, 4);
	assert_int_equal(out.member[3].id, 4);
	assert_int_equal(out.member[3].weight, 40);
	/* a member is replaced, and removed */
	set(single(2));
	fpm_nexthops_resolve(&table, 9, &hops);
	assert_int_equal(hops.hops, 3);
	assert_true(fpm_nexthops_remove(&table, 2));
	fpm_nexthops_resolve(&table, 9, &hops);
	assert_int_equal(hops.hops, 2);
	assert_int_equal(hops.missing, 2);
	/* groups do not nest, and cycles are not followed */
	set(group(4, 9, 1));
	set(group(1, 1, 1));
	fpm_nexthops_resolve(&table, 9, &hops);
	assert_int_equal(hops.nested, 2);
	assert_int_equal(hops.hops, 1);
	fpm_nexthops_resolve(&table, 1, &hops);
	assert_int_equal(hops.nested, 1);
	fpm_nexthops_clear(&table);
	assert_int_equal(table.objects + table.members, 0);
	assert_false(fpm_nexthops_resolve(&table, 9, &hops));
}

static unsigned groups_of(uint32_t id, uint32_t *found)
{
	uint32_t cursor = 0, one;
	unsigned n = 0;
	while ((one = fpm_nexthops_next_group(&table, id, &cursor)))
		found[n++] = one;
	return n;
}

static void groups_of_a_member(void **state)
{
	(void)state;
	uint32_t found[8];
	open_table(8, 16);
	set(group(9, 1, 3));
	set(group(8, 3, 2));
	assert_int_equal(groups_of(3, found), 2);
	assert_int_equal(found[0] + found[1], 17);
	assert_int_equal(groups_of(1, found), 1);
	assert_int_equal(groups_of(9, found), 0);
	struct fpm_nexthop twice = group(7, 3, 3);
	twice.member[2].id = 3;
	set(twice);
	assert_int_equal(groups_of(3, found), 3);
	assert_true(fpm_nexthops_remove(&table, 9));
	assert_int_equal(groups_of(3, found), 2);
	set(single(8));
	assert_int_equal(groups_of(3, found), 1);
	assert_int_equal(found[0], 7);
}

static void full(void **state)
{
	(void)state;
	struct fpm_nexthop nh, out;
	open_table(3, 4);
	set(group(1, 10, 3));
	nh = group(2, 20, 2);
	assert_int_equal(fpm_nexthops_set(&table, &nh), E_NOMEM);
	assert_false(fpm_nexthops_find(&table, 2, &out));
	/* what a group gives up may be used by itself */
	set(group(1, 30, 4));
	nh = group(1, 40, 5);
	assert_int_equal(fpm_nexthops_set(&table, &nh), E_NOMEM);
	assert_true(fpm_nexthops_find(&table, 1, &out));
	assert_int_equal(out.members, 4);
	assert_int_equal(out.member[0].id, 30);
	set(single(2));
	set(single(3));
	nh = single(4);
	assert_int_equal(fpm_nexthops_set(&table, &nh), E_NOMEM);
	set(single(3));
	assert_true(fpm_nexthops_remove(&table, 1));
	set(single(4));
	/* no room at all */
	open_table(0, 0);
	assert_int_equal(fpm_nexthops_set(&table, &nh), E_NOMEM);
	assert_false(fpm_nexthops_remove(&table, 4));
}

/* --- the oracle --- */

#define IDS 40
static struct {
	bool there;
	struct fpm_nexthop nh;
} oracle[IDS];

static unsigned oracle_members(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < IDS; i++)
		n += oracle[i].there ? oracle[i].nh.members : 0;
	return n;
}

static unsigned oracle_objects(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < IDS; i++)
		n += oracle[i].there;
	return n;
}

static struct fpm_nexthop random_object(uint32_t id)
{
	const unsigned kind = random_below(5);
	struct fpm_nexthop nh = kind == 0 ? blackhole(id) : single(id);
	nh.hop.ifindex += kind ? random_below(1000) : 0;
	if (kind < 3)
		return nh;
	nh = group(id, 1, 1 + random_below(random_below(10) ? 6 : FPM_HOPS_MAX));
	for (unsigned i = 0; i < nh.members; i++)
		nh.member[i] = (struct fpm_member){1 + random_below(IDS - 1), 1 + random_below(0x10000)};
	return nh;
}

static void change(uint32_t objects_max, uint32_t members_max)
{
	const uint32_t id = 1 + random_below(IDS - 1);
	if (random_below(3) == 0) {
		assert_int_equal(fpm_nexthops_remove(&table, id), oracle[id].there);
		oracle[id].there = false;
		return;
	}
	const struct fpm_nexthop nh = random_object(id);
	const unsigned former = oracle[id].there ? oracle[id].nh.members : 0;
	const bool fits = oracle_members() - former + nh.members <= members_max &&
	                  (oracle[id].there || oracle_objects() < objects_max);
	assert_int_equal(fpm_nexthops_set(&table, &nh), fits ? E_OK : E_NOMEM);
	if (fits) {
		oracle[id].there = true;
		oracle[id].nh = nh;
	}
}

static void compare_resolved(uint32_t id)
{
	struct fpm_hops got;
	struct fpm_hops want = {0};
	const struct fpm_nexthop *nh = &oracle[id].nh;
	assert_int_equal(fpm_nexthops_resolve(&table, id, &got), oracle[id].there);
	const unsigned n = !oracle[id].there ? 0 : nh->members ? nh->members : 1;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t member = nh->members ? nh->member[i].id : id;
		const struct fpm_nexthop *one = &oracle[member].nh;
		if (!oracle[member].there) {
			want.missing++;
		} else if (one->members) {
			want.nested++;
		} else if (one->blackhole) {
			want.blackholes++;
		} else {
			want.hop[want.hops] = one->hop;
			want.hop[want.hops++].weight = nh->members ? nh->member[i].weight : 1;
		}
	}
	assert_int_equal(got.hops, want.hops);
	assert_int_equal(got.missing, want.missing);
	assert_int_equal(got.nested, want.nested);
	assert_int_equal(got.blackholes, want.blackholes);
	for (unsigned i = 0; i < want.hops; i++) {
		assert_memory_equal(&got.hop[i].gateway, &want.hop[i].gateway, sizeof(struct net_addr));
		assert_int_equal(got.hop[i].ifindex, want.hop[i].ifindex);
		assert_int_equal(got.hop[i].weight, want.hop[i].weight);
		assert_int_equal(got.hop[i].onlink, want.hop[i].onlink);
	}
}

static void compare_groups(uint32_t id)
{
	bool want[IDS] = {false};
	uint32_t found[IDS];
	unsigned expected = 0;
	for (unsigned i = 1; i < IDS; i++) {
		for (unsigned k = 0; oracle[i].there && k < oracle[i].nh.members; k++)
			want[i] |= oracle[i].nh.member[k].id == id;
		expected += want[i];
	}
	const unsigned n = groups_of(id, found);
	assert_int_equal(n, expected);
	for (unsigned i = 0; i < n; i++) {
		assert_true(found[i] < IDS && want[found[i]]);
		want[found[i]] = false;
	}
}

static void against_oracle(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		const uint32_t objects_max = 1 + random_below(IDS + 9), members_max = random_below(400);
		memset(oracle, 0, sizeof oracle);
		open_table(objects_max, members_max);
		for (unsigned step = 0; step < 2000; step++) {
			change(objects_max, members_max);
			assert_int_equal(table.objects, oracle_objects());
			assert_int_equal(table.members, oracle_members());
			compare_resolved(1 + random_below(IDS - 1));
			compare_groups(1 + random_below(IDS - 1));
		}
		for (uint32_t id = 1; id < IDS; id++) {
			compare_resolved(id);
			compare_groups(id);
		}
	}
	free(memory);
	memory = NULL;
}

int main(void)
{
	seed_random("fpm_nexthops");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects), cmocka_unit_test(groups), cmocka_unit_test(groups_of_a_member),
		cmocka_unit_test(full), cmocka_unit_test(against_oracle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
