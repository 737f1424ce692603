/*
 * The one loop of the process.
 *
 * As long as no port is in line-rate mode, it sleeps in ppoll until a guest, a wire, a command, a
 * signal or the nearest deadline wants something. With a line-rate port that has a live guest it
 * polls: mapped doorbells change without a sound. File descriptors are then looked at every
 * LOOK_NS, and when nothing has moved for IDLE_NS it naps between the looks.
 */
#ifndef NICSIM_LOOP_H
#define NICSIM_LOOP_H

#include "tools/nicsim/control.h"
#include "tools/nicsim/options.h"
#include "tools/nicsim/port.h"

struct nicsim {
	struct options options;
	struct port port[PORTS_MAX];
	unsigned ports;
	struct control control;
	int signal_fd;
	bool quit;
	uint64_t end; /* of --duration; UINT64_MAX: none */
};

void loop_run(struct nicsim *s);

/* All statistics, in a JSON object that the caller has opened. */
void nicsim_stats(struct nicsim *s, struct json *j);
/* The same to --stats or standard output. */
void nicsim_report(struct nicsim *s);

#endif
