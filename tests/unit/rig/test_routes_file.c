/* Routes from files: dumps written here octet by octet after RFC 6396, and lines, both compressed
 * and plain; and every error in them, which is reported with its place. */
#include "tests/unit/rig/host.h"

#include <arpa/inet.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "tests/unit/rig/routes_file.h"

#define PATH "routes" /* in this process's directory */
#define TAKEN 8

static struct file_route taken[TAKEN];
static unsigned count;

static void take(void *ctx, const struct file_route *r)
{
	assert_ptr_equal(ctx, taken);
	if (count < TAKEN)
		taken[count] = *r;
	count++;
}

static const char *read_back(const char *path)
{
	count = 0;
	memset(taken, 0, sizeof taken);
	return routes_read(path, take, taken);
}

static void file_write(const void *octets, size_t n)
{
	FILE *f = fopen(PATH, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(octets, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void assert_route(unsigned i, const char *addr, unsigned plen, const char *hop)
{
	struct file_route want = {.plen = (uint8_t)plen};
	want.addr_bytes = inet_pton(AF_INET6, addr, want.addr) == 1 ? 16 : 4;
	if (want.addr_bytes == 4)
		assert_int_equal(inet_pton(AF_INET, addr, want.addr), 1);
	if (hop)
		want.hop_bytes = inet_pton(AF_INET6, hop, want.hop) == 1 ? 16 : 4;
	if (want.hop_bytes == 4)
		assert_int_equal(inet_pton(AF_INET, hop, want.hop), 1);
	assert_memory_equal(&taken[i], &want, sizeof want);
}

/* --- a dump --- */

struct dump {
	uint8_t octets[1024];
	size_t n;
};

static void put(struct dump *d, const void *octets, size_t n)
{
	assert_true(d->n + n <= sizeof d->octets);
	memcpy(d->octets + d->n, octets, n);
	d->n += n;
}

static void record(struct dump *d, unsigned type, unsigned subtype, const void *body, size_t n)
{
	uint8_t head[12] = {0x62, 0x81, 0xf0, 0x00};
	be16_store(head + 4, (uint16_t)type);
	be16_store(head + 6, (uint16_t)subtype);
	be32_store(head + 8, (uint32_t)n);
	put(d, head, sizeof head);
	put(d, body, n);
}

/* Peers; two IPv4 prefixes, one from two peers, one without an entry; two IPv6 prefixes, one with a
 * full MP_REACH_NLRI and two next hops; one with path identifiers; a multicast table and an update,
 * which are skipped. */
static struct dump dump_make(void)
{
	static const uint8_t peers[] = {192, 0, 2, 1, 0, 0, 0, 0};
	static const uint8_t two[] = {
		0, 0, 0, 0, 20, 203, 0, 0x7f, 0, 2, /* 203.0.112.0/20, with bits set behind it */
		0, 0, 0x62, 0x81, 0, 0, 0, 15,      /* ORIGIN, NEXT_HOP, AS_PATH */
		0x40, 1, 1, 0, 0x50, 3, 0, 4, 192, 0, 2, 9, 0x40, 2, 0,
		0, 1, 0x62, 0x81, 0, 0, 0, 7, 0x40, 3, 4, 192, 0, 2, 77,
	};
	static const uint8_t none[] = {0, 0, 0, 1, 0, 0, 0};
	static const uint8_t six[] = {
		0, 0, 0, 2, 32, 0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20,
		0x80, 14, 17, 16, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	};
	static const uint8_t whole[] = {
		0, 0, 0, 3, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 40,
		0x80, 14, 37, 0, 2, 1, 32, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0,
	};
	static const uint8_t path[] = {
		0, 0, 0, 4, 32, 198, 51, 100, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 7,
		0x40, 3, 4, 192, 0, 2, 8,
	};
	struct dump d = {.n = 0};
	record(&d, 13, 1, peers, sizeof peers);
	record(&d, 13, 2, two, sizeof two);
	record(&d, 13, 2, none, sizeof none);
	record(&d, 13, 3, peers, sizeof peers);
	record(&d, 13, 4, six, sizeof six);
	record(&d, 16, 4, peers, sizeof peers);
	record(&d, 13, 4, whole, sizeof whole);
	record(&d, 13, 8, path, sizeof path);
	return d;
}

static void assert_dump(void)
{
	assert_int_equal(count, 4);
	assert_route(0, "203.0.112.0", 20, "192.0.2.9");
	assert_route(1, "2001:db8::", 32, "2001:db8::1");
	assert_route(2, "::", 0, "2001:db8::2");
	assert_route(3, "198.51.100.7", 32, "192.0.2.8");
}

static void dump_is_read(void **s)
{
	(void)s;
	struct dump d = dump_make();
	file_write(d.octets, d.n);
	assert_null(read_back(PATH));
	assert_dump();
}

static void packed_is_read(void **s)
{
	(void)s;
	static const char *const tools[] = {"gzip", "bzip2", "xz"};
	struct dump d = dump_make();
	for (unsigned i = 0; i < ARRAY_LEN(tools); i++) {
		char command[100];
		snprintf(command, sizeof command, "%s -c " PATH " > " PATH ".packed", tools[i]);
		file_write(d.octets, d.n);
		assert_int_equal(system(command), 0);
		assert_null(read_back(PATH ".packed"));
		assert_dump();
		assert_int_equal(truncate(PATH ".packed", 40), 0);
		assert_non_null(read_back(PATH ".packed"));
	}
	unlink(PATH ".packed");
}

/* Truncated at every length except the ends of records: refused, at the octet where it ends. */
static void cut_off(void **s)
{
	(void)s;
	struct dump d = dump_make();
	size_t whole = 0;
	for (size_t n = 12; n < d.n; n++) {
		while (whole + 12 <= n && whole + 12 + be32_load(d.octets + whole + 8) <= n)
			whole += 12 + be32_load(d.octets + whole + 8);
		file_write(d.octets, n);
		const char *error = read_back(PATH);
		char at[100];
		snprintf(at, sizeof at, PATH ": octet %zu: the file ends in a record", n);
		if (n == whole)
			assert_true(!error == (count > 0));
		else if (strncmp(error, at, strlen(at)) != 0)
			fail_msg("cut at %zu: %s", n, error);
	}
}

/* Changes an octet of the second record, which begins at 20. */
static void assert_refused(unsigned octet, unsigned value, const char *what)
{
	struct dump d = dump_make();
	d.octets[20 + octet] = (uint8_t)value;
	file_write(d.octets, d.n);
	const char *error = read_back(PATH);
	if (!error || strcmp(error, what) != 0)
		fail_msg("octet %u: %s", 20 + octet, error ? error : "nothing is wrong");
}

static void wrong_lengths(void **s)
{
	(void)s;
	assert_refused(8, 2, PATH ": octet 28: a record of more than 16 MiB");
	assert_refused(12 + 4, 33, PATH ": octet 37: length of a prefix");
	assert_refused(12 + 9, 3, PATH ": octet 80: a record ends in an entry");
	assert_refused(12 + 9, 1, PATH ": octet 65: octets behind the last entry");
	assert_refused(12 + 17, 16, PATH ": octet 66: an attribute is longer than what it stands in");
	assert_refused(12 + 25, 5, PATH ": octet 63: length of a next hop");
	assert_refused(12 + 25, 40, PATH ": octet 65: an attribute is longer than what it stands in");
}

/* Whatever the octets are, the file is read or refused. */
static void any_octets(void **s)
{
	(void)s;
	seed_random("any_octets");
	for (unsigned i = 0; i < 3000; i++) {
		struct dump d = dump_make();
		for (unsigned k = 1 + random_below(4); k; k--)
			d.octets[random_below((uint32_t)d.n)] = (uint8_t)random64();
		file_write(d.octets, d.n);
		read_back(PATH);
		for (unsigned k = 0; k < count && k < TAKEN; k++)
			assert_true(taken[k].plen <= taken[k].addr_bytes * 8);
	}
}

/* --- lines --- */

static void lines_are_read(void **s)
{
	(void)s;
	static const char text[] = "# a table\n\n192.0.2.0/24 198.51.100.1 # its next hop\n"
	                           "0.0.0.0/0\r\n2001:db8::/32\t2001:db8::1\n::/0";
	file_write(text, sizeof text - 1);
	assert_null(read_back(PATH));
	assert_int_equal(count, 4);
	assert_route(0, "192.0.2.0", 24, "198.51.100.1");
	assert_route(1, "0.0.0.0", 0, NULL);
	assert_route(2, "2001:db8::", 32, "2001:db8::1");
	assert_route(3, "::", 0, NULL);
}

static void wrong_lines(void **s)
{
	(void)s;
	static const struct {
		const char *line, *what;
	} wrong[] = {
		{"192.0.2.0", "a prefix without its length"},
		{"192.0.2.0/", "no prefix"},
		{"192.0.2.0/33", "no prefix"},
		{"192.0.2.0/-1", "no prefix"},
		{"192.0.2.0/24x", "no prefix"},
		{"192.0.2/24", "no prefix"},
		{"2001:db8::/129", "no prefix"},
		{"192.0.2.1/24", "bits behind the prefix's length"},
		{"192.0.2.0/24 eth0", "behind the prefix stands something else than a next hop"},
		{"192.0.2.0/24 192.0.2.1 1", "behind the prefix stands something else than a next hop"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		char text[100], want[200];
		int n = snprintf(text, sizeof text, "10.0.0.0/8\n%s\n", wrong[i].line);
		file_write(text, (size_t)n);
		snprintf(want, sizeof want, PATH ": line 2: %s", wrong[i].what);
		assert_string_equal(read_back(PATH), want);
	}
}

static void no_file(void **s)
{
	(void)s;
	file_write("", 0);
	assert_string_equal(read_back(PATH), PATH ": octet 0: there is no route in it");
	assert_string_equal(read_back(PATH "-not"), PATH "-not: octet 0: it cannot be opened");
	unlink(PATH);
}

int main(void)
{
	char directory[] = "/tmp/routes_file.XXXXXX";
	if (!mkdtemp(directory) || chdir(directory))
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dump_is_read),  cmocka_unit_test(packed_is_read),
		cmocka_unit_test(cut_off),       cmocka_unit_test(wrong_lengths),
		cmocka_unit_test(any_octets),    cmocka_unit_test(lines_are_read),
		cmocka_unit_test(wrong_lines),   cmocka_unit_test(no_file),
	};
	int failed = cmocka_run_group_tests_name("routes_file", tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
