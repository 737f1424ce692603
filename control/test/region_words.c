/*
 * See region_words.h. The memory is one piece of each kind, at the beginning of its first region. Its
 * contents say who wrote them: code is an invalid instruction; of maps the first words are written by
 * `test fault mark` (dataplane/test_fault.c), one for each core, and by this file in `make`.
 */
#include "control/test/region_words.h"

#include "control/text/text.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "runtime/runtime.h"

#define CODE_BYTES 64u
#define MAP_BYTES 65536u
#define FILL_MAX 65536u /* MiB */
#define MADE 0x6d616465u

static const char *const names[REGION_KINDS] = {"code", "shared", "own", "control", "content"};
static void *piece[REGION_XDP_KINDS]; /* of this program; NULL: none */

static size_t bytes_of(unsigned kind)
{
	return kind == REGION_CODE ? CODE_BYTES : MAP_BYTES;
}

static void make(struct shell *sh)
{
	/* push %rbp; mov %rsp, %rbp; ud2 */
	static const uint8_t invalid[] = {0x55, 0x48, 0x89, 0xe5, 0x0f, 0x0b};
	for (unsigned k = 0; k < REGION_XDP_KINDS; k++)
		if (!piece[k] && !(piece[k] = core_region_alloc((enum region_kind)k, bytes_of(k))))
			shell_print(sh, "no memory for %s\n", names[k]);
	if (piece[REGION_CODE] && core_code_write(piece[REGION_CODE], invalid, sizeof invalid) != E_OK)
		shell_print(sh, "the code was not written\n");
	if (piece[REGION_CONTROL])
		*(volatile uint32_t *)piece[REGION_CONTROL] = MADE;
}

static void *beginning(unsigned kind)
{
	for (unsigned i = 0; i < self.info->regions; i++)
		if (self.info->region[i].kind == kind)
			return (void *)(uintptr_t)(kind == REGION_CODE ? CODE_WINDOW : self.info->region[i].at);
	return NULL;
}

static void claim(struct shell *sh)
{
	for (unsigned k = 0; k < REGION_XDP_KINDS; k++) {
		void *at = beginning(k);
		if (at && !piece[k] && core_region_claim((enum region_kind)k, at, bytes_of(k)))
			piece[k] = at;
		else
			shell_print(sh, "%s cannot be claimed\n", names[k]);
	}
}

static void give_back(struct shell *sh)
{
	if (!core_quiesce())
		shell_print(sh, "not now\n");
	for (unsigned k = 0; k < REGION_XDP_KINDS && core_quiesce(); k++) {
		if (piece[k])
			core_region_free((enum region_kind)k, piece[k], bytes_of(k));
		piece[k] = NULL;
	}
}

/* Prints the first words of a map, one for each core. */
static void show_words(struct shell *sh, const char *name, unsigned part, const void *at)
{
	shell_print(sh, "%s %u:", name, part);
	for (unsigned i = 0; at && i < self.info->cores; i++)
		shell_print(sh, " %x", ((const volatile uint32_t *)at)[i]);
	shell_print(sh, "\n");
}

static void show(struct shell *sh)
{
	const uint8_t *code = beginning(REGION_CODE);
	void *own = beginning(REGION_OWN);
	for (unsigned i = 0; i < self.info->regions; i++) {
		const struct region *r = &self.info->region[i];
		shell_print(sh, "region %u %s at %llx, %llu KiB\n", i, names[r->kind % REGION_KINDS],
		            (unsigned long long)r->at, (unsigned long long)(r->bytes >> 10));
	}
	for (unsigned k = 0; k < REGION_XDP_KINDS; k++)
		shell_print(sh, "%s: %llu KiB, free %llu bytes\n", names[k],
		            (unsigned long long)(core_region_bytes((enum region_kind)k) >> 10),
		            (unsigned long long)core_region_bytes_free((enum region_kind)k));
	if (code)
		shell_print(sh, "code %08x\n", le32_load(code));
	show_words(sh, "words shared", 0, beginning(REGION_SHARED));
	show_words(sh, "words control", 0, beginning(REGION_CONTROL));
	for (unsigned d = 0; own && d < self.info->data_cores; d++)
		show_words(sh, "words own", d, core_region_own(own, d));
}

static void fill(struct shell *sh)
{
	uint32_t mib;
	if (sh->argc != 2 || text_parse_u32(text_of(sh->argv[1]), 1, FILL_MAX, &mib) != E_OK)
		shell_print(sh, "how many MiB?\n");
	else
		shell_print(sh, "%s\n", core_region_alloc(REGION_SHARED, (size_t)mib << 20) ? "taken" : "no memory");
}

void region_words(struct shell *sh)
{
	static const struct {
		const char *word;
		void (*run)(struct shell *sh);
	} words[] = {{"make", make}, {"claim", claim}, {"free", give_back}, {"show", show}, {"fill", fill}};
	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (sh->argc > 0 && strcmp(sh->argv[0], words[i].word) == 0) {
			words[i].run(sh);
			return;
		}
	shell_print(sh, "make, claim, free, show, or fill MIB\n");
}
