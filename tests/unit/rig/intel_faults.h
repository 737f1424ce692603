/* For tests of a driver of Intel's with a model that misbehaves: calls that must end in time, and traffic. */
#ifndef TESTS_UNIT_RIG_INTEL_FAULTS_H
#define TESTS_UNIT_RIG_INTEL_FAULTS_H

#include "tests/unit/rig/intel_port.h"

/* Frame `seq` with its own length and bytes, in `frame`, to us, of no protocol that the device knows. */
unsigned make_numbered(uint32_t seq);

/* The steps of a port's life, with two pairs; each fails the test if it takes more than five seconds. */
int timed_probe(void);
int timed_start(void);
void timed_stop(void);

/* Sends and receives `n` frames, in bursts; checks the contents of received ones. Returns how many
 * were received, over all pairs. */
unsigned traffic(unsigned n);

/* The device works again: start, traffic without loss, stop. */
void assert_recovers(void);

/* A fault that is there from power-on or from probe on; the errors of probe and of start, and a word of their
 * reason. */
struct start_up_fault {
	const char *fault;
	int probe, start;
	const char *names;
};

/* A device that failed moves no frame, and works once the fault is gone. */
void assert_start_up_names(const struct start_up_fault *f);

#endif
