/*
 * `test churn RATE SECONDS`: changes RATE routes a second, by the function that commits use, while
 * data cores look up. At the end the table is restored, and compared with the original. For tests
 * and benchmarks. One at a time; a state machine like ping.c.
 *
 *     SURVEY    walks the table: computes its sum, picks up to SLOTS prefixes to change  -> CHURN
 *     CHURN     changes slots at random, as many as are due                              -> RESTORE
 *     RESTORE   sets each slot back                                                      -> COMPARE
 *     COMPARE   walks again: the sum must be the same                                    -> IDLE
 *
 * A slot is a prefix with one next hop, a neighbour, which is replaced by another neighbour and
 * back. Or it is a half of such a prefix that has no route in the table: it is announced, replaced
 * and withdrawn.
 *
 * Invariants
 * 1. Next hops are paired in the order of the survey, IPv4 and IPv6 separately. A slot leads to its
 *    prefix's original next hop or to that one's partner, or is withdrawn. So a test that knows the
 *    table can check that each packet left by a next hop that its route has had.
 * 2. No turn changes or walks more than a slice, so the control core's other work continues.
 * 3. The slots' neighbours are held meanwhile, so their next-hop numbers stay valid.
 *
 * Deliberately missing: changes of prefixes with several next hops, or without a neighbour.
 */
#include "control/test/churn.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "control/console/serial.h"
#include "control/console/shell.h"
#include "control/forwarding/adjacency.h"
#include "control/forwarding/subnets.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "control/forwarding/routes.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define SLOTS 65536u
#define HALVES6 48u /* below ROUTES6_MORE of control/forwarding/tables.c, the spare IPv6 routes */
#define HOPS 256u
#define NO_PARTNER 0u
#define CHANGES_PER_SLICE 256   /* half a millisecond */
#define PREFIXES_PER_SLICE 2048 /* under a millisecond */
#define PAUSE_NS 1000000u       /* between slices, if no change is due */
#define RESTORE_TRIES 1000      /* each after a reclaim */

enum phase { IDLE, SURVEY, CHURN, RESTORE, COMPARE };

struct route {
	struct net_addr prefix; /* of IPv4: net_addr_ip4 */
	uint32_t nh;
	uint8_t plen;
	bool six;
};

struct slot {
	struct net_addr prefix;
	uint16_t was, now; /* next hops; NH_NONE: not in the table */
	uint16_t hop;      /* index in churn.hop of the prefix's original next hop */
	uint8_t plen;
	bool six;
};

struct sum {
	uint64_t digest; /* of all prefixes with their next hops; does not depend on their order */
	uint32_t prefixes;
};

static struct slot *slots; /* allocated once */

static struct {
	enum phase phase;
	struct shell *sh; /* NULL: no console waits for the end */
	uint32_t rate;
	uint64_t length_ns, began_ns, took_ns;
	struct fib_cursor cursor; /* of the walk */
	bool walks6;              /* the walk has reached IPv6 */
	uint32_t walked, table4, table6; /* prefixes: walked; in the tables at the start */
	struct sum before, after;
	uint16_t hop[HOPS]; /* the partner of hop[i] is hop[i ^ 1], if there is one */
	uint32_t hops, slots, halves6;
	uint64_t random;
	uint64_t done, announced, withdrawn, replaced, refused;
	uint64_t longest_tsc;         /* of the slices of changes */
	uint32_t restored, at, tries; /* slots set back; the next slot, and its refusals */
} churn;

/* --- walking --- */

static void walk_begin(void)
{
	memset(&churn.cursor, 0, sizeof churn.cursor);
	churn.walks6 = false;
	churn.walked = 0;
	churn.table4 = fib_count(&forwarding.fib);
	churn.table6 = fib_count(&forwarding.fib6);
}

/* The next prefix of either table; false: there is none. */
static bool walk_next(struct route *r)
{
	struct fib4_route four;
	struct fib6_route six;
	if (!churn.walks6 && fib4_next(&forwarding.fib, &churn.cursor, &four)) {
		*r = (struct route){net_addr_ip4(four.prefix), four.nh, four.plen, false};
		return true;
	}
	if (!churn.walks6) {
		churn.walks6 = true;
		memset(&churn.cursor, 0, sizeof churn.cursor);
	}
	if (!fib6_next(&forwarding.fib6, &churn.cursor, &six))
		return false;
	*r = (struct route){six.prefix, six.nh, six.plen, true};
	return true;
}

/* The host route of a neighbour on a connected subnet, which comes and goes by itself. */
static bool is_host(const struct route *r)
{
	return r->plen == (r->six ? 128 : 32) && subnet_interface(&r->prefix) >= 0;
}

static void sum_add(struct sum *s, const struct route *r)
{
	uint64_t h = r->plen | (uint64_t)r->six << 8 | (uint64_t)r->nh << 16;
	for (unsigned i = 0; i < 4; i++) {
		h = (h ^ r->prefix.w[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	s->digest += h;
	s->prefixes++;
}

/* --- slots --- */

/* The index of the route's next hop, which is held from now on; HOPS: there are too many. */
static uint32_t hop_index(const struct route *r)
{
	for (uint32_t i = 0; i < churn.hops; i++)
		if (churn.hop[i] == r->nh)
			return i;
	/* the first IPv6 next hop begins a new pair */
	if (churn.hops % 2 && r->six != adjacency_is_six(churn.hop[churn.hops - 1]))
		churn.hop[churn.hops++] = NO_PARTNER;
	if (churn.hops == HOPS)
		return HOPS;
	routes_hold(r->nh);
	churn.hop[churn.hops] = (uint16_t)r->nh;
	return churn.hops++;
}

static void slot_add(const struct route *r, uint32_t hop, uint32_t nh)
{
	slots[churn.slots++] = (struct slot){.prefix = r->prefix,
	                                     .was = (uint16_t)nh,
	                                     .now = (uint16_t)nh,
	                                     .hop = (uint16_t)hop,
	                                     .plen = r->plen,
	                                     .six = r->six};
}

static uint64_t random_next(void) /* xorshift64* */
{
	churn.random ^= churn.random >> 12;
	churn.random ^= churn.random << 25;
	churn.random ^= churn.random >> 27;
	return churn.random * 0x2545f4914f6cdd1d;
}

/* Replaces a prefix by one of its halves, chosen at random. False: it has no halves, or the table
 * has that one. */
static bool halve(struct route *r)
{
	const unsigned most = r->six ? 128 : 32;
	/* IPv4 has the last of the four words, IPv6 has all; in network order */
	uint8_t *octets = (uint8_t *)r->prefix.w + (r->six ? 0 : 12);
	if (r->plen >= most)
		return false;
	if (random_next() >> 63)
		octets[r->plen / 8] |= (uint8_t)(0x80 >> r->plen % 8);
	r->plen++;
	return (r->six ? fib6_get(&forwarding.fib6, &r->prefix, r->plen)
	               : fib4_get(&forwarding.fib, net_addr_to_ip4(&r->prefix), r->plen)) == NH_NONE;
}

/* Is number n one of `want` numbers, spread evenly over `all`? */
static bool is_chosen(uint64_t n, uint64_t all, uint64_t want)
{
	return all <= want || n * want / all != (n + 1) * want / all;
}

/* True for at most HALVES6 prefixes, at random places of the table. */
static bool may_halve6(void)
{
	return churn.halves6 < HALVES6 && random_next() % (1 + churn.table6 / HALVES6) == 0;
}

/* Makes slots of a prefix, if it is one of those to change. */
static void survey(struct route r)
{
	const bool neighbour = r.nh >= NH_NEIGHBOUR && r.nh < NH_MAX;
	if (!neighbour || is_host(&r) || churn.slots + 2 > SLOTS ||
	    !is_chosen(churn.walked, churn.table4 + churn.table6, SLOTS / 2))
		return;
	uint32_t hop = hop_index(&r);
	if (hop == HOPS)
		return;
	slot_add(&r, hop, r.nh);
	if (r.six && !may_halve6())
		return;
	if (halve(&r)) {
		churn.halves6 += r.six;
		slot_add(&r, hop, NH_NONE);
	}
}

/* --- changes --- */

static bool slot_set(struct slot *s, uint32_t nh)
{
	if (!routes_test_set(&s->prefix, s->plen, s->six, nh == s->was ? NH_NONE : nh)) {
		s->now = s->was;
		return false;
	}
	s->now = (uint16_t)nh;
	return true;
}

/* A slot's next state: a next hop of its pair, or NH_NONE (withdrawn) if the slot was not in the
 * table at first. NH_NONE for any other slot: its next hop has no partner. */
static uint32_t slot_next(const struct slot *s)
{
	const uint16_t own = churn.hop[s->hop];
	const uint32_t beside = s->hop ^ 1u;
	const uint16_t partner = beside < churn.hops ? churn.hop[beside] : NO_PARTNER;
	const bool odd = random_next() >> 63;
	if (s->now == NH_NONE)
		return odd && partner != NO_PARTNER ? partner : own;
	if (s->was == NH_NONE && (odd || partner == NO_PARTNER))
		return NH_NONE;
	return s->now == own ? partner : own;
}

static void change_one(void)
{
	struct slot *s = &slots[(random_next() >> 32) * churn.slots >> 32];
	const uint32_t was = s->now, nh = slot_next(s);
	churn.done++;
	if (nh == NH_NONE && s->was != NH_NONE)
		return;
	if (!slot_set(s, nh))
		churn.refused++;
	else if (was == NH_NONE)
		churn.announced++;
	else if (nh == NH_NONE)
		churn.withdrawn++;
	else
		churn.replaced++;
}

/* --- phases --- */

static void say(const char *format, ...) PRINTF_LIKE(1, 2);
static void say(const char *format, ...)
{
	char text[256];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	if (churn.sh)
		shell_print(churn.sh, "%s\n", text);
	else
		console_log("test churn: %s", text);
}

static void let_go(void)
{
	for (uint32_t i = 0; i < churn.hops; i++)
		if (churn.hop[i] != NO_PARTNER)
			routes_release(churn.hop[i]);
	churn.phase = IDLE;
	if (churn.sh)
		shell_done(churn.sh);
	churn.sh = NULL;
}

static void report(void)
{
	const uint64_t made = churn.announced + churn.withdrawn + churn.replaced;
	const uint64_t ms = churn.took_ns / 1000000;
	const bool same = churn.before.digest == churn.after.digest &&
	                  churn.before.prefixes == churn.after.prefixes;
	say("%llu changes in %llu.%03llu s, %llu a second: %llu announced, %llu withdrawn, %llu replaced",
	    (unsigned long long)made, (unsigned long long)ms / 1000, (unsigned long long)ms % 1000,
	    (unsigned long long)(ms ? made * 1000 / ms : 0), (unsigned long long)churn.announced,
	    (unsigned long long)churn.withdrawn, (unsigned long long)churn.replaced);
	say("%llu refused, longest slice %llu us", (unsigned long long)churn.refused,
	    (unsigned long long)clock_ns(&self.clock, churn.longest_tsc) / 1000);
	say("%u prefixes restored: the table of %u %s", churn.restored, churn.after.prefixes,
	    same ? "is as before" : "is NOT as before");
}

static void end_churn(void)
{
	churn.took_ns = core_now_ns() - churn.began_ns;
	churn.phase = RESTORE;
	churn.at = churn.restored = churn.tries = 0;
}

/* Ctrl-C, or the session is over. The table is still restored, and the result is logged. */
static void cancel(struct shell *sh)
{
	churn.sh = NULL;
	shell_done(sh);
	if (churn.phase == SURVEY)
		let_go();
	else if (churn.phase == CHURN)
		end_churn();
}

static void survey_slice(void)
{
	struct route r;
	for (unsigned i = 0; i < PREFIXES_PER_SLICE; i++, churn.walked++) {
		if (!walk_next(&r)) {
			churn.phase = CHURN;
			break;
		}
		if (!is_host(&r))
			sum_add(&churn.before, &r);
		survey(r);
	}
	if (churn.phase != CHURN)
		return;
	churn.began_ns = core_now_ns();
	if (churn.slots) {
		say("%u prefixes change", churn.slots);
		return;
	}
	say("no route leads to a neighbour");
	let_go();
}

static uint64_t churn_slice(void)
{
	const uint64_t now = core_now_ns(), passed = now - churn.began_ns, tsc = clock_tsc();
	const uint64_t due = passed / 1000 * churn.rate / 1000000;
	if (passed >= churn.length_ns) {
		end_churn();
		return now;
	}
	for (unsigned i = 0; i < CHANGES_PER_SLICE && churn.done < due; i++)
		change_one();
	const uint64_t took = clock_tsc() - tsc;
	churn.longest_tsc = took > churn.longest_tsc ? took : churn.longest_tsc;
	return churn.done < due ? now : now + PAUSE_NS;
}

/* Sets slots back. A slot for which there is no memory is tried again in the next slice. */
static void restore_slice(void)
{
	for (unsigned i = 0; i < CHANGES_PER_SLICE && churn.at < churn.slots; i++) {
		struct slot *s = &slots[churn.at];
		const bool moved = s->now != s->was;
		if (moved && !slot_set(s, s->was) && ++churn.tries < RESTORE_TRIES)
			return;
		churn.restored += moved;
		churn.tries = 0;
		churn.at++;
	}
	if (churn.at < churn.slots)
		return;
	churn.phase = COMPARE;
	walk_begin();
}

static void compare_slice(void)
{
	struct route r;
	for (unsigned i = 0; i < PREFIXES_PER_SLICE; i++) {
		if (!walk_next(&r)) {
			report();
			let_go();
			return;
		}
		if (!is_host(&r))
			sum_add(&churn.after, &r);
	}
}

/* --- interface --- */

void churn_start(struct shell *sh, uint32_t rate, uint32_t seconds)
{
	if (churn.phase != IDLE || !forwarding.ready) {
		shell_print(sh, churn.phase != IDLE ? "another test churn runs\n" : "no table\n");
		return;
	}
	slots = slots ? slots : core_private_alloc(SLOTS * sizeof *slots);
	if (!slots) {
		shell_print(sh, "there is not enough memory\n");
		return;
	}
	memset(&churn, 0, sizeof churn);
	core_random(&churn.random, sizeof churn.random);
	churn.random |= 1;
	churn.sh = sh;
	churn.rate = rate;
	churn.length_ns = seconds * SECOND_NS;
	churn.phase = SURVEY;
	walk_begin();
	shell_set_busy(sh, cancel);
}

uint64_t churn_timer(void)
{
	uint64_t next = core_now_ns();
	switch (churn.phase) {
	case IDLE:
		break;
	case SURVEY:
		survey_slice();
		break;
	case CHURN:
		next = churn_slice();
		break;
	case RESTORE:
		restore_slice();
		break;
	case COMPARE:
		compare_slice();
		break;
	}
	return churn.phase == IDLE ? UINT64_MAX : next;
}

void churn_end(void)
{
	if (churn.phase == IDLE)
		return;
	say("ended: the configuration changes");
	for (uint32_t i = 0; i < churn.slots; i++)
		if (slots[i].now != slots[i].was && !slot_set(&slots[i], slots[i].was))
			churn.refused++;
	let_go();
}

void churn_forget(void)
{
	if (churn.phase == IDLE)
		return;
	say("ended: the tables are made anew");
	churn.hops = 0;
	let_go();
}
