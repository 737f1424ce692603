/* abi/coredump.h, kernel/coredump and runtime/coredump: which packets a report lists, that nothing
 * in a failed program is trusted, and the report's text. */
#include "tests/unit/rig/host.h"

#include "runtime/coredump.c"
#include "kernel/coredump.c"

#define PACKETS 1000

struct ring {
	uint32_t head;
	uint8_t flag;
};
static const struct nic_word words[] = {NIC_WORD(struct ring, head), NIC_WORD(struct ring, flag), {0}};
static const struct nic_ops ringed = {.name = "ringed", .words = words}, plain = {.name = "plain"};
const struct nic_ops *const nic_drivers[] = {&plain, &ringed};
const unsigned nic_driver_count = 2;

struct core_self self;
uint64_t host_tsc;
static struct boot_info info;
static struct control_hooks hooks;
static const struct app app = {.control = &hooks};
const struct app *core_app(void) { return &app; }
static struct event_ring ring;
static bool readable = true; /* the ring is in the program's memory */

struct coredump core_dump_area;
#define program core_dump_area
static _Alignas(64) uint8_t arena[PACKETS][COREDUMP_HEADER + 1]; /* the last packet ends with it */
static bool found; /* the program has such a symbol */

uint64_t program_symbol(const char *name)
{
	if (strcmp(name, "core_events") == 0)
		return found ? (uint64_t)(uintptr_t)&core_events : 0;
	assert_string_equal(name, "core_dump_area");
	return found ? (uint64_t)(uintptr_t)&program : 0;
}

static bool lies_in(uint64_t virt, size_t bytes, const void *at, size_t size)
{
	uint64_t offset = virt - (uint64_t)(uintptr_t)at;
	return offset <= size && bytes <= size - offset;
}

static bool is_memory(uint64_t virt, size_t bytes)
{
	return lies_in(virt, bytes, &program, sizeof program) || lies_in(virt, bytes, arena, sizeof arena) ||
	       lies_in(virt, bytes, &core_events, sizeof core_events) ||
	       (readable && lies_in(virt, bytes, &ring, sizeof ring));
}

bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes)
{
	assert_int_equal(space, 7);
	if (!is_memory(virt, bytes))
		return false;
	memcpy(dst, (const void *)(uintptr_t)virt, bytes);
	return true;
}

static int setup(void **s)
{
	(void)s;
	memset(&program, 0, sizeof program);
	memset(&ring, 0, sizeof ring);
	core_events = &ring;
	self = (struct core_self){.info = &info, .clock = clock_make(1000000000)};
	found = true;
	return 0;
}

static struct coredump_handle *receive(struct coredump_handle h)
{
	struct coredump_handle *at = &program.v[program.next];
	*at = h;
	return at;
}

/* One more packet, alone in its vector. */
static void receive_one(unsigned buf, const uint8_t *frame, unsigned len)
{
	if (frame)
		memcpy(arena[buf], frame, len < sizeof arena[0] ? len : sizeof arena[0]);
	receive((struct coredump_handle){(uint64_t)(uintptr_t)arena[buf], buf, (uint16_t)len, 0, 3});
	coredump_note(&program, 1);
}

/* In vectors of any size, and while a vector is processed: the last packets are there, in order. */
static void the_last_are_there(void **s)
{
	(void)s;
	seed_random("the_last_are_there");
	for (unsigned kind = 0; kind < 4; kind++) {
		const unsigned most[] = {1, 5, 64, COREDUMP_VECTOR};
		uint32_t received = 0;
		setup(NULL);
		for (unsigned turns = 0; turns < 3000; turns++) {
			unsigned n = turns % 7 == 0 ? most[kind] : 1 + random_below(most[kind]);
			assert_true(program.next + COREDUMP_VECTOR <= ARRAY_LEN(program.v));
			for (unsigned i = 0; i < n; i++)
				program.v[program.next + i] = (struct coredump_handle){
					(uint64_t)(uintptr_t)arena, received++, 60, 0, 1};
			coredump_note(&program, n);
			static struct crash c;
			coredump_copy(7, &c);
			assert_int_equal(c.pkts, received < COREDUMP_PKTS ? received : COREDUMP_PKTS);
			for (uint32_t i = 0; i < c.pkts; i++)
				assert_int_equal(c.pkt[i].handle.buf, received - 1 - i);
		}
	}
}

/* Before the ring is used for the second time there are no older handles, nor if the program says nonsense. */
static void none_older(void **s)
{
	static struct crash c;
	(void)s;
	for (unsigned i = 0; i < 10; i++)
		receive_one(i, NULL, 60);
	for (program.end = 0; program.end <= program.next; program.end++) {
		coredump_copy(7, &c);
		assert_int_equal(c.pkts, 10);
		assert_true(c.pkt[0].handle.buf == 9 && c.pkt[9].handle.buf == 0);
	}
	coredump_copy(7, &c); /* one more than is new */
	assert_int_equal(c.pkts, 11);
}

static void nothing_is_believed(void **s)
{
	(void)s;
	static struct crash c;
	seed_random("nothing_is_believed");
	for (unsigned turns = 0; turns < 2000; turns++) {
		random_fill(&program, sizeof program);
		random_fill(&c, sizeof c);
		if (turns % 4) {
			program.next = random_below(2 * ARRAY_LEN(program.v));
			program.end = random_below(2 * ARRAY_LEN(program.v));
		}
		for (unsigned i = 0; i < ARRAY_LEN(program.v); i++)
			if (random_below(2))
				program.v[i].data = (uint64_t)(uintptr_t)arena + random_below(2 * sizeof arena);
		program.parts = random_below(2 * COREDUMP_PARTS);
		for (unsigned i = 0; i < COREDUMP_PARTS; i++) {
			if (random_below(8))
				program.part[i].address = (uint64_t)(uintptr_t)arena;
			if (random_below(8))
				program.part[i].bytes = random_below(random_below(8) ? 256 : 9000);
		}
		coredump_copy(7, &c);
		assert_true(c.pkts <= COREDUMP_PKTS && c.parts <= COREDUMP_PARTS);
		size_t used = 0;
		for (unsigned i = 0; i < c.parts; i++)
			used += align_up(c.part[i].bytes, 8);
		assert_true(used <= COREDUMP_STATE);
		for (unsigned i = 0; i < c.pkts; i++) {
			const struct coredump_pkt *p = &c.pkt[i];
			unsigned n = p->handle.len < COREDUMP_HEADER ? p->handle.len : COREDUMP_HEADER;
			assert_int_equal(p->bytes, is_memory(p->handle.data, n) ? n : 0);
		}
	}
	found = false;
	coredump_copy(7, &c);
	assert_int_equal(c.pkts, 0);
}

/* --- text --- */

static char shown[65536];

/* All pieces, each of whole lines. */
static const char *show(const struct crash *c, unsigned most)
{
	size_t used = 0, n;
	char text[CORE_CRASH_PIECE];
	unsigned i = 0;
	for (; (n = core_crash_piece(c, i, most, text)); i++) {
		assert_true(n < CORE_CRASH_PIECE && text[n - 1] == '\n');
		assert_true(i <= COREDUMP_PARTS + 1 + COREDUMP_PKTS + 1 + EVENTS_KEPT);
		memcpy(shown + used, text, n);
		used += n;
	}
	assert_int_equal(core_crash_piece(c, i + 1, most, text), 0);
	shown[used] = 0;
	return shown;
}

#define ETH "\2\0\0\0\0\1\2\0\0\0\0\2"

static bool code_name(uint64_t at, uint64_t tsc, char *text, size_t size)
{
	assert_int_equal(tsc, 99);
	if (at != CODE_WINDOW + 0x45)
		return false;
	fmt_format(text, size, "program drop of filter, instruction %u", 17u);
	return true;
}

/* The XDP program that ran comes first, by the name that the control plane knows. */
static void text_of_code(void **s)
{
	static struct crash c;
	(void)s;
	c.tsc = 99;
	c.code = CODE_WINDOW - 1; /* not code */
	assert_string_equal(show(&c, 64), "");
	c.code = CODE_WINDOW + 0x45;
	hooks.code_name = NULL;
	assert_string_equal(show(&c, 64), "  xdp code+0x45: no program is known there\n");
	hooks.code_name = code_name;
	assert_string_equal(show(&c, 64), "  xdp code+0x45: program drop of filter, instruction 17\n");
	c.code++;
	coredump_keep(COREDUMP_WAITING, 1, 0, arena, 8);
	coredump_copy(7, &c);
	assert_string_equal(show(&c, 64), "  xdp code+0x46: no program is known there\n"
	                                  "      waiting 0, offered before 0\n");
}

static void text_of_frames(void **s)
{
	(void)s;
	static struct crash c;
	static const uint8_t udp[] = ETH "\x08\0" "\x45\0\0\x20\0\0\0\0\x40\x11\0\0\xc6\x33\x64\1\xc0\0\2\2"
	                             "\x03\xe8\0\x35";
	static const uint8_t piece[] = ETH "\x08\0" "\x45\0\0\x20\0\0\0\2\x40\x11\0\0\xc6\x33\x64\1\xc0\0\2\2"
	                               "abcd";
	static const uint8_t six[] = ETH "\x81\0\0\7\x86\xdd" "\x60\0\0\0\0\4\x06\x3f"
	                             "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
	                             "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2";
	static const uint8_t arp[] = ETH "\x08\6" "\0\1\x08\0\6\4\0\1" "\2\0\0\0\0\2\x0a\0\0\1"
	                             "\0\0\0\0\0\0\x0a\0\0\2";
	coredump_copy(7, &c);
	assert_string_equal(show(&c, 64), "");
	receive_one(1, udp, sizeof udp - 1);
	receive_one(2, piece, sizeof piece - 1);
	receive_one(3, six, sizeof six - 1);
	receive_one(4, arp, sizeof arp - 1);
	receive_one(5, (const uint8_t *)ETH "\x88\xcc", 14);
	receive_one(1, NULL, 9000);
	receive((struct coredump_handle){0x1234, 6, 60, 0, 0});
	coredump_note(&program, 1);
	coredump_copy(7, &c);
	assert_string_equal(show(&c, 64),
		"  packets received last, the newest first, as their buffers were then:\n"
		"    1 port 0, 60 bytes: not readable\n"
		"    2 port 3, 9000 bytes: 198.51.100.1 > 192.0.2.2 UDP 1000 > 53 ttl 64\n"
		"      02000000 00010200 00000002 08004500 00200000 00004011 0000c633 6401c000 "
		"020203e8 00350000 00000000 00000000 00000000 00000000 00000000 00000000\n"
		"    3 port 3, 14 bytes: type 88cc\n"
		"      02000000 00010200 00000002 88cc\n"
		"    4 port 3, 42 bytes: ARP 10.0.0.1 > 10.0.0.2 operation 1\n"
		"      02000000 00010200 00000002 08060001 08000604 00010200 00000002 0a000001 "
		"00000000 00000a00 0002\n"
		"    5 port 3, 58 bytes: vlan 7 2001:db8::1 > 2001:db8::2 TCP hop limit 63\n"
		"      02000000 00010200 00000002 81000007 86dd6000 00000004 063f2001 0db80000 "
		"00000000 00000000 00012001 0db80000 00000000 00000000 0002\n"
		"    6 port 3, 38 bytes: 198.51.100.1 > 192.0.2.2 UDP ttl 64 fragment\n"
		"      02000000 00010200 00000002 08004500 00200000 00024011 0000c633 6401c000 "
		"02026162 6364\n"
		"    7 port 3, 38 bytes: in the buffer of 2\n");
	assert_non_null(strstr(show(&c, 2), "\n  ... and 5 more: show crash\n"));
	assert_null(strstr(shown, "88cc"));
}

static unsigned count_lines(const char *text, const char *with)
{
	unsigned n = 0;
	for (; (text = strstr(text, with)); text++)
		n++;
	return n;
}

/* The last events follow: on a serial line 32 of them, otherwise all that are kept. Nothing in the
 * ring is trusted. */
static void events_follow(void **s)
{
	(void)s;
	static struct crash c;
	for (unsigned i = 0; i < 300; i++) {
		host_tsc = i * 1000000ull + 500;
		core_event(EVENT_link, i, 1);
	}
	coredump_copy(7, &c);
	show(&c, 8);
	assert_int_equal(count_lines(shown, " link port "), 32);
	assert_ptr_equal(strstr(shown, "  events, the newest at the end:\n"
	                               "       0.268000 link port 268 up 1\n"), shown);
	show(&c, 64);
	assert_int_equal(count_lines(shown, " link port "), EVENTS_KEPT);
	assert_non_null(strstr(shown, " link port 44 up 1\n"));
	assert_non_null(strstr(shown, "  0.299000 link port 299 up 1\n"));
	receive((struct coredump_handle){0x1234, 6, 60, 0, 0});
	coredump_note(&program, 1);
	coredump_copy(7, &c);
	assert_ptr_equal(strstr(show(&c, 64), "  packets received last"), shown);
	assert_int_equal(count_lines(shown, " link port "), EVENTS_KEPT);
	seed_random("events_follow");
	for (unsigned turns = 0; turns < 200; turns++) {
		random_fill(&ring, sizeof ring);
		coredump_copy(7, &c);
		show(&c, 64);
	}
	readable = false;
	coredump_copy(7, &c);
	assert_int_equal(c.events.count, 0);
	readable = true;
	core_events = NULL;
	coredump_copy(7, &c);
	assert_int_equal(c.events.count, 0);
}

/* Memory that the program has registered, and the text about it. */
static void text_of_queues(void **s)
{
	(void)s;
	static struct crash c;
	struct {
		struct bufpool pool;
		struct nic_queue queue, other;
		struct nic_counters counted;
		uint32_t waiting[2];
	} *m = (void *)arena;
	memset(m, 0, sizeof *m);
	m->pool = (struct bufpool){.free = 3, .count = 16};
	*(struct ring *)(void *)m->queue.priv = (struct ring){4294967295u, 1};
	m->other.broken = true;
	m->counted = (struct nic_counters){.rx_pkts = 5, .mmio_writes = 7};
	m->waiting[0] = 9;
	coredump_keep(COREDUMP_POOL, 0, 0, &m->pool, sizeof m->pool);
	coredump_keep(COREDUMP_QUEUE, 2, 1, &m->queue, sizeof m->queue);
	coredump_keep(COREDUMP_COUNTED, 2, 1, &m->counted, sizeof m->counted);
	coredump_keep(COREDUMP_WAITING, 2, 1, m->waiting, sizeof m->waiting);
	coredump_keep(COREDUMP_QUEUE, 3, 0, &m->other, sizeof m->other);
	coredump_keep(COREDUMP_QUEUE, 4, 9, &m->other, 1); /* no driver, and nothing more about it */
	coredump_copy(7, &c);
	assert_string_equal(show(&c, 64), "  buffers: 3 of 16 free\n"
	                                  "  port 2 ringed: head 4294967295 flag 1\n"
	                                  "      rx_pkts 5 mmio_writes 7\n"
	                                  "      waiting 9, offered before 0\n"
	                                  "  port 3 plain: broken\n"
	                                  "  port 4 ?:\n");
	/* Pieces behind one that is not memory are not reported. */
	program.part[1].address = 0x1234;
	coredump_copy(7, &c);
	assert_string_equal(show(&c, 64), "  buffers: 3 of 16 free\n");
	coredump_forget();
	coredump_copy(7, &c);
	assert_string_equal(show(&c, 64), "");
	for (unsigned i = 0; i < 2 * COREDUMP_PARTS; i++)
		coredump_keep(COREDUMP_QUEUE, i, 1, &m->queue, sizeof m->queue);
	assert_int_equal(program.parts, COREDUMP_PARTS);
	coredump_copy(7, &c);
	assert_int_equal(c.parts, COREDUMP_STATE / sizeof m->queue);
}

/* Whatever the bytes are: lines of plain characters. */
static void text_of_anything(void **s)
{
	(void)s;
	static struct crash c;
	seed_random("text_of_anything");
	for (unsigned turns = 0; turns < 500; turns++) {
		static const uint16_t types[] = {0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8};
		random_fill(&c, sizeof c);
		for (unsigned i = 0; i < COREDUMP_PKTS; i++) {
			c.pkt[i].bytes = random_below(COREDUMP_HEADER + 1);
			be16_store(c.pkt[i].header + 12, types[random_below(ARRAY_LEN(types))]);
			be16_store(c.pkt[i].header + 16, types[random_below(ARRAY_LEN(types))]);
		}
		for (unsigned i = 0; i < COREDUMP_PARTS; i++) {
			c.part[i].bytes = random_below(9) ? random_below(400) : c.part[i].bytes;
			c.part[i].what = random_below(5) << 16 | random_below(3) << 8 | random_below(256);
		}
		for (const char *p = show(&c, 64); *p; p++)
			assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_last_are_there, setup),
		cmocka_unit_test_setup(none_older, setup),
		cmocka_unit_test_setup(nothing_is_believed, setup),
		cmocka_unit_test_setup(text_of_code, setup),
		cmocka_unit_test_setup(text_of_frames, setup),
		cmocka_unit_test_setup(events_follow, setup), cmocka_unit_test_setup(text_of_queues, setup),
		cmocka_unit_test_setup(text_of_anything, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
