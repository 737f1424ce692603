/*
 * The state of the spanning tree in memory that outlives the control program (core_persist_alloc), and a
 * restart of the ports. The next program goes on with it: roles and states stay, and neighbours notice nothing.
 * Without it all ports would discard for seconds, and a port behind which a bridge is silent, because it
 * listens to us, might be taken for an edge.
 *
 * Invariants
 * 1. What is found is used only if its hash is right, it was kept less than KEPT_NS ago, and the machine has
 *    as many ports. Two hello times are not enough for a neighbour to give us up (17.21.23: three).
 * 2. A program that fails between spanning_resume and the next spanning_keep is the last that uses this state:
 *    the state may be the cause.
 */
#include "apps/switch/spanning.h"

#include "lib/siphash.h"

#define KEPT_NS 5000000000ull

struct kept {
	bool fresh;    /* the machine has just booted */
	uint64_t seal; /* of all that follows; 0: nothing to resume */
	uint64_t at_ns;
	uint64_t ports;
	struct spanning state;
};

static struct kept *kept; /* NULL: no memory */

static uint64_t seal_of(const struct kept *k)
{
	static const struct siphash_key key = {0x7370616e6e696e67, 0x2074726565206f66};
	return siphash24(&key, &k->at_ns, sizeof *k - offsetof(struct kept, at_ns)) | 1;
}

static bool is_usable(const struct kept *k)
{
	const uint64_t now = core_now_ns();
	return k->seal && k->seal == seal_of(k) && k->at_ns <= now && now - k->at_ns < KEPT_NS &&
	       k->ports == core_port_count();
}

void spanning_keep_room(void)
{
	size_t bytes = 0;
	kept = core_persist_find(CORE_PERSIST_STP, &bytes);
	if (kept && bytes >= sizeof *kept)
		return;
	kept = core_persist_alloc(CORE_PERSIST_STP, sizeof *kept);
	if (kept)
		kept->fresh = true;
}

enum spanning_kept spanning_resume(void)
{
	if (!kept)
		return SPANNING_LOST;
	if (kept->fresh) {
		kept->fresh = false;
		return SPANNING_NEW;
	}
	const bool good = is_usable(kept);
	kept->seal = 0;
	if (good)
		spanning = kept->state;
	return good ? SPANNING_RESUMED : SPANNING_LOST;
}

void spanning_keep(void)
{
	if (!kept)
		return;
	kept->seal = 0;
	kept->at_ns = core_now_ns();
	kept->ports = core_port_count();
	kept->state = spanning;
	kept->seal = seal_of(kept);
}

void spanning_forget(void)
{
	if (kept)
		kept->seal = 0;
}
