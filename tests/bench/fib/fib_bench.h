/* The interface by which fib_bench.c measures look-up tables: net/fib and others (fib_dpdk.c). */
#ifndef TESTS_BENCH_FIB_FIB_BENCH_H
#define TESTS_BENCH_FIB_FIB_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIB_VECTOR 256

struct bench_route {
	uint8_t addr[16]; /* as on the wire; IPv4 uses the first four */
	unsigned plen;
	uint32_t nh;
};

/* Addresses in the forms that the interfaces require. */
struct bench_addresses {
	uint32_t *ip4; /* host byte order */
	uint8_t (*ip6)[16];
	const uint8_t **at6; /* pointers to the entries of ip6 */
};

struct bench_table {
	const char *name;
	const char *const *way; /* names of look-up methods, ended by NULL */
	/* A table with room for that many routes; NULL: no memory, or no such table here. */
	void *(*make)(uint32_t routes);
	bool (*add)(void *t, const struct bench_route *r);
	bool (*remove)(void *t, const struct bench_route *r);
	void (*turn)(void *t); /* after each 1024 changes; NULL: nothing to do */
	size_t (*bytes)(void *t);
	void (*use)(void *t, unsigned way);
	void (*lookup)(void *t, const struct bench_addresses *a, uint32_t from, uint32_t *nh);
	void (*drop)(void *t);
	/* With more routes, adding takes too long: the table is filled with answers instead. */
	uint32_t most;
	void (*fill)(void *t, uint32_t (*answer)(uint32_t dst));
};

/* DPDK's tables, ended by one without a name. dpdk_start: false without DPDK or memory. */
bool dpdk_start(void);
extern const struct bench_table dpdk_tables4[], dpdk_tables6[];

#endif
