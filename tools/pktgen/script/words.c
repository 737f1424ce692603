/* Words that several kinds of statement use; see script_parse.h and docs/pktgen.md. */
#include "tools/pktgen/script/script_parse.h"

const char *const script_tests[PLAN_TESTS] = {
	[PLAN_RUN] = "run", [PLAN_THROUGHPUT] = "throughput", [PLAN_LATENCY] = "latency",
	[PLAN_FRAME_LOSS] = "frame-loss", [PLAN_BACK_TO_BACK] = "back-to-back",
};

int script_expect(struct script_parser *p, unsigned i, const char *keyword)
{
	int error = words_expect(&p->w, i);
	if (error != 0 || words_is(&p->w, i, keyword))
		return error;
	return FAIL(p, i, "expected \"%s\" here, as in \"%s\"", keyword, p->w.syntax);
}

int script_port(struct script_parser *p, unsigned i, uint8_t *port)
{
	uint32_t n;
	int error = words_expect(&p->w, i);
	if (error != 0)
		return error;
	struct text w = p->w.word[i];
	if (w.len < 4 || !text_is_word((struct text){w.at, 3}, text_of("eth")) ||
	    text_parse_u32((struct text){w.at + 3, w.len - 3}, 0, SCRIPT_PORTS_MAX - 1, &n) != 0)
		return FAIL(p, i, "unknown port; expected eth0 to eth%d", SCRIPT_PORTS_MAX - 1);
	*port = (uint8_t)n;
	return 0;
}
