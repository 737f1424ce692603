/* Text on a linear framebuffer of 24 or 32 bits per pixel. */
#ifndef KERNEL_FBCON_H
#define KERNEL_FBCON_H

#include "kernel/boot.h"

/* Maps and clears the framebuffer. From here on it shows the console's output too. Does nothing
 * without a framebuffer (addr 0). After vm_init. */
void fbcon_init(const struct boot_framebuffer *fb);

/* Prints text and scrolls. Interprets \n \r \b and a few escape sequences; ignores other control bytes.
 * Called by kernel/console.c, under its lock. */
void fbcon_write(const char *text, size_t bytes);

#endif
