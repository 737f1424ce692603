/*
 * An 8x16 font for the framebuffer console, drawn for Hayate: printable ASCII only. Letters stand
 * five pixels wide in the cell's columns 1 to 5; capitals on rows 3 to 11, small letters on rows 6
 * to 11, descenders down to row 14. Zero carries a bar, one and l have different feet.
 */
#ifndef KERNEL_FONT_H
#define KERNEL_FONT_H

#include "lib/types.h"

#define FONT_WIDTH 8
#define FONT_HEIGHT 16

/* The FONT_HEIGHT rows of c, top first; the leftmost pixel is bit 7. A box for what is not
 * printable ASCII. */
const uint8_t *font_glyph(char c);

#endif
