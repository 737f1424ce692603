/* The command line (docs/nicsim.md). */
#ifndef NICSIM_OPTIONS_H
#define NICSIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/model.h"

#define PORTS_MAX        16
#define PORT_FAULTS_MAX  16
#define NICSIM_VERSION   "1.0"

struct port_options {
	const struct model_ops *model;
	const char *socket;
	const char *wire;
	const char *trace; /* NULL: none */
	bool line_rate;
	uint8_t mac[6];
	const char *fault[PORT_FAULTS_MAX]; /* NAME[:ARG], checked */
	unsigned faults;
};

struct options {
	struct port_options port[PORTS_MAX];
	unsigned ports;
	const char *control, *stats; /* NULL: none, standard output */
	int ready_fd;                /* -1: standard output */
	bool die_with_parent, once;
	uint64_t duration_ns; /* 0: unlimited */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_BAD };

/* The strings in `o` point into argv, which is cut up. OPTIONS_DONE: --help or --version has been
 * answered; OPTIONS_BAD: a message has been printed. */
enum options_result options_parse(struct options *o, int argc, char **argv);

#endif
