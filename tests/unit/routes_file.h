/*
 * Routes out of a file, for tests and benchmarks: a BGP table as collectors publish it (MRT, RFC
 * 6396, records of TABLE_DUMP_V2, and their forms with path identifiers, RFC 8050), or lines
 * `PREFIX [NEXT-HOP]`, of which # begins a comment. What gzip, bzip2 or xz made smaller is unpacked
 * by them.
 *
 * Of a dump's entries for a prefix, one of each peer, the first is taken: which one a router would
 * choose is not in it. Multicast tables and records of other types are passed over.
 */
#ifndef TESTS_UNIT_ROUTES_FILE_H
#define TESTS_UNIT_ROUTES_FILE_H

#include "lib/types.h"

struct file_route {
	uint8_t addr[16]; /* as on the wire, without a bit behind plen */
	uint8_t hop[16];
	uint8_t addr_bytes; /* 4 or 16 */
	uint8_t hop_bytes;  /* also 0: there is no next hop */
	uint8_t plen;
};

typedef void routes_take(void *ctx, const struct file_route *r);

/* Calls take() for each. Returns NULL, or what is wrong, with the file's name and the octet (of
 * what was unpacked) or line: a string that stays until the next call. */
const char *routes_read(const char *path, routes_take *take, void *ctx);

#endif
