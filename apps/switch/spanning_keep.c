/*
 * The state of the spanning tree in memory that outlives the control program (runtime/sealed.h), and a
 * restart of the ports. The next program goes on with it: roles and states stay, and neighbours notice nothing.
 * Without it all ports would discard for seconds, and a port behind which a bridge is silent, because it
 * listens to us, might be taken for an edge.
 *
 * Invariants
 * 1. What is found is used only if its seal is right, it was kept less than KEPT_NS ago, and the machine has
 *    as many ports. Two hello times are not enough for a neighbour to give us up (17.21.23: three).
 * 2. A program that fails between spanning_resume and the next spanning_keep is the last that uses this state:
 *    the state may be the cause.
 */
#include "apps/switch/spanning.h"

#include "runtime/sealed.h"

#define KEPT_NS 5000000000ull

struct kept {
	uint64_t at_ns;
	uint64_t ports;
	struct spanning state;
};

/* One version: an older one says of ports what is no longer true. */
static struct sealed memory = SEALED(CORE_PERSIST_STP, 1, struct kept);

static bool is_usable(const struct kept *k)
{
	const uint64_t now = core_now_ns();
	return k->at_ns <= now && now - k->at_ns < KEPT_NS && k->ports == core_port_count();
}

void spanning_keep_room(void)
{
	(void)sealed_take(&memory);
}

enum spanning_kept spanning_resume(void)
{
	const bool new = sealed_is_new(&memory);
	const struct kept *kept = sealed_newest(&memory);
	const bool good = kept && is_usable(kept);
	sealed_forget(&memory);
	if (good)
		spanning = kept->state;
	return new ? SPANNING_NEW : good ? SPANNING_RESUMED : SPANNING_LOST;
}

void spanning_keep(void)
{
	struct kept *kept = sealed_begin(&memory);
	if (!kept)
		return;
	kept->at_ns = core_now_ns();
	kept->ports = core_port_count();
	kept->state = spanning;
	sealed_end(&memory);
}

void spanning_forget(void)
{
	sealed_forget(&memory);
}
