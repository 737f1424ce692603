/* The loader's configuration. */
#ifndef CONTROL_COMMIT_LOAD_H
#define CONTROL_COMMIT_LOAD_H

#include "control/config/config.h"
#include "control/text/module.h"
#include "runtime/apps.h"

extern struct module boot_module; /* the loader's text, split into configuration and files */

/* Is the configuration of the boot the startup configuration of the store? */
bool load_from_store(void);

/* Sets running.config from the loader's configuration, or to the default if that is bad. Called
 * once. False: there is not enough memory even for an empty configuration. */
bool load_start(void);

/* Checks a configuration, which config_parse has accepted, against the machine and that
 * application. E_INVAL: *err says why it is refused. */
int load_check(const struct config *c, enum core_app_number app, struct text_error *err);

/* Withdraws a configuration that was accepted: the default is set. running.error says why. */
void load_withdraw(void);

/* Logs the errors of the configuration. */
void load_report(void);

#endif
