/*
 * A data core that has come up anew gets its queue pair back while all others go on polling: its
 * pair alone is stopped and started, on every port. Not all cards can, nor can every card at any
 * time: then all ports are restarted (ports.c), which costs everybody some packets.
 *
 *     step        entered by                            leaves when
 *     NOBODY      the ports run                         a data core has come up anew → what is received
 *                                                       is spread over the others, its pair stopped on
 *                                                       all ports → PREPARING
 *     PREPARING   above                                 it has zeroed its ring memory → the pair is
 *                                                       started → ATTACHING
 *     ATTACHING   above                                 it polls → spread over it as well → NOBODY
 *
 * One core after the other: who comes up anew meanwhile waits, and is sent nothing either. One that
 * comes up anew while it is being helped is helped from the beginning.
 */
#include "core/outbox.h"
#include "drivers/nic.h"

static enum { NOBODY, PREPARING, ATTACHING } step;
static unsigned who;      /* data core index */
static uint64_t begun_tsc; /* when we saw it */

void revive_reset(void)
{
	step = NOBODY;
}

bool revive_busy(void)
{
	return step != NOBODY;
}

static bool has_restarted(unsigned d)
{
	return shared_load(&outbox_of(data_core(d))->restarted);
}

/* The port was started, and its device is not known to be gone. */
static bool is_there(unsigned p)
{
	struct nic_link link;
	return snapshot_header()->nic[p].pairs && core_port_link(p, &link) && !link.gone;
}

static bool failed(unsigned p, int e)
{
	const struct nic *nic = core_port_nic(p);
	core_log("eth%u: %s: %s (error %d): a queue pair cannot be restarted alone", p,
	         nic->ops->name, nic->error ? nic->error : "the driver cannot", -e);
	return false;
}

/* All pairs but that of the core which is being helped; `served`: whose cores take what is received. */
static uint64_t pairs_of_others(bool served)
{
	const struct snapshot *s = snapshot_header();
	uint64_t pairs = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (s->pair_of[d] != NO_PAIR && !(step != NOBODY && d == who) &&
		    !(served && has_restarted(d)))
			pairs |= 1ull << s->pair_of[d];
	return pairs;
}

/* Where nobody else takes it what comes is lost, or waits; but a card may be unable to stop a pair that
 * it leads frames to. */
static bool spread(void)
{
	uint64_t pairs = pairs_of_others(true);
	pairs = pairs ? pairs : pairs_of_others(false);
	for (unsigned p = 0; p < core_port_count() && pairs; p++) {
		struct nic *nic = ports_nic(p);
		int e = is_there(p) && nic->ops->spread ? nic->ops->spread(nic, pairs) : E_OK;
		if (e != E_OK)
			return failed(p, e);
	}
	return true;
}

static bool pairs_stop(unsigned pair)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic *nic = ports_nic(p);
		if (!is_there(p))
			continue;
		int e = nic->ops->pair_stop ? nic->ops->pair_stop(nic, pair) : E_NOTSUP;
		if (e != E_OK)
			return failed(p, e);
	}
	for (unsigned p = 0; p < core_port_count(); p++) /* else it is done when all are stopped */
		if (is_there(p))
			ports_book_unread(p, pair);
	return true;
}

static bool pairs_start(unsigned pair)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic *nic = ports_nic(p);
		int e = is_there(p) ? nic->ops->pair_start(nic, ports_config(p), pair,
		                                           &snapshot_header()->nic[p])
		                    : E_OK;
		if (e != E_OK)
			return failed(p, e);
	}
	return true;
}

/* What it had punted has gone, or goes, the usual way. */
static bool begin(unsigned d)
{
	const uint8_t pair = snapshot_header()->pair_of[d];
	who = d;
	begun_tsc = clock_tsc();
	step = PREPARING;
	core_event(EVENT_revive, data_core(d), pair);
	if (pair != NO_PAIR && (!spread() || !pairs_stop(pair)))
		return false;
	ports_ask(d, PORTS_PREPARE);
	return true;
}

static bool attach(void)
{
	const uint8_t pair = snapshot_header()->pair_of[who];
	if (pair != NO_PAIR && !pairs_start(pair))
		return false;
	step = ATTACHING;
	ports_ask(who, PORTS_RUNNING);
	return true;
}

static bool end(void)
{
	uint64_t us = clock_us(&self.clock, clock_tsc() - begun_tsc);
	step = NOBODY;
	if (!spread())
		return false;
	crash_turn(); /* why, before that it is over */
	core_event(EVENT_revived, data_core(who), us);
	core_log("core %u: polls again after %u us; the others have gone on", data_core(who),
	         (unsigned)us);
	return true;
}

bool revive_turn(void)
{
	switch (step) {
	case NOBODY:
		for (unsigned d = 0; d < self.info->data_cores; d++)
			if (has_restarted(d) && self.info->status[data_core(d)].state != CORE_DEAD)
				return begin(d);
		return true;
	case PREPARING:
		return !ports_answered(who) || attach();
	case ATTACHING:
		if (has_restarted(who))
			return begin(who);
		return !ports_answered(who) || end();
	}
	return true;
}
