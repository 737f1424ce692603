/*
 * Reports of programs that failed, as the kernel keeps them (kernel/crash.h): `show crash`, and the
 * page /crash.
 */
#include "control/inside.h"
#include "control/page.h"
#include "lib/fmt.h"

#define PIECE 1024u /* of a report's text, an item of the page */
#define PIECES (CRASH_TEXT_MAX / PIECE + (CRASH_TEXT_MAX % PIECE != 0))
#define ITEMS (PIECES + CORE_CRASH_PIECES) /* of a report: its text, and what the program left */

/* "crash 1: core 2, 12.345 s after boot": the line above a report. */
static size_t head_line(const struct crash *c, char *text, size_t size)
{
	uint64_t ms = clock_ns(&self.clock, c->tsc - self.info->tsc_boot) / 1000000;
	return fmt_format(text, size, "crash %llu: core %u, %llu.%03llu s after boot\n",
	                  (unsigned long long)c->number, c->core, (unsigned long long)(ms / 1000),
	                  (unsigned long long)(ms % 1000));
}

void show_crash(struct shell *sh, int argc, char **argv)
{
	static struct crash c;
	static char left[CORE_CRASH_PIECE];
	char head[80];
	uint64_t n = 0;
	(void)argc;
	(void)argv;
	for (; core_crash_next(n, &c); n = c.number) {
		shell_write(sh, head, head_line(&c, head, sizeof head));
		shell_write(sh, c.text, c.bytes);
		for (size_t i = 0, k; (k = core_crash_piece(&c, (unsigned)i, REMAINS_PKTS, left)); i++)
			shell_write(sh, left, k);
	}
	if (n == 0)
		shell_print(sh, "no program has failed since boot\n");
}

/* Item by item a piece of a report; w->cursor.n is its number. */
static bool part_crash(struct page_walk *w, struct page_text *t)
{
	static struct crash c;
	static char left[CORE_CRASH_PIECE];
	char head[80];
	uint32_t item = w->item % ITEMS;
	bool there = core_crash_next(item ? w->cursor.n - 1 : w->cursor.n, &c);
	if (item == 0) {
		if (w->item == 0 && !there)
			page_print(t, "no program has failed since boot\n");
		if (!there)
			return false;
		page_bytes(t, head, head_line(&c, head, sizeof head));
		w->cursor.n = c.number;
	} else if (!there || c.number != w->cursor.n) {
		t->broken = true; /* another has its place */
		return false;
	}
	if (item >= PIECES)
		page_bytes(t, left, core_crash_piece(&c, item - PIECES, REMAINS_PKTS, left));
	else if (item * PIECE < c.bytes)
		page_bytes(t, c.text + item * PIECE, u32_min(c.bytes - item * PIECE, PIECE));
	return true;
}

const page_part page_crash[] = {part_crash, NULL};
