/* kernel/fbcon.c: what is on the screen after any output is what its text says, and a piece of output draws
 * each cell at most once. */
#include "tests/unit/rig/host.h"

#include "kernel/fbcon.c"
#include "kernel/font.c"

#define WIDTH 200u  /* 25 columns */
#define HEIGHT 100u /* 6 rows, and a rest */
#define PITCH_MORE 24u

static uint8_t *screen;
static size_t screen_bytes;

void *vm_map_framebuffer(uint64_t phys, uint64_t bytes)
{
	assert_int_equal(phys, 0xe0000000);
	free(screen);
	screen_bytes = bytes;
	screen = malloc(bytes); /* the exact size: ASan detects a write beyond */
	memset(screen, 0x55, bytes);
	return screen;
}

static void start(unsigned bits)
{
	col = row = 0;
	memset(shown, 0, sizeof shown);
	fbcon_init(&(struct boot_framebuffer){.addr = 0xe0000000, .pitch = WIDTH * bits / 8 + PITCH_MORE, .width = WIDTH,
	                                      .height = HEIGHT, .bits = (uint8_t)bits, .red_shift = 16, .green_shift = 8});
	assert_true(cols == 25 && rows == 6);
}

static void put(const char *text) { fbcon_write(text, strlen(text)); }

/* Compares all pixels with the text, a row behind the other. */
static void check(const char *const *text)
{
	const unsigned bytes = fb.bits / 8;
	for (unsigned y = 0; y < rows * FONT_HEIGHT; y++)
		for (unsigned x = 0; x < cols * FONT_WIDTH; x++) {
			const char *line = text[y / FONT_HEIGHT];
			char ch = x / FONT_WIDTH < strlen(line) ? line[x / FONT_WIDTH] : ' ';
			unsigned want = font_glyph(ch)[y % FONT_HEIGHT] & (0x80 >> x % FONT_WIDTH) ? INK : PAPER;
			for (unsigned b = 0; b < 3; b++)
				assert_int_equal(screen[y * fb.pitch + x * bytes + b], want);
		}
	for (unsigned y = 0; y < HEIGHT; y++) /* what lies beside the text is left alone */
		assert_int_equal(screen[y * fb.pitch + WIDTH * bytes], 0x55);
}

static void scrolls(unsigned bits)
{
	start(bits);
	check((const char *const[]){"", "", "", "", "", ""});
	put("one\r\ntwo\r\nthree");
	check((const char *const[]){"one", "two", "three", "", "", ""});
	put("\r\n4\r\n5\r\n6\r\n7\r\n8\r\nnine");
	check((const char *const[]){"4", "5", "6", "7", "8", "nine"});
	put("\rN\x1b[2Ax\x1b[K\r\n\n\n0123456789012345678901234567");
	check((const char *const[]){"6", "7x", "8", "Nine", "0123456789012345678901234", "567"});
	put("\x1b[3A\r\x1b[Jend\b\b!");
	check((const char *const[]){"6", "7x", "e!d", "", "", ""});
}

static void scrolls_32(void **s) { (void)s; scrolls(32); }
static void scrolls_24(void **s) { (void)s; scrolls(24); }

/* A thousand lines at once leave the screen as line by line, and touch no pixel outside of the changed cells. */
static void many_lines(void **s)
{
	(void)s;
	char text[16000];
	size_t n = 0;
	start(32);
	for (unsigned i = 0; i < 1000; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%sline %u", i ? "\r\n" : "", i);
	fbcon_write(text, n);
	check((const char *const[]){"line 994", "line 995", "line 996", "line 997", "line 998", "line 999"});
	memset(screen, 0xaa, screen_bytes);
	put("\r\nline 1000");
	for (unsigned x = 0; x < 5 * FONT_WIDTH * 4; x++) /* "line " was there in every row, and stayed */
		assert_int_equal(screen[x], 0xaa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(scrolls_32), cmocka_unit_test(scrolls_24),
	                                   cmocka_unit_test(many_lines)};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(screen);
	return failed;
}
