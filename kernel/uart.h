/* The registers of a 16550 UART (National PC16550D data sheet, 8.0), in ports or in memory. */
#ifndef KERNEL_UART_H
#define KERNEL_UART_H

#include "hal/mmio.h"
#include "kernel/cpu.h"

struct uart {
	uint16_t port;          /* used if regs is NULL */
	volatile uint8_t *regs; /* mapped registers */
	bool wide;              /* of these: 32 bits each, at multiples of 4 */
};

enum uart_register {
	UART_DATA = 0, /* and the divisor's low byte while UART_LCR_DIVISOR is set */
	UART_IER = 1,  /* and its high byte */
	UART_FCR = 2,
	UART_LCR = 3,
	UART_MCR = 4,
	UART_LSR = 5,
	UART_SCRATCH = 7,
};
#define UART_FCR_ON 0x01
#define UART_LCR_8N1 0x03
#define UART_LCR_DIVISOR 0x80
#define UART_MCR_LOOP 0x10
#define UART_LSR_DATA 0x01
#define UART_LSR_THRE 0x20
#define UART_LSR_TEMT 0x40 /* nothing is being sent */

static inline uint8_t uart_read(const struct uart *u, enum uart_register r)
{
	if (!u->regs)
		return in8((uint16_t)(u->port + r));
	return u->wide ? (uint8_t)mmio_read32(u->regs + 4 * r) : mmio_read8(u->regs + r);
}

static inline void uart_write(const struct uart *u, enum uart_register r, uint8_t v)
{
	if (!u->regs)
		out8((uint16_t)(u->port + r), v);
	else if (u->wide)
		mmio_write32(u->regs + 4 * r, v);
	else
		mmio_write8(u->regs + r, v);
}

#endif
