/* See mce.h. */
#include "kernel/mce.h"

#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/tsc.h"

#define MSR_MCG_CAP 0x179    /* 15.3.1.1 */
#define MCG_CAP_COUNT 0xffu
#define MCG_CAP_CTL (1u << 8)
#define MSR_MCG_STATUS 0x17a /* 15.3.1.2 */
#define MSR_MCG_CTL 0x17b
#define MSR_MC0_CTL 0x400    /* 15.3.2; four MSRs per bank: control, status, address, misc */
#define STATUS_VAL (1ull << 63)
#define STATUS_OVER (1ull << 62)
#define STATUS_UC (1ull << 61)
#define STATUS_MISCV (1ull << 59)
#define STATUS_ADDRV (1ull << 58)
#define STATUS_PCC (1ull << 57)
#define BANKS_MAX 32 /* the most that the architectural MSR range holds */
#define NOTES_MAX 32
#define OTHERS_US 10000 /* the CPUs of a package receive a machine check together */

static struct note {
	unsigned core, bank;
	uint64_t global, status, addr, misc;
	bool done; /* written last */
} notes[NOTES_MAX];
static unsigned noted;

static unsigned banks(void)
{
	unsigned n = msr_read(MSR_MCG_CAP) & MCG_CAP_COUNT;
	return n < BANKS_MAX ? n : BANKS_MAX;
}

/* --- decoding: 15.9 --- */

static const char *simple_error(unsigned code)
{
	static const char *const names[] = {"no error", "unclassified", "microcode ROM parity",
	                                    "external, from another CPU", "redundancy check",
	                                    "internal parity", "code of the SMM handler"};
	if (code < ARRAY_LEN(names))
		return names[code];
	return code == 0x400 ? "internal timer" : code >> 10 == 1 ? "internal, unclassified" : "unknown";
}

/* Kind of access: field RRRR of compound errors. */
static const char *request(unsigned code)
{
	static const char *const names[] = {"error", "read", "write", "data read", "data write",
	                                    "instruction fetch", "prefetch", "eviction", "snoop"};
	unsigned r = code >> 4 & 15;
	return r < ARRAY_LEN(names) ? names[r] : "access";
}

static const char *memory_request(unsigned code)
{
	static const char *const names[] = {"undefined", "read", "write", "address or command",
	                                    "scrubbing"};
	unsigned m = code >> 4 & 7;
	return m < ARRAY_LEN(names) ? names[m] : "access";
}

static const char *what(unsigned code)
{
	static const char *const names[] = {"instruction", "data", "generic", "unknown"};
	return names[code >> 2 & 3];
}

static size_t compound(char *text, size_t size, unsigned code)
{
	unsigned level = code & 3;
	if (code >> 11 & 1)
		return fmt_format(text, size, "bus or interconnect: %s, level %u", request(code), level);
	if (code >> 8 == 1)
		return fmt_format(text, size, "cache: %s, %s, level %u", request(code), what(code), level);
	if ((code & 0xf80) == 0x80 || (code & 0xf80) == 0x280)
		return fmt_format(text, size, "memory controller: %s, channel %u%s", memory_request(code),
		                  code & 15, (code & 15) == 15 ? " (unknown)" : "");
	if (code >> 4 == 1)
		return fmt_format(text, size, "TLB: %s, level %u", what(code), level);
	if (code >> 2 == 3)
		return fmt_format(text, size, "cache, level %u", level);
	return fmt_format(text, size, "%s", simple_error(code));
}

void mce_describe(char text[MCE_TEXT_MAX], uint64_t status)
{
	size_t n = fmt_format(text, MCE_TEXT_MAX, "%s%s%s: ",
	                      status & STATUS_UC ? "uncorrected" : "corrected",
	                      status & STATUS_PCC ? ", the CPU's state is lost" : "",
	                      status & STATUS_OVER ? ", more were overwritten" : "");
	compound(text + n, MCE_TEXT_MAX - n, status & 0xefff); /* without bit 12, filtering */
}

/* --- the banks --- */

static void print_line(void (*say)(const char *format, ...), const struct note *n)
{
	char text[MCE_TEXT_MAX];
	mce_describe(text, n->status);
	say("  core %u bank %u: status %016llx, %s\n", n->core, n->bank,
	    (unsigned long long)n->status, text);
	say("    address %016llx%s, misc %016llx%s, global status %llx\n",
	    (unsigned long long)n->addr, n->status & STATUS_ADDRV ? "" : " (not valid)",
	    (unsigned long long)n->misc, n->status & STATUS_MISCV ? "" : " (not valid)",
	    (unsigned long long)n->global);
}

/* False if the bank holds no error. Address and misc may be read only if the status marks them valid. */
static bool read_bank(struct note *n, unsigned bank)
{
	uint32_t msr = MSR_MC0_CTL + 4 * bank;
	*n = (struct note){.core = core_self()->id, .bank = bank, .status = msr_read(msr + 1)};
	if (!(n->status & STATUS_VAL))
		return false;
	n->global = msr_read(MSR_MCG_STATUS);
	n->addr = n->status & STATUS_ADDRV ? msr_read(msr + 2) : 0;
	n->misc = n->status & STATUS_MISCV ? msr_read(msr + 3) : 0;
	return true;
}

void mce_init(void)
{
	uint32_t features = cpu_id(1, 0).d;
	if (!(features >> 7 & 1) || !(features >> 14 & 1))
		return;
	if (msr_read(MSR_MCG_CAP) & MCG_CAP_CTL)
		msr_write(MSR_MCG_CTL, UINT64_MAX);
	for (unsigned bank = 0; bank < banks(); bank++) { /* 15.8 */
		struct note n;
		if (read_bank(&n, bank)) {
			console_print("machine check from before this boot:\n");
			print_line(console_print, &n);
		}
		msr_write(MSR_MC0_CTL + 4 * bank, UINT64_MAX);
		msr_write(MSR_MC0_CTL + 4 * bank + 1, 0);
	}
	cr4_write(cr4_read() | CR4_MCE);
}

void mce_note(void)
{
	for (unsigned bank = 0; bank < banks(); bank++) {
		struct note n;
		if (!read_bank(&n, bank))
			continue;
		unsigned at = __atomic_fetch_add(&noted, 1, __ATOMIC_RELAXED);
		if (at >= NOTES_MAX)
			break;
		notes[at] = n;
		__atomic_store_n(&notes[at].done, true, __ATOMIC_RELEASE);
	}
	tsc_wait_us(OTHERS_US);
}

void mce_say(void (*say)(const char *format, ...))
{
	unsigned n = __atomic_load_n(&noted, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < n && i < NOTES_MAX; i++)
		if (__atomic_load_n(&notes[i].done, __ATOMIC_ACQUIRE))
			print_line(say, &notes[i]);
	if (n == 0)
		say("  no bank has an error\n");
	if (n > NOTES_MAX)
		say("  and %u more\n", n - NOTES_MAX);
}
