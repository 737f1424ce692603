/*
 * See rtc.h. The clock is a Motorola MC146818, or compatible with it; its registers are read by an index port and a
 * data port. The names of registers and bits are those of its data sheet (ADI-856-R1, "Address map", "Register A",
 * "B" and "D").
 *
 * The registers change once a second. From UIP on there are 244 us until they begin to (data sheet, "Update
 * cycle"). An interrupt of firmware (SMI) may take longer than that between two accesses, so a time counts only if
 * two readings agree.
 */
#include "kernel/rtc.h"

#include "hal/clock.h"
#include "kernel/console.h"
#include "kernel/cpu.h"
#include "kernel/tsc.h"
#include "lib/civil.h"

#define INDEX_PORT 0x70
#define DATA_PORT 0x71

enum rtc_register {
	RTC_SECONDS = 0,
	RTC_MINUTES = 2,
	RTC_HOURS = 4,
	RTC_DAY = 7,
	RTC_MONTH = 8,
	RTC_YEAR = 9,
	RTC_A = 10,
	RTC_B = 11,
	RTC_D = 13,
};
#define RTC_A_UIP 0x80  /* update in progress, or about to begin */
#define RTC_B_DM 0x04   /* binary; else BCD */
#define RTC_B_24 0x02   /* hours from 0 to 23; else from 1 to 12, with RTC_PM */
#define RTC_D_VRT 0x80  /* valid RAM and time */
#define RTC_PM 0x80

#define UIP_MAX_US 10000 /* 2228 us by the data sheet */
#define READINGS 5

struct reading {
	uint8_t second, minute, hour, day, month, year, century;
};

static uint8_t rtc_register(uint8_t number)
{
	out8(INDEX_PORT, number); /* bit 7 is 0: NMIs stay enabled */
	return in8(DATA_PORT);
}

/* False: the update does not end. That is also how ports without a clock read. */
static bool wait_for_update(void)
{
	for (unsigned us = 0; rtc_register(RTC_A) & RTC_A_UIP; us += 10) {
		if (us >= UIP_MAX_US)
			return false;
		tsc_wait_us(10);
	}
	return true;
}

static bool read_once(struct reading *r, uint8_t century)
{
	if (!wait_for_update())
		return false;
	*r = (struct reading){
		.second = rtc_register(RTC_SECONDS),
		.minute = rtc_register(RTC_MINUTES),
		.hour = rtc_register(RTC_HOURS),
		.day = rtc_register(RTC_DAY),
		.month = rtc_register(RTC_MONTH),
		.year = rtc_register(RTC_YEAR),
		.century = century ? rtc_register(century) : 0,
	};
	return true;
}

static bool is_same(const struct reading *a, const struct reading *b)
{
	return a->second == b->second && a->minute == b->minute && a->hour == b->hour && a->day == b->day &&
	       a->month == b->month && a->year == b->year && a->century == b->century;
}

/* Two readings in a row that agree; returns NULL or what is wrong. */
static const char *read_stable(struct reading *r, uint8_t century)
{
	struct reading before;
	if (!read_once(&before, century))
		return "there is no CMOS clock, or it does not answer";
	for (unsigned i = 1; i < READINGS; i++) {
		if (!read_once(r, century))
			return "the CMOS clock has stopped answering";
		if (is_same(r, &before))
			return NULL;
		before = *r;
	}
	return "the CMOS clock changes too fast";
}

/* The value of a register; UINT32_MAX, which civil_is_valid() refuses everywhere: it is no BCD number. */
static unsigned value(uint8_t v, bool binary)
{
	if (binary)
		return v;
	return (v & 15) > 9 || v >> 4 > 9 ? UINT32_MAX : (v >> 4) * 10u + (v & 15);
}

static unsigned hour_of(uint8_t v, uint8_t b)
{
	if (b & RTC_B_24)
		return value(v, b & RTC_B_DM);
	const unsigned hour = value(v & (uint8_t)~RTC_PM, b & RTC_B_DM);
	return hour < 1 || hour > 12 ? UINT32_MAX : hour % 12 + (v & RTC_PM ? 12 : 0);
}

/* Without a register of the century the year is one of 2000 to 2099. */
static unsigned year_of(const struct reading *r, bool has_century, bool binary)
{
	const unsigned year = value(r->year, binary), century = has_century ? value(r->century, binary) : 20;
	return year > 99 || century > 99 ? UINT32_MAX : century * 100 + year;
}

uint64_t rtc_read(const struct acpi *acpi)
{
	struct reading r;
	const uint8_t century = acpi->rtc_century < 128 ? acpi->rtc_century : 0;
	const char *wrong = acpi->no_rtc ? "firmware states that there is no CMOS clock" : read_stable(&r, century);
	if (!wrong && !(rtc_register(RTC_D) & RTC_D_VRT))
		wrong = "the battery of the CMOS clock is, or was, empty";
	if (wrong) {
		console_print("rtc: the time of day is not known: %s\n", wrong);
		return 0;
	}
	const uint8_t b = rtc_register(RTC_B);
	const bool binary = b & RTC_B_DM;
	const struct civil c = {year_of(&r, century, binary), value(r.month, binary), value(r.day, binary),
	                        hour_of(r.hour, b), value(r.minute, binary), value(r.second, binary)};
	if (!civil_is_valid(&c) || c.year < RTC_YEAR_MIN || c.year > RTC_YEAR_MAX) {
		console_print("rtc: the time of day is not known: the CMOS clock shows %02x%02x-%02x-%02x %02x:%02x:%02x\n",
		              r.century, r.year, r.month, r.day, r.hour, r.minute, r.second);
		return 0;
	}
	return (uint64_t)civil_seconds(&c) * 1000000000u;
}
