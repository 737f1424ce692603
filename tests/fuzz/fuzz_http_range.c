/*
 * Range requests (net/http/range.h): the input is the size of the file, 8 bytes, and the field. What is to be sent
 * lies in the file, no byte twice, and is little more than the file; written as a field again, it is read as the
 * same; the multipart content has the length that is announced.
 */
#include "tests/fuzz/input.h"

#include "net/http/range.h"

static void check_ranges(const struct http_ranges *r, uint64_t size)
{
	uint64_t bytes = 0;
	assert(r->n >= 1 && r->n <= HTTP_RANGES_MAX);
	for (unsigned i = 0; i < r->n; i++) {
		assert(r->range[i].first <= r->range[i].last && r->range[i].last < size);
		bytes += http_range_bytes(&r->range[i]);
		for (unsigned k = 0; k < i; k++)
			assert(r->range[i].first > r->range[k].last || r->range[i].last < r->range[k].first);
	}
	assert(bytes <= size && (r->n == 1 || size - bytes >= r->n * HTTP_PART_COST));
}

static void check_again(const struct http_ranges *r, uint64_t size)
{
	struct http_ranges again;
	char field[64 * HTTP_RANGES_MAX] = "bytes=";
	size_t n = strlen(field);
	for (unsigned i = 0; i < r->n; i++)
		n += (size_t)snprintf(field + n, sizeof field - n, "%s%llu-%llu", i ? "," : "",
		                      (unsigned long long)r->range[i].first,
		                      (unsigned long long)r->range[i].last);
	if (size > UINT64_MAX / 16)
		return; /* such numbers are not read exactly */
	assert(http_ranges_read(&again, field, size) == 206 && again.n == r->n);
	assert(memcmp(again.range, r->range, r->n * sizeof r->range[0]) == 0);
}

static void check_parts(const struct http_ranges *r, uint64_t size)
{
	const struct http_parts m = {r, size, "text/plain", "boundary"};
	char buf[HTTP_PART_HEAD_MAX + 16];
	uint64_t length = http_parts_end_put(buf, sizeof buf, &m);
	for (unsigned i = 0; i < r->n; i++) {
		const size_t n = http_part_head_put(buf, sizeof buf, &m, i);
		assert(n > 0 && strlen(buf) == n);
		length += n + http_range_bytes(&r->range[i]);
	}
	assert(length == http_parts_length(&m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const uint32_t low = take32(&in);
	const uint64_t bytes = (uint64_t)take32(&in) << 32 | low;
	struct http_ranges r;
	char *field = exact_text(in.p, in.n);
	const unsigned status = http_ranges_read(&r, field, bytes);
	assert(status == 200 || status == 206 || status == 416);
	assert((status == 206) == (r.n > 0));
	if (status == 206) {
		check_ranges(&r, bytes);
		check_again(&r, bytes);
		check_parts(&r, bytes);
	}
	free(field);
	return 0;
}
