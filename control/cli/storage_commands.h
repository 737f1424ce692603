/* Commands for what the machine remembers: startup configuration, record of commits, the store. */
#ifndef CONTROL_CLI_STORAGE_COMMANDS_H
#define CONTROL_CLI_STORAGE_COMMANDS_H

#include "control/console/shell.h"

void write_memory(struct shell *sh);
void erase_startup(struct shell *sh);
void show_startup(struct shell *sh);
void show_record(struct shell *sh);
void show_storage(struct shell *sh);

/* Continues a command `commit startup`, whose commit has just been made: once it is in force, it is written. */
void write_after_commit(struct shell *sh, uint32_t number);

uint64_t storage_commands_timer(void);

#endif
