/* kernel/lend: what may be lent, what is then mapped, and that one loan replaces the other. */
#include "tests/unit/rig/host.h"

#include "kernel/lend.c"

#define ARENA(core) (MEMORY_WINDOW + (core) * 64 * HUGE_BYTES)
#define ARENA_BYTES (16 * HUGE_BYTES)

static struct boot_info info;
struct boot_info *boot_info = &info;
struct core cores[CORES_MAX];
static uint64_t pages_free, pages_missing;
static bool mapped[3][4 * 64]; /* by core: huge pages of physical memory that its program may write */
static unsigned audits;

uint64_t vm_free(void) { return pages_free; }
void audit_address_spaces(unsigned n, bool say) { audits += n == 4 && !say; }

uint64_t vm_tables_missing(vm_space_t space, uint64_t virt, uint64_t bytes)
{
	assert_true(space && virt >= MEMORY_WINDOW && bytes);
	return pages_missing;
}

static void set(vm_space_t space, uint64_t virt, uint64_t bytes, bool value)
{
	assert_in_range(space, 2, 3);
	for (uint64_t at = virt; at < virt + bytes; at += HUGE_BYTES) {
		bool *page = &mapped[space - 1][(at - MEMORY_WINDOW) / HUGE_BYTES];
		assert_int_equal(*page, !value);
		*page = value;
	}
}

void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	assert_int_equal(flags, VM_USER | VM_WRITE);
	assert_int_equal(virt, MEMORY_WINDOW + phys);
	set(space, virt, bytes, true);
}

void vm_change(vm_space_t space, uint64_t virt, uint64_t bytes, unsigned flags)
{
	assert_int_equal(flags, VM_NOTHING);
	set(space, virt, bytes, false);
}

static int setup(void **s)
{
	(void)s;
	memset(&info, 0, sizeof info);
	memset(mapped, 0, sizeof mapped);
	memset(lent_to, 0, CORES_MAX * sizeof *lent_to);
	pages_free = 10;
	pages_missing = audits = 0;
	info.cores = 4;
	info.cmdline[0] = '\0';
	for (unsigned c = 0; c < 4; c++) {
		cores[c].space = c;
		info.core[c] = (struct core_memory){.arena = ARENA(c), .arena_bytes = c ? ARENA_BYTES : 0,
		                                    .roles = c ? CORE_DATA : CORE_CONTROL};
	}
	return 0;
}

static unsigned pages(unsigned core)
{
	unsigned n = 0;
	for (unsigned i = 0; i < ARRAY_LEN(mapped[0]); i++)
		n += mapped[core - 1][i];
	return n;
}

static void lends(void **s)
{
	(void)s;
	assert_int_equal(lend_serve(2, 1 + 14 * HUGE_BYTES, ARENA(1) + 2 * HUGE_BYTES), E_OK);
	assert_int_equal(pages(2), 14);
	assert_true(mapped[1][64 + 2] && mapped[1][64 + 15] && !mapped[1][64 + 1]);
	assert_int_equal(lent_to[2].owner, 1);
	assert_int_equal(lent_to[2].phys + MEMORY_WINDOW, ARENA(1) + 2 * HUGE_BYTES);
	assert_int_equal(lend_serve(2, 1 + 14 * HUGE_BYTES, ARENA(1) + 2 * HUGE_BYTES), E_OK); /* no change */
	assert_int_equal(lend_serve(2, 1 + 8 * HUGE_BYTES, ARENA(1) + 8 * HUGE_BYTES), E_OK);
	assert_int_equal(pages(2), 8);
	assert_int_equal(lend_serve(2, 3 + 16 * HUGE_BYTES, ARENA(3)), E_OK);
	assert_int_equal(pages(2), 16);
	assert_true(mapped[1][3 * 64]);
	assert_int_equal(lend_serve(2, 0, 0), E_OK);
	assert_int_equal(pages(2), 0);
	assert_int_equal(lend_serve(2, 0, 0), E_OK);
}

static void refuses(void **s)
{
	(void)s;
	const uint64_t at = ARENA(1), bytes = HUGE_BYTES;
	assert_int_equal(lend_serve(0, 1 + bytes, at), E_INVAL); /* the control core */
	assert_int_equal(lend_serve(4, 1 + bytes, at), E_INVAL);
	assert_int_equal(lend_serve(UINT64_MAX, 1 + bytes, at), E_INVAL);
	assert_int_equal(lend_serve(2, 0 + bytes, ARENA(0)), E_INVAL);
	assert_int_equal(lend_serve(2, 2 + bytes, ARENA(2)), E_INVAL); /* its own */
	assert_int_equal(lend_serve(2, 4 + bytes, at), E_INVAL);
	assert_int_equal(lend_serve(2, 1 + bytes, at + PAGE_BYTES), E_INVAL);
	assert_int_equal(lend_serve(2, 1 + bytes, at - HUGE_BYTES), E_INVAL);
	assert_int_equal(lend_serve(2, 1 + 17 * bytes, at), E_INVAL);
	assert_int_equal(lend_serve(2, 1 + bytes, at + ARENA_BYTES), E_INVAL);
	assert_int_equal(lend_serve(2, 1 - bytes, at), E_INVAL);
	info.core[1].roles |= CORE_CONTROL;
	assert_int_equal(lend_serve(2, 1 + bytes, at), E_INVAL);
	info.core[1].roles = CORE_DATA;
	pages_missing = pages_free + 1;
	assert_int_equal(lend_serve(2, 1 + bytes, at), E_NOMEM);
	assert_int_equal(pages(2), 0);
	assert_int_equal(lent_to[2].bytes, 0);
}

static void audited(void **s)
{
	(void)s;
	assert_int_equal(lend_serve(2, 1 + HUGE_BYTES, ARENA(1)), E_OK);
	assert_int_equal(audits, 0);
	strcpy(info.cmdline, "test=1");
	assert_int_equal(lend_serve(3, 1 + HUGE_BYTES, ARENA(1)), E_OK);
	assert_int_equal(audits, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lends, setup),
		cmocka_unit_test_setup(refuses, setup),
		cmocka_unit_test_setup(audited, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
