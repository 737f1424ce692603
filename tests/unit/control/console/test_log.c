/*
 * The event log (control/console/log.h): order and bound, what a new control program finds, also of a damaged ring, repeated
 * messages, too many messages, levels.
 */
#include "tests/unit/rig/host.h"

#include "control/console/log.c"

#define SECOND 1000000000ull

struct core_self self;
uint64_t host_tsc;
static struct boot_info info;
static _Alignas(64) uint8_t memory[sizeof(struct ring)];
static size_t piece; /* bytes of the kept piece; 0: there is none */
static bool refuse;
static char console[64 * LOG_TEXT];

uint64_t core_now_ns(void) { return host_tsc; }
uint64_t walltime_ns(void) { return 2 * host_tsc; }

void *core_persist_alloc(enum core_persist what, size_t bytes)
{
	assert_int_equal(what, CORE_PERSIST_LOG);
	assert_true(bytes <= sizeof memory);
	if (refuse)
		return NULL;
	piece = bytes;
	return memset(memory, 0, sizeof memory);
}

void *core_persist_find(enum core_persist what, size_t *bytes)
{
	assert_int_equal(what, CORE_PERSIST_LOG);
	*bytes = piece;
	return piece ? memory : NULL;
}

void console_log(const char *format, ...)
{
	va_list args;
	const size_t n = strlen(console);
	va_start(args, format);
	vsnprintf(console + n, sizeof console - n, format, args);
	va_end(args);
	strncat(console, "\n", sizeof console - strlen(console) - 1);
}

/* The control program starts; what is in `memory` stays. */
static void start_program(void)
{
	memset(&kept_log, 0, sizeof kept_log);
	kept_log.next = 1;
	kept_log.levels = (struct log_levels){LOG_DEBUG, LOG_DEBUG, LOG_NONE};
	console[0] = 0;
}

static int setup(void **state)
{
	(void)state;
	piece = 0;
	refuse = false;
	host_tsc = 1000 * SECOND;
	info.tsc_boot = 900 * SECOND;
	self = (struct core_self){.info = &info, .clock = clock_make(1000000000)};
	start_program();
	return 0;
}

/* The texts that are kept, each with "|" behind it. */
static const char *kept(void)
{
	static char text[LOG_RECORDS * 64];
	const struct log_record *r;
	text[0] = 0;
	for (uint64_t at = 0; (r = log_next(&at)); ) {
		assert_int_equal(at, r->number + 1);
		strcat(strcat(text, r->text), "|");
	}
	return text;
}

static void in_order(void **state)
{
	(void)state;
	log_event(LOG_ERR, "LINK-UPDOWN", "eth%u: link %s", 3, "down");
	host_tsc += SECOND;
	log_event(LOG_NOTICE, "CONFIG", "committed");
	assert_string_equal(kept(), "eth3: link down|committed|");
	assert_string_equal(console, "eth3: link down\ncommitted\n");
	uint64_t at = 0;
	const struct log_record *r = log_next(&at);
	assert_int_equal(r->level, LOG_ERR);
	assert_string_equal(r->facility, "LINK-UPDOWN");
	assert_int_equal(r->since_boot_ns, 100 * SECOND);
	assert_int_equal(r->utc_ns, 2000 * SECOND);
	assert_int_equal(log_next(&at)->since_boot_ns, 101 * SECOND);
	assert_null(log_next(&at));
	assert_int_equal(at, log_head());
	assert_int_equal(log_stats()->messages[LOG_ERR], 1);
}

/* The last LOG_RECORDS are there; a reader that is late learns how many it has lost. */
static void bounded(void **state)
{
	(void)state;
	uint64_t at = 1;
	for (unsigned i = 1; i <= 3 * LOG_RECORDS; i++, host_tsc += SECOND)
		log_event(LOG_INFO, "TEST", "message %u", i);
	const struct log_record *r = log_next(&at);
	assert_int_equal(r->number, 2 * LOG_RECORDS + 1);
	assert_string_equal(r->text, "message 1025");
	unsigned n = 1;
	for (uint64_t expected = r->number + 1; (r = log_next(&at)); n++)
		assert_int_equal(r->number, expected++);
	assert_int_equal(n, LOG_RECORDS);
}

static void outlives_the_program(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= LOG_RECORDS + 7; i++, host_tsc += SECOND)
		log_event(LOG_INFO, "TEST", "message %u", i);
	log_clear();
	log_event(LOG_INFO, "TEST", "the last of it");
	const uint64_t head = log_head();
	start_program();
	assert_int_equal(log_head(), head);
	log_event(LOG_INFO, "TEST", "the first");
	uint64_t at = log_first_shown();
	assert_string_equal(log_next(&at)->text, "the last of it");
	assert_string_equal(log_next(&at)->text, "the first");
	assert_null(log_next(&at));
	at = 0;
	assert_string_equal(log_next(&at)->text, "message 10");
}

/* A damaged place is left out, whatever it contains; so is one that was being written when the program failed. */
static void damaged(void **state)
{
	(void)state;
	seed_random("log damaged");
	for (unsigned round = 0; round < 500; round++) {
		setup(state);
		for (unsigned i = 1; i <= 20; i++)
			log_event(LOG_INFO, "TEST", "message %u", i);
		struct ring *ring = kept_log.ring;
		const unsigned hit = 1 + random_below(20);
		uint8_t *bytes = (uint8_t *)&ring->place[hit];
		bytes[random_below(sizeof ring->place[hit])] ^= (uint8_t)(1u << random_below(8));
		start_program();
		unsigned n = 0;
		const struct log_record *r;
		for (uint64_t at = 0; (r = log_next(&at)); n++)
			assert_int_not_equal(r->number, hit);
		assert_int_equal(n, 19);
		log_event(LOG_INFO, "TEST", "goes on");
		assert_int_equal(log_head(), hit == 20 ? 21 : 22);
	}
	random_fill(memory, sizeof memory); /* all of it */
	start_program();
	assert_string_equal(kept(), "");
	log_event(LOG_INFO, "TEST", "goes on");
	assert_string_equal(kept(), "goes on|");
}

static void without_memory(void **state)
{
	(void)state;
	refuse = true;
	log_event(LOG_INFO, "TEST", "to the console alone");
	assert_string_equal(console, "to the console alone\n");
	assert_string_equal(kept(), "");
	assert_int_equal(log_first_shown(), 0);
	log_clear();
	assert_int_equal(log_timer(), UINT64_MAX);
}

/* A repeated message is counted, and told by the next other one, or after LOG_REPEAT_NS. */
static void repeated(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		log_event(LOG_INFO, "TEST", "again");
	assert_string_equal(console, "again\nagain\nagain\nagain\n");
	assert_string_equal(kept(), "again|");
	log_event(LOG_INFO, "TEST", "other");
	assert_string_equal(kept(), "again|last message repeated 3 times|other|");
	log_event(LOG_INFO, "TEST", "other");
	assert_int_equal(log_timer(), host_tsc + LOG_REPEAT_NS);
	host_tsc += LOG_REPEAT_NS - 1;
	assert_int_equal(log_timer(), host_tsc + 1);
	host_tsc++;
	assert_int_equal(log_timer(), UINT64_MAX);
	assert_string_equal(kept(), "again|last message repeated 3 times|other|last message repeated 1 time|");
	assert_int_equal(log_stats()->repeated, 4);
	log_event(LOG_WARNING, "TEST", "other"); /* another level is another message */
	log_event(LOG_WARNING, "OTHER", "other");
	assert_int_equal(log_stats()->repeated, 4);
}

/* A facility that sends too much is limited, and no other. How much was lost is told. */
static void limited(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LOG_BURST + 50; i++)
		log_event(LOG_INFO, "FLOOD", "%u", i);
	assert_int_equal(log_stats()->suppressed, 50);
	assert_int_equal(log_head(), LOG_BURST + 1);
	log_event(LOG_INFO, "TEST", "is heard");
	assert_int_equal(log_head(), LOG_BURST + 2);
	const uint64_t due = log_timer();
	assert_int_equal(due, host_tsc + LOG_BURST / 2 * TOKEN_NS);
	host_tsc = due;
	assert_int_equal(log_timer(), UINT64_MAX);
	uint64_t at = log_head() - 1;
	assert_string_equal(log_next(&at)->text, "50 messages of FLOOD were too many, and are lost");
	log_event(LOG_INFO, "FLOOD", "again");
	assert_int_equal(log_stats()->suppressed, 50);
}

/* More facilities than have a limit of their own share one. */
static void many_facilities(void **state)
{
	static char name[2 * FACILITIES][8];
	(void)state;
	for (unsigned i = 0; i < 2 * FACILITIES; i++) {
		snprintf(name[i], sizeof name[i], "F%u", i);
		for (unsigned k = 0; k < LOG_BURST; k++)
			log_event(LOG_DEBUG, name[i], "%u", k);
	}
	assert_int_equal(log_stats()->messages[LOG_DEBUG], (FACILITIES + 1) * LOG_BURST);
}

static void levels(void **state)
{
	(void)state;
	log_set_levels(&(struct log_levels){LOG_ERR, LOG_WARNING, LOG_NONE});
	log_event(LOG_NOTICE, "TEST", "notice");
	log_event(LOG_WARNING, "TEST", "warning");
	log_event(LOG_ERR, "TEST", "error");
	assert_string_equal(console, "error\n");
	assert_string_equal(kept(), "warning|error|");
	log_set_levels(&(struct log_levels){LOG_NONE, LOG_NONE, LOG_INFO});
	log_event(LOG_INFO, "TEST", "info");
	log_event(LOG_DEBUG, "TEST", "debug");
	assert_string_equal(console, "error\n");
	assert_string_equal(kept(), "warning|error|info|");
	log_set_levels(&(struct log_levels){LOG_DEBUG, LOG_NONE, LOG_NONE});
	assert_true(log_runtime(LOG_DEBUG, "a line of the runtime"));
	assert_true(log_runtime((enum log_level)77, "a line of a core that fails"));
	assert_int_equal(log_level_of("warnings"), LOG_WARNING);
	assert_int_equal(log_level_of("4"), LOG_WARNING);
	assert_int_equal(log_level_of("8"), LOG_LEVELS);
	assert_int_equal(log_level_of("44"), LOG_LEVELS);
	assert_int_equal(log_level_of(""), LOG_LEVELS);
	for (enum log_level l = 0; l < LOG_LEVELS; l++)
		assert_int_equal(log_level_of(log_level_word(l)), l);
}

/* A neighbour's name cannot make a line of its own, and no message is longer than a place. */
static void untrusted_text(void **state)
{
	char longer[2 * LOG_TEXT];
	(void)state;
	log_event(LOG_INFO, "TEST", "name %s", "a\r\nforged\x1b[2J\x7f\xff");
	assert_string_equal(kept(), "name a??forged?[2J??|");
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = 0;
	log_event(LOG_INFO, "TEST", "%s", longer);
	uint64_t at = 2;
	assert_int_equal(strlen(log_next(&at)->text), LOG_TEXT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_order, setup),
		cmocka_unit_test_setup(bounded, setup),
		cmocka_unit_test_setup(outlives_the_program, setup),
		cmocka_unit_test_setup(damaged, setup),
		cmocka_unit_test_setup(without_memory, setup),
		cmocka_unit_test_setup(repeated, setup),
		cmocka_unit_test_setup(limited, setup),
		cmocka_unit_test_setup(many_facilities, setup),
		cmocka_unit_test_setup(levels, setup),
		cmocka_unit_test_setup(untrusted_text, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
