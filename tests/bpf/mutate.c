/*
 * Programs that are often invalid: random changes of valid ones. What a verifier gets wrong is more often near a valid
 * program than among random bytes.
 */
#include "bpf/helpers.h"
#include "tests/bpf/generate.h"

static int32_t number(struct random *r)
{
	static const int32_t special[] = {0, 1, -1, 2, 4, 7, 8, 16, 24, 31, 32, 63, 64, 255, 256, 65535, 0x7fffffff, -8};
	return random_below(r, 4) ? special[random_below(r, sizeof special / sizeof special[0])] : (int32_t)random_next(r);
}

static bool is_branch(const struct bpf_insn *i)
{
	return (bpf_class(i) == BPF_JMP || bpf_class(i) == BPF_JMP32) && bpf_op(i) != BPF_CALL && bpf_op(i) != BPF_EXIT;
}

static bool is_helper(const struct bpf_insn *i)
{
	return i->opcode == (BPF_JMP | BPF_CALL) && i->src == BPF_CALL_HELPER;
}

/* Takes instruction `at` out; jumps across it keep their targets. */
static void cut(struct generated *g, uint32_t at)
{
	for (uint32_t i = 0; i < g->count; i++) {
		struct bpf_insn *insn = &g->insns[i];
		const bool local = insn->opcode == (BPF_JMP | BPF_CALL) && insn->src == BPF_CALL_LOCAL;
		if (i == at || (!is_branch(insn) && !local))
			continue;
		const bool far = local || insn->opcode == (BPF_JMP32 | BPF_JA);
		const int64_t target = (int64_t)i + 1 + (far ? insn->imm : insn->offset);
		const int change = i < at && target > at ? -1 : i > at && target <= at ? 1 : 0;
		if (far)
			insn->imm += change;
		else
			insn->offset = (int16_t)(insn->offset + change);
	}
	for (uint32_t i = at; i + 1 < g->count; i++)
		g->insns[i] = g->insns[i + 1];
	g->count--;
}

void mutate(struct generated *g, struct random *r)
{
	for (unsigned n = 1 + random_below(r, 4); n > 0; n--) {
		const uint32_t at = random_below(r, g->count);
		struct bpf_insn *i = &g->insns[at];
		if (is_helper(i) && random_below(r, 4))
			continue; /* they say little that other changes do not */
		const bool wide = bpf_is_wide(i) || i->opcode == 0;
		switch (random_below(r, 8)) {
		case 0: i->dst = random_below(r, 11) & 15u; break;
		case 1: i->src = random_below(r, 11) & 15u; break;
		case 2: i->offset = (int16_t)(i->offset + (int16_t)number(r)); break;
		case 3: i->imm = number(r); break;
		case 4: i->opcode ^= (uint8_t)(1u << random_below(r, 8)); break;
		case 5: i->imm += 1 - 2 * (int32_t)random_below(r, 2); break;
		case 6:
			if (!wide && g->count > 2)
				cut(g, at);
			break;
		default:
			if (!wide)
				*i = g->insns[random_below(r, g->count)];
		}
	}
}
