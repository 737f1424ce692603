/* See vtd.h. */
#include "kernel/vtd.h"

#include "hal/clock.h"
#include "hal/mmio.h"
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
#define ECAP_PT (1ull << 6)
#define REG_GCMD 0x18   /* 10.4.4 */
#define REG_GSTS 0x1c   /* 10.4.5; the same bits */
#define G_TE (1u << 31) /* translation */
#define G_SRTP (1u << 30)
#define G_WBF (1u << 27)
#define G_QIE (1u << 26)
#define G_IRE (1u << 25)
#define G_KEPT 0x96ffffffu /* status bits that a command must repeat (10.4.4) */
#define REG_RTADDR 0x20 /* 10.4.6 */
#define REG_CCMD 0x28   /* 10.4.7 */
#define CCMD_ICC (1ull << 63)
#define CCMD_GLOBAL (1ull << 61)
#define REG_FSTS 0x34   /* 10.4.9 */
#define FSTS_OVERFLOW 1u
#define REG_PMEN 0x64   /* 10.4.16 */
#define PMEN_STATUS 1u
#define IOTLB_IVT (1ull << 63) /* 10.4.8.1 */
#define IOTLB_GLOBAL (1ull << 60)
#define IOTLB_DRAIN (3ull << 48)
#define FRCD_BYTES 16   /* 10.4.14 */
#define FRCD_F (1ull << 63)
#define FRCD_READ (1ull << 62)

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

/* 6.5.1: the context cache is invalidated first, then the IOTLB, which is derived from it. */
int vtd_invalidate(const struct vtd *u)
{
	unsigned iotlb = (unsigned)(u->ecap >> 8 & 0x3ff) * 16 + 8;
	int e = u->cap & CAP_RWBF ? command(u, G_WBF, true) : E_OK;
	if (e != E_OK)
		return e;
	mmio_write64(u->regs + REG_CCMD, CCMD_ICC | CCMD_GLOBAL);
	e = wait32(u, REG_CCMD + 4, (uint32_t)(CCMD_ICC >> 32), 0);
	if (e != E_OK)
		return e;
	mmio_write64(u->regs + iotlb, IOTLB_IVT | IOTLB_GLOBAL | IOTLB_DRAIN);
	return wait32(u, iotlb + 4, (uint32_t)(IOTLB_IVT >> 32), 0);
}

int vtd_open(struct vtd *u, uint64_t phys)
{
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
bool vtd_passes_through(const struct vtd *u) { return u->ecap & ECAP_PT; }

/* Disables the protected memory regions of firmware, which would block our devices too. */
static int unprotect(const struct vtd *u)
{
	if (!(u->cap & (CAP_PLMR | CAP_PHMR)))
		return E_OK;
	mmio_write32(u->regs + REG_PMEN, 0);
	return wait32(u, REG_PMEN, PMEN_STATUS, 0);
}

static int start(const struct vtd *u, uint64_t root)
{
	mmio_write64(u->regs + REG_RTADDR, root);
	int e = command(u, G_SRTP, true);
	if (e == E_OK)
		e = vtd_invalidate(u);
	if (e == E_OK)
		e = command(u, G_TE, true);
	return e == E_OK ? unprotect(u) : e;
}

int vtd_start(const struct vtd *u, uint64_t root)
{
	uint32_t status = read32(u, REG_GSTS);
	if (status & (G_QIE | G_IRE))
		return E_NOTSUP;
	int e = status & G_TE ? command(u, G_TE, false) : E_OK;
	if (e == E_OK)
		e = start(u, root);
	if (e != E_OK)
		vtd_stop(u);
	return e;
}

void vtd_stop(const struct vtd *u) { command(u, G_TE, false); }

bool vtd_take_refusal(const struct vtd *u, struct vtd_refusal *r, bool *more)
{
	unsigned first = (unsigned)(u->cap >> 24 & 0x3ff) * 16, count = (u->cap >> 40 & 0xff) + 1;
	for (unsigned i = 0; i < count; i++) {
		unsigned reg = first + i * FRCD_BYTES;
		uint64_t high = read64(u, reg + 8);
		if (!(high & FRCD_F))
			continue;
		*r = (struct vtd_refusal){read64(u, reg) & ~0xfffull, (uint16_t)high,
		                          (uint8_t)(high >> 32), high & FRCD_READ};
		mmio_write32(u->regs + reg + 12, (uint32_t)(FRCD_F >> 32)); /* RW1C */
		return true;
	}
	*more = read32(u, REG_FSTS) & FSTS_OVERFLOW;
	if (*more)
		mmio_write32(u->regs + REG_FSTS, FSTS_OVERFLOW); /* RW1C; while set, no fault is recorded */
	return false;
}
