/* See device.h: registers and commands. */
#include "drivers/vmxnet3/device.h"

#include "hal/mmio.h"

uint32_t vmxnet3_read(struct nic *nic, enum vmxnet3_reg reg)
{
	nic->mmio_reads++;
	return mmio_read32(vmxnet3_device(nic)->regs + reg);
}

void vmxnet3_write(struct nic *nic, enum vmxnet3_reg reg, uint32_t value)
{
	nic->mmio_writes++;
	mmio_write32(vmxnet3_device(nic)->regs + reg, value);
}

void vmxnet3_mask(struct nic *nic, unsigned vector, bool masked)
{
	nic->mmio_writes++;
	mmio_write32(vmxnet3_device(nic)->queue_regs + VMXNET3_IMR + VMXNET3_REG_STRIDE * vector, masked);
}

void vmxnet3_command(struct nic *nic, enum vmxnet3_command command)
{
	vmxnet3_write(nic, VMXNET3_CMD, command);
}

uint32_t vmxnet3_ask(struct nic *nic, enum vmxnet3_command command)
{
	vmxnet3_command(nic, command);
	return vmxnet3_read(nic, VMXNET3_CMD);
}

bool vmxnet3_gone(struct nic *nic)
{
	return vmxnet3_read(nic, VMXNET3_VRRS) == UINT32_MAX;
}

int vmxnet3_fail(struct nic *nic, int error, const char *why)
{
	const bool gone = vmxnet3_gone(nic);
	nic->error = gone ? "the device no longer answers" : why;
	return gone ? E_DEVICE : error;
}
