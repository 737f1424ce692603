/*
 * Routes from a file, for tests and benchmarks: a BGP table as collectors publish it (MRT, RFC
 * 6396, records of TABLE_DUMP_V2, and their forms with path identifiers, RFC 8050), or lines
 * `PREFIX [NEXT-HOP]`, where # begins a comment. Files compressed by gzip, bzip2 or xz are
 * decompressed by these tools.
 *
 * Of a dump's entries for a prefix, one for each peer, the first is taken, because the dump does
 * not say which one a router would choose. Multicast tables and records of other types are skipped.
 */
#ifndef TESTS_UNIT_RIG_ROUTES_FILE_H
#define TESTS_UNIT_RIG_ROUTES_FILE_H

#include "lib/types.h"

struct file_route {
	uint8_t addr[16]; /* as on the wire, with no bit set behind plen */
	uint8_t hop[16];
	uint8_t addr_bytes; /* 4 or 16 */
	uint8_t hop_bytes;  /* 0: there is no next hop */
	uint8_t plen;
};

typedef void routes_take(void *ctx, const struct file_route *r);

/* Calls take() for each. Returns NULL, or the error, with the file's name and the octet (of the
 * decompressed data) or line: a string that is valid until the next call. */
const char *routes_read(const char *path, routes_take *take, void *ctx);

#endif
