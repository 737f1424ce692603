/* See routes_file.h. Section numbers are RFC 6396's. */
#include "tests/unit/rig/routes_file.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bytes.h"

#define MRT_HEADER 12
#define MRT_TABLE_DUMP_V2 13
#define RECORD_MOST (16u << 20) /* a prefix with a thousand peers takes about 100 KiB */

enum mrt_subtype { /* 4.3; RFC 8050 4 */
	RIB_IPV4_UNICAST = 2,
	RIB_IPV6_UNICAST = 4,
	RIB_IPV4_UNICAST_ADDPATH = 8,
	RIB_IPV6_UNICAST_ADDPATH = 10,
};

#define BGP_EXTENDED_LENGTH 0x10 /* RFC 4271 4.3 */
#define BGP_NEXT_HOP 3
#define BGP_MP_REACH_NLRI 14

struct source {
	FILE *f;
	const char *name;
	routes_take *take;
	void *ctx;
	uint64_t count;
};

static char message[400];

static const char *wrong(const struct source *s, const char *unit, uint64_t at, const char *what)
{
	snprintf(message, sizeof message, "%s: %s %llu: %s", s->name, unit, (unsigned long long)at,
	         what);
	return message;
}

static void mask(struct file_route *r)
{
	for (unsigned i = r->plen; i < 128; i++)
		r->addr[i / 8] &= (uint8_t)~(0x80 >> i % 8);
}

/* --- MRT --- */

/* What is left of a record. */
struct rest {
	const uint8_t *p, *end;
};

/* The next n octets; NULL: there are fewer, and all of them are skipped. */
static const uint8_t *octets(struct rest *r, size_t n)
{
	const uint8_t *p = r->p;
	bool enough = (size_t)(r->end - p) >= n;
	r->p = enough ? p + n : r->end;
	return enough ? p : NULL;
}

static const char *hop_set(struct file_route *r, const uint8_t *hop, size_t n)
{
	if (n != 4 && n != 16 && n != 32)
		return "length of a next hop";
	r->hop_bytes = n == 4 ? 4 : 16; /* of 32 the second half is link-local (RFC 2545 3) */
	memcpy(r->hop, hop, r->hop_bytes);
	return NULL;
}

/* 4.3.4: MP_REACH_NLRI contains only the next hop's length and the next hop. Some writers precede
 * them by family and subsequent family, of which the first octet is 0. */
static const char *mp_reach(struct file_route *r, struct rest a)
{
	const uint8_t *n = octets(&a, 1);
	if (n && *n == 0) {
		octets(&a, 2);
		n = octets(&a, 1);
	}
	const uint8_t *hop = n ? octets(&a, *n) : NULL;
	return hop ? hop_set(r, hop, *n) : "MP_REACH_NLRI is shorter than its next hop";
}

static const char *attributes(struct file_route *r, struct rest *a)
{
	while (a->p < a->end) {
		const uint8_t *head = octets(a, 2);
		const uint8_t *len = head ? octets(a, head[0] & BGP_EXTENDED_LENGTH ? 2 : 1) : NULL;
		size_t n = !len ? 0 : head[0] & BGP_EXTENDED_LENGTH ? be16_load(len) : *len;
		const uint8_t *value = len ? octets(a, n) : NULL;
		const char *error = NULL;
		if (!value)
			return "an attribute is longer than what it stands in";
		if (head[1] == BGP_NEXT_HOP)
			error = hop_set(r, value, n);
		else if (head[1] == BGP_MP_REACH_NLRI)
			error = mp_reach(r, (struct rest){value, value + n});
		if (error)
			return error;
	}
	return NULL;
}

/* 4.3.2, 4.3.4: sequence number, prefix, and for each peer that has it index, time, attributes. */
static const char *rib_record(struct source *s, struct rest *r, bool ip6, bool path_ids)
{
	struct file_route route = {.addr_bytes = ip6 ? 16 : 4};
	const uint8_t *head = octets(r, 5);
	if (head && head[4] > route.addr_bytes * 8)
		return "length of a prefix";
	const uint8_t *prefix = head ? octets(r, (head[4] + 7u) / 8) : NULL;
	const uint8_t *count = prefix ? octets(r, 2) : NULL;
	if (!count)
		return "a record ends in its prefix";
	route.plen = head[4];
	memcpy(route.addr, prefix, (head[4] + 7u) / 8);
	mask(&route);
	for (unsigned i = 0; i < be16_load(count); i++) {
		const uint8_t *entry = octets(r, path_ids ? 12 : 8);
		size_t n = entry ? be16_load(entry + (path_ids ? 10 : 6)) : 0;
		const uint8_t *at = entry ? octets(r, n) : NULL;
		if (!at)
			return "a record ends in an entry";
		struct rest a = {at, at + n};
		const char *error = i == 0 ? attributes(&route, &a) : NULL;
		if (error) {
			r->p = a.p;
			return error;
		}
	}
	if (be16_load(count)) {
		s->take(s->ctx, &route);
		s->count++;
	}
	return r->p == r->end ? NULL : "octets behind the last entry";
}

static const char *record(struct source *s, const uint8_t *head, struct rest *r)
{
	if (be16_load(head + 4) != MRT_TABLE_DUMP_V2)
		return NULL;
	switch (be16_load(head + 6)) {
	case RIB_IPV4_UNICAST:
		return rib_record(s, r, false, false);
	case RIB_IPV6_UNICAST:
		return rib_record(s, r, true, false);
	case RIB_IPV4_UNICAST_ADDPATH:
		return rib_record(s, r, false, true);
	case RIB_IPV6_UNICAST_ADDPATH:
		return rib_record(s, r, true, true);
	default:
		return NULL;
	}
}

/* Reads the record that begins at octet `at`, whose head was read, into `room`, which grows. */
static const char *record_read(struct source *s, uint64_t at, const uint8_t *head, uint8_t **room)
{
	uint32_t len = be32_load(head + 8);
	if (len > RECORD_MOST)
		return wrong(s, "octet", at + 8, "a record of more than 16 MiB");
	uint8_t *grown = realloc(*room, len + 1);
	if (!grown)
		return wrong(s, "octet", at, "no memory");
	*room = grown;
	size_t n = fread(grown, 1, len, s->f);
	if (n < len)
		return wrong(s, "octet", at + MRT_HEADER + n, "the file ends in a record");
	struct rest r = {grown, grown + len};
	const char *error = record(s, head, &r);
	return error ? wrong(s, "octet", at + MRT_HEADER + (uint64_t)(r.p - grown), error) : NULL;
}

/* 2: records, each with a head of 12 octets that ends with the record's length. */
static const char *read_mrt(struct source *s)
{
	const char *error = NULL;
	uint8_t head[MRT_HEADER], *room = NULL;
	uint64_t at = 0;
	size_t n;
	while (!error && (n = fread(head, 1, sizeof head, s->f)) > 0) {
		if (n < sizeof head)
			error = wrong(s, "octet", at + n, "the file ends in a record's head");
		else
			error = record_read(s, at, head, &room);
		at += sizeof head + be32_load(head + 8);
	}
	free(room);
	return error;
}

/* --- lines --- */

/* Octets of the address; 0: not an address. */
static uint8_t address(const char *text, uint8_t *to)
{
	return inet_pton(AF_INET, text, to) == 1 ? 4 : inet_pton(AF_INET6, text, to) == 1 ? 16 : 0;
}

static const char *line_read(struct source *s, char *line)
{
	struct file_route r = {.plen = 0}, masked;
	char *more, *end;
	line[strcspn(line, "#")] = 0;
	char *prefix = strtok_r(line, " \t\r\n", &more);
	if (!prefix)
		return NULL;
	char *hop = strtok_r(NULL, " \t\r\n", &more), *slash = strchr(prefix, '/');
	if (!slash)
		return "a prefix without its length";
	*slash = 0;
	r.addr_bytes = address(prefix, r.addr);
	unsigned long plen = strtoul(slash + 1, &end, 10);
	if (!r.addr_bytes || slash[1] < '0' || slash[1] > '9' || *end || plen > r.addr_bytes * 8ul)
		return "no prefix";
	r.plen = (uint8_t)plen;
	masked = r;
	mask(&masked);
	if (memcmp(masked.addr, r.addr, sizeof r.addr) != 0)
		return "bits behind the prefix's length";
	r.hop_bytes = hop ? address(hop, r.hop) : 0;
	if ((hop && !r.hop_bytes) || strtok_r(NULL, " \t\r\n", &more))
		return "behind the prefix stands something else than a next hop";
	s->take(s->ctx, &r);
	s->count++;
	return NULL;
}

static const char *read_lines(struct source *s)
{
	char line[200];
	for (uint64_t number = 1; fgets(line, sizeof line, s->f); number++) {
		const char *error = line_read(s, line);
		if (error)
			return wrong(s, "line", number, error);
	}
	return NULL;
}

/* --- files --- */

/* A file as it is, or as the tool decompresses it. */
struct stream {
	FILE *f;
	pid_t child; /* 0: there is no tool */
};

static struct stream stream_open(const char *path, const char *tool)
{
	int fd[2];
	if (!tool)
		return (struct stream){fopen(path, "rb"), 0};
	if (pipe(fd))
		return (struct stream){NULL, 0};
	pid_t child = fork();
	if (child == 0) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		execlp(tool, tool, "-dc", "--", path, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	return (struct stream){fdopen(fd[0], "rb"), child};
}

/* False: the tool failed, as it does if it is not read to its end. */
static bool stream_close(struct stream *s)
{
	int status = 0;
	fclose(s->f);
	if (s->child)
		waitpid(s->child, &status, 0);
	return status == 0;
}

#define BEGIN 6

/* Reads the first octets, padded with zeros; false: there is no such file. */
static bool begin_read(const char *path, const char *tool, uint8_t *begin)
{
	struct stream s = stream_open(path, tool);
	memset(begin, 0, BEGIN);
	if (!s.f)
		return false;
	if (fread(begin, 1, BEGIN, s.f) < BEGIN)
		begin[BEGIN - 1] = 0;
	stream_close(&s);
	return true;
}

/* The tool that decompresses a file with this beginning; NULL: none needed. */
static const char *tool_for(const uint8_t *begin)
{
	return memcmp(begin, "\x1f\x8b", 2) == 0      ? "gzip"
	       : memcmp(begin, "BZh", 3) == 0         ? "bzip2"
	       : memcmp(begin, "\xfd" "7zXZ", 5) == 0 ? "xz"
	                                              : NULL;
}

/* A record's type, below 256, follows its time: a text has no zero octet. */
static bool is_mrt(const uint8_t *begin)
{
	return begin[4] == 0 && begin[5] != 0;
}

const char *routes_read(const char *path, routes_take *take, void *ctx)
{
	struct source s = {.name = path, .take = take, .ctx = ctx};
	uint8_t begin[BEGIN];
	if (!begin_read(path, NULL, begin))
		return wrong(&s, "octet", 0, "it cannot be opened");
	const char *tool = tool_for(begin), *error;
	begin_read(path, tool, begin);
	struct stream in = stream_open(path, tool);
	s.f = in.f;
	error = is_mrt(begin) ? read_mrt(&s) : read_lines(&s);
	if (!stream_close(&in) && !error)
		error = wrong(&s, "octet", 0, "it cannot be unpacked");
	return error || s.count ? error : wrong(&s, "octet", 0, "there is no route in it");
}
