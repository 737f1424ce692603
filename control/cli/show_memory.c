/*
 * `show memory`: the use of the machine's memory. It shows the regions that the kernel divided
 * (boot_info), the parts of published memory, private memory by use (memory_note), and the regions that XDP
 * programs have got out of that. Values are KiB, rounded down; except for the rounding they add up to the
 * machine's memory.
 */
#include "control/cli/show_memory.h"
#include "control/console/shell.h"
#include "control/forwarding/tables.h"
#include "lib/fmt.h"
#include "runtime/runtime.h"

#define NOTES_MAX 12

typedef unsigned long long ull;

static struct {
	struct note {
		const char *what;
		size_t bytes;
	} note[NOTES_MAX];
	unsigned notes;
	size_t noted; /* bytes in all */
} memory;

const char memory_later[] = "since the start";

/* The working memory in which programs are loaded. It may be taken at any time, and is kept. */
static size_t work_bytes(void)
{
	size_t bytes = 0;
	return core_persist_find(CORE_PERSIST_PROGRAMS_WORK, &bytes) ? bytes : 0;
}

void memory_note(const char *what)
{
	const size_t bytes = core_private_used() - work_bytes() - memory.noted;
	unsigned n = 0;
	while (n < memory.notes && memory.note[n].what != what)
		n++;
	if (bytes == 0 || n == NOTES_MAX)
		return;
	memory.notes += n == memory.notes;
	memory.note[n].what = what;
	memory.note[n].bytes += bytes;
	memory.noted += bytes;
}

static void row(struct shell *sh, const char *of, const char *what, uint64_t bytes)
{
	if (bytes)
		shell_print(sh, "%-14s %10llu  %s\n", of, (ull)(bytes >> 10), what);
}

static void show_published(struct shell *sh)
{
	size_t area, before, tables;
	core_published_area(&area);
	forwarding_published_used(&before, &tables);
	row(sh, "published", "header", self.info->published_bytes - area - core_published_beside());
	row(sh, "published", "tables of the previous program", core_published_beside());
	row(sh, "published", "data-plane state, access lists, application", before);
	row(sh, "published", "forwarding tables, the readers' part", tables);
	row(sh, "published", "not used", area - before - tables);
}

/* Returns the bytes of all regions. */
static size_t show_regions(struct shell *sh)
{
	static const char *const what[REGION_KINDS] = {
		[REGION_CODE] = "code", [REGION_SHARED] = "maps that data cores share",
		[REGION_OWN] = "maps with a part for each data core",
		[REGION_CONTROL] = "objects, maps that data cores read", [REGION_CONTENT] = "files",
	};
	size_t all = 0, free = 0;
	for (enum region_kind kind = 0; kind < REGION_KINDS; kind++) {
		const size_t bytes = core_region_bytes(kind), left = core_region_bytes_free(kind);
		const bool xdp = kind < REGION_XDP_KINDS;
		row(sh, xdp ? "XDP programs" : "content", what[kind], bytes - left);
		all += bytes;
		free += xdp ? left : 0;
		if (kind + 1 == REGION_XDP_KINDS)
			row(sh, "XDP programs", "not used", free);
		if (!xdp)
			row(sh, "content", "not used", left);
	}
	return all;
}

static void show_private(struct shell *sh)
{
	memory_note(memory_later);
	for (unsigned n = 0; n < memory.notes; n++)
		row(sh, "control core", memory.note[n].what, memory.note[n].bytes);
	row(sh, "control core", "loading of XDP programs", work_bytes());
	const size_t regions = show_regions(sh);
	row(sh, "control core", "free", self.info->core[0].tables_bytes - core_private_used() - regions);
}

/* Where the kernel has placed published memory (rule 4 of kernel/shares.c), if it had a choice. */
static void show_place(struct shell *sh)
{
	const struct boot_info *b = self.info;
	const uint32_t node = b->core[0].arena_node;
	unsigned near = 0;
	if (b->nodes < 2 || node >= b->nodes || b->first_data_core == 0)
		return;
	for (unsigned i = b->first_data_core; i < b->cores; i++)
		near += b->core[i].node == node;
	shell_print(sh, "published memory is on node %u, near %u of %u data cores\n", (unsigned)node, near,
	            (unsigned)b->data_cores);
}

void show_memory(struct shell *sh)
{
	const struct boot_info *b = self.info;
	uint64_t shared = 0, arenas = 0, regions = b->published_bytes;
	for (unsigned i = 0; i < b->cores; i++) {
		shared += b->core[i].shm_bytes;
		arenas += b->core[i].arena_bytes;
		regions += b->core[i].tables_bytes;
	}
	regions += shared + arenas + b->image_bytes;
	const uint64_t rest = b->ram_bytes - b->ram_used_bytes;
	shell_print(sh, "%-14s %10s  for\n", "of", "kib");
	row(sh, "machine", "all", b->ram_bytes);
	for (unsigned n = 0; n < b->nodes && b->nodes > 1; n++) {
		char node[16];
		fmt_format(node, sizeof node, "node %u", n);
		row(sh, node, "of the machine's, free at boot", b->node_bytes[n]);
	}
	row(sh, "kernel", "image", b->image_bytes);
	row(sh, "kernel", "programs, page tables",
	    b->ram_used_bytes > regions ? b->ram_used_bytes - regions : 0);
	row(sh, "kernel", "boot module", b->config_bytes);
	row(sh, "kernel", "not used", rest > b->config_bytes ? rest - b->config_bytes : 0);
	row(sh, "cores", "shared memory", shared);
	row(sh, "data cores", "packets", arenas);
	show_published(sh);
	show_private(sh);
	show_place(sh);
}
