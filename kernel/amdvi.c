/* See amdvi.h. */
#include "kernel/amdvi.h"

#include "hal/clock.h"
#include "hal/mmio.h"
#include "kernel/cpu.h"
#include "kernel/ivrs.h"
#include "kernel/tsc.h"
#include "kernel/vm.h"

#define WAIT_US 100000 /* the specification gives no bound; Linux waits 0.1 s for a completion */

/* MMIO registers, of 64 bits. */
#define REG_DEVICE_TABLE 0x0000 /* Device Table Base Address Register */
#define REG_COMMANDS 0x0008     /* Command Buffer Base Address Register */
#define REG_EVENTS 0x0010       /* Event Log Base Address Register */
#define LOG2_ENTRIES_AT 56
#define REG_CONTROL 0x0018      /* IOMMU Control Register */
#define CONTROL_ENABLE (1ull << 0)     /* IommuEn */
#define CONTROL_FLAGS_AT 1             /* HtTunEn */
#define CONTROL_EVENTS (1ull << 2)     /* EventLogEn */
#define CONTROL_PASS_PW_AT 8           /* PassPW, then ResPassPW */
#define CONTROL_COHERENT (1ull << 10)  /* Coherent */
#define CONTROL_ISOCHRONOUS (1ull << 11)
#define CONTROL_COMMANDS (1ull << 12)  /* CmdBufEn */
#define CONTROL_GA (1ull << 17)        /* GAEn: entries of interrupts have 128 bits */
#define CONTROL_XT (1ull << 50)        /* XTEn: they have 32-bit APIC IDs */
#define REG_FEATURES 0x0030     /* Extended Feature Register */
#define FEATURE_XT (1ull << 2)
#define FEATURE_INVALIDATE_ALL (1ull << 6) /* IASup */
#define FEATURE_GA (1ull << 7)
#define FEATURE_HATS_NONE (3ull << 10)
#define REG_COMMAND_HEAD 0x2000
#define REG_COMMAND_TAIL 0x2008
#define REG_EVENT_HEAD 0x2010
#define REG_EVENT_TAIL 0x2018
#define REG_STATUS 0x2020       /* IOMMU Status Register */
#define STATUS_OVERFLOW (1u << 0) /* EventOverflow, RW1C */
#define STATUS_EVENTS_RUN (1u << 3)
#define STATUS_COMMANDS_RUN (1u << 4)

/* Each ring is one page of entries of two words. */
#define RING_LOG2 8u
#define RING_ENTRIES (1u << RING_LOG2)
#define ENTRY_BYTES 16u
#define INDEX_MASK 0x7fff0u
#define EVENTS_AT 0x1000u
#define COMPLETION_AT 0x2000u

/* Commands; the code is in bits 63:60 of the first word. */
#define COMMAND(code) ((uint64_t)(code) << 60)
#define COMMAND_COMPLETION_WAIT COMMAND(1)
#define COMPLETION_STORE 1ull
#define COMMAND_FORGET_DEVICE COMMAND(2)     /* INVALIDATE_DEVTAB_ENTRY */
#define COMMAND_FORGET_PAGES COMMAND(3)      /* INVALIDATE_IOMMU_PAGES */
#define DOMAIN_AT 32
#define DOMAINS 65536u
#define PAGES_ALL 0x7ffffffffffff003ull      /* second word: all addresses, and the tables that lead to them (S, PDE) */
#define COMMAND_FORGET_INTERRUPTS COMMAND(5) /* INVALIDATE_INTERRUPT_TABLE */
#define COMMAND_FORGET_ALL COMMAND(8)        /* INVALIDATE_IOMMU_ALL */

/* Events: the function in bits 15:0 of the first word, flags from bit 48 on, the code in bits 63:60; the address
 * is the second word. */
#define EVENT_CODE_AT 60
#define EVENT_INTERRUPT (1ull << 51) /* I */
#define EVENT_WRITE (1ull << 53)     /* RW */
#define MESSAGES 0xfee00000ull
#define MESSAGES_END 0xff000000ull
#define HT_MESSAGES 0xfdf8000000ull /* the same range as HyperTransport has it, and up to its end */

static uint32_t read32(const struct amdvi *u, unsigned reg) { return mmio_read32(u->regs + reg); }
static uint64_t read64(const struct amdvi *u, unsigned reg) { return mmio_read64(u->regs + reg); }
static void write64(const struct amdvi *u, unsigned reg, uint64_t v) { mmio_write64(u->regs + reg, v); }
static uint64_t deadline(void) { return clock_tsc() + WAIT_US * (tsc_hz() / 1000000); }

/* Waits until the bits of `mask` in the status register are `want`; E_TIMEOUT after WAIT_US. */
static int wait_status(const struct amdvi *u, uint32_t mask, uint32_t want)
{
	uint64_t end = deadline();
	while ((read32(u, REG_STATUS) & mask) != want)
		if (clock_tsc() > end)
			return E_TIMEOUT;
	return E_OK;
}

/* --- commands --- */

static void put(struct amdvi *u, uint64_t low, uint64_t high)
{
	volatile uint64_t *c = (volatile uint64_t *)vm_phys(u->memory) + 2 * u->tail;
	c[0] = low;
	c[1] = high;
	u->tail = (u->tail + 1) % RING_ENTRIES;
	u->pending++;
}

/* Has the unit execute the commands in the ring, and waits for it. The ring is empty afterwards. */
static int complete(struct amdvi *u)
{
	volatile uint64_t *word = vm_phys(u->memory + COMPLETION_AT);
	if (u->stuck)
		return E_TIMEOUT;
	u->completions++;
	put(u, (u->memory + COMPLETION_AT) | COMPLETION_STORE | COMMAND_COMPLETION_WAIT, u->completions);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* commands, then tail */
	write64(u, REG_COMMAND_TAIL, u->tail * ENTRY_BYTES);
	uint64_t end = deadline();
	while (*word != u->completions) {
		if (clock_tsc() > end) {
			u->stuck = true;
			return E_TIMEOUT;
		}
	}
	u->pending = 0;
	return E_OK;
}

/* Adds a command. One place remains for COMPLETION_WAIT, one between tail and head. */
static int add(struct amdvi *u, uint64_t low, uint64_t high)
{
	if (u->stuck)
		return E_TIMEOUT;
	put(u, low, high);
	return u->pending < RING_ENTRIES - 2 ? E_OK : complete(u);
}

/* Adds the command for `from` to `to`, a number that is at bit `at`. */
static int add_each(struct amdvi *u, uint64_t command, unsigned at, uint64_t high, unsigned from, unsigned to)
{
	int e = E_OK;
	for (unsigned n = from; n <= to && e == E_OK; n++)
		e = add(u, command | (uint64_t)n << at, high);
	return e;
}

/* A unit that was off may have cached anything of firmware's tables. */
static int forget_all(struct amdvi *u)
{
	int e = add_each(u, COMMAND_FORGET_DEVICE, 0, 0, 0, AMDVI_FUNCTIONS - 1);
	if (e == E_OK && u->features & FEATURE_INVALIDATE_ALL) {
		e = add(u, COMMAND_FORGET_ALL, 0);
	} else if (e == E_OK) {
		e = add_each(u, COMMAND_FORGET_PAGES, DOMAIN_AT, PAGES_ALL, 0, DOMAINS - 1);
		if (e == E_OK)
			e = add_each(u, COMMAND_FORGET_INTERRUPTS, 0, 0, 0, AMDVI_FUNCTIONS - 1);
	}
	return e == E_OK ? complete(u) : e;
}

int amdvi_forget_pages(struct amdvi *u, unsigned domains)
{
	int e = add_each(u, COMMAND_FORGET_PAGES, DOMAIN_AT, PAGES_ALL, 1, domains);
	return e == E_OK ? complete(u) : e;
}

int amdvi_forget_interrupts(struct amdvi *u, const uint16_t *bdf, unsigned count)
{
	int e = E_OK;
	for (unsigned i = 0; i < count && e == E_OK; i++)
		e = add(u, COMMAND_FORGET_INTERRUPTS | bdf[i], 0);
	return e == E_OK ? complete(u) : e;
}

/* --- on and off --- */

int amdvi_open(struct amdvi *u, uint64_t phys)
{
	*u = (struct amdvi){.regs = vm_map_device(phys, AMDVI_REGS_BYTES)};
	if (read64(u, REG_CONTROL) == UINT64_MAX)
		return E_DEVICE;
	u->features = read64(u, REG_FEATURES);
	return E_OK;
}

bool amdvi_has_maps(const struct amdvi *u) { return (u->features & FEATURE_HATS_NONE) != FEATURE_HATS_NONE; }

bool amdvi_knows_wide_ids(const struct amdvi *u)
{
	return u->features & FEATURE_XT && u->features & FEATURE_GA;
}

/* The rings stop first: the unit may still be reading commands, or writing events. */
static int turn_off(struct amdvi *u)
{
	uint64_t on = read64(u, REG_CONTROL);
	write64(u, REG_CONTROL, on & ~(CONTROL_COMMANDS | CONTROL_EVENTS));
	int e = wait_status(u, STATUS_COMMANDS_RUN | STATUS_EVENTS_RUN, 0);
	write64(u, REG_CONTROL, 0);
	return e;
}

static uint64_t control_of(const struct amdvi_tables *t)
{
	uint64_t v = CONTROL_COHERENT;
	v |= t->ivrs_flags & IVRS_FLAG_HT_TUNNEL ? 1ull << CONTROL_FLAGS_AT : 0;
	v |= t->ivrs_flags & IVRS_FLAG_PASS_PW ? 1ull << CONTROL_PASS_PW_AT : 0;
	v |= t->ivrs_flags & IVRS_FLAG_RES_PASS_PW ? 2ull << CONTROL_PASS_PW_AT : 0;
	v |= t->ivrs_flags & IVRS_FLAG_ISOCHRONOUS ? CONTROL_ISOCHRONOUS : 0;
	return v | (t->wide ? CONTROL_GA | CONTROL_XT : 0);
}

static void set_rings(struct amdvi *u)
{
	write64(u, REG_COMMANDS, u->memory | (uint64_t)RING_LOG2 << LOG2_ENTRIES_AT);
	write64(u, REG_EVENTS, (u->memory + EVENTS_AT) | (uint64_t)RING_LOG2 << LOG2_ENTRIES_AT);
	write64(u, REG_COMMAND_HEAD, 0);
	write64(u, REG_COMMAND_TAIL, 0);
	write64(u, REG_EVENT_HEAD, 0);
	write64(u, REG_EVENT_TAIL, 0);
	write64(u, REG_STATUS, STATUS_OVERFLOW);
}

int amdvi_start(struct amdvi *u, const struct amdvi_tables *t)
{
	int e = turn_off(u);
	if (e != E_OK)
		return e;
	*u = (struct amdvi){.regs = u->regs, .features = u->features, .memory = t->memory};
	write64(u, REG_DEVICE_TABLE, t->devices | (AMDVI_FUNCTIONS * AMDVI_DEVICE_WORDS * 8 / PAGE_BYTES - 1));
	set_rings(u);
	write64(u, REG_CONTROL, control_of(t));
	write64(u, REG_CONTROL, control_of(t) | CONTROL_EVENTS | CONTROL_COMMANDS);
	write64(u, REG_CONTROL, control_of(t) | CONTROL_EVENTS | CONTROL_COMMANDS | CONTROL_ENABLE);
	e = wait_status(u, STATUS_COMMANDS_RUN | STATUS_EVENTS_RUN, STATUS_COMMANDS_RUN | STATUS_EVENTS_RUN);
	if (e == E_OK)
		e = forget_all(u);
	if (e != E_OK)
		amdvi_stop(u);
	return e;
}

void amdvi_stop(struct amdvi *u)
{
	turn_off(u);
	u->memory = 0;
}

/* --- events --- */

/* An overflow stops the log until it is turned off and on again. */
static bool clear_overflow(struct amdvi *u)
{
	if (!(read32(u, REG_STATUS) & STATUS_OVERFLOW))
		return false;
	uint64_t on = read64(u, REG_CONTROL);
	write64(u, REG_CONTROL, on & ~CONTROL_EVENTS);
	wait_status(u, STATUS_EVENTS_RUN, 0);
	write64(u, REG_STATUS, STATUS_OVERFLOW);
	write64(u, REG_CONTROL, on);
	return true;
}

static bool is_message(uint64_t low, uint64_t addr)
{
	return low & EVENT_INTERRUPT && ((addr >= MESSAGES && addr < MESSAGES_END) || addr >= HT_MESSAGES);
}

bool amdvi_take_refusal(struct amdvi *u, struct iommu_refusal *r, bool *more)
{
	volatile uint64_t *event = (volatile uint64_t *)vm_phys(u->memory + EVENTS_AT) + 2 * u->event;
	uint64_t tail = read64(u, REG_EVENT_TAIL);
	if ((tail & INDEX_MASK) / ENTRY_BYTES % RING_ENTRIES == u->event) {
		*more = clear_overflow(u);
		return false;
	}
	uint64_t low = event[0], addr = event[1];
	if (low >> EVENT_CODE_AT == 0 && !u->late_event) {
		u->late_event = true;
		return false;
	}
	u->late_event = false;
	uint8_t code = (uint8_t)(low >> EVENT_CODE_AT);
	*r = (struct iommu_refusal){addr, (uint16_t)low, code, !(low & EVENT_WRITE), is_message(low, addr)};
	event[0] = event[1] = 0;
	u->event = (u->event + 1) % RING_ENTRIES;
	write64(u, REG_EVENT_HEAD, u->event * ENTRY_BYTES);
	return true;
}
