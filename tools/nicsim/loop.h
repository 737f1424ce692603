/*
 * The event loop of the process; there is only one.
 *
 * While no port is in line-rate mode, the loop sleeps in ppoll until a guest, a wire, a command, a
 * signal or the nearest deadline needs service. With a line-rate port that has a live guest, the
 * loop polls, because a write to a mapped doorbell sends no message. It then checks file
 * descriptors every LOOK_NS, and naps between these checks when no frame has moved for IDLE_NS.
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

/* Writes all statistics into a JSON object that the caller has opened. */
void nicsim_stats(struct nicsim *s, struct json *j);
/* Writes the same to --stats or standard output. */
void nicsim_report(struct nicsim *s);

#endif
