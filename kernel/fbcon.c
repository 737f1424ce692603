/*
 * Framebuffer console. The text is kept as a grid of characters. Scrolling redraws only the cells that
 * change, because reading back a framebuffer is slow on every machine.
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
static char grid[ROWS_MAX][COLS_MAX];
static enum { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_NUMBER } escape;
static unsigned number; /* parameter of the control sequence */

static uint32_t grey(uint32_t level)
{
	return level << fb.red_shift | level << fb.green_shift | level << fb.blue_shift;
}

static void draw(unsigned r, unsigned c, char ch)
{
	const uint8_t *glyph = font_glyph(ch);
	uint32_t ink = grey(INK), paper = grey(PAPER);
	unsigned bytes = fb.bits / 8;
	for (unsigned y = 0; y < FONT_HEIGHT; y++) {
		uint8_t *line = pixels + (size_t)(r * FONT_HEIGHT + y) * fb.pitch;
		for (unsigned x = 0; x < FONT_WIDTH; x++) {
			uint32_t colour = glyph[y] & (0x80 >> x) ? ink : paper;
			memcpy(line + (size_t)(c * FONT_WIDTH + x) * bytes, &colour, bytes);
		}
	}
}

static void set(unsigned r, unsigned c, char ch)
{
	if (grid[r][c] == ch)
		return;
	grid[r][c] = ch;
	draw(r, c, ch);
}

static void newline(void)
{
	col = 0;
	if (++row < rows)
		return;
	row = rows - 1;
	for (unsigned r = 0; r < rows; r++)
		for (unsigned c = 0; c < cols; c++)
			set(r, c, r + 1 < rows ? grid[r + 1][c] : ' ');
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
	pixels = vm_map_device(fb.addr, (uint64_t)fb.pitch * fb.height);
	for (unsigned r = 0; r < rows; r++)
		for (unsigned c = 0; c < cols; c++)
			set(r, c, ' ');
}

/* Executes a control sequence (ECMA-48 8.3). Only those are implemented that redraw a table in place. */
static void control(char final)
{
	if (final == 'A') /* CUU: up, by one without a parameter */
		row -= number == 0 && row ? 1 : number < row ? number : row;
	if (final == 'K' || final == 'J') /* EL, ED: erase from the cursor on */
		for (unsigned c = col; c < cols; c++)
			set(row, c, ' ');
	for (unsigned r = row + 1; final == 'J' && r < rows; r++)
		for (unsigned c = 0; c < cols; c++)
			set(r, c, ' ');
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
			set(row, col++, ch);
		}
	}
}
