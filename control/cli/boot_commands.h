/* Commands about the images on the disk, and about installation (docs/install.md). */
#ifndef CONTROL_CLI_BOOT_COMMANDS_H
#define CONTROL_CLI_BOOT_COMMANDS_H

#include "control/console/shell.h"

void show_boot(struct shell *sh);
void upgrade_url(struct shell *sh);
void upgrade_activate(struct shell *sh);
void upgrade_confirm(struct shell *sh);
void upgrade_cancel(struct shell *sh);
void install_command(struct shell *sh);

/* "image A of disk0", for `show version`; NULL: the machine was not started from a disk with images. */
const char *boot_words(char *to, size_t bytes);

#endif
