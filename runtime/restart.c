/*
 * Ports restart alone, while the other ports forward on: a port whose device hangs or reports an error, and the
 * ports whose devices cannot restart one queue pair alone when a data core has restarted (recovery.c). The other
 * ports keep their links, and data cores keep their buffers, connections and tables.
 *
 *     step        entered by                          leaves when
 *     NOTHING     the ports run                       a data core has restarted, or restart_port was called → data
 *                                                     cores are asked to leave the ports → LEAVING; if no port must
 *                                                     restart for the core, it is asked to prepare → PREPARING
 *     LEAVING     above                               no data core uses them → their devices are stopped; the cores
 *                                                     are asked to return the buffers in the rings and to zero the
 *                                                     rings, the restarted one to prepare → PREPARING
 *     PREPARING   above                               they have → pairs and devices are started → ATTACHING
 *     ATTACHING   above, or restart_join              they poll the ports again, but those left → NOTHING
 *
 * 1. There is one restart at a time. Cores come before ports, and ports are restarted one by one, lowest first.
 * 2. A data core that restarts meanwhile answers like the others, without attaching. It is recovered afterwards.
 * 3. Packets for a port that restarts are dropped as drop_restart, or originated_drop_tx, and counted for the port as
 *    tx_flushed (data.c). What lay in its rings is lost: rx_unread counts the received frames.
 * 4. All ports restart together (ports.c) if
 *      - an application sends by slots of a port that must restart, or has set a rate or the clock there,
 *      - the driver cannot return the buffers in its rings (nic_ops.release),
 *      - the core that has restarted has lent buffers to workers (steer.h); a worker restarts alone,
 *      - the device comes back without an offload that applications rely on, or with fewer queue pairs,
 *      - a data core dies for good, or one queue pair that was stopped alone does not start,
 *      - a commit changes the size of buffers, or the control program fails meanwhile.
 *    A device that does not start at all is reported and stays stopped, and the others run on.
 *    A port whose link is down does not restart for that reason if an application sends by slots there.
 * 5. A port is *left* (published.left) if its link is down while frames wait in its rings (restart_leave): it restarts,
 *    so that these frames are dropped and counted as tx_unsent, but data cores attach only when the link is up. So no
 *    frame leaves that is older than the link, and there is one restart, however long the link is down and whatever
 *    is sent to the port meanwhile. The state survives the control program.
 */
#include "runtime/shared.h"
#include "runtime/balancer.h"
#include "runtime/buckets.h"
#include "runtime/move.h"
#include "drivers/nic.h"
#include "lib/fmt.h"
#include "lib/number.h"

#define WHY_BYTES 96
#define NOBODY UINT32_MAX

static enum { NOTHING, LEAVING, PREPARING, ATTACHING } step;
static unsigned who = NOBODY; /* index of the data core being recovered */
static uint32_t ports;        /* being restarted, one bit each */
static bool joins;            /* they were left, and are used again */
static uint64_t begun_tsc;
static uint32_t wanted;       /* ports to be restarted, */
static uint32_t joining;      /* ports left whose links are up, */
static uint32_t bound;        /* and those that cannot be alone, because the device has what an application set */
static char why[NIC_PORTS_MAX][WHY_BYTES];
static const char *failure;   /* why all ports must restart */

void restart_reset(void)
{
	step = NOTHING;
	who = NOBODY;
	ports = wanted = joining = bound = 0;
	recovery_reset();
	balancer_reset();
	move_reset();
}

bool restart_busy(void)
{
	return step != NOTHING;
}

bool restart_due(void)
{
	return step != NOTHING || wanted || joining;
}

bool restart_has(unsigned p)
{
	return (ports | wanted | joining) >> p & 1;
}

const char *restart_failure(void)
{
	return failure;
}

void restart_bind(unsigned p)
{
	bound |= 1u << p;
}

void restart_port(unsigned p, const char *reason)
{
	if (restart_has(p))
		return;
	fmt_format(why[p], WHY_BYTES, "%s", reason);
	wanted |= 1u << p;
}

static uint64_t held_by_cores(void)
{
	uint64_t held = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (self.info->status[data_core(d)].state != CORE_DEAD)
			held |= shared_load(&core_shm_of(data_core(d))->bound);
	return held;
}

bool restart_may(unsigned p)
{
	return ports_nic(p)->ops->release && !((bound | held_by_cores()) >> p & 1);
}

void restart_leave(unsigned p)
{
	published_header()->left |= 1u << p;
	restart_port(p, "its link is down, and frames waited");
}

bool restart_left(unsigned p)
{
	return published_header()->left >> p & 1;
}

void restart_join(unsigned p)
{
	joining |= 1u << p;
}

/* --- one port --- */

/* Takes the queues of a running port only, so that its link stays. False: not this port. */
static bool park(unsigned p)
{
	struct nic *nic = ports_nic(p);
	struct nic_link link;
	core_port_link(p, &link);
	return nic->ops->park && published_header()->nic[p].pairs && !link.gone && !link.restart &&
	       nic->ops->park(nic) == E_OK;
}

void ports_book_unread(unsigned p, unsigned pair)
{
	const struct nic_ring_mem *m = &ports_config(p)->mem[pair];
	const struct nic *nic = ports_nic(p);
	if (nic->ops->rx_left)
		kept()->stats[p].rx_unread += nic->ops->rx_left(&published_header()->nic[p], pair, m->mem,
		                                                m->cnt->rx_place);
}

/* Counts the frames that the device of a port just stopped has not sent. */
static void book_unsent(unsigned p)
{
	struct nic *nic = ports_nic(p);
	for (unsigned pair = 0; nic->ops->tx_left && pair < published_header()->nic[p].pairs; pair++)
		kept()->stats[p].tx_unsent += nic->ops->tx_left(nic, pair, ports_config(p)->mem[pair].mem);
}

void restart_stop_port(unsigned p)
{
	struct nic_shared *shared = &published_header()->nic[p];
	struct nic *nic = ports_nic(p);
	ports_read_stats(p);
	if (!park(p))
		nic->ops->stop(nic);
	book_unsent(p); /* not before: the link may have returned, and the device sends until it is stopped */
	for (unsigned pair = 0; pair < shared->pairs; pair++)
		ports_book_unread(p, pair);
	shared->pairs = 0;
}

int restart_start_port(unsigned p)
{
	struct nic_shared *shared = &published_header()->nic[p];
	struct nic *nic = ports_nic(p);
	const bool alone = core_ports_running();
	if (!alone)
		buckets_reset(p, published_header()->pairs); /* even if it starts later */
	*shared = (struct nic_shared){.driver = shared->driver};
	if (nic->late != NIC_HERE)
		return E_AGAIN;
	int e = nic->ops->start(nic, ports_config(p), shared);
	if (e == E_AGAIN) {
		*shared = (struct nic_shared){.driver = shared->driver};
		nic->late = NIC_LATE;
		ports_report_late(p);
	} else if (e != E_OK) {
		shared->pairs = 0;
		core_log_at(LOG_ERR, "eth%u: %s: %s (error %d); this port is not started", p, nic->ops->name,
		         nic->error ? nic->error : "does not start", -e);
	} else {
		if (!alone || !core_app()->flows || buckets_keep(p) != E_OK)
			buckets_reset(p, shared->pairs);
		if (rules_set(p, UINT64_MAX) != E_OK)
			rules_report(p);
	}
	return e;
}

/* --- the steps --- */

static bool all_ports(const char *reason)
{
	failure = reason;
	return false;
}

/* The reason of a restart, for the port or for the core that has restarted. */
static const char *reason_of(unsigned p)
{
	return who == NOBODY ? why[p] : "a data core was restarted";
}

/* Asks every data core, and the one being recovered for its own phase. */
static void ask(enum ports_phase phase, enum ports_phase of_the_restarted)
{
	published_header()->restarting = ports;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (d == who)
			ports_ask(d, of_the_restarted);
		else if (ports)
			ports_ask(d, phase);
}

/* True if all data cores that were asked have answered. */
static bool answered(void)
{
	return ports ? ports_all_answered() : ports_answered(who);
}

static void leave(uint32_t these)
{
	ports = these;
	joins = false;
	wanted &= ~these;
	for (unsigned p = 0; p < core_port_count(); p++)
		if (ports >> p & 1)
			core_event(EVENT_port_restart, p, who == NOBODY ? 0 : data_core(who));
	step = LEAVING;
	ports_asked();
	ask(PORTS_LEAVE, PORTS_LEAVE);
}

static bool begin_core(unsigned d)
{
	const uint32_t again = step == ATTACHING ? ports : 0; /* other cores may not have attached yet */
	if (steer_has_workers(published_header(), d))
		return all_ports("a data core was restarted whose buffers others have");
	who = d;
	begun_tsc = clock_tsc();
	const uint32_t these = recovery_begin(d) | again;
	if (these & bound)
		return all_ports("a data core was restarted");
	if (these) {
		leave(these);
		return true;
	}
	recovery_book_unread(d, 0);
	step = PREPARING;
	ask(PORTS_STOPPED, PORTS_PREPARE); /* no other core is asked */
	return true;
}

/* The links of ports left are up: data cores use them again. */
static void join(void)
{
	ports = joining;
	joins = true;
	joining = 0;
	published_header()->left &= ~ports;
	begun_tsc = clock_tsc();
	step = ATTACHING;
	ports_asked();
	ask(PORTS_JOIN, PORTS_JOIN);
}

static bool begin(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (recovery_is_due(d))
			return begin_core(d);
	if (joining)
		join();
	if (!wanted || step != NOTHING)
		return true;
	const unsigned p = (unsigned)__builtin_ctz(wanted);
	if (bound >> p & 1)
		return all_ports(why[p]);
	begun_tsc = clock_tsc();
	leave(1u << p);
	return true;
}

static bool stop(void)
{
	if (held_by_cores() & ports)
		return all_ports(reason_of((unsigned)__builtin_ctz(ports)));
	for (unsigned p = 0; p < core_port_count(); p++)
		if (ports >> p & 1)
			restart_stop_port(p);
	if (who != NOBODY)
		recovery_book_unread(who, ports);
	step = PREPARING;
	ports_asked();
	ask(PORTS_CLEAR, PORTS_PREPARE);
	return true;
}

/* True if the port has started as before, or has been reported and stays stopped. */
static bool start_port(unsigned p)
{
	const struct published *s = published_header();
	if (restart_start_port(p) != E_OK)
		return true;
	ports_link_again(p);
	return s->nic[p].pairs == s->pairs && (s->nic[p].features & s->features) == s->features;
}

static bool start(void)
{
	if (who != NOBODY && !recovery_start_pairs(who, ports))
		return all_ports("a data core was restarted");
	for (unsigned p = 0; p < core_port_count(); p++)
		if (ports >> p & 1 && !start_port(p))
			return all_ports(reason_of(p));
	step = ATTACHING;
	ports_asked();
	ask(PORTS_JOIN, PORTS_RUNNING);
	return true;
}

static void report_ports(unsigned us)
{
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (!(ports >> p & 1) || !published_header()->nic[p].pairs)
			continue;
		core_event(EVENT_port_back, p, us);
		if (restart_left(p))
			core_log_at(LOG_WARNING, "eth%u: its link is down: frames that waited to be sent are dropped",
			            p);
		else if (!joins)
			core_log_at(LOG_WARNING, "eth%u: restarted after %u us: %s", p, us, reason_of(p));
	}
}

static void end(void)
{
	const unsigned us = (unsigned)clock_us(&self.clock, clock_tsc() - begun_tsc);
	const unsigned of = who;
	step = NOTHING;
	for (unsigned d = 0; d < self.info->data_cores && ports; d++)
		published_header()->phase[d] = PORTS_RUNNING; /* for a program that restarts from here on */
	if (of != NOBODY) {
		recovery_end(of);
		crash_turn(); /* print the report before the message that the core polls again */
	}
	report_ports(us);
	who = NOBODY;
	if (of != NOBODY)
		recovery_report(of, us);
	const bool links = ports;
	ports = 0;
	if (links)
		ports_check_link();
}

bool restart_turn(void)
{
	switch (step) {
	case NOTHING:
		return begin();
	case LEAVING:
		return !answered() || stop();
	case PREPARING:
		return !answered() || start();
	case ATTACHING:
		if (who != NOBODY && recovery_is_due(who))
			return begin_core(who);
		if (answered())
			end();
		break;
	}
	return true;
}
