/* Text on a linear framebuffer of 24 or 32 bits a pixel. */
#ifndef KERNEL_FBCON_H
#define KERNEL_FBCON_H

#include "kernel/boot.h"

/* Maps the framebuffer and clears it; the console shows there, too, from here on. Does nothing
 * without one (addr 0). After vm_init. */
void fbcon_init(const struct boot_framebuffer *fb);

/* Prints; understands \n \r \b, scrolls, ignores other control bytes. Called by kernel/console.c,
 * under its lock. */
void fbcon_write(const char *text, size_t bytes);

#endif
