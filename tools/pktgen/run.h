/*
 * A run of the generator, as the control core orders it and data cores report it. run.h is the
 * whole interface between the two.
 *
 * The order lies in published memory (dp->plugin_data), a result in each data core's shared area. There
 * is one order at a time:
 *
 * 1. The control core writes the order, then `number` (release), then sends each data core a
 *    message (INJECT_APP, arg RUN_MSG_ORDER). The message is lost if the core's ring is full; a
 *    data core that has not acted on the order after a while is sent another.
 * 2. When all data cores are ready the control core writes end_tsc, then begin_tsc (release). So no
 *    core sends before all cores can, however long they take to prepare.
 * 3. The control core writes the next order when the result of every data core says that the core
 *    has acted on this order and is done with it. So no core reads an order that is being written.
 *
 *     state          meaning                                         becomes
 *     RUN_NONE       no order since the program started              RUN_PREPARING
 *     RUN_PREPARING  makes its frames, once its rings are empty      RUN_READY, RUN_REFUSED
 *     RUN_READY      waits for begin_tsc                             RUN_ON
 *     RUN_ON         sends                                           RUN_SENT
 *     RUN_SENT       nothing more is sent, all frames left the ring  RUN_PREPARING by the next order
 *     RUN_REFUSED    cannot be done: `why`                           the same
 *
 * The answers to ARP and discovery are looked up in the order's plan at any time: they are the same
 * in every order.
 *
 * Received frames are judged from an order to the next one, in every state, and captured until
 * `over` has the order's number. The log of captures lies in the core's own memory
 * (core_data_memory); the result tells the control core where.
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

/* What a stream is in this run. Sender number k is the data core of queue pair (first + k) modulo
 * the number of data cores. */
struct run_stream {
	bool send;
	uint8_t first, senders;
	uint8_t mac_src[6], mac_dst[6];
	struct replay replay; /* what it replays, in published memory */
};

struct run_order {
	uint64_t number; /* another one each time, never 0; written last */
	uint64_t stop;   /* a number: that order is to end now */
	uint64_t over;   /* a number: frames received from now on do not belong to that order's run */
	uint64_t begin_tsc; /* when the first frames are due; 0: not all cores are ready */
	uint64_t end_tsc;   /* nothing is sent after it; UINT64_MAX: the streams' limits end the run */
	uint64_t owed_max;  /* struct pace_rate */
	uint32_t tolerance_ppm;
	uint32_t cores;     /* data cores that poll */
	uint32_t burst;     /* frames for one doorbell, 1 to RUN_BURST_MAX */
	uint64_t line_bps[NIC_PORTS_MAX];
	struct run_stream stream[PLAN_STREAMS_MAX];
	/* Sizes, rates and limits as they are to be in this run. What it says of captures is there
	 * before the first order: data cores divide their memory by it. */
	struct plan plan;
};

enum run_state { RUN_NONE, RUN_PREPARING, RUN_READY, RUN_ON, RUN_SENT, RUN_REFUSED };

enum run_why {
	RUN_WHY_NOT,
	RUN_WHY_FRAMES, /* frames_init refused the stream: the order is wrong */
	RUN_WHY_MEMORY, /* no room for its frames */
	RUN_WHY_LENGTH, /* its frames are longer than its port sends */
	RUN_WHY_SLOTS,  /* the port's driver cannot send prepared frames */
	RUN_WHY_BUSY,   /* its ring is not empty, or the port stands still */
};

/* Of a stream on this core. */
struct run_sent {
	uint64_t frames, bytes; /* bytes without FCS */
	uint64_t first_tsc, last_tsc; /* when the first and the last burst went; 0: none */
	uint64_t forgiven, behind, worst_lag_ns; /* struct pace_result */
	uint64_t unkept; /* at the end: 1 if the flow was not what was asked for (pace_kept) */
};

struct run_result {
	uint64_t number; /* the order that the rest is about */
	uint64_t state;  /* enum run_state; written last */
	uint64_t why, refused_stream;
	struct run_sent sent[PLAN_STREAMS_MAX];
	struct judge_result judged[PLAN_STREAMS_MAX];
	struct capture_log captured;
	/* Of what this core sent, by stream: ns from due to sent. In state RUN_SENT. */
	struct histogram pacing[PLAN_STREAMS_MAX];
};

/* A data core's own; another core's. */
static inline struct run_result *run_result(void)
{
	return dp_plugin_shared();
}

static inline const struct run_result *run_result_of(unsigned core)
{
	return dp_plugin_shared_of(core);
}

#endif
