/*
 * The SFP+ module behind I2CCTL (8.2.3.1.5): a 10GBASE-SR module of Intel's, unless a test sets
 * another type (struct sfp_codes). It has two 256-byte pages on the two-wire bus: A0h identity and
 * A2h diagnostics (SFF-8472 rev 10, chapters 3 and 4). The host bit-bangs both lines; the module
 * drives only data, by pulling it low, and stretches the clock.
 *
 *   IDLE --start--> ADDRESS --A0/A2, write--> OFFSET --> DATA (ignored: read-only)
 *                   ADDRESS --A0/A2, read---> READ --NAK--> IDLE
 *   any --start--> ADDRESS;  any --stop--> IDLE
 */
#include "tools/nicsim/82599/state.h"

#include <string.h>

/* SFF-8472, table 3.1 */
static uint8_t identity(const struct sfp_codes *module, uint8_t at)
{
	static const char name[] = "Intel Corp      ", part[] = "HAYATE-10GB-SR  ";
	static const char serial[] = "0000000000000001", date[] = "260101  ";
	if (at >= 20 && at < 36)
		return (uint8_t)name[at - 20];
	if (at >= 40 && at < 56)
		return (uint8_t)part[at - 40];
	if (at >= 68 && at < 84)
		return (uint8_t)serial[at - 68];
	if (at >= 84 && at < 92)
		return (uint8_t)date[at - 84];
	switch (at) {
	case 0:
		return 3; /* SFP or SFP+ */
	case 1:
		return 4; /* two-wire interface only */
	case 2:
		return 7; /* LC */
	case 3:
		return module->ten;
	case 6:
		return module->one;
	case 8:
		return module->cable;
	case 11:
		return 6; /* 64B/66B */
	case 12:
		return module->rate ? module->rate : 103; /* x 100 MBd */
	case 14:
		return module->km;
	case 16:
		return 8; /* 80 m on OM2 */
	case 17:
		return 2; /* 20 m on OM1 */
	case 19:
		return 30; /* 300 m on OM3 */
	case 38:
		return 0x1b; /* OUI 00-1b-21: Intel */
	case 39:
		return 0x21;
	case 56:
		return 'A';
	case 60:
		return 850 >> 8; /* nm */
	case 61:
		return 850 & 0xff;
	case 92:
		return 0x68; /* diagnostics, internally calibrated, average power */
	case 94:
		return 5; /* SFF-8472 rev 11.0 */
	}
	return 0;
}

/* The two checksums of table 3.1: CC_BASE over 0 .. 62, CC_EXT over 64 .. 94. */
static uint8_t page_a0(const struct sfp_codes *module, uint8_t at)
{
	if (at != 63 && at != 95)
		return identity(module, at);
	uint8_t sum = 0;
	for (uint8_t i = at - 63 ? 64 : 0; i < at; i++)
		sum = (uint8_t)(sum + identity(module, i));
	return sum;
}

/* SFF-8472, tables 3.15, 3.17: the limits of alarms and warnings, then the current measurements. */
static uint8_t page_a2(struct model *m, uint8_t at)
{
	/* high alarm, low alarm, high warning, low warning: of temperature (1/256 C), supply (100
	 * uV), bias (2 uA), transmit and receive power (0.1 uW) */
	static const uint16_t limit[20] = {78 << 8, 0xf300, 73 << 8, 0xf800, 37000, 29000, 35000,
	                                   30000,   6500,   1000,    6000,   1500,  8000,  1600,
	                                   6300,    2000,   10000,   100,    7900,  250};
	const uint16_t now[5] = {41 << 8, 33000, 3500, 5800, m->carrier ? 5200 : 0};
	uint16_t word;
	if (at < 40)
		word = limit[at / 2];
	else if (at >= 96 && at < 106)
		word = now[(at - 96) / 2];
	else if (at == 110)
		return m->carrier ? 0 : 2; /* receive loss */
	else
		return 0;
	return (uint8_t)(at % 2 ? word : word >> 8);
}

static uint8_t next_byte(struct model *m, struct sfp *s)
{
	uint8_t at = s->offset++;
	return s->page == 0xa0 ? page_a0(&own_of(m)->module, at) : page_a2(m, at);
}

/* Handles a complete byte from the host; true: acknowledge it. */
static bool take_byte(const struct model *m, struct sfp *s)
{
	if (model_fault(m, FAULT_MODULE_OUT)) {
		s->phase = I2C_IDLE;
		return false;
	}
	switch (s->phase) {
	case I2C_ADDRESS:
		if ((s->shift & 0xfe) != 0xa0 && (s->shift & 0xfe) != 0xa2) {
			s->phase = I2C_IDLE;
			return false;
		}
		s->page = s->shift & 0xfe;
		if (!(s->shift & 1)) {
			s->phase = I2C_OFFSET;
			return true;
		}
		s->phase = I2C_READ;
		return true;
	case I2C_OFFSET:
		s->offset = s->shift;
		s->phase = I2C_DATA;
		return true;
	default:
		return s->phase == I2C_DATA;
	}
}

static void clock_rises(struct sfp *s)
{
	if (s->ack) {
		s->nak = s->sda && s->out; /* no acknowledge: nothing pulled the line low */
		return;
	}
	if (s->phase != I2C_READ)
		s->shift = (uint8_t)(s->shift << 1 | (s->sda ? 1 : 0));
	s->bits++;
}

/* Data changes only while the clock is low: the module sets its data line here. */
static void clock_falls(struct model *m, struct sfp *s)
{
	if (s->phase == I2C_IDLE) {
		s->out = true;
		s->ack = false;
		return;
	}
	if (s->ack) { /* the ninth bit is over */
		s->ack = false;
		s->bits = 0;
		s->out = true;
		if (s->nak)
			s->phase = I2C_IDLE;
		if (s->phase == I2C_READ) {
			s->shift = next_byte(m, s);
			s->out = s->shift >> 7;
		}
		return;
	}
	if (s->bits == 8) {
		s->ack = true;
		/* after a byte of the module, the host acknowledges */
		s->out = s->phase == I2C_READ || !take_byte(m, s);
		return;
	}
	s->out = s->phase == I2C_READ ? s->shift >> (7 - s->bits) & 1 : true;
}

/* The clock rises when neither side holds it low. */
static void clock_settles(const struct model *m, struct sfp *s)
{
	if (s->scl || !s->let_go || m->now < s->held)
		return;
	s->scl = true;
	clock_rises(s);
}

void sfp_write(struct model *m, uint32_t value)
{
	struct sfp *s = &own_of(m)->sfp;
	bool scl = value & I2CCTL_CLK_OUT, sda = value & I2CCTL_DATA_OUT;
	clock_settles(m, s);
	if (s->scl && scl && s->sda != sda) { /* start or stop: data moves while the clock is high */
		s->phase = sda ? I2C_IDLE : I2C_ADDRESS;
		s->bits = 0;
		s->ack = false;
		s->out = true;
		s->sda = sda;
		return;
	}
	bool falls = s->scl && !scl;
	if (scl && !s->let_go) /* a slow module stretches the ninth bit to fetch the next byte */
		s->held = s->ack ? m->now + own_of(m)->stretch_ns : 0;
	s->let_go = scl;
	s->sda = sda;
	if (falls) {
		s->scl = false;
		clock_falls(m, s);
	}
	clock_settles(m, s);
}

uint32_t sfp_read(struct model *m)
{
	struct sfp *s = &own_of(m)->sfp;
	uint32_t v = 0;
	clock_settles(m, s);
	if (s->let_go)
		v |= I2CCTL_CLK_OUT;
	if (s->scl)
		v |= I2CCTL_CLK_IN;
	if (s->sda)
		v |= I2CCTL_DATA_OUT;
	if (s->sda && s->out)
		v |= I2CCTL_DATA_IN;
	return v;
}
