/* See options.h. */
#include "examples/options.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *tables[2];
static const char *usage_line;

_Noreturn static void show(int status)
{
	FILE *to = status ? stderr : stdout;
	fprintf(to, "usage: %s\n\n", usage_line);
	for (unsigned t = 0; t < 2; t++)
		for (const struct option_row *r = tables[t]; r && r->name; r++)
			fprintf(to, "  --%-18s %s\n", r->name, r->help);
	exit(status);
}

bool option_addr(const char *text, struct net_addr *addr)
{
	uint8_t bytes[16];
	if (inet_pton(AF_INET, text, bytes) == 1)
		*addr = net_addr_ip4(be32_load(bytes));
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		*addr = net_addr_load(bytes);
	else
		return false;
	return !net_addr_is_any(addr);
}

static bool read_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;
	*value = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && *value <= max;
}

static bool read_addr(const char *text, struct net_addr *families)
{
	struct net_addr addr;
	if (!option_addr(text, &addr))
		return false;
	families[option_family(&addr)] = addr;
	return true;
}

static bool read_prefix(const char *text, struct option_prefix *families)
{
	char addr[INET6_ADDRSTRLEN];
	struct option_prefix p;
	int end = 0;
	if (sscanf(text, "%45[0-9A-Fa-f.:]/%3u%n", addr, &p.plen, &end) != 2 || text[end] ||
	    !option_addr(addr, &p.addr) || p.plen > (net_addr_is_ip4(&p.addr) ? 32 : 128))
		return false;
	families[option_family(&p.addr)] = p;
	return true;
}

static bool read_mac(const char *text, uint8_t *mac)
{
	int end = 0;
	return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2],
	              &mac[3], &mac[4], &mac[5], &end) == 6 && !text[end];
}

static bool read_value(const struct option_row *r, const char *text)
{
	uint64_t number;
	switch (r->kind) {
	case OPTION_U32:
		if (!read_number(text, UINT32_MAX, &number))
			return false;
		*(uint32_t *)r->to = (uint32_t)number;
		return true;
	case OPTION_U64:
		return read_number(text, UINT64_MAX, r->to);
	case OPTION_TEXT:
		*(const char **)r->to = text;
		return true;
	case OPTION_ADDR:
		return read_addr(text, r->to);
	case OPTION_PREFIX:
		return read_prefix(text, r->to);
	case OPTION_MAC:
		return read_mac(text, r->to);
	default:
		return false;
	}
}

static const struct option_row *find(const char *name, size_t n)
{
	for (unsigned t = 0; t < 2; t++)
		for (const struct option_row *r = tables[t]; r && r->name; r++)
			if (strlen(r->name) == n && memcmp(r->name, name, n) == 0)
				return r;
	return NULL;
}

/* Reads one option at argv[i]; returns the index of the next argument. */
static int read_option(int argc, char **argv, int i)
{
	const char *name = argv[i] + 2;
	size_t n = strcspn(name, "=");
	const struct option_row *r = find(name, n);
	if (!r) {
		fprintf(stderr, "no such option: %s\n", argv[i]);
		show(2);
	}
	if (r->kind == OPTION_ON || r->kind == OPTION_OFF) {
		*(bool *)r->to = r->kind == OPTION_ON;
		return i + 1;
	}
	const char *value = name[n] ? name + n + 1 : ++i < argc ? argv[i] : "";
	if (!read_value(r, value)) {
		fprintf(stderr, "--%s: \"%s\" is not what it takes\n", r->name, value);
		show(2);
	}
	return i + 1;
}

unsigned options_read(int argc, char **argv, const char *usage, const struct option_row *a,
                      const struct option_row *b, const char **words, unsigned max)
{
	unsigned n = 0;
	tables[0] = a;
	tables[1] = b;
	usage_line = usage;
	for (int i = 1; i < argc;) {
		if (strcmp(argv[i], "--help") == 0)
			show(0);
		if (strncmp(argv[i], "--", 2) == 0) {
			i = read_option(argc, argv, i);
		} else if (n < max) {
			words[n++] = argv[i++];
		} else {
			fprintf(stderr, "too much: %s\n", argv[i]);
			show(2);
		}
	}
	return n;
}
