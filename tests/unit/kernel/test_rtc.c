/* kernel/rtc: forms of date and time, an update during the reading, clocks that are missing, empty or nonsense. */
#include "tests/unit/rig/host.h"

#include "kernel/cpu.h"

static uint8_t cmos[128], selected;
static unsigned reads, update_at, update_every; /* the reading of seconds at which the clock advances; 0: never */
static unsigned uip_left;                       /* readings of register A for which UIP is set */
static bool absent;
static uint64_t waited_us;

static void host_out8(uint16_t port, uint8_t v)
{
	assert_int_equal(port, 0x70);
	assert_true(v < 128);
	selected = v;
}

static uint8_t host_in8(uint16_t port)
{
	assert_int_equal(port, 0x71);
	if (absent)
		return 0xff;
	if (selected == 0 && ++reads == update_at) {
		cmos[0]++;
		update_at += update_every;
	}
	if (selected == 10 && uip_left) {
		uip_left--;
		return cmos[10] | 0x80;
	}
	return cmos[selected];
}
#define in8 host_in8
#define out8 host_out8
#include "kernel/rtc.c"

static char said[200];

void console_print(const char *format, ...)
{
	__builtin_va_list args;
	__builtin_va_start(args, format);
	vsnprintf(said, sizeof said, format, args);
	__builtin_va_end(args);
}

void tsc_wait_us(uint64_t us) { waited_us += us; }

#define CENTURY 0x32
#define AT 1795988645ull /* 2026-11-29 21:44:05 */

static int setup(void **s)
{
	(void)s;
	memset(cmos, 0, sizeof cmos);
	reads = update_at = update_every = uip_left = 0;
	absent = false;
	waited_us = 0;
	said[0] = 0;
	return 0;
}

/* Registers as they are, and B. */
static void show(uint8_t century, uint8_t year, uint8_t month, uint8_t day, uint8_t hour, uint8_t minute, uint8_t second,
                 uint8_t b)
{
	cmos[CENTURY] = century, cmos[9] = year, cmos[8] = month, cmos[7] = day, cmos[4] = hour, cmos[2] = minute;
	cmos[0] = second, cmos[11] = b, cmos[13] = 0x80;
}

static uint64_t seconds(uint8_t century)
{
	const struct acpi acpi = {.rtc_century = century};
	const uint64_t ns = rtc_read(&acpi);
	assert_int_equal(ns % 1000000000, 0);
	return ns / 1000000000;
}

static void forms(void **s)
{
	(void)s;
	show(0x20, 0x26, 0x11, 0x29, 0x21, 0x44, 0x05, 0x02); /* BCD, 24 hours */
	assert_int_equal(seconds(CENTURY), AT);
	assert_int_equal(seconds(0), AT);
	show(20, 26, 11, 29, 21, 44, 5, 0x06); /* binary */
	assert_int_equal(seconds(CENTURY), AT);
	show(0x20, 0x26, 0x11, 0x29, 0x89, 0x44, 0x05, 0x00); /* BCD, 9 p.m. */
	assert_int_equal(seconds(CENTURY), AT);
	show(20, 26, 11, 29, 9, 44, 5, 0x04); /* binary, 9 a.m. */
	assert_int_equal(seconds(CENTURY), AT - 12 * 3600);
	show(20, 26, 11, 29, 12, 44, 5, 0x04); /* 12 a.m. is the hour 0 */
	assert_int_equal(seconds(CENTURY), AT - 21 * 3600);
	show(20, 26, 11, 29, 0x80 | 12, 44, 5, 0x04); /* 12 p.m. is noon */
	assert_int_equal(seconds(CENTURY), AT - 9 * 3600);
	show(0x21, 0x00, 0x02, 0x28, 0, 0, 0, 0x02); /* 2100 has no February 29 */
	assert_int_equal(seconds(CENTURY), 4107456000ull);
	assert_int_equal(seconds(0), 0); /* 2000: before RTC_YEAR_MIN */
	assert_string_equal(said, "rtc: the time of day is not known: the CMOS clock shows 0000-02-28 00:00:00\n");
}

static void an_update_in_between(void **s)
{
	(void)s;
	show(0x20, 0x26, 0x11, 0x29, 0x21, 0x44, 0x05, 0x02);
	update_at = 2; /* the second reading differs from the first, the third agrees */
	assert_int_equal(seconds(CENTURY), AT + 1);
	assert_int_equal(reads, 3);
	uip_left = 100;
	assert_int_equal(seconds(CENTURY), AT + 1);
	assert_int_equal(waited_us, 1000);
	reads = 0;
	update_at = update_every = 1;
	assert_int_equal(seconds(CENTURY), 0);
	assert_non_null(strstr(said, "changes too fast"));
	assert_int_equal(reads, READINGS);
}

static void not_there(void **s)
{
	(void)s;
	absent = true;
	assert_int_equal(seconds(CENTURY), 0);
	assert_non_null(strstr(said, "no CMOS clock, or it does not answer"));
	assert_true(waited_us <= 2 * UIP_MAX_US);
	const struct acpi none = {.no_rtc = true};
	setup(NULL);
	show(0x20, 0x26, 0x11, 0x29, 0x21, 0x44, 0x05, 0x02);
	assert_int_equal(rtc_read(&none), 0);
	assert_non_null(strstr(said, "firmware states"));
	cmos[13] = 0;
	assert_int_equal(seconds(CENTURY), 0);
	assert_non_null(strstr(said, "battery"));
	cmos[13] = 0x80;
	uip_left = 2000; /* it never ends */
	assert_int_equal(seconds(CENTURY), 0);
	assert_non_null(strstr(said, "does not answer"));
}

static void nonsense(void **s)
{
	(void)s;
	static const uint8_t wrong[][7] = {
		/* century, year, month, day, hour, minute, second */
		{0x20, 0x26, 0x13, 0x29, 0x21, 0x44, 0x05}, {0x20, 0x26, 0x00, 0x29, 0x21, 0x44, 0x05},
		{0x20, 0x26, 0x02, 0x29, 0x21, 0x44, 0x05}, {0x20, 0x26, 0x11, 0x31, 0x21, 0x44, 0x05},
		{0x20, 0x26, 0x11, 0x29, 0x24, 0x44, 0x05}, {0x20, 0x26, 0x11, 0x29, 0x21, 0x60, 0x05},
		{0x20, 0x26, 0x11, 0x29, 0x21, 0x44, 0x61}, {0x20, 0x2a, 0x11, 0x29, 0x21, 0x44, 0x05},
		{0x20, 0x26, 0x0b, 0x29, 0x21, 0x44, 0x05}, {0x20, 0x26, 0x11, 0x1d, 0x21, 0x44, 0x05},
		{0x20, 0x26, 0x11, 0x29, 0x1f, 0x44, 0x05}, {0x19, 0x80, 0x01, 0x01, 0x00, 0x00, 0x00},
		{0x20, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00}, {0x24, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00},
		{0x99, 0x99, 0x12, 0x31, 0x23, 0x59, 0x59}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	};
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		const uint8_t *w = wrong[i];
		said[0] = 0;
		show(w[0], w[1], w[2], w[3], w[4], w[5], w[6], 0x02);
		assert_int_equal(seconds(CENTURY), 0);
		assert_non_null(strstr(said, "the CMOS clock shows"));
	}
	show(20, 26, 11, 29, 0, 44, 5, 0x04); /* no hour 0 of 12 */
	assert_int_equal(seconds(CENTURY), 0);
	show(20, 26, 11, 29, 13, 44, 5, 0x04);
	assert_int_equal(seconds(CENTURY), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(forms, setup),
		cmocka_unit_test_setup(an_update_in_between, setup),
		cmocka_unit_test_setup(not_there, setup),
		cmocka_unit_test_setup(nonsense, setup),
	};
	return cmocka_run_group_tests_name("rtc", tests, NULL, NULL);
}
