/*
 * Gives a restarted data core its queue pair back while all others keep polling: only its pair is
 * stopped and started, on every port. Some cards cannot do this, or not at all times. All ports are then
 * restarted (ports.c), and every core loses some packets.
 *
 *     step        entered by                            leaves when
 *     NOBODY      the ports run                         a data core has restarted → received packets are
 *                                                       spread over the others, its pair is stopped on
 *                                                       all ports → PREPARING
 *     PREPARING   above                                 the core has zeroed its ring memory → its pair
 *                                                       is started → ATTACHING
 *     ATTACHING   above                                 the core polls → packets are spread over it
 *                                                       again → NOBODY
 *
 * Cores are recovered one at a time. Another core that restarts meanwhile waits and receives no packets
 * either. A core that restarts while it is being recovered starts over.
 */
#include "runtime/shared.h"
#include "drivers/nic.h"

static enum { NOBODY, PREPARING, ATTACHING } step;
static unsigned who;      /* index of the data core being recovered */
static uint64_t begun_tsc; /* time at which its restart was noticed */

void recovery_reset(void)
{
	step = NOBODY;
}

bool recovery_busy(void)
{
	return step != NOBODY;
}

static bool has_restarted(unsigned d)
{
	return shared_load(&core_shm_of(data_core(d))->restarted);
}

/* The port was started, and its device is not known to be gone. */
static bool is_there(unsigned p)
{
	struct nic_link link;
	return published_header()->nic[p].pairs && core_port_link(p, &link) && !link.gone;
}

static bool failed(unsigned p, int e)
{
	const struct nic *nic = core_port_nic(p);
	core_log("eth%u: %s: %s (error %d): a queue pair cannot be restarted alone", p,
	         nic->ops->name, nic->error ? nic->error : "the driver cannot", -e);
	return false;
}

/* A mask of all pairs except that of the core being recovered; `served`: only pairs whose cores
 * poll. */
static uint64_t pairs_of_others(bool served)
{
	const struct published *s = published_header();
	uint64_t pairs = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (s->pair_of[d] != NO_PAIR && !(step != NOBODY && d == who) &&
		    !(served && has_restarted(d)))
			pairs |= 1ull << s->pair_of[d];
	return pairs;
}

/* Spreads received packets over the other pairs. If no other core polls, they go to the pairs of other
 * restarted cores and are lost or wait there: some cards cannot stop a pair that still receives. */
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
	for (unsigned p = 0; p < core_port_count(); p++) /* after an error a stop of all ports does this */
		if (is_there(p))
			ports_book_unread(p, pair);
	return true;
}

static bool pairs_start(unsigned pair)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic *nic = ports_nic(p);
		int e = is_there(p) ? nic->ops->pair_start(nic, ports_config(p), pair,
		                                           &published_header()->nic[p])
		                    : E_OK;
		if (e != E_OK)
			return failed(p, e);
	}
	return true;
}

/* Starts to recover data core d. Messages that it has punted are served as usual. */
static bool begin(unsigned d)
{
	const uint8_t pair = published_header()->pair_of[d];
	who = d;
	begun_tsc = clock_tsc();
	step = PREPARING;
	core_event(EVENT_recover, data_core(d), pair);
	if (pair != NO_PAIR && (!spread() || !pairs_stop(pair)))
		return false;
	ports_ask(d, PORTS_PREPARE);
	return true;
}

static bool attach(void)
{
	const uint8_t pair = published_header()->pair_of[who];
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
	crash_turn(); /* print the report before the message that the core polls again */
	core_event(EVENT_recovered, data_core(who), us);
	core_log("core %u: polls again after %u us; the others have gone on", data_core(who),
	         (unsigned)us);
	return true;
}

bool recovery_turn(void)
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
