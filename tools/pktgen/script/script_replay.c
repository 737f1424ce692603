/* The statements of a stream that replays a capture; see script_parse.h and docs/pktgen.md. */
#include "lib/mem.h"
#include "tools/pktgen/script/script_parse.h"

#define SPEED_MAX 1000000 /* in 1/1000 */
#define ROUNDS_MAX 1000000000000ull

int script_stream_replay(struct script_parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	if (error != 0 || (error = words_end(&p->w, i + 1)) != 0)
		return error;
	struct plan_replay *r = &p->stream->replay;
	struct text name = p->w.word[i];
	if (name.len >= sizeof r->file)
		return FAIL(p, i, "the name has %u characters; at most %u are kept", (unsigned)name.len,
		            (unsigned)sizeof r->file - 1);
	memcpy(r->file, name.at, name.len);
	r->line = p->w.line;
	return 0;
}

int script_stream_speed(struct script_parser *p, unsigned i)
{
	int error = words_expect(&p->w, i);
	uint64_t speed;
	if (error != 0)
		return error;
	if (script_decimal(p->w.word[i], PLAN_SPEED_EXPONENT, &speed) != 0 || speed == 0 ||
	    speed > SPEED_MAX)
		return FAIL(p, i, "a speed is a number such as 0.5 or 2, from 0.001 to 1000 and with three "
		            "digits behind the point at most");
	p->said->speed = p->w.line;
	p->said->times = speed;
	return words_end(&p->w, i + 1);
}

int script_stream_loop(struct script_parser *p, unsigned i)
{
	uint64_t *rounds = &p->stream->replay.rounds;
	p->said->loop = p->w.line;
	*rounds = 0;
	int error = words_is(&p->w, i, "forever") ? 0 :
	            words_number(&p->w, i, "the number of rounds", 1, ROUNDS_MAX, rounds);
	return error != 0 ? error : words_end(&p->w, i + 1);
}

static int fail_at(struct script_parser *p, uint32_t line, const char *word, const char *why)
{
	return text_fail(p->w.err, line, text_of(word), "%s", why);
}

int script_check_replay(struct script_parser *p, struct plan_stream *s,
                        const struct script_said *said)
{
	const bool timed = said->rate == 0;
	if (said->made.line != 0)
		return text_fail(p->w.err, said->made.line, text_of(said->made.words),
		                 "stream %s replays a file (line %u), which already defines its "
		                 "frames",
		                 s->name, s->replay.line);
	if (p->out->has_rfc2544)
		return fail_at(p, s->replay.line, "replay",
		               "rfc2544 chooses the frame sizes; those of a capture are fixed");
	if (said->speed != 0 && !timed)
		return fail_at(p, said->speed, "speed", "the stream has a rate; a speed changes "
		               "only the times of the file");
	if (said->burst != 0 && timed)
		return fail_at(p, said->burst, "burst", "this replay keeps the times of its file; "
		               "bursts need a rate");
	if (timed)
		s->rate = (struct plan_rate){PLAN_RECORDED, said->speed ? said->times : PLAN_SPEED_ONE};
	s->replay.rounds = said->loop ? s->replay.rounds : 1;
	s->cores = 1;
	s->resolve = false;
	return 0;
}
