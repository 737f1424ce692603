/* The configuration that the loader brought. */
#ifndef CONTROL_COMMIT_LOAD_H
#define CONTROL_COMMIT_LOAD_H

#include "control/config/config.h"
#include "control/text/module.h"
#include "runtime/apps.h"

extern struct module boot_module; /* what the loader brought, cut */

/* Makes running.config of the configuration that the loader brought, or the default one where that is
 * bad. Once. False: there is no memory even for an empty one. */
bool load_start(void);

/* What the machine says of a configuration, with that application, beyond config_parse: E_INVAL. */
int load_check(const struct config *c, enum core_app_number app, struct text_error *err);

/* What was good is not to be applied after all, for what running.error says. */
void load_withdraw(void);

/* Tells what is wrong with it. */
void load_report(void);

#endif
