/* See test_commands.h. */
#include "control/test/test_commands.h"

#include "control/cli/commands.h"
#include "control/cli/options.h"
#include "control/cli/roles.h"
#include "control/commit/commit.h"
#include "control/crypto/known.h"
#include "control/crypto/library.h"
#include "control/programs/programs.h"
#include "control/test/churn.h"
#include "control/test/region_words.h"
#include "control/test/test_connect.h"
#include "control/text/text.h"
#include "dataplane/state.h"
#include "dataplane/test_fault.h"
#include "lib/mem.h"

/* True if the command line has test=1; otherwise prints an error. */
static bool may_test(struct shell *sh)
{
	char on[4];
	if (core_option("test", on, sizeof on) && strcmp(on, "1") == 0)
		return true;
	shell_print(sh, "unknown command: test commands need test=1 on the kernel command line\n");
	return false;
}

static void churn(struct shell *sh)
{
	uint32_t rate, seconds;
	if (!may_test(sh))
		return;
	if (sh->argc == 2 && text_parse_u32(text_of(sh->argv[0]), 1, CHURN_RATE_MAX, &rate) == E_OK &&
	    text_parse_u32(text_of(sh->argv[1]), 1, CHURN_SECONDS_MAX, &seconds) == E_OK)
		churn_start(sh, rate, seconds);
	else
		shell_print(sh, "changes a second, 1 to %u, and seconds, 1 to %u\n", CHURN_RATE_MAX,
		            CHURN_SECONDS_MAX);
}

static void fault(struct shell *sh)
{
#define WORD(name, word, kind, address) word,
	static const char *const kinds[] = {TEST_FAULTS(WORD)};
	static const uint8_t frame[ETH_FRAME_MIN] = "packet that faults";
	uint32_t core = self.id;
	uint32_t message = 0; /* 1: this core too is told by a message, so it fails in a turn of the data path */
	const struct option options[] = {{"core", 0, self.info->cores - 1, &core}, {"message", 0, 1, &message}};
	unsigned kind = 0;
	if (!may_test(sh))
		return;
	if (!options_read(sh, options, ARRAY_LEN(options)))
		return;
	while (kind < ARRAY_LEN(kinds) && strcmp(sh->argv[0], kinds[kind]) != 0)
		kind++;
	if (kind == ARRAY_LEN(kinds))
		shell_print(sh, "no such kind\n");
	else if (core == self.id && !message)
		test_fault_run((enum test_fault)kind);
	else if (kind == TEST_FAULT_RESTART)
		core_restart(core);
	else if (core_inject_to(core, 0, frame, sizeof frame, INJECT_FAULT, kind) != E_OK)
		shell_print(sh, "core %u takes no messages now\n", core);
}

/* The port that the first argument names; false: there is none, which has been printed. */
static bool read_port(struct shell *sh, uint32_t *port)
{
	if (strncmp(sh->argv[0], "eth", 3) == 0 && core_port_count() > 0 &&
	    text_parse_u32(text_of(sh->argv[0] + 3), 0, core_port_count() - 1, port) == E_OK)
		return true;
	shell_print(sh, "no such port\n");
	return false;
}

/* Directs the card's interrupts at memory that is not for devices, until the ports start again. A repeated
 * call prints whether they could write there. Or has them use entry N of the interrupt remapping table. */
static void dma(struct shell *sh)
{
	uint32_t port, region = UINT32_MAX, entry = UINT32_MAX, rings = UINT32_MAX;
	const struct option options[] = {{"region", 0, REGIONS_MAX - 1, &region}, {"interrupt", 0, 65535, &entry},
	                                 {"rings", 0, NIC_PORTS_MAX - 1, &rings}};
	if (!may_test(sh) || !options_read(sh, options, ARRAY_LEN(options)) || !read_port(sh, &port))
		return;
	const unsigned device = core_port_nic(port)->pci->index;
	int written = entry != UINT32_MAX             ? core_test_message(device, entry)
	              : rings < core_port_count() ? core_test_rings(device, rings)
	                                          : core_test_dma(device, region);
	const char *whose = rings < core_port_count() ? "ring" : region == UINT32_MAX ? "kernel" : "region";
	if (written < 0)
		shell_print(sh, "that card has no interrupts, or there is no such region\n");
	else
		shell_print(sh, "the %s's word %s\n", whose, written ? "has been written to" : "is untouched");
}

/* Moves a bucket of a port's indirection table, and waits for nothing. */
static void move(struct shell *sh)
{
	uint32_t port, bucket = 0, core = 0;
	const struct option options[] = {{"bucket", 0, NIC_BUCKETS_MAX - 1, &bucket},
	                                 {"core", 0, self.info->cores - 1, &core}};
	if (!may_test(sh) || !options_read(sh, options, ARRAY_LEN(options)) || !read_port(sh, &port))
		return;
	const char *why = core_move_bucket(port, bucket, core);
	shell_print(sh, "%s\n", why ? why : "begun");
}

static void panic_test(struct shell *sh)
{
	if (may_test(sh) && !core_test_panic(sh->argv[0]))
		shell_print(sh, "no such kind\n");
}

/* Puts an instruction that faults in the place of one of a program's, as damaged memory would. Loading the
 * object again mends it. */
static void damage(struct shell *sh)
{
	static const uint8_t ud2[] = {0x0f, 0x0b};
	const struct programs_object *o;
	const struct programs_program *p;
	uint32_t insn;
	if (!may_test(sh))
		return;
	o = programs_find(text_of(sh->argv[0]));
	p = o && sh->argc == 3 ? programs_program_of(o, text_of(sh->argv[1])) : NULL;
	if (!p || text_parse_u32(text_of(sh->argv[2]), 0, p->insns - 1, &insn) != E_OK ||
	    p->where[insn] + sizeof ud2 > p->code_bytes)
		shell_print(sh, "OBJECT PROGRAM INSTRUCTION\n");
	else if (core_code_write(p->code + p->where[insn], ud2, sizeof ud2) != E_OK)
		shell_print(sh, "the code was not written\n");
	else
		dp_get()->xdp.code_tsc = clock_tsc(); /* data cores synchronize before they run it again */
}

/* Known answers of the cryptographic libraries, with the time of each. */
static void crypto(struct shell *sh)
{
	struct crypto_known k;
	unsigned wrong = 0;
	if (!may_test(sh))
		return;
	const enum core_pace pace = core_pace(PACE_LONG);
	const bool started = crypto_start();
	for (unsigned i = 0; started && crypto_known(i, &k); i++) {
		wrong += !k.right;
		shell_print(sh, "%-30s %8lu us  %s %s\n", k.name, (unsigned long)(k.ns / 1000),
		            k.right ? "right" : "WRONG",
		            k.source);
		core_alive();
	}
	core_pace(pace);
	if (started)
		shell_print(sh, "known answers: %u wrong; heap %zu of %zu bytes\n", wrong, crypto_use().peak,
		            (size_t)CRYPTO_HEAP);
	else
		shell_print(sh, "%s\n", crypto_why());
}

static void regions(struct shell *sh)
{
	if (may_test(sh))
		region_words(sh);
}

static void connect(struct shell *sh)
{
	if (may_test(sh))
		test_connect(sh);
}

static void roles(struct shell *sh)
{
	if (may_test(sh))
		roles_print(sh);
}

static const struct shell_command commands[] = {
	{"test", NULL, "for tests of Hayate itself", NULL},
	{"test crypto", NULL, "known answers and times of the cryptographic libraries", crypto},
	{"test connect", "ADDRESS PORT [tls [NAME] [HEX]]",
	 "opens a connection, and says by the event log what becomes of it", connect},
	{"test churn", "RATE SECONDS", "changes RATE routes a second, then restores them", churn},
	{"test dma", "ethN [region N|rings N|interrupt N]",
	 "has the card write to the kernel's memory, a region's or a port's rings; or send a message", dma},
	{"test move", "ethN bucket N core N", "moves a bucket of a card's table to a data core", move},
	{"test panic", "KIND", "makes the kernel fail", panic_test},
	{"test regions", "WORD [MIB]", "memory of XDP programs: make, claim, free, show, fill MIB", regions},
	{"test roles", NULL, "the role that each command needs", roles},
	{"test fault", "KIND [core N] [message 1]", "makes a core's program fail", fault},
	{"test xdp", "OBJECT PROGRAM N", "damages instruction N of an XDP program", damage},
};

void test_commands_add(void)
{
	commands_add_tests(commands, ARRAY_LEN(commands));
	commit_before_change = churn_end;
}
