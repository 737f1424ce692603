/*
 * Serial console: a 16550 UART. The first lines go to COM1; console_choose may then choose another. Output waits
 * for the transmitter only a bounded time, so a missing UART costs time but never hangs the kernel. The receive
 * interrupt collects input while the control core sleeps; otherwise the core polls.
 */
#include "kernel/console.h"

#include "kernel/cpu.h"
#include "kernel/fbcon.h"
#include "kernel/lock.h"
#include "kernel/uart.h"
#include "kernel/vm.h"
#include "lib/cmdline.h"
#include "lib/mem.h"

#define COM1 0x3f8
#define BAUD 115200u
#define CLOCK_BAUD 115200u /* of divisor 1, with the clock of 1.8432 MHz that PCs have */
#define UART_FIFO 16
#define UART_SPIN_MAX 100000 /* status reads; a byte at 115200 baud takes 87 us */
#define EARLY_MAX 4096

#define INPUT_MAX 4096 /* a power of two; when the buffer is full, input waits in the UART */

static struct lock console_lock;
static bool seized;
static struct uart uart = {.port = COM1};
static bool uart_present, polled;
static struct hardware_serial description;
static uint16_t com1_divisor; /* as firmware left it */
static char early[EARLY_MAX]; /* what was printed before console_choose */
static size_t early_bytes;
static bool chosen;
static uint8_t input[INPUT_MAX];
static uint32_t input_head, input_tail; /* under input_lock */
static struct lock input_lock;

static void input_drain(void)
{
	while (uart_present && input_head - input_tail < INPUT_MAX && uart_read(&uart, UART_LSR) & UART_LSR_DATA)
		input[input_head++ % INPUT_MAX] = uart_read(&uart, UART_DATA);
}

/*
 * Enabling the FIFO clears the receiver. Bytes typed during the boot must not be lost. Without FIFO
 * the receiver holds one byte, which is saved. QEMU delivers the next one after that read, but not
 * immediately in loopback mode. A FIFO that firmware has enabled keeps its contents.
 */
static void fifo_on(void)
{
	uart_write(&uart, UART_MCR, UART_MCR_LOOP);
	if (uart_present && uart_read(&uart, UART_LSR) & UART_LSR_DATA) {
		uint8_t typed = uart_read(&uart, UART_DATA);
		uart_write(&uart, UART_FCR, UART_FCR_ON);
		input[input_head++ % INPUT_MAX] = typed;
	} else {
		uart_write(&uart, UART_FCR, UART_FCR_ON);
	}
}

/* Once THRE is set, the FIFO takes UART_FIFO bytes, so the status is read once per FIFO. */
static void serial_write(const char *text, size_t bytes)
{
	for (size_t i = 0; uart_present && i < bytes; i++) {
		if (i % UART_FIFO == 0) {
			unsigned spin = 0;
			while (!(uart_read(&uart, UART_LSR) & UART_LSR_THRE))
				if (++spin == UART_SPIN_MAX)
					return;
		}
		uart_write(&uart, UART_DATA, (uint8_t)text[i]);
	}
}

/* Sets a divisor, unless it is 0: then the UART keeps its own. Returns what was there. */
static uint16_t set_divisor(uint16_t divisor)
{
	uart_write(&uart, UART_LCR, UART_LCR_8N1 | UART_LCR_DIVISOR);
	uint16_t was = (uint16_t)(uart_read(&uart, UART_DATA) | uart_read(&uart, UART_IER) << 8);
	if (divisor) {
		uart_write(&uart, UART_DATA, (uint8_t)divisor);
		uart_write(&uart, UART_IER, (uint8_t)(divisor >> 8));
	}
	uart_write(&uart, UART_LCR, UART_LCR_8N1);
	return was;
}

static uint16_t open_uart(uint16_t divisor)
{
	uart_write(&uart, UART_IER, 0);
	uart_write(&uart, UART_LCR, UART_LCR_8N1);
	uart_present = uart_read(&uart, UART_LSR) != 0xff;
	fifo_on();
	uint16_t was = set_divisor(divisor);
	uart_write(&uart, UART_FCR, 0xc0 | UART_FCR_ON); /* interrupt at 14 bytes or on time-out */
	uart_write(&uart, UART_MCR, 0x0b); /* DTR, RTS, OUT2 (gates the interrupt line) */
	uart_write(&uart, UART_IER, 0x01); /* received data */
	return was;
}

void console_init(void)
{
	com1_divisor = open_uart(CLOCK_BAUD / BAUD);
	description = (struct hardware_serial){.addr = COM1, .baud = BAUD};
}

/* True if a UART answers: its scratch register keeps what is written (16550, 8.6.5). */
static bool answers(const struct uart *u)
{
	if (uart_read(u, UART_LSR) == 0xff)
		return false;
	uart_write(u, UART_SCRATCH, 0x5a);
	bool keeps = uart_read(u, UART_SCRATCH) == 0x5a;
	uart_write(u, UART_SCRATCH, 0xa5);
	return keeps && uart_read(u, UART_SCRATCH) == 0xa5;
}

static const struct {
	uint16_t port;
	uint8_t irq;
} coms[] = {{COM1, 4}, {0x2f8, 3}, {0x3e8, 4}, {0x2e8, 3}};

/* The port that PCs have at an address, with its interrupt; or one of which no interrupt is known. */
static struct acpi_serial port_at(uint64_t port, uint32_t baud)
{
	struct acpi_serial s = {.addr = port, .baud = baud};
	for (unsigned i = 0; i < ARRAY_LEN(coms); i++)
		if (coms[i].port == port) {
			s.has_irq = true;
			s.irq = coms[i].irq;
		}
	return s;
}

/* The port to use; .addr 0: none. */
static struct acpi_serial wanted(const struct acpi *acpi, const struct boot *boot)
{
	char word[8];
	const uint64_t port = cmdline_number(boot->cmdline, "serial", 0);
	const uint32_t baud = (uint32_t)cmdline_number(boot->cmdline, "baud", BAUD);
	if (cmdline_option(boot->cmdline, "serial", word, sizeof word) && strcmp(word, "off") == 0)
		return (struct acpi_serial){0};
	if (port && port <= 0xfff8)
		return port_at(port, baud);
	if (acpi->serial.addr && !(acpi->serial.mmio && boot_has_ram(boot, acpi->serial.addr, acpi->serial.addr + 32)))
		return acpi->serial;
	if (uart_present)
		return port_at(COM1, baud);
	for (unsigned i = 1; i < ARRAY_LEN(coms); i++)
		if (answers(&(struct uart){.port = coms[i].port}))
			return port_at(coms[i].port, baud);
	return (struct acpi_serial){0};
}

/* A port in memory may have another clock, so its speed stays. */
static uint16_t divisor_of(const struct acpi_serial *s)
{
	return s->mmio || s->baud == 0 || s->baud > CLOCK_BAUD ? 0 : (uint16_t)(CLOCK_BAUD / s->baud);
}

static void take_interrupt(struct acpi *acpi, const struct acpi_serial *s)
{
	acpi->com1_gsi = UINT32_MAX;
	if (s->has_gsi && s->gsi >= ACPI_ISA_MAX) {
		acpi->com1_gsi = s->gsi;
		acpi->com1_flags = 0xf; /* low and level, as PCI's */
	} else if (s->has_gsi || s->has_irq) {
		const struct acpi_isa *isa = &acpi->isa[s->has_irq ? s->irq : s->gsi];
		acpi->com1_gsi = isa->gsi;
		acpi->com1_flags = isa->flags;
	}
	polled = acpi->com1_gsi == UINT32_MAX;
}

static void wait_idle(void)
{
	for (unsigned spin = 0; spin < UART_SPIN_MAX && !(uart_read(&uart, UART_LSR) & UART_LSR_TEMT); spin++)
		;
}

static void use(const struct acpi_serial *s)
{
	uint16_t divisor = divisor_of(s);
	if (!s->mmio && s->addr == COM1) {
		uint16_t other = divisor ? divisor : com1_divisor;
		if (other != CLOCK_BAUD / BAUD) {
			wait_idle(); /* what is on the wire keeps its speed */
			set_divisor(other);
		}
	} else {
		uart = (struct uart){.port = (uint16_t)s->addr, .wide = s->wide,
		                     .regs = s->mmio ? vm_map_device(s->addr, 32) : NULL};
		open_uart(divisor);
		if (uart_present)
			serial_write(early, early_bytes);
	}
	description = (struct hardware_serial){.addr = s->addr, .mmio = s->mmio, .baud = divisor ? s->baud : 0};
}

void console_choose(struct acpi *acpi, const struct boot *boot)
{
	const struct acpi_serial s = wanted(acpi, boot);
	chosen = true;
	if (s.addr)
		use(&s);
	else
		uart_present = false;
	if (!uart_present)
		return;
	take_interrupt(acpi, &s);
	if (description.mmio || description.addr != COM1 || description.baud != BAUD)
		console_print("console: serial %s %llx\n", s.mmio ? "at memory" : "port", (unsigned long long)s.addr);
}

bool console_is_polled(void)
{
	return polled && uart_present;
}

void console_describe(struct hardware *hw)
{
	hw->serials = uart_present;
	hw->serial = description;
}

static void put(const char *text, size_t bytes)
{
	const size_t room = EARLY_MAX - early_bytes, n = chosen ? 0 : bytes < room ? bytes : room;
	memcpy(early + early_bytes, text, n);
	early_bytes += n;
	serial_write(text, bytes);
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
