/*
 * Serial console: 16550 UART at COM1. Output waits for the transmitter only a bounded time, so a
 * missing UART costs time but never hangs the kernel. The receive interrupt collects input while the
 * control core sleeps; otherwise the core polls.
 */
#include "kernel/console.h"

#include "kernel/cpu.h"
#include "kernel/fbcon.h"
#include "kernel/lock.h"

#define COM1 0x3f8
#define BAUD 115200u
#define UART_DATA (COM1 + 0)
#define UART_IER (COM1 + 1)
#define UART_FCR (COM1 + 2)
#define UART_LCR (COM1 + 3)
#define UART_MCR (COM1 + 4)
#define UART_LSR (COM1 + 5)
#define UART_FCR_ON 0x01
#define UART_MCR_LOOP 0x10
#define UART_LSR_DATA 0x01
#define UART_LSR_THRE 0x20
#define UART_FIFO 16
#define UART_SPIN_MAX 100000 /* status reads; a byte at 115200 baud takes 87 us */

#define INPUT_MAX 4096 /* a power of two; when the buffer is full, input waits in the UART */

static struct lock console_lock;
static bool seized;
static bool uart_present;
static uint8_t input[INPUT_MAX];
static uint32_t input_head, input_tail; /* under input_lock */
static struct lock input_lock;

static void input_drain(void)
{
	while (uart_present && input_head - input_tail < INPUT_MAX && in8(UART_LSR) & UART_LSR_DATA)
		input[input_head++ % INPUT_MAX] = in8(UART_DATA);
}

/*
 * Enabling the FIFO clears the receiver. Bytes typed during the boot must not be lost. Without FIFO
 * the receiver holds one byte, which is saved. QEMU delivers the next one after that read, but not
 * immediately in loopback mode. A FIFO that firmware has enabled keeps its contents.
 */
static void fifo_on(void)
{
	out8(UART_MCR, UART_MCR_LOOP);
	if (uart_present && in8(UART_LSR) & UART_LSR_DATA) {
		uint8_t typed = in8(UART_DATA);
		out8(UART_FCR, UART_FCR_ON);
		input[input_head++ % INPUT_MAX] = typed;
	} else {
		out8(UART_FCR, UART_FCR_ON);
	}
}

void console_init(void)
{
	out8(UART_IER, 0);
	out8(UART_LCR, 0x03);
	uart_present = in8(UART_LSR) != 0xff;
	fifo_on();
	out8(UART_LCR, 0x80); /* divisor latch */
	out8(UART_DATA, 115200 / BAUD);
	out8(UART_IER, 0);
	out8(UART_LCR, 0x03); /* 8N1 */
	out8(UART_FCR, 0xc0 | UART_FCR_ON); /* interrupt at 14 bytes or on time-out */
	out8(UART_MCR, 0x0b); /* DTR, RTS, OUT2 (gates the interrupt line) */
	out8(UART_IER, 0x01); /* received data */
}

void console_describe(struct hardware *hw)
{
	hw->serials = uart_present;
	hw->serial = (struct hardware_serial){.addr = COM1, .baud = BAUD};
}

/* Once THRE is set, the FIFO takes UART_FIFO bytes, so the status is read once per FIFO. */
static void uart_write(const char *text, size_t bytes)
{
	for (size_t i = 0; uart_present && i < bytes; i++) {
		if (i % UART_FIFO == 0) {
			unsigned spin = 0;
			while (!(in8(UART_LSR) & UART_LSR_THRE))
				if (++spin == UART_SPIN_MAX)
					return;
		}
		out8(UART_DATA, (uint8_t)text[i]);
	}
}

static void put(const char *text, size_t bytes)
{
	uart_write(text, bytes);
	fbcon_write(text, bytes);
}

void console_write(const char *text, size_t bytes)
{
	bool locked = !seized;
	if (locked)
		lock_take(&console_lock);
	put(text, bytes);
	if (locked)
		lock_drop(&console_lock);
}

/* Takes the lock once for all lines. */
void console_print_whole(const char *text, size_t bytes)
{
	bool locked = !seized;
	if (locked)
		lock_take(&console_lock);
	put("\r\n", 2);
	for (size_t i = 0, from = 0; i < bytes; i++)
		if (text[i] == '\n' || i + 1 == bytes) {
			put(text + from, i - from + (text[i] != '\n'));
			put("\r\n", 2);
			from = i + 1;
		}
	if (locked)
		lock_drop(&console_lock);
}

void console_vprint(const char *format, fmt_va_list args)
{
	char text[512], out[640];
	size_t n = 0;
	fmt_vformat(text, sizeof text, format, args);
	for (const char *p = text; *p && n + 2 < sizeof out; p++) {
		if (*p == '\n')
			out[n++] = '\r';
		out[n++] = *p;
	}
	console_write(out, n);
}

void console_print(const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	console_vprint(format, args);
	__builtin_va_end(args);
}

void console_seize(void)
{
	seized = true;
}

void console_interrupt(void)
{
	lock_take(&input_lock);
	input_drain();
	lock_drop(&input_lock);
}

int console_read(void)
{
	int c = E_AGAIN;
	lock_take(&input_lock);
	if (input_head == input_tail)
		input_drain();
	if (input_head != input_tail)
		c = input[input_tail++ % INPUT_MAX];
	lock_drop(&input_lock);
	return c;
}
