/*
 * The startup configuration: the store's value "startup-config", with which the machine boots if there is one,
 * instead of the boot module's. The kernel option `startup=ignore` has the boot module's used.
 *
 * What the machine has booted with is kept in memory as it was: a control program that restarts begins with it, and
 * then enters the commits since (control/config/journal.h), even if another startup configuration has been written
 * meanwhile.
 */
#ifndef CONTROL_COMMIT_STARTUP_H
#define CONTROL_COMMIT_STARTUP_H

#include "control/text/text.h"

#define STARTUP_NAME "startup-config" /* in the store, and in error messages */

/* Called once per program, before the configuration is read: the text with which the machine boots. False: there
 * is none. */
bool startup_take(struct text *text);

/* Writes the running configuration as the startup configuration; `done` as for storage_put. Errors of storage_put;
 * E_NOMEM also if it is longer than there is room. */
int startup_write(void (*done)(void *arg, int error), void *arg);

#endif
