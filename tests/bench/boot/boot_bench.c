/*
 * What a configuration of many routes costs at boot, on this host: the image's own objects of control/text,
 * control/config, control/forwarding, net/rib and net/fib, and control_rig.c.
 *
 *   boot_bench [LINES]          1000000 unless given: nanoseconds and CPU time of each step
 *   boot_bench -c STEP [LINES]  for the gate (tests/bench/gate.py), whose callgrind counts measured(): one
 *                               step; the last line is `counted LINES`
 *
 * The steps are those of load_start and control_plane_start: `find` looks for the end of the text in the
 * boot module and counts its lines, `read` parses them, `check` checks the whole, `apply` enters the routes
 * into the base and the forwarding table. The prefixes are distinct, in random order, and made up like the
 * global table's (tests/unit/rig/prefixes.h). SEED: theirs.
 */
#include "control/config/running.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/tables.h"
#include "control/text/module.h"
#include "lib/fmt.h"
#include "tests/bench/engine/control_rig.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/prefixes.h"

#define LINES 1000000u
#define LINES_COUNTED 70000u /* more than CONFIG_NEAR */
#define LINE_MOST 64

static const char head[] = "interface eth0\n ip address 192.0.2.1/24\n"
                           "interface eth1\n ip address 198.51.100.1/24\n";
static const char *const step_name[] = {"find", "read", "check", "apply"};
#define APPLY 3u

static struct text text;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "boot_bench: %s\n", what);
	exit(1);
}

static int by_prefix(const void *left, const void *right)
{
	const struct prefix *a = left, *b = right;
	return a->addr != b->addr ? (a->addr > b->addr) - (a->addr < b->addr) : (int)a->plen - (int)b->plen;
}

/* Distinct ones in random order, none that our interfaces have; returns how many. */
static uint32_t tidy(struct prefix *p, uint32_t n)
{
	uint32_t kept = 0;
	qsort(p, n, sizeof *p, by_prefix);
	for (uint32_t i = 0; i < n; i++)
		if (p[i].addr != 0xc0000200 && p[i].addr != 0xc6336400 && (!kept || by_prefix(&p[kept - 1], &p[i]) != 0))
			p[kept++] = p[i];
	for (uint32_t i = kept; i > 1; i--) {
		const uint32_t other = random_below(i);
		const struct prefix swapped = p[i - 1];
		p[i - 1] = p[other];
		p[other] = swapped;
	}
	return kept;
}

static uint32_t make_text(uint32_t lines)
{
	char *at = core_private_alloc(sizeof head + (size_t)lines * LINE_MOST), prefix[FMT_PREFIX_MAX];
	struct prefix *p;
	lines = tidy(p, prefixes_make(&p, lines));
	text.at = at;
	memcpy(at, head, sizeof head - 1);
	at += sizeof head - 1;
	for (uint32_t i = 0; i < lines; i++)
		at += sprintf(at, "ip route %s 198.51.100.%u\n", fmt_prefix(prefix, p[i].addr, p[i].plen),
		              2 + p[i].nh % RIG_HOPS);
	text.len = (size_t)(at - text.at);
	free(p);
	return lines;
}

static void make_tables(uint32_t lines)
{
	const size_t shared = fib4_shared_bytes(4 * lines), private = fib4_private_bytes(lines, shared);
	const size_t shared6 = fib6_shared_bytes(1), private6 = fib6_private_bytes(1, shared6);
	if (fib4_init(&forwarding.fib, core_private_alloc(shared), shared, core_private_alloc(private),
	              private) != E_OK ||
	    fib6_init(&forwarding.fib6, core_private_alloc(shared6), shared6, core_private_alloc(private6),
	              private6) != E_OK || !routes_start())
		die("no tables");
	rig_interfaces();
}

/* As load.c does, for so many routes and the addresses of head. */
static void take_memory(uint32_t lines)
{
	struct config_memory *m = &running.memory;
	*m = (struct config_memory){.route_max = lines + 2 + 1};
	m->scratch_words = config_scratch_words(m->route_max) + config_scratch_words(0);
	m->routes = core_private_alloc(m->route_max * sizeof *m->routes);
	m->scratch = core_private_alloc(m->scratch_words * sizeof(uint32_t));
}

static void find(void)
{
	struct module m;
	if (module_open(&m, text, &running.error) != E_OK || m.text.len != text.len ||
	    config_count_lines(m.text.at, m.text.len).ip + 1 != running.memory.route_max)
		die("the text is not the module's");
}

static void apply(void)
{
	routes_configured();
}

static void read_text(void)
{
	if (config_read(text.at, text.len, &running.memory, &running.config, &running.error) != E_OK)
		die(running.error.reason);
}

static void check(void)
{
	if (config_finish(&running.config, &running.memory, &running.error) != E_OK)
		die(running.error.reason);
}

static void (*const step_function[])(void) = {find, read_text, check, apply};

__attribute__((noinline)) static void measured(unsigned step)
{
	step_function[step]();
}

static void expect(uint32_t lines)
{
	if (running.config.route_count != lines || fib_count(&forwarding.fib) != lines || routes_refused())
		die("not all routes are in the table");
}

static void report(uint32_t lines)
{
	double all = 0;
	for (unsigned step = 0; step < ARRAY_LEN(step_name); step++) {
		if (step == APPLY)
			make_tables(lines + 1024);
		const double began = rig_cpu_s();
		measured(step);
		const double s = rig_cpu_s() - began;
		printf("%-6s %6.1f ms %6.0f ns a line\n", step_name[step], s * 1e3, s * 1e9 / lines);
		all += s;
	}
	printf("%-6s %6.1f ms %6.0f ns a line\n", "all", all * 1e3, all * 1e9 / lines);
}

/* Only the step `counted` is within measured(). */
static void count_one(unsigned counted, uint32_t lines)
{
	for (unsigned step = 0; step < ARRAY_LEN(step_name); step++) {
		if (step == APPLY)
			make_tables(lines + 1024);
		if (step == counted)
			measured(step);
		else
			step_function[step]();
	}
	expect(lines);
	printf("counted %u\n", lines);
}

int main(int argc, char **argv)
{
	const bool counts = argc > 2 && strcmp(argv[1], "-c") == 0;
	unsigned step = 0;
	while (counts && strcmp(argv[2], step_name[step]) != 0)
		if (++step == ARRAY_LEN(step_name))
			die("no such step");
	const char *number = argc > (counts ? 3 : 1) ? argv[counts ? 3 : 1] : NULL;
	seed_random("boot_bench");
	rig_start();
	const uint32_t lines = make_text(number ? (uint32_t)atoi(number) : counts ? LINES_COUNTED : LINES);
	take_memory(lines);
	if (counts) {
		count_one(step, lines);
	} else {
		report(lines);
		expect(lines);
	}
	return 0;
}
