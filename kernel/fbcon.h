/* Text on a linear framebuffer of 24 or 32 bits a pixel. Called under the console's lock. */
#ifndef KERNEL_FBCON_H
#define KERNEL_FBCON_H

#include "kernel/boot.h"

/* Maps the framebuffer and clears it. Without one (addr 0) the console stays silent. */
void fbcon_init(const struct boot_framebuffer *fb);

/* Prints; understands \n \r \b, scrolls, ignores other control bytes. */
void fbcon_write(const char *text, size_t bytes);

#endif
