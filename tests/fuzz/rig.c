/* See rig.h. Replaces tests/unit/rig/host.c. */
#include "tests/fuzz/rig.h"

#include "lib/assert.h"

static const uint8_t *at;
static size_t left;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return setenv("CMOCKA_TEST_ABORT", "1", 1);
}

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

void rig_input(const uint8_t *data, size_t size)
{
	at = data;
	left = size;
}

bool rig_more(void)
{
	return left > 0;
}

uint8_t rig_u8(void)
{
	if (left == 0)
		return 0;
	left--;
	return *at++;
}

uint16_t rig_u16(void)
{
	uint16_t low = rig_u8();
	return (uint16_t)(low | rig_u8() << 8);
}

uint32_t rig_u32(void)
{
	uint32_t low = rig_u16();
	return low | (uint32_t)rig_u16() << 16;
}

void seed_random(const char *test)
{
	(void)test;
}

uint64_t random64(void)
{
	return rig_u16() * 0x0001000100010001u;
}

void random_fill(void *p, size_t n)
{
	uint8_t *b = p;
	while (n--)
		*b++ = rig_u8();
}
