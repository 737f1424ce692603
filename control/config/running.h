/* The running configuration. Only load.c and commit.c (control/commit/) write it. */
#ifndef CONTROL_CONFIG_RUNNING_H
#define CONTROL_CONFIG_RUNNING_H

#include "control/config/config.h"

struct running {
	bool applied;        /* the configuration is valid and in force */
	struct config config; /* config_default() if the loader's was not valid */
	struct config_memory memory; /* of its routes and rules, and the parser's scratch */
	struct text_error error; /* why it is not applied */
	uint32_t number;     /* incremented by each commit */
};

extern struct running running;

#endif
