/* The configuration that runs. load.c and commit.c write it; all others read. */
#ifndef CONTROL_CONFIG_RUNNING_H
#define CONTROL_CONFIG_RUNNING_H

#include "control/config/config.h"

struct running {
	bool applied;        /* the configuration was good and is in force */
	struct config config; /* that which runs; config_default() where the loader's was not good */
	struct config_memory memory; /* where its routes lie; what the parser needs */
	struct text_error error; /* why it is not applied */
	uint32_t number;     /* counts the configurations that have run */
};

extern struct running running;

#endif
