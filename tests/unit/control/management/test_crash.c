/* kernel/crash, core/crash and control/crash: which reports are kept, that nobody reads half of
 * one, and which go to the console. */
#include "tests/unit/rig/host.h"

#include "control/management/crash.c"
#include "runtime/shared.h"
#include "kernel/crash.c"

static struct boot_info info;
struct boot_info *boot_info = &info;
struct core_self self;
struct coredump core_dump_area;
const struct nic_ops *const nic_drivers[] = {NULL};
const unsigned nic_driver_count;
static const struct control_hooks hooks;
static const struct app app = {.control = &hooks};
const struct app *core_app(void) { return &app; }
uint64_t host_tsc;

static uint64_t utc_ns; /* of every time; 0: not known */
uint64_t walltime_at(uint64_t now_ns) { return now_ns ? utc_ns : 0; }

/* a store of one value */
static struct {
	bool present;
	uint8_t at[1 << 18];
	size_t bytes; /* 0: no value */
} store;
bool storage_present(void) { return store.present; }
int storage_get(const char *name, const uint8_t **data, size_t *n)
{
	(void)name;
	*data = store.at;
	*n = store.bytes;
	return store.bytes ? E_OK : E_NOENT;
}
void storage_status(struct storage_status *s) { *s = (struct storage_status){.most = sizeof store.at * 8}; }
uint8_t *storage_behind(size_t *room)
{
	*room = sizeof store.at;
	return store.at;
}
int storage_put(const char *name, const void *data, size_t n, void (*done)(void *arg, int error), void *arg)
{
	(void)name, (void)done, (void)arg;
	assert_ptr_equal(data, store.at);
	store.bytes = n;
	return E_OK;
}

static char shown[12 * sizeof(struct crash)];
static size_t shown_bytes;

void shell_write(struct shell *sh, const char *text, size_t len)
{
	(void)sh;
	assert_true(shown_bytes + len < sizeof shown);
	memcpy(shown + shown_bytes, text, len);
	shown_bytes += len;
}

void shell_print(struct shell *sh, const char *format, ...)
{
	shell_write(sh, format, strlen(format));
}

void shell_stream(struct shell *sh, bool (*more)(struct shell *sh, void *at))
{
	uint64_t at[SHELL_STREAM_BYTES / 8] = {0};
	size_t before = shown_bytes;
	while (more(sh, at)) {
		assert_true(shown_bytes - before <= SHELL_STREAM_PIECE);
		before = shown_bytes;
	}
}

static void forget_shown(void)
{
	memset(shown, 0, sizeof shown);
	shown_bytes = 0;
}

static bool busy; /* a data core is being restarted */
static bool coming; /* it will be, and its packets go to others */

bool restart_busy(void) { return busy; }
bool recovery_is_coming(void) { return coming; }
static bool console_open; /* and takes whole reports */

bool control_log(const char *line)
{
	if (console_open) {
		shell_write(NULL, line, strlen(line));
		shell_write(NULL, "|", 1);
	}
	return console_open;
}

static unsigned noted; /* in the event log */

bool control_event(enum log_level level, const char *line)
{
	assert_int_equal(level, LOG_CRIT);
	assert_non_null(strstr(line, "failed and was started again"));
	noted++;
	return true;
}

void core_console_write(const char *text, size_t bytes) { shell_write(NULL, text, bytes); }
void core_log(const char *format, ...) { shell_write(NULL, format, strlen(format)); }
void core_log_at(enum log_level level, const char *format, ...)
{
	(void)level;
	shell_write(NULL, format, strlen(format));
}

static int setup(void **s)
{
	(void)s;
	memset(&info, 0, sizeof info);
	self = (struct core_self){.info = &info, .clock = clock_make(1000000000)};
	static struct core_shm shm;
	static struct event_ring ring;
	memset(&shm, 0, sizeof shm);
	memset(&ring, 0, sizeof ring);
	core_events = &ring;
	info.core[0].shm = (uint64_t)(uintptr_t)&shm;
	begun = shown_bytes = 0;
	busy = console_open = false;
	memset(writing, 0, sizeof writing);
	memset(shown, 0, sizeof shown);
	return 0;
}

static void crash(unsigned core, const char *text)
{
	struct crash *k = crash_begin(core);
	assert_non_null(k);
	k->tsc = 1234567890;
	crash_add(k, text, strlen(text));
	crash_end(k);
}

/* Reads the whole page, `room` bytes at a time. */
static bool read_page(size_t room)
{
	const struct page page = {.parts = page_crash};
	struct page_walk w = {0};
	for (bool more = true; more;) {
		char text[2048];
		struct page_text t = {.out = {.at = text, .size = room}};
		more = page_fill(&page, &w, &t);
		shell_write(NULL, text, t.out.used);
		if (t.broken)
			return false;
	}
	return true;
}

static void none(void **s)
{
	(void)s;
	show_crash(NULL);
	assert_string_equal(shown, "no program has failed since boot\n");
	shown_bytes = 0;
	assert_true(read_page(2048));
	assert_string_equal(shown, "no program has failed since boot\n");
}

/* What the store has of an earlier boot is shown as long as this boot has no reports. */
static void in_the_store(void **s)
{
	(void)s;
	store.present = true;
	crash(3, "C\n");
	crash_timer();
	show_crash(NULL);
	assert_string_equal(shown, "crash 1: core 3, 1.234 s after boot\nC\n");
	forget_shown();
	memset(info.crash, 0, sizeof info.crash);
	show_crash(NULL);
	assert_string_equal(shown, "reports of an earlier boot:\ncrash 1: core 3, 1.234 s after boot\nC\n");
	store.present = false;
	store.bytes = 0;
}

static void time_of_day(void **s)
{
	(void)s;
	utc_ns = 1795988645123456789ull;
	crash(2, "B\n");
	show_crash(NULL);
	assert_string_equal(shown, "crash 1: core 2, 1.234 s after boot, 2026-11-29T21:44:05.123Z\nB\n");
	utc_ns = 0;
}

static void first_and_last(void **s)
{
	const char *expected = "crash 1: core 1, 1.234 s after boot\nA\n"
	                       "crash 7: core 7, 1.234 s after boot\nG\n"
	                       "crash 8: core 8, 1.234 s after boot\nH\n"
	                       "crash 9: core 9, 1.234 s after boot\nI\n";
	(void)s;
	for (unsigned i = 1; i <= 9; i++)
		crash(i, (char[]){(char)('A' + i - 1), '\n', '\0'});
	show_crash(NULL);
	assert_string_equal(shown, expected);
	forget_shown();
	assert_true(read_page(2048));
	assert_string_equal(shown, expected);
}

/* The cause of the last boot's end comes first, whole, on both paths. */
static void last_boot(void **s)
{
	static char expected[2 * BOOT_BEFORE_MAX];
	(void)s;
	for (size_t bytes = 1; bytes <= BOOT_BEFORE_MAX; bytes += bytes < 4000 ? 647 : 81) {
		info.before.bytes = bytes;
		for (size_t i = 0; i < bytes; i++)
			info.before.text[i] = (char)('a' + i % 26);
		snprintf(expected, sizeof expected, "the last boot ended in a failure; its report:\n%.*s"
		         "end of the last boot's report\n%s", (int)bytes, info.before.text,
		         begun == 0 ? "no program has failed since boot\n"
		                    : "crash 1: core 2, 1.234 s after boot\nA\n");
		forget_shown();
		show_crash(NULL);
		assert_string_equal(shown, expected);
		forget_shown();
		assert_true(read_page(1280));
		assert_string_equal(shown, expected);
		if (begun == 0)
			crash(2, "A\n");
	}
}

/* A report that is too long is truncated, and a page of long reports is complete. */
static void long_reports(void **s)
{
	static char text[2 * CRASH_TEXT_MAX], console[sizeof shown];
	(void)s;
	for (size_t i = 0; i + 1 < sizeof text; i++)
		text[i] = (char)('a' + i % 26);
	for (unsigned i = 1; i <= CRASHES_MAX; i++)
		crash(i, text);
	crash_add(NULL, text, 10); /* a report that is not kept */
	crash_end(NULL);
	show_crash(NULL);
	assert_true(shown_bytes > CRASHES_MAX * CRASH_TEXT_MAX);
	assert_true(shown_bytes < CRASHES_MAX * sizeof(struct crash) + 100);
	memcpy(console, shown, sizeof shown);
	shown_bytes = 0;
	assert_true(read_page(1280));
	assert_memory_equal(console, shown, sizeof shown);
	unsigned cut = 0;
	for (const char *at = shown; (at = strstr(at, REPORT_CUT)); at++)
		cut++;
	assert_int_equal(cut, CRASHES_MAX);
}

static void half_written(void **s)
{
	(void)s;
	crash(1, "one\n");
	struct crash *second = crash_begin(2);
	crash_add(second, "half", 4);
	for (unsigned i = 0; i < 2; i++) /* 3 and 4 */
		crash(3, "more\n");
	assert_null(crash_begin(4)); /* 5, in place of 2 */
	show_crash(NULL);
	assert_null(strstr(shown, "half"));
	assert_non_null(strstr(shown, "crash 4: "));
	crash_end(second);
	shown_bytes = 0;
	show_crash(NULL);
	assert_non_null(strstr(shown, "crash 2: core 2, "));
}

/* The report that is being sent is overwritten: its reader must notice. */
static void overwritten(void **s)
{
	static char text[2 * PIECE_MAX + 1];
	const struct page page = {.parts = page_crash};
	struct page_walk w = {0};
	uint64_t at[SHELL_STREAM_BYTES / 8] = {0};
	char room[PAGE_ITEM_MAX];
	(void)s;
	memset(text, 'x', sizeof text - 1);
	for (unsigned i = 1; i <= 2; i++)
		crash(i, text);
	for (unsigned i = 0; i < 2 + 2 * 2; i++) { /* the first, and more of the second than it is */
		struct page_text t = {.out = {.at = room, .size = sizeof room}};
		assert_true(page.parts[0](&w, &t));
		assert_true(more_crash(NULL, at));
		w.item++;
	}
	for (unsigned i = 0; i < CRASHES_MAX - 1; i++)
		crash(3, text);
	struct page_text t = {.out = {.at = room, .size = sizeof room}};
	assert_false(page_fill(&page, &w, &t));
	assert_true(t.broken);
	forget_shown();
	assert_true(more_crash(NULL, at));
	assert_string_equal(shown, "%% a later report has replaced this one\n");
	forget_shown();
	assert_true(more_crash(NULL, at));
	assert_string_equal(shown, "crash 3: core 3, 1.234 s after boot\n");
}

/* Reports of data cores, whole, once each, and not before the core that failed forwards again; what
 * the kernel has printed itself is not repeated. */
static void printed_once(void **s)
{
	(void)s;
	info.cores = 3;
	info.core[0].roles = CORE_CONTROL;
	info.core[1].roles = info.core[2].roles = CORE_DATA;
	crash(1, "*** one\n  two\n");
	crash(0, "*** the kernel's\n");
	coming = true;
	crash_turn();
	assert_int_equal(shown_bytes, 0);
	busy = true;
	crash_turn();
	coming = false;
	crash_turn();
	assert_int_equal(shown_bytes, 0);
	busy = false;
	crash_turn();
	crash_turn();
	assert_string_equal(shown, "\r\n*** one\r\n  two\r\n");
	forget_shown();
	for (unsigned i = 0; i < 5; i++)
		crash(2, "*** again\n");
	crash_turn();
	assert_string_equal(shown, "\r\n*** again\r\n"
	                           "reports of %llu failures are missing here\r\n*** again\r\n"
	                           "reports of %llu failures are missing here\r\n*** again\r\n");
}

/* A program's data follow its report; where the kernel has printed the report they are printed
 * alone. */
static void printed_with_what_is_left(void **s)
{
	(void)s;
	info.cores = 2;
	info.core[0].roles = CORE_CONTROL;
	info.core[1].roles = CORE_DATA;
	for (unsigned core = 0; core < 2; core++) {
		struct crash *k = crash_begin(core);
		crash_add(k, "*** what\n", 9);
		k->pkts = COREDUMP_PKTS;
		for (unsigned i = 0; i < COREDUMP_PKTS; i++)
			k->pkt[i] = (struct coredump_pkt){.handle.buf = i};
		crash_end(k);
	}
	crash_turn();
	assert_ptr_equal(strstr(shown, "*** what the program of core %u had left:  packets"), shown);
	assert_non_null(strstr(shown, "  8 port 0, 0 bytes: not readable\r\n  ... and 56 more: show crash\r\n"
	                              "\r\n*** what\r\n  packets received last"));
	forget_shown();
	show_crash(NULL);
	assert_non_null(strstr(shown, " 64 port 0, 0 bytes: not readable\ncrash 2: "));
	static char console[sizeof shown];
	memcpy(console, shown, sizeof shown);
	forget_shown();
	assert_true(read_page(1280));
	assert_string_equal(shown, console);
}

/* The console gets each report, and the data after it, as one text: the row that is being typed is shown again once. */
static void printed_on_the_console(void **s)
{
	(void)s;
	console_open = true;
	info.cores = 3;
	info.core[0].roles = CORE_CONTROL;
	info.core[1].roles = info.core[2].roles = CORE_DATA;
	struct crash *k = crash_begin(1);
	crash_add(k, "*** one\n  two", 13);
	k->pkts = 1;
	crash_end(k);
	crash(2, "*** another\n");
	crash_turn();
	const char *expected = "\n*** one\n  two\n  packets received last";
	assert_memory_equal(shown, expected, strlen(expected));
	expected = "bytes: not readable\n|\n*** another\n|";
	assert_string_equal(shown + shown_bytes - strlen(expected), expected);
	forget_shown();
	k = crash_begin(1); /* more than is given to the console at a time */
	for (unsigned i = 0; i < CRASH_TEXT_MAX / 8; i++)
		crash_add(k, "*** two\n", 8);
	k->pkts = COREDUMP_PKTS;
	for (unsigned i = 0; i < COREDUMP_PKTS; i++)
		k->pkt[i] = (struct coredump_pkt){.handle.buf = i};
	crash_end(k);
	crash_turn();
	assert_non_null(strstr(shown, "  ... and 56 more: show crash\n|"));
}

/* Two cores fail at the same time, and the second recovers first. */
static void printed_as_they_end(void **s)
{
	(void)s;
	info.cores = 3;
	info.core[1].roles = info.core[2].roles = CORE_DATA;
	struct crash *first = crash_begin(1), *second = crash_begin(2);
	crash_add(second, "*** second\n", 11);
	crash_end(second);
	crash_turn();
	assert_string_equal(shown, "\r\n*** second\r\n");
	crash_add(first, "*** first\n", 10);
	crash_end(first);
	crash_turn();
	crash_turn();
	assert_string_equal(shown, "\r\n*** second\r\n\r\n*** first\r\n");
}

/* Longer than any line of a report should be; without a newline at its end. */
static void odd_reports(void **s)
{
	(void)s;
	static char text[3000];
	size_t letters = 0;
	memset(text, 'x', sizeof text - 1);
	info.cores = 2;
	info.core[1].roles = CORE_DATA;
	crash(1, text);
	crash_turn();
	for (size_t i = 0; i < shown_bytes; i++)
		letters += shown[i] == 'x';
	assert_int_equal(letters, sizeof text - 1);
	assert_memory_equal(shown + shown_bytes - 2, "\r\n", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_the_store, setup), cmocka_unit_test_setup(time_of_day, setup),
		cmocka_unit_test_setup(none, setup),         cmocka_unit_test_setup(first_and_last, setup),
		cmocka_unit_test_setup(last_boot, setup),    cmocka_unit_test_setup(printed_once, setup),
		cmocka_unit_test_setup(printed_as_they_end, setup),
		cmocka_unit_test_setup(printed_with_what_is_left, setup),
		cmocka_unit_test_setup(printed_on_the_console, setup),
		cmocka_unit_test_setup(odd_reports, setup),
		cmocka_unit_test_setup(long_reports, setup), cmocka_unit_test_setup(half_written, setup),
		cmocka_unit_test_setup(overwritten, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
