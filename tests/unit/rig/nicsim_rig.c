#include "tests/unit/rig/nicsim_rig.h"

#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <sys/mman.h>

#include "abi/layout.h"

#define PAGE 4096u

struct rig rig;

/* --- the host's side --- */

static void *host_dma(void *ctx, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	struct rig *r = ctx;
	if (access == DMA_READ)
		r->dma_reads++;
	else
		r->dma_writes++;
	if (bus < RIG_NOTHING || bus > RIG_MEMORY || bytes > RIG_MEMORY - bus)
		return NULL;
	return r->memory + bus;
}

static bool host_piece(void *ctx, uint64_t bus, struct dma_piece *out)
{
	struct rig *r = ctx;
	if (r->piece == 0 || bus < RIG_NOTHING || bus >= RIG_MEMORY)
		return false;
	const uint64_t from = bus - bus % r->piece;
	*out = (struct dma_piece){from, r->piece, r->memory + from, true};
	return true;
}

static void host_irq(void *ctx, unsigned vector)
{
	struct rig *r = ctx;
	assert_in_range(vector, 0, RIG_VECTORS - 1);
	r->irqs[vector]++;
}

static void take_sent(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	struct rig_frame *f = &rig.sent[rig.sent_in % RIG_SENT_MAX];
	(void)w;
	(void)now;
	assert_true(rig.sent_in - rig.sent_out < RIG_SENT_MAX);
	assert_in_range(bytes, 1, FRAME_MAX);
	free(f->data);
	f->at = rig.now;
	f->data = malloc(bytes); /* of exact size: ASan detects reads past it */
	assert_non_null(f->data);
	memcpy(f->data, data, bytes);
	f->bytes = bytes;
	rig.sent_in++;
}

static const struct wire_ops wire_ops = {.name = "rig", .send = take_sent};

/* --- power --- */

void rig_start(const struct model_ops *ops, enum rig_mode mode)
{
	static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	const struct sim_host host = {&rig, host_dma, host_irq, host_piece};
	uint8_t *memory = rig.memory;
	if (memory == NULL) {
		memory = mmap((void *)(uintptr_t)MEMORY_WINDOW, RIG_MEMORY, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
		assert_ptr_equal(memory, (void *)(uintptr_t)MEMORY_WINDOW);
	}
	ASAN_UNPOISON_MEMORY_REGION(memory, RIG_MEMORY);
	assert_int_equal(madvise(memory, RIG_MEMORY, MADV_DONTNEED), 0); /* zeroes it */
	memset(&rig, 0, sizeof rig);
	rig.memory = memory;
	rig.brk = RIG_NOTHING;
	rig.mode = mode;
	rig.now = 1000000000;
	rig.tick_ns = 400;
	rig.wire = (struct wire){.ops = &wire_ops, .fd = -1};
	uint32_t *bar0 = aligned_alloc(PAGE, ops->bar_bytes[0]);
	assert_non_null(bar0);
	memset(bar0, 0, ops->bar_bytes[0]);
	rig.m = model_create(ops, 0, &host, &rig.wire, bar0, mac, mode == RIG_LINE_RATE, rig.now);
	assert_non_null(rig.m);
	rig_carrier(true);
}

int rig_stop(void **state)
{
	(void)state;
	struct model *m = rig.m;
	if (m == NULL)
		return 0;
	uint64_t violations = m->violations;
	bool bad_dma = m->dma_errors && !rig.allow_bad_dma;
	static char last[sizeof m->last_violation];
	memcpy(last, m->last_violation, sizeof last);
	uint32_t *bar0 = m->bar0;
	model_destroy(m);
	rig.m = NULL;
	free(bar0);
	for (unsigned i = 0; i < RIG_SENT_MAX; i++) {
		free(rig.sent[i].data);
		rig.sent[i].data = NULL;
	}
	if (violations != rig.violations_seen)
		fail_msg("the model saw a violation: %s", last);
	assert_false(bad_dma);
	return 0;
}

/* --- the guest's side --- */

static bool is_mapped(uint32_t offset)
{
	if (rig.mode != RIG_LINE_RATE)
		return false;
	for (const struct bar_range *r = rig.m->ops->mapped; r && r->bytes; r++)
		if (offset >= r->offset && offset - r->offset < r->bytes)
			return true;
	return false;
}

static uint64_t deadline(void)
{
	rig.m->now = rig.now;
	return rig.m->ops->deadline(rig.m);
}

/* Register accesses take time, so that a deadline of the driver can pass. */
static void tick(void)
{
	rig.now += rig.tick_ns;
	if (deadline() <= rig.now)
		rig_work();
}

uint32_t rig_read(uint32_t offset)
{
	assert_true(offset % 4 == 0 && offset < rig.m->ops->bar_bytes[0]);
	tick();
	if (is_mapped(offset))
		return ((volatile uint32_t *)rig.m->bar0)[offset / 4];
	return (uint32_t)model_read(rig.m, 0, offset, 4, rig.now);
}

void rig_write(uint32_t offset, uint32_t value)
{
	assert_true(offset % 4 == 0 && offset < rig.m->ops->bar_bytes[0]);
	tick();
	if (is_mapped(offset))
		((volatile uint32_t *)rig.m->bar0)[offset / 4] = value;
	else
		model_write(rig.m, 0, offset, 4, value, rig.now);
}

uint64_t rig_alloc(size_t bytes, size_t align)
{
	uint64_t at = (rig.brk + align - 1) & ~(uint64_t)(align - 1);
	assert_true(at + bytes <= RIG_MEMORY);
	rig.brk = at + bytes;
	return at;
}

void *rig_mem(uint64_t bus, size_t bytes)
{
	assert_true(bus >= RIG_NOTHING && bus <= RIG_MEMORY && bytes <= RIG_MEMORY - bus);
	return rig.memory + bus;
}

uint64_t rig_bus(const volatile void *p)
{
	return (uint64_t)((const volatile uint8_t *)p - rig.memory);
}

/* --- order of accesses --- */

static struct {
	uint8_t *page;
	volatile const uint64_t *word;
	uint64_t seen;
	volatile sig_atomic_t touched;
	struct sigaction before;
} watch;

static void on_touch(int number, siginfo_t *info, void *context)
{
	(void)context;
	uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)watch.page;
	if (offset >= PAGE || watch.touched) {
		sigaction(number, &watch.before, NULL); /* not ours: it will recur */
		return;
	}
	watch.seen = *watch.word;
	watch.touched = 1;
	mprotect(watch.page, PAGE, PROT_READ | PROT_WRITE);
}

void rig_watch(uint64_t page, uint64_t word)
{
	struct sigaction action = {.sa_sigaction = on_touch, .sa_flags = SA_SIGINFO};
	assert_true(page % PAGE == 0 && page / PAGE != word / PAGE);
	watch.page = rig_mem(page, PAGE);
	watch.word = rig_mem(word, sizeof *watch.word);
	watch.touched = 0;
	assert_int_equal(sigaction(SIGSEGV, &action, &watch.before), 0);
	assert_int_equal(mprotect(watch.page, PAGE, PROT_NONE), 0);
}

uint64_t rig_watched(void)
{
	assert_int_equal(mprotect(watch.page, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(sigaction(SIGSEGV, &watch.before, NULL), 0);
	assert_true(watch.touched);
	return watch.seen;
}

/* --- time --- */

bool rig_work(void)
{
	rig.m->now = rig.now;
	return rig.m->ops->work(rig.m);
}

static void work_all(void)
{
	while (rig_work())
		;
}

void rig_run(uint64_t ns)
{
	uint64_t end = rig.now + ns;
	for (;;) {
		uint64_t due = deadline();
		if (due > end)
			break;
		if (due > rig.now)
			rig.now = due;
		else
			rig.now += 100; /* a deadline that does not advance must not hang the test */
		if (rig.now > end)
			break;
		work_all();
	}
	rig.now = end;
	work_all();
}

/* --- the cable --- */

bool rig_receive(const void *data, uint32_t bytes)
{
	rig.m->now = rig.now;
	if (rig.m->ops->rx_room(rig.m, 1) == 0)
		return false;
	rig_force(data, bytes, 0);
	return true;
}

static struct {
	bool on;
	unsigned n;
	uint8_t *data[FRAME_BURST];
	struct frame frame[FRAME_BURST];
} gathered;

void rig_force(const void *data, uint32_t bytes, uint32_t flags)
{
	uint8_t *copy = malloc(bytes); /* freed afterwards: the model must not keep the pointer */
	assert_non_null(copy);
	assert_in_range(gathered.n, 0, FRAME_BURST - 1);
	memcpy(copy, data, bytes);
	gathered.data[gathered.n] = copy;
	gathered.frame[gathered.n++] = (struct frame){.data = copy, .bytes = bytes, .flags = flags};
	if (!gathered.on)
		rig_burst();
}

void rig_gather(void)
{
	gathered.on = true;
}

void rig_burst(void)
{
	rig.m->now = rig.now;
	rig.m->ops->receive(rig.m, gathered.frame, gathered.n);
	while (gathered.n)
		free(gathered.data[--gathered.n]);
	gathered.on = false;
}

bool rig_sent(struct rig_frame *out)
{
	if (rig.sent_out == rig.sent_in)
		return false;
	*out = rig.sent[rig.sent_out++ % RIG_SENT_MAX];
	return true;
}

unsigned rig_sent_count(void)
{
	return rig.sent_in - rig.sent_out;
}

void rig_carrier(bool up)
{
	rig.m->now = rig.now;
	rig.m->carrier = up;
	rig.m->ops->carrier(rig.m);
}

/* --- faults and violations --- */

static unsigned fault_index(const char *name)
{
	int i = model_fault_find(rig.m->ops, name);
	if (i < 0)
		fail_msg("no fault %s", name);
	return (unsigned)i;
}

void rig_fault(const char *name)
{
	unsigned i = fault_index(name);
	rig_fault_arg(name, rig.m->ops->faults[i].standard);
}

void rig_fault_arg(const char *name, uint64_t arg)
{
	unsigned i = fault_index(name);
	rig.m->now = rig.now;
	model_fault_set(rig.m, i, arg);
}

void rig_fault_clear(const char *name)
{
	unsigned i = fault_index(name);
	rig.m->now = rig.now;
	model_fault_clear(rig.m, i);
}

bool rig_violated(void)
{
	return rig.m->violations != rig.violations_seen;
}

void rig_expect_violation(const char *text)
{
	if (!rig_violated())
		fail_msg("no violation, expected one of \"%s\"", text);
	if (!strstr(rig.m->last_violation, text))
		fail_msg("violation is \"%s\", expected one of \"%s\"", rig.m->last_violation, text);
	rig_forgive();
}

void rig_forgive(void)
{
	rig.violations_seen = rig.m->violations;
	rig.allow_bad_dma = true;
}
