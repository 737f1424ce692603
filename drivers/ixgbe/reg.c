/* Register access by the table of spec.h, and polling. See device.h. */
#include "drivers/ixgbe/device.h"

#include "hal/barrier.h"
#include "hal/mmio.h"
#include "lib/assert.h"

enum access { RW, RO, WO, RC, W1C, W1S };

struct row {
	const char *name; /* for debuggers: the table as the compiler sees it */
	uint32_t offset;
	uint16_t stride, count;
	enum access access;
};

static const struct row rows[IXGBE_REGS] = {
#define ROW(name, offset, stride, count, access, section) {#name, offset, stride, count, access},
	IXGBE_REGISTERS(ROW)
#undef ROW
};

#define CHECK(name, offset, stride, count, access, section) \
	_Static_assert((offset) + (stride) * ((count) - 1) + 4 <= IXGBE_BAR_BYTES, "in the BAR");
IXGBE_REGISTERS(CHECK)
#undef CHECK

volatile void *ixgbe_reg_at(volatile uint8_t *regs, enum ixgbe_reg reg, unsigned i)
{
	assert(reg < IXGBE_REGS && i < rows[reg].count);
	return regs + rows[reg].offset + rows[reg].stride * i;
}

uint32_t ixgbe_read(struct nic *nic, enum ixgbe_reg reg, unsigned i)
{
	volatile void *at = ixgbe_reg_at(ixgbe_device(nic)->regs, reg, i);
	assert(rows[reg].access != WO);
	nic->mmio_reads++;
	return mmio_read32(at);
}

void ixgbe_write(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t value)
{
	volatile void *at = ixgbe_reg_at(ixgbe_device(nic)->regs, reg, i);
	assert(rows[reg].access != RO && rows[reg].access != RC);
	nic->mmio_writes++;
	mmio_write32(at, value);
}

void ixgbe_set(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t bits)
{
	ixgbe_write(nic, reg, i, ixgbe_read(nic, reg, i) | bits);
}

void ixgbe_clear(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t bits)
{
	ixgbe_write(nic, reg, i, ixgbe_read(nic, reg, i) & ~bits);
}

void ixgbe_write_all(struct nic *nic, enum ixgbe_reg reg, unsigned first, uint32_t value)
{
	for (unsigned i = first; i < rows[reg].count; i++)
		ixgbe_write(nic, reg, i, value);
}

bool ixgbe_gone(struct nic *nic)
{
	return ixgbe_read(nic, IXGBE_STATUS, 0) == UINT32_MAX;
}

int ixgbe_fail(struct nic *nic, int error, const char *why)
{
	bool gone = ixgbe_gone(nic);
	nic->error = gone ? "device answers no more (registers read all ones)" : why;
	return gone ? E_DEVICE : error;
}

void ixgbe_delay(const struct nic *nic, uint32_t us)
{
	uint64_t end = nic_deadline(nic, us);
	while (!nic_past(end))
		cpu_relax();
}

int ixgbe_poll(struct nic *nic, enum ixgbe_reg reg, unsigned i, uint32_t bits,
               enum ixgbe_wanted wanted, uint32_t us, const char *why)
{
	struct ixgbe_device *d = ixgbe_device(nic);
	uint64_t end = nic_deadline(nic, us);
	for (;;) {
		bool last = nic_past(end); /* before the read: a late read still counts */
		d->polled = ixgbe_read(nic, reg, i);
		if (d->polled == UINT32_MAX && ixgbe_gone(nic))
			return ixgbe_fail(nic, E_DEVICE, why);
		if (wanted == IXGBE_UNTIL_SET ? (d->polled & bits) != 0 : (d->polled & bits) == 0)
			return E_OK;
		if (last)
			return ixgbe_fail(nic, E_TIMEOUT, why);
		cpu_relax();
	}
}
