#include "tests/unit/guest.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "hal/layout.h"

#define BUFFERS_MAX 4096

/* --- memory --- */

int guest_map(void **state)
{
	void *want = (void *)(uintptr_t)MEMORY_WINDOW;
	(void)state;
	return mmap(want, GUEST_BYTES, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == want ? 0 : -1;
}

void guest_open(void)
{
	ASAN_UNPOISON_MEMORY_REGION((void *)(uintptr_t)MEMORY_WINDOW, GUEST_BYTES);
}

void guest_close(const void *from, const void *to)
{
	ASAN_POISON_MEMORY_REGION(from, (size_t)((const uint8_t *)to - (const uint8_t *)from));
}

uint8_t *bus(uint64_t addr, size_t n)
{
	assert_in_range(addr, GUEST_NOTHING, GUEST_BYTES - n);
	return (uint8_t *)(uintptr_t)(MEMORY_WINDOW + addr);
}

uint64_t bus_of(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p - MEMORY_WINDOW;
}

uint64_t load(uint64_t addr, unsigned bytes)
{
	const uint8_t *at = bus(addr, bytes);
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return v;
}

void store(uint64_t addr, unsigned bytes, uint64_t v)
{
	uint8_t *at = bus(addr, bytes);
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

/* --- frames --- */

unsigned frame_most;

unsigned frame_len(uint32_t seq)
{
	return 60 + seq * 7 % (frame_most - 60 + 1);
}

static uint8_t frame_byte(uint32_t seq, unsigned i)
{
	return (uint8_t)(i < 4 ? seq >> 8 * i : seq * 31 + i);
}

void make_frame(uint8_t *at, uint32_t seq)
{
	for (unsigned i = 0; i < frame_len(seq); i++)
		at[i] = frame_byte(seq, i);
}

void assert_frame(const uint8_t *at, unsigned len, uint32_t seq)
{
	static uint8_t want[BUF_STRIDE_STANDARD];
	assert_int_equal(len, frame_len(seq));
	make_frame(want, seq);
	assert_memory_equal(at, want, len);
}

void take_frame(struct bufpool *pool, struct pkt *p, uint32_t seq)
{
	assert_true(pkt_alloc(pool, p));
	p->len = (uint16_t)frame_len(seq);
	make_frame(p->data, seq);
}

/* --- buffers --- */

static uint8_t owners[BUFFERS_MAX];
static uint32_t owner_count;

void owners_forget(uint32_t count)
{
	assert_in_range(count, 0, BUFFERS_MAX);
	memset(owners, 0, count);
	owner_count = count;
}

void assert_owner(uint32_t buf)
{
	assert_in_range(buf, 0, owner_count - 1);
	if (owners[buf]++)
		fail_msg("buffer %u has two owners", buf);
}

void assert_all_owned(void)
{
	for (uint32_t i = 0; i < owner_count; i++)
		if (!owners[i])
			fail_msg("buffer %u is lost", i);
}
