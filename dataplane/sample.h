/*
 * Packet sampling for sFlow (net/sflow.h). A data core passes over a random number of the packets that a port has
 * received, copies the head of the next one into its ring, and so on: one of dp_state.sample_rate on average. The
 * control core reads the ring (control/monitor/sflow.c).
 *
 * The ring has no tail: the writer never waits, and the numbers of the samples tell a reader that is late how many
 * it has lost. A core counts the packets that it could have sampled, by port. A restart of its program begins both
 * anew.
 *
 * Cost: a port without sampling executes nothing, because the word that leads to captures leads here. One with
 * sampling pays for a call and two additions a vector.
 */
#ifndef DATAPLANE_SAMPLE_H
#define DATAPLANE_SAMPLE_H

#include "runtime/runtime.h"

#define SAMPLE_HEAD_MAX 128
#define SAMPLES_KEPT 31
#define SAMPLES_PLACES (SAMPLES_KEPT + 1) /* one more for the sample that is being written */

struct sample {
	uint64_t number; /* of the samples of its core and port, from 1 on */
	uint32_t len;  /* of the frame, without FCS */
	uint16_t kept; /* bytes of it */
	uint16_t port;
	uint8_t head[SAMPLE_HEAD_MAX];
};

/* In a data core's shared area; zero when its program starts. */
struct sample_ring {
	uint64_t count; /* samples so far; sample n is v[n % SAMPLES_PLACES]; written last */
	uint64_t taken[NIC_PORTS_MAX]; /* samples of each port */
	uint64_t pool[NIC_PORTS_MAX]; /* packets of each port that could have been sampled */
	struct sample v[SAMPLES_PLACES];
};

/* control_hooks.sample */
void sample_vector(const struct pkt *v, unsigned n, unsigned port);

/* Copies the next sample of the ring of another core, from number *at on, and moves *at behind it. A ring that has
 * begun anew is read from its beginning. False: there is none. The copy is untrusted, except that `kept` is at most
 * SAMPLE_HEAD_MAX. */
bool sample_next(const struct sample_ring *r, uint64_t *at, struct sample *out);

#endif
