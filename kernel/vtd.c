/* See vtd.h. */
#include "kernel/vtd.h"

#include "hal/clock.h"
#include "hal/mmio.h"
#include "kernel/cpu.h"
#include "kernel/tsc.h"
#include "kernel/vm.h"

#define REGS_BYTES 0x5000u /* the largest extent that the offsets of 10.4.2 and 10.4.3 allow */
#define WAIT_US 100000     /* the manual gives no bound; Linux waits 10 s, QEMU responds at once */

#define REG_VER 0x00    /* 10.4.1 */
#define REG_CAP 0x08    /* 10.4.2 */
#define CAP_RWBF (1ull << 4)
#define CAP_PLMR (1ull << 5)
#define CAP_PHMR (1ull << 6)
#define CAP_2M (1ull << 34)
#define REG_ECAP 0x10   /* 10.4.3 */
#define ECAP_QI (1ull << 1)
#define ECAP_IR (1ull << 3)
#define ECAP_EIM (1ull << 4)
#define ECAP_PT (1ull << 6)
#define REG_GCMD 0x18   /* 10.4.4 */
#define REG_GSTS 0x1c   /* 10.4.5; the same bits */
#define G_TE (1u << 31) /* translation */
#define G_SRTP (1u << 30)
#define G_WBF (1u << 27)
#define G_QIE (1u << 26)
#define G_IRE (1u << 25)
#define G_SIRTP (1u << 24)
#define G_CFI (1u << 23)  /* messages without an index pass */
#define G_KEPT 0x96ffffffu /* status bits that a command must repeat (10.4.4) */
#define REG_RTADDR 0x20 /* 10.4.6 */
#define REG_CCMD 0x28   /* 10.4.7 */
#define CCMD_ICC (1ull << 63)
#define CCMD_GLOBAL (1ull << 61)
#define REG_FSTS 0x34   /* 10.4.9 */
#define FSTS_OVERFLOW 1u
#define REG_PMEN 0x64   /* 10.4.16 */
#define PMEN_STATUS 1u
#define REG_IQH 0x80    /* 10.4.21 */
#define REG_IQT 0x88    /* 10.4.22 */
#define REG_IQA 0x90    /* 10.4.23 */
#define REG_IRTA 0xb8   /* 10.4.29 */
#define IRTA_WIDE (1ull << 11)
#define IOTLB_IVT (1ull << 63) /* 10.4.8.1 */
#define IOTLB_GLOBAL (1ull << 60)
#define IOTLB_DRAIN (3ull << 48)
#define FRCD_BYTES 16   /* 10.4.14 */
#define FRCD_F (1ull << 63)
#define FRCD_READ (1ull << 62)
/* Reasons from here to the next are of interrupts; the index is in bits 63:48 of the record. */
#define REASON_INTERRUPT 0x20u
#define REASON_INTERRUPT_END 0x30u

/* The queue: one page of descriptors of two words (6.5.2). The page behind it has the status word. */
#define QUEUE_ENTRIES 256u
#define QUEUE_STATUS 0x1000u
#define DESC_CONTEXT 0x11ull     /* 6.5.2.1, all */
#define DESC_IOTLB 0xd2ull       /* 6.5.2.3, all, after reads and writes under way */
#define DESC_INTERRUPTS 0x04ull  /* 6.5.2.7, all */
#define DESC_WAIT 0x25ull        /* 6.5.2.8, writes the status word */
#define STATUS_DONE 1u

static uint32_t read32(const struct vtd *u, unsigned reg)
{
	return mmio_read32(u->regs + reg);
}

static uint64_t read64(const struct vtd *u, unsigned reg)
{
	return mmio_read64(u->regs + reg);
}

/* Waits until the bits of `mask` in the 32-bit register are `want`; E_TIMEOUT after WAIT_US. */
static int wait32(const struct vtd *u, unsigned reg, uint32_t mask, uint32_t want)
{
	uint64_t end = clock_tsc() + WAIT_US * (tsc_hz() / 1000000);
	while ((read32(u, reg) & mask) != want)
		if (clock_tsc() > end)
			return E_TIMEOUT;
	return E_OK;
}

/* Issues one command and waits until the status reflects it. */
static int command(const struct vtd *u, uint32_t bit, bool on)
{
	uint32_t kept = read32(u, REG_GSTS) & G_KEPT;
	mmio_write32(u->regs + REG_GCMD, on ? kept | bit : kept & ~bit);
	return wait32(u, REG_GSTS, bit, on && bit != G_WBF ? bit : 0);
}

/* 6.5.1: the context cache first, since the IOTLB is derived from it. */
static int invalidate_by_registers(const struct vtd *u, bool contexts)
{
	unsigned iotlb = (unsigned)(u->ecap >> 8 & 0x3ff) * 16 + 8;
	int e = u->cap & CAP_RWBF ? command(u, G_WBF, true) : E_OK;
	if (e == E_OK && contexts) {
		mmio_write64(u->regs + REG_CCMD, CCMD_ICC | CCMD_GLOBAL);
		e = wait32(u, REG_CCMD + 4, (uint32_t)(CCMD_ICC >> 32), 0);
	}
	if (e != E_OK)
		return e;
	mmio_write64(u->regs + iotlb, IOTLB_IVT | IOTLB_GLOBAL | IOTLB_DRAIN);
	return wait32(u, iotlb + 4, (uint32_t)(IOTLB_IVT >> 32), 0);
}

/* Adds a descriptor at `tail`; returns the next tail. */
static unsigned queue_add(const struct vtd *u, unsigned tail, uint64_t low, uint64_t high)
{
	volatile uint64_t *d = (volatile uint64_t *)vm_phys(u->queue) + 2 * tail;
	d[0] = low;
	d[1] = high;
	cpu_flush(d, 2 * sizeof *d);
	return (tail + 1) % QUEUE_ENTRIES;
}

/* Has the unit execute the descriptors, and waits for it. The queue is empty before and after. */
static int queue_invalidate(const struct vtd *u, const uint64_t *desc, unsigned count)
{
	volatile uint32_t *status = vm_phys(u->queue + QUEUE_STATUS);
	unsigned tail = read32(u, REG_IQT) >> 4 & (QUEUE_ENTRIES - 1);
	*status = 0;
	cpu_flush(status, sizeof *status);
	for (unsigned i = 0; i < count; i++)
		tail = queue_add(u, tail, desc[i], 0);
	tail = queue_add(u, tail, DESC_WAIT | (uint64_t)STATUS_DONE << 32, u->queue + QUEUE_STATUS);
	mmio_write32(u->regs + REG_IQT, tail << 4);
	uint64_t end = clock_tsc() + WAIT_US * (tsc_hz() / 1000000);
	while (*status != STATUS_DONE)
		if (clock_tsc() > end)
			return E_TIMEOUT;
	return E_OK;
}

static int forget_all(const struct vtd *u)
{
	static const uint64_t all[] = {DESC_CONTEXT, DESC_IOTLB};
	return u->queue ? queue_invalidate(u, all, ARRAY_LEN(all)) : invalidate_by_registers(u, true);
}

int vtd_forget_pages(const struct vtd *u)
{
	static const uint64_t pages[] = {DESC_IOTLB};
	return u->queue ? queue_invalidate(u, pages, ARRAY_LEN(pages)) : invalidate_by_registers(u, false);
}

int vtd_forget_interrupts(const struct vtd *u)
{
	static const uint64_t all[] = {DESC_INTERRUPTS};
	return queue_invalidate(u, all, ARRAY_LEN(all));
}

int vtd_open(struct vtd *u, uint64_t phys)
{
	u->queue = 0;
	u->regs = vm_map_device(phys, REGS_BYTES);
	if (read32(u, REG_VER) == UINT32_MAX || read32(u, REG_VER) == 0)
		return E_DEVICE;
	u->cap = read64(u, REG_CAP);
	u->ecap = read64(u, REG_ECAP);
	return E_OK;
}

unsigned vtd_widths(const struct vtd *u)
{
	return u->cap & CAP_2M ? u->cap >> 8 & (VTD_WIDTH_39 | VTD_WIDTH_48) : 0;
}

uint64_t vtd_limit(const struct vtd *u) { return 2ull << (u->cap >> 16 & 0x3f); }
unsigned vtd_domains(const struct vtd *u) { return 16u << 2 * (u->cap & 7); }
bool vtd_remaps_interrupts(const struct vtd *u) { return u->ecap & ECAP_IR && u->ecap & ECAP_QI; }
bool vtd_knows_wide_ids(const struct vtd *u) { return u->ecap & ECAP_EIM; }
bool vtd_passes_through(const struct vtd *u) { return u->ecap & ECAP_PT; }

/* Disables the protected memory regions of firmware, which would block our devices too. */
static int unprotect(const struct vtd *u)
{
	if (!(u->cap & (CAP_PLMR | CAP_PHMR)))
		return E_OK;
	mmio_write32(u->regs + REG_PMEN, 0);
	return wait32(u, REG_PMEN, PMEN_STATUS, 0);
}

/* Turns off what is on: translation, interrupt remapping, and the queue once it is empty (6.5.2). */
static int turn_off(const struct vtd *u)
{
	uint32_t on = read32(u, REG_GSTS);
	int e = on & G_TE ? command(u, G_TE, false) : E_OK;
	if (e == E_OK && on & G_IRE)
		e = command(u, G_IRE, false);
	if (e == E_OK && on & G_QIE) {
		const int empty = wait32(u, REG_IQH, UINT32_MAX, read32(u, REG_IQT));
		e = command(u, G_QIE, false);
		e = empty == E_OK ? e : empty;
	}
	if (e == E_OK && on & G_CFI)
		e = command(u, G_CFI, false);
	return e;
}

static int start_translation(const struct vtd *u, uint64_t root)
{
	mmio_write64(u->regs + REG_RTADDR, root);
	int e = command(u, G_SRTP, true);
	if (e == E_OK)
		e = forget_all(u);
	if (e == E_OK)
		e = command(u, G_TE, true);
	return e == E_OK ? unprotect(u) : e;
}

static int start_queue(struct vtd *u, uint64_t queue)
{
	mmio_write64(u->regs + REG_IQT, 0);
	mmio_write64(u->regs + REG_IQA, queue);
	int e = command(u, G_QIE, true);
	u->queue = e == E_OK ? queue : 0;
	return e;
}

/* 5.1.4: messages without an index stay blocked, because CFI stays off. */
static int start_interrupts(const struct vtd *u, const struct vtd_tables *t)
{
	mmio_write64(u->regs + REG_IRTA, t->interrupts | (t->wide ? IRTA_WIDE : 0) | (t->interrupts_log2 - 1));
	int e = command(u, G_SIRTP, true);
	if (e == E_OK)
		e = vtd_forget_interrupts(u);
	return e == E_OK ? command(u, G_IRE, true) : e;
}

int vtd_start(struct vtd *u, const struct vtd_tables *t)
{
	int e = turn_off(u);
	if (e == E_OK && t->queue)
		e = start_queue(u, t->queue);
	if (e == E_OK && t->queue)
		e = start_interrupts(u, t);
	if (e == E_OK)
		e = start_translation(u, t->root);
	if (e != E_OK)
		vtd_stop(u);
	return e;
}

void vtd_stop(struct vtd *u)
{
	turn_off(u);
	u->queue = 0;
}

bool vtd_take_refusal(const struct vtd *u, struct iommu_refusal *r, bool *more)
{
	unsigned first = (unsigned)(u->cap >> 24 & 0x3ff) * 16, count = (u->cap >> 40 & 0xff) + 1;
	for (unsigned i = 0; i < count; i++) {
		unsigned reg = first + i * FRCD_BYTES;
		uint64_t high = read64(u, reg + 8);
		if (!(high & FRCD_F))
			continue;
		uint8_t reason = (uint8_t)(high >> 32);
		bool interrupt = reason >= REASON_INTERRUPT && reason < REASON_INTERRUPT_END;
		uint64_t addr = interrupt ? read64(u, reg) >> 48 : read64(u, reg) & ~0xfffull;
		*r = (struct iommu_refusal){addr, (uint16_t)high, reason, high & FRCD_READ, interrupt};
		mmio_write32(u->regs + reg + 12, (uint32_t)(FRCD_F >> 32)); /* RW1C */
		return true;
	}
	*more = read32(u, REG_FSTS) & FSTS_OVERFLOW;
	if (*more)
		mmio_write32(u->regs + REG_FSTS, FSTS_OVERFLOW); /* RW1C; while set, no fault is recorded */
	return false;
}
