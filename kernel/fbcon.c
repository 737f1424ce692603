/*
 * Framebuffer console. The text is kept as a grid of characters, and what is on the screen as another. A
 * write changes the first; at its end the cells that differ are drawn, however many lines it has
 * scrolled. The framebuffer is never read, which is slow on every machine, and is written in runs of
 * ascending addresses, which the CPU combines (vm_map_framebuffer).
 */
#include "kernel/fbcon.h"

#include "kernel/font.h"
#include "kernel/vm.h"
#include "lib/mem.h"

#define COLS_MAX 160
#define ROWS_MAX 72
#define INK 0xc8u
#define PAPER 0x10u

static struct boot_framebuffer fb;
static uint8_t *pixels; /* NULL: no framebuffer */
static unsigned cols, rows, col, row;
static char grid[ROWS_MAX][COLS_MAX], shown[ROWS_MAX][COLS_MAX];
static uint8_t strip[COLS_MAX * FONT_WIDTH * 4 + 4]; /* a line of pixels that is being made */
static enum { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_NUMBER } escape;
static unsigned number; /* parameter of the control sequence */

static uint32_t grey(uint32_t level)
{
	return level << fb.red_shift | level << fb.green_shift | level << fb.blue_shift;
}

/* Copies to the framebuffer by stores of eight bytes; n is a multiple of 8. */
static void store(uint8_t *to, const uint8_t *from, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		__builtin_memcpy(to + i, from + i, 8);
}

/* Appends the pixels of a line of a glyph to the strip; returns its new end, of which a byte more may have
 * been written. */
static uint8_t *put_glyph(uint8_t *p, unsigned bits, const uint32_t colour[2], unsigned bytes)
{
	for (unsigned x = FONT_WIDTH; x--; p += bytes)
		__builtin_memcpy(p, &colour[bits >> x & 1], 4);
	return p;
}

/* Draws cells [first, end) of a row, one line of pixels after the other. */
static void draw(unsigned r, unsigned first, unsigned end)
{
	const uint32_t colour[2] = {grey(PAPER), grey(INK)};
	const unsigned bytes = fb.bits / 8;
	const uint8_t *glyph[COLS_MAX];
	for (unsigned c = first; c < end; c++)
		glyph[c] = font_glyph(grid[r][c]);
	for (unsigned y = 0; y < FONT_HEIGHT; y++) {
		uint8_t *p = strip;
		for (unsigned c = first; c < end; c++)
			p = put_glyph(p, glyph[c][y], colour, bytes);
		store(pixels + (size_t)(r * FONT_HEIGHT + y) * fb.pitch + (size_t)first * FONT_WIDTH * bytes, strip,
		      (size_t)(p - strip));
	}
}

/* Draws what differs: of each row one run, from the first such cell to the last. */
static void draw_changes(void)
{
	for (unsigned r = 0; r < rows; r++) {
		unsigned first = 0, end = cols;
		while (first < cols && grid[r][first] == shown[r][first])
			first++;
		while (end > first && grid[r][end - 1] == shown[r][end - 1])
			end--;
		if (first < end)
			draw(r, first, end);
		memcpy(shown[r], grid[r], cols);
	}
}

static void newline(void)
{
	col = 0;
	if (++row < rows)
		return;
	row = rows - 1;
	for (unsigned r = 0; r + 1 < rows; r++)
		memcpy(grid[r], grid[r + 1], cols);
	memset(grid[row], ' ', cols);
}

void fbcon_init(const struct boot_framebuffer *boot_fb)
{
	if (boot_fb->addr == 0)
		return;
	fb = *boot_fb;
	cols = fb.width / FONT_WIDTH < COLS_MAX ? fb.width / FONT_WIDTH : COLS_MAX;
	rows = fb.height / FONT_HEIGHT < ROWS_MAX ? fb.height / FONT_HEIGHT : ROWS_MAX;
	if (cols == 0 || rows == 0)
		return;
	pixels = vm_map_framebuffer(fb.addr, (uint64_t)fb.pitch * fb.height);
	memset(grid, ' ', sizeof grid);
	draw_changes(); /* all: nothing is known to be shown */
}

/* Executes a control sequence (ECMA-48 8.3). Only those are implemented that redraw a table in place. */
static void control(char final)
{
	if (final == 'A') /* CUU: up, by one without a parameter */
		row -= number == 0 && row ? 1 : number < row ? number : row;
	if (final == 'K' || final == 'J') /* EL, ED: erase from the cursor on */
		memset(grid[row] + col, ' ', cols - col);
	for (unsigned r = row + 1; final == 'J' && r < rows; r++)
		memset(grid[r], ' ', cols);
}

/* True if ch is part of a control sequence, ESC [ number letter. */
static bool in_sequence(char ch)
{
	if (ch == '\x1b') {
		escape = ESCAPE_BEGUN;
	} else if (escape == ESCAPE_BEGUN) {
		escape = ch == '[' ? ESCAPE_NUMBER : ESCAPE_NONE;
		number = 0;
	} else if (escape == ESCAPE_NUMBER && ch >= '0' && ch <= '9') {
		number = number < ROWS_MAX ? number * 10 + (unsigned)(ch - '0') : number;
	} else if (escape == ESCAPE_NUMBER) {
		escape = ESCAPE_NONE;
		control(ch);
	} else {
		return false;
	}
	return true;
}

void fbcon_write(const char *text, size_t bytes)
{
	for (size_t i = 0; pixels && i < bytes; i++) {
		char ch = text[i];
		if (in_sequence(ch))
			continue;
		if (ch == '\n')
			newline();
		else if (ch == '\r')
			col = 0;
		else if (ch == '\b' && col > 0)
			col--;
		else if (ch >= ' ' && ch <= '~') {
			if (col == cols)
				newline();
			grid[row][col++] = ch;
		}
	}
	if (pixels)
		draw_changes();
}
