/*
 * An 8x16 font for the framebuffer console, drawn for Hayate: printable ASCII only. Letters are five
 * pixels wide, in columns 1 to 5 of the cell. Capitals use rows 3 to 11, small letters rows 6 to 11,
 * descenders reach row 14. Zero has a slash; 1 and l differ at the foot.
 */
#ifndef KERNEL_FONT_H
#define KERNEL_FONT_H

#include "lib/types.h"

#define FONT_WIDTH 8
#define FONT_HEIGHT 16

/* The FONT_HEIGHT rows of c, top first; the leftmost pixel is bit 7. Other characters than printable
 * ASCII give a box. */
const uint8_t *font_glyph(char c);

#endif
