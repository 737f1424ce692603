/* See replay_files.h. */
#include "tools/pktgen/replay_files.h"

#include "control/console/serial.h"
#include "control/text/module.h"
#include "net/eth.h"

typedef unsigned long long ull;

static struct replay_count found[PLAN_STREAMS_MAX];
static struct replay replay[PLAN_STREAMS_MAX];
static size_t bytes;

static bool find(const struct plan_stream *s, const struct module *m, struct text *file)
{
	return module_file(m, text_of(s->replay.file), file);
}

static int measure(const struct plan_stream *s, const struct module *m, struct replay_count *c,
                   struct text_error *err)
{
	const struct text name = text_of(s->replay.file);
	struct text file;
	if (!find(s, m, &file))
		return text_fail(err, s->replay.line, name, "the boot module has no such file: "
		                 "tools/hayate adds files from the directory of the script");
	if (replay_measure((const uint8_t *)file.at, file.len, c) == E_OK)
		return E_OK;
	if (c->packet)
		return text_fail(err, s->replay.line, name, "packet %llu: %s", (ull)c->packet, c->why);
	return text_fail(err, s->replay.line, name, "%s", c->why);
}

int replay_files_measure(const struct plan *plan, const struct module *m, struct text_error *err)
{
	size_t sum = 0;
	bytes = 0;
	memset(found, 0, sizeof found);
	memset(replay, 0, sizeof replay);
	for (unsigned i = 0; i < plan->streams; i++) {
		const struct plan_stream *s = &plan->stream[i];
		if (s->replay.file[0] && measure(s, m, &found[i], err) != E_OK)
			return E_INVAL;
		sum += found[i].memory;
	}
	bytes = sum;
	return E_OK;
}

size_t replay_files_bytes(void)
{
	return bytes;
}

static void say(const struct plan_stream *s, const struct replay_count *c)
{
	const struct {
		uint64_t n;
		const char *what;
	} note[] = {{c->cut, "left out, cut off when captured"}, {c->too_short, "left out, too short"},
	            {c->too_long, "left out, too long"}, {c->filled, "filled up to 60 bytes"},
	            {c->older, "older than one before them"}};
	console_log("stream %s: %s has %llu frames in %llu.%09llu s", s->name, s->replay.file,
	          (ull)c->frames, (ull)(c->ns / 1000000000), (ull)(c->ns % 1000000000));
	for (unsigned i = 0; i < ARRAY_LEN(note); i++)
		if (note[i].n)
			console_log("stream %s: %llu packets %s", s->name, (ull)note[i].n, note[i].what);
}

void replay_files_lay(const struct plan *plan, const struct module *m, uint8_t *memory)
{
	for (unsigned i = 0; i < plan->streams; i++) {
		const struct plan_stream *s = &plan->stream[i];
		struct text file;
		if (s->replay.file[0] == 0 || !find(s, m, &file))
			continue;
		replay_lay(&replay[i], memory, (const uint8_t *)file.at, file.len, &found[i],
		           eth_is_zero(s->mac_dst) ? NULL : s->mac_dst,
		           eth_is_zero(s->mac_src) ? NULL : s->mac_src);
		memory += found[i].memory;
		say(s, &found[i]);
	}
}

const struct replay *replay_files_of(unsigned stream)
{
	return &replay[stream];
}
