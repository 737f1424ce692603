/*
 * A run of the generator: the order of the control core and the results of the data cores. run.h is
 * the whole interface between them.
 *
 * The order is in published memory (dp->plugin_data), a result in each data core's shared area.
 * There is one order at a time:
 *
 * 1. The control core writes the order, then `number` (release), then sends each data core a
 *    message (INJECT_APP, arg RUN_MSG_ORDER). The message is lost if the core's ring is full. A
 *    data core that has not acted on the order after a while gets another message.
 * 2. When all data cores are ready, the control core writes end_tsc, then begin_tsc (release). So
 *    no core sends before all cores can, however long their preparation takes.
 * 3. The control core writes the next order only when the results of all data cores show that none
 *    still needs this one. So no core reads an order that is being written.
 *
 *     state          meaning                                         becomes
 *     RUN_NONE       no order since the program started              RUN_PREPARING
 *     RUN_PREPARING  builds its frames, once its rings are empty     RUN_READY, RUN_REFUSED
 *     RUN_READY      waits for begin_tsc                             RUN_ON
 *     RUN_ON         sends                                           RUN_SENT
 *     RUN_SENT       sends no more, all frames have left the ring    RUN_PREPARING by a new order
 *     RUN_REFUSED    the core cannot do the order: `why`             RUN_PREPARING by a new order
 *
 * Data cores look up the answers to ARP and ND requests in the order's plan at any time. These are
 * the same in every order.
 *
 * Received frames are judged from one order to the next, in every state. They are captured until
 * `over` has the order's number. The log of captures is in the core's own memory
 * (core_data_memory), at the address in the result.
 */
#ifndef PKTGEN_RUN_H
#define PKTGEN_RUN_H

#include "dataplane/state.h"
#include "tools/pktgen/measure/capture.h"
#include "tools/pktgen/measure/histogram.h"
#include "tools/pktgen/measure/judge.h"
#include "tools/pktgen/plan.h"
#include "tools/pktgen/frames/replay.h"

#define RUN_MSG_ORDER 1
#define RUN_MSG_PROBE 2 /* the frame is one of probe.h's, to be sent at once */
#define RUN_BURST_MAX 256 /* frames for one doorbell */

/* A stream in this run. Sender number k is the data core of queue pair (first + k) modulo the
 * number of data cores. */
struct run_stream {
	bool send;
	uint8_t first, senders;
	uint8_t mac_src[6], mac_dst[6];
	struct replay replay; /* in published memory */
};

struct run_order {
	uint64_t number; /* changes with each order, never 0; written last */
	uint64_t stop;   /* number of an order that must end now */
	uint64_t over;   /* number of an order to which frames received from now on do not belong */
	uint64_t begin_tsc; /* when the first frames are due; 0: not all cores are ready */
	uint64_t end_tsc;   /* no frame is due later; UINT64_MAX: the streams' limits end the run */
	uint64_t owed_max;  /* struct pace_rate */
	uint32_t tolerance_ppm;
	uint32_t cores;     /* data cores that poll */
	uint32_t burst;     /* frames for one doorbell, 1 to RUN_BURST_MAX */
	uint64_t line_bps[NIC_PORTS_MAX];
	struct run_stream stream[PLAN_STREAMS_MAX];
	/* The plan with the sizes, rates and limits of this run. plan.capture is written before the
	 * first order, because data cores divide their memory by it. */
	struct plan plan;
};

enum run_state { RUN_NONE, RUN_PREPARING, RUN_READY, RUN_ON, RUN_SENT, RUN_REFUSED };

enum run_why {
	RUN_WHY_NOT,
	RUN_WHY_FRAMES, /* frames_init refused the stream: the order is wrong */
	RUN_WHY_MEMORY, /* no room for its frames */
	RUN_WHY_LENGTH, /* its frames are longer than its port sends */
	RUN_WHY_SLOTS,  /* the port's driver cannot send prepared frames */
	RUN_WHY_BUSY,   /* its port's ring still holds frames, or the port does not run */
};

/* The part of a stream that this core has sent. */
struct run_sent {
	uint64_t frames, bytes; /* bytes without FCS */
	uint64_t first_tsc, last_tsc; /* time of the first and the last burst; 0: none */
	uint64_t forgiven, behind, worst_lag_ns; /* struct pace_result */
	uint64_t unkept; /* set at the end: 1 if the rate was not kept (pace_kept) */
};

struct run_result {
	uint64_t number; /* of the order that the other members belong to */
	uint64_t state;  /* enum run_state; written last */
	uint64_t why, refused_stream;
	struct run_sent sent[PLAN_STREAMS_MAX];
	struct judge_result judged[PLAN_STREAMS_MAX];
	struct capture_log captured;
	/* By stream: ns from when this core's frames were due until they were sent. Complete in
	 * RUN_SENT. */
	struct histogram pacing[PLAN_STREAMS_MAX];
};

/* The result of this data core, and of another core. */
static inline struct run_result *run_result(void)
{
	return dp_plugin_shared();
}

static inline const struct run_result *run_result_of(unsigned core)
{
	return dp_plugin_shared_of(core);
}

#endif
