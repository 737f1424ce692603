/*
 * Gives a restarted data core its queue pair back while all others keep polling: received packets are spread over
 * the others, and only its pair is stopped and started, on every port. restart.c has the steps in which it calls
 * these functions. Some cards cannot do this, or not at all times: such a port is restarted as a whole meanwhile.
 *
 * Cores are recovered one at a time. Another core that restarts meanwhile waits and receives no packets
 * either. A core that restarts while it is being recovered starts over.
 */
#include "runtime/shared.h"
#include "drivers/nic.h"

static bool has_restarted(unsigned d)
{
	return shared_load(&core_shm_of(data_core(d))->restarted);
}

bool recovery_is_due(unsigned d)
{
	return has_restarted(d) && self.info->status[data_core(d)].state != CORE_DEAD;
}

/* The port was started, and its device is not known to be gone. */
static bool is_there(unsigned p)
{
	struct nic_link link;
	return published_header()->nic[p].pairs && core_port_link(p, &link) && !link.gone;
}

static uint32_t failed(unsigned p, int e)
{
	const struct nic *nic = core_port_nic(p);
	core_log("eth%u: %s: %s (error %d): a queue pair cannot be restarted alone", p,
	         nic->ops->name, nic->error ? nic->error : "the driver cannot", -e);
	return 1u << p;
}

/* A mask of all pairs except `left`; `served`: only pairs whose cores poll. */
static uint64_t pairs_except(uint64_t left, bool served)
{
	const struct published *s = published_header();
	uint64_t pairs = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (s->pair_of[d] != NO_PAIR && !(served && has_restarted(d)))
			pairs |= 1ull << s->pair_of[d];
	return pairs & ~left;
}

/* Spreads received packets over all pairs but `left`. If no other core polls, they go to the pairs of other
 * restarted cores and are lost or wait there: some cards cannot stop a pair that still receives. Returns the ports
 * whose devices failed. */
static uint32_t spread(uint64_t left)
{
	uint64_t pairs = pairs_except(left, true);
	uint32_t bad = 0;
	pairs = pairs ? pairs : pairs_except(left, false);
	for (unsigned p = 0; p < core_port_count() && pairs; p++) {
		struct nic *nic = ports_nic(p);
		int e = is_there(p) && nic->ops->spread ? nic->ops->spread(nic, pairs) : E_OK;
		if (e == E_OK && is_there(p)) /* not to a pair that is being stopped */
			e = rules_set(p, pairs);
		if (e != E_OK)
			bad |= failed(p, e);
	}
	return bad;
}

/* Stops the pair on all ports but `bad`; returns these and those whose devices failed. */
static uint32_t pairs_stop(unsigned pair, uint32_t bad)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		struct nic *nic = ports_nic(p);
		if (!is_there(p) || bad >> p & 1)
			continue;
		int e = nic->ops->pair_stop ? nic->ops->pair_stop(nic, pair) : E_NOTSUP;
		if (e != E_OK)
			bad |= failed(p, e);
	}
	return bad;
}

uint32_t recovery_begin(unsigned d)
{
	const uint8_t pair = published_header()->pair_of[d];
	core_event(EVENT_recover, data_core(d), pair);
	return pair == NO_PAIR ? 0 : pairs_stop(pair, spread(1ull << pair));
}

void recovery_book_unread(unsigned d, uint32_t ports)
{
	const uint8_t pair = published_header()->pair_of[d];
	for (unsigned p = 0; p < core_port_count() && pair != NO_PAIR; p++)
		if (is_there(p) && !(ports >> p & 1))
			ports_book_unread(p, pair);
}

bool recovery_start_pairs(unsigned d, uint32_t ports)
{
	const uint8_t pair = published_header()->pair_of[d];
	for (unsigned p = 0; p < core_port_count() && pair != NO_PAIR; p++) {
		struct nic *nic = ports_nic(p);
		if (!is_there(p) || ports >> p & 1)
			continue;
		int e = nic->ops->pair_start(nic, ports_config(p), pair, &published_header()->nic[p]);
		if (e != E_OK) {
			failed(p, e);
			return false;
		}
	}
	return true;
}

void recovery_end(unsigned d, unsigned us)
{
	const uint32_t bad = spread(0);
	for (unsigned p = 0; p < core_port_count(); p++)
		if (bad >> p & 1)
			restart_port(p, "received packets cannot be spread over all queues again");
	core_event(EVENT_recovered, data_core(d), us);
	core_log("core %u: polls again after %u us; the others have gone on", data_core(d), us);
}
