/* Register access by a driver's table, and polling. See device.h. */
#include "drivers/intel/device.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/assert.h"

volatile void *intel_reg_at(const struct intel_chip *chip, volatile uint8_t *bar, unsigned reg, unsigned i)
{
	assert(reg < chip->regs && i < chip->reg[reg].count);
	return bar + chip->reg[reg].offset + chip->reg[reg].stride * i;
}

static volatile void *at(struct nic *nic, unsigned reg, unsigned i)
{
	return intel_reg_at(intel_device(nic)->chip, intel_device(nic)->bar, reg, i);
}

static const struct intel_reg *row(struct nic *nic, unsigned reg)
{
	return &intel_device(nic)->chip->reg[reg];
}

uint32_t intel_read(struct nic *nic, unsigned reg, unsigned i)
{
	volatile void *from = at(nic, reg, i);
	assert(row(nic, reg)->access != WO);
	nic->mmio_reads++;
	return mmio_read32(from);
}

void intel_write(struct nic *nic, unsigned reg, unsigned i, uint32_t value)
{
	volatile void *to = at(nic, reg, i);
	assert(row(nic, reg)->access != RO && row(nic, reg)->access != RC);
	nic->mmio_writes++;
	mmio_write32(to, value);
}

void intel_set(struct nic *nic, unsigned reg, unsigned i, uint32_t bits)
{
	intel_write(nic, reg, i, intel_read(nic, reg, i) | bits);
}

void intel_clear(struct nic *nic, unsigned reg, unsigned i, uint32_t bits)
{
	intel_write(nic, reg, i, intel_read(nic, reg, i) & ~bits);
}

void intel_write_all(struct nic *nic, unsigned reg, unsigned first, uint32_t value)
{
	for (unsigned i = first; i < row(nic, reg)->count; i++)
		intel_write(nic, reg, i, value);
}

bool intel_gone(struct nic *nic)
{
	return intel_read(nic, intel_device(nic)->chip->status, 0) == UINT32_MAX;
}

int intel_fail(struct nic *nic, int error, const char *why)
{
	bool gone = intel_gone(nic);
	nic->error = gone ? "device no longer answers (registers read all ones)" : why;
	return gone ? E_DEVICE : error;
}

void intel_delay(const struct nic *nic, uint32_t us)
{
	uint64_t end = nic_deadline(nic, us);
	while (!nic_past(end))
		cpu_relax();
}

int intel_poll(struct nic *nic, unsigned reg, unsigned i, uint32_t bits,
               enum intel_wanted wanted, uint32_t us, const char *why)
{
	struct intel_device *d = intel_device(nic);
	uint64_t end = nic_deadline(nic, us);
	for (;;) {
		bool last = nic_past(end); /* before the read: a late read still counts */
		d->polled = intel_read(nic, reg, i);
		if (d->polled == UINT32_MAX && intel_gone(nic))
			return intel_fail(nic, E_DEVICE, why);
		if (wanted == INTEL_UNTIL_SET ? (d->polled & bits) != 0 : (d->polled & bits) == 0)
			return E_OK;
		if (last)
			return intel_fail(nic, E_TIMEOUT, why);
		cpu_relax();
	}
}

void intel_write_address(struct nic *nic, unsigned low, unsigned high, unsigned i, const void *memory)
{
	const uint64_t bus = dma_addr(memory).bus;
	intel_write(nic, low, i, (uint32_t)bus);
	intel_write(nic, high, i, (uint32_t)(bus >> 32));
}
