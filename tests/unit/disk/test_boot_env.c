/* GRUB's environment block (disk/boot_env.h): blocks as grub-editenv of GRUB 2.06 writes them, and damaged ones. */
#include "tests/unit/rig/host.h"

#include "disk/boot_env.h"

static uint8_t block[BOOT_ENV_BYTES];

static void fill(const char *text)
{
	memset(block, '#', sizeof block);
	memcpy(block, text, strlen(text));
}

#define HEAD "# GRUB Environment Block\n"
#define ID "id=0123456789abcdef\n"

static void read_blocks(void **s)
{
	(void)s;
	struct boot_env e;
	fill(HEAD ID "active=B\ntrying=A\ntried=1\n");
	assert_true(boot_env_read(block, &e));
	assert_string_equal(e.id, "0123456789abcdef");
	assert_true(e.active == 1 && e.trying == 0 && e.tried);
	/* grub-editenv set 'note=a\b' writes the backslash twice; `x=` is an empty value */
	fill(HEAD "note=a\\\\b\\\nactive=B\n" "x=\nsaved_entry=2>1\nactive=A\n" ID);
	assert_true(boot_env_read(block, &e));
	assert_true(e.active == 0 && e.trying == IMAGE_NONE && !e.tried);
	fill(HEAD ID "active=C\ntrying=AB\ntried=\n");
	assert_true(boot_env_read(block, &e));
	assert_true(e.active == IMAGE_NONE && e.trying == IMAGE_NONE && !e.tried);
}

static void refuse_others(void **s)
{
	(void)s;
	static const char *const wrong[] = {"", HEAD, HEAD "active=A\n", HEAD "id=0123456789abcde\n", HEAD "id=0123456789abcdeF\n",
	                                    HEAD "id=0123456789abcdef0\n", "# GRUB Environment block\n" ID, HEAD "id=\n",
	                                    HEAD "id=0123456789abcdef"};
	struct boot_env e;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		fill(wrong[i]);
		assert_false(boot_env_read(block, &e));
	}
	seed_random("refuse_others");
	for (unsigned i = 0; i < 20000; i++) { /* any bytes: nothing beyond the block is read */
		fill(HEAD ID "active=B\ntrying=A\ntried=1\n");
		random_fill(block + random_below(BOOT_ENV_BYTES - 8), 1 + random_below(8));
		if (boot_env_read(block, &e)) {
			e.active = !e.active;
			boot_env_write(block, &e);
		}
	}
}

static void write_blocks(void **s)
{
	(void)s;
	struct boot_env e, again;
	uint8_t before[BOOT_ENV_BYTES];
	boot_env_make(block, "0123456789abcdef");
	assert_memory_equal(block, HEAD ID "active=A\n###", strlen(HEAD ID "active=A\n###"));
	assert_true(boot_env_read(block, &e) && e.active == 0 && e.trying == IMAGE_NONE);
	for (unsigned n = 0; n < 18; n++) {
		e.active = n % 2;
		e.trying = n / 2 % 3;
		e.tried = n / 6 % 2;
		assert_int_equal(boot_env_write(block, &e), E_OK);
		assert_true(boot_env_read(block, &again));
		assert_memory_equal(&e, &again, sizeof e);
		for (size_t i = BOOT_ENV_ATOMIC; i < sizeof block; i++)
			assert_int_equal(block[i], '#');
	}
	/* other variables stay */
	fill(HEAD "saved_entry=B\n" ID "tried=1\nnote=x\n");
	assert_true(boot_env_read(block, &e));
	e.active = 1;
	e.tried = false;
	assert_int_equal(boot_env_write(block, &e), E_OK);
	assert_memory_equal(block, HEAD "saved_entry=B\n" ID "note=x\nactive=B\n#", strlen(HEAD "saved_entry=B\n" ID "note=x\nactive=B\n#"));
	/* what does not fit the first sector is refused, and nothing changes */
	fill(HEAD ID);
	memset(block + strlen(HEAD ID), 'x', 450);
	block[strlen(HEAD ID) + 450] = '\n';
	memcpy(before, block, sizeof before);
	assert_true(boot_env_read(block, &e));
	e.active = 0;
	e.trying = 1;
	assert_int_equal(boot_env_write(block, &e), E_NOMEM);
	assert_memory_equal(block, before, sizeof before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(read_blocks), cmocka_unit_test(refuse_others), cmocka_unit_test(write_blocks)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
