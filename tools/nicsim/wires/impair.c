#include "tools/nicsim/wires/impair.h"

#include <string.h>

#include "tools/nicsim/json.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/judge.h"
#include "tools/nicsim/wires/stamped.h"

static const struct {
	const char *option, *counter;
} kinds[IMPAIR_KINDS] = {
	[IMPAIR_LOSS] = {"loss", "lost"},
	[IMPAIR_CORRUPT] = {"corrupt", "corrupted"},
	[IMPAIR_DUPLICATE] = {"duplicate", "duplicated"},
	[IMPAIR_REORDER] = {"reorder", "reordered"},
};

/* --- which frame, and which impairment --- */

/* From 0 to below 1. */
static double chance(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

static bool is_due(struct impair *m, enum impair_kind kind, uint64_t number)
{
	const struct impair_rule *r = &m->rules.of[kind];
	if (m->next[kind] < r->listed && r->at[m->next[kind]] == number) {
		m->next[kind]++;
		return true;
	}
	if (r->every)
		return number % r->every == r->every - 1;
	return r->chance != 0 && chance(&m->rules.seed) < r->chance;
}

/* The impairment of frame `number`; IMPAIR_KINDS: none. All rules are evaluated, so that a list
 * advances even at a frame that another rule takes. */
static enum impair_kind fate(struct impair *m, uint64_t number)
{
	enum impair_kind what = IMPAIR_KINDS;
	for (unsigned k = 0; k < IMPAIR_KINDS; k++)
		if (is_due(m, k, number) && what == IMPAIR_KINDS)
			what = k;
	if (what == IMPAIR_REORDER && m->waits)
		what = IMPAIR_KINDS;
	return what;
}

/* --- apply it --- */

static void pass(struct impair *m, const uint8_t *data, uint32_t bytes, uint64_t now,
                 impair_out *out, void *ctx)
{
	out(ctx, data, bytes, now);
	if (m->waits && --m->waits == 0) {
		m->done[IMPAIR_REORDER]++;
		out(ctx, m->held, m->held_bytes, now);
	}
}

static void hold(struct impair *m, const uint8_t *data, uint32_t bytes)
{
	memcpy(m->held, data, bytes);
	m->held_bytes = bytes;
	m->waits = m->rules.overtake;
}

/* Sends the frame with one bit flipped. */
static void pass_damaged(struct impair *m, const uint8_t *data, uint32_t bytes, uint32_t at,
                         uint64_t now, impair_out *out, void *ctx)
{
	memcpy(m->damaged, data, bytes);
	m->damaged[at] ^= 1;
	out(ctx, m->damaged, bytes, now);
}

void impair_frame(struct impair *m, const uint8_t *data, uint32_t bytes, uint64_t now,
                  impair_out *out, void *ctx)
{
	struct stamped s;
	bool stamped = (m->rules.any || m->waits) && stamped_find(data, bytes, &s);
	if (m->rules.stamped_only ? !stamped : !m->rules.any && !m->waits) {
		out(ctx, data, bytes, now);
		return;
	}
	enum impair_kind what = fate(m, m->frames++);
	if (what == IMPAIR_REORDER) {
		hold(m, data, bytes);
		return;
	}
	if (what != IMPAIR_KINDS)
		m->done[what]++;
	if (what == IMPAIR_CORRUPT) {
		uint32_t last = stamped ? s.stamp + (uint32_t)sizeof(struct stamp) : bytes;
		pass_damaged(m, data, bytes, last - 1, now, out, ctx);
	} else if (what != IMPAIR_LOSS) {
		if (what == IMPAIR_DUPLICATE)
			out(ctx, data, bytes, now);
		pass(m, data, bytes, now, out, ctx);
	}
}

/* --- options and statistics --- */

static bool parse_list(struct impair_rule *r, const char *text)
{
	char list[256], *rest = list;
	if (strlen(text) >= sizeof list)
		return false;
	strcpy(list, text);
	r->listed = 0;
	for (const char *word; (word = strsep(&rest, "/"));) {
		uint64_t n;
		if (r->listed == IMPAIR_LIST || !parse_u64(word, &n) ||
		    (r->listed && n <= r->at[r->listed - 1]))
			return false;
		r->at[r->listed++] = n;
	}
	return true;
}

static bool parse_rule(struct impair_rule *r, const char *text)
{
	if (strncmp(text, "at:", 3) == 0)
		return parse_list(r, text + 3);
	if (strncmp(text, "every:", 6) == 0)
		return parse_u64(text + 6, &r->every) && r->every != 0;
	return parse_fraction(text, &r->chance);
}

void impair_rules_init(struct impair_rules *r, uint64_t seed)
{
	*r = (struct impair_rules){.seed = seed, .overtake = 1};
}

bool impair_rules_parse(struct impair_rules *r, const char *word)
{
	const char *v;
	for (unsigned k = 0; k < IMPAIR_KINDS; k++)
		if ((v = parse_key(word, kinds[k].option)))
			return r->any = parse_rule(&r->of[k], v);
	if ((v = parse_key(word, "seed")))
		return parse_u64(v, &r->seed) && r->seed != 0;
	if ((v = parse_key(word, "overtake")))
		return parse_u64(v, &r->overtake) && r->overtake != 0;
	v = parse_key(word, "frames");
	if (v == NULL)
		return false;
	r->stamped_only = strcmp(v, "stamped") == 0;
	return r->stamped_only || strcmp(v, "all") == 0;
}

void impair_begin(struct impair *m, const struct impair_rules *r)
{
	m->rules = *r;
	m->frames = 0;
	memset(m->next, 0, sizeof m->next);
	memset(m->done, 0, sizeof m->done);
}

void impair_stats(const struct impair *m, struct json *j)
{
	for (unsigned k = 0; k < IMPAIR_KINDS; k++)
		json_u64(j, kinds[k].counter, m->done[k]);
	json_u64(j, "held", m->waits != 0);
}
