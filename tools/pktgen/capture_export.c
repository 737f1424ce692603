/* See capture_export.h. */
#include "tools/pktgen/capture_export.h"

#include "control/management/http.h"
#include "control/console/serial.h"
#include "control/console/shell.h"
#include "dataplane/state.h"
#include "runtime/walltime.h"
#include "lib/mem.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/state.h"

typedef unsigned long long ull;

#define READERS (HTTP_SESSIONS + 1) /* and the console */
#define BLOCKS_MAX 64 /* blocks that a call passes over: some ten microseconds */
#define NUMBER_BITS 24 /* of the order's number: a page's cursor also holds a place in the file */
_Static_assert(CAPTURE_LOGS_MAX >= CORES_MAX, "each core has a log");

struct reader {
	uint64_t turn; /* number of the last call that used it */
	struct capture_place place;
};

static struct {
	bool told;           /* the lack of memory has been logged */
	struct memory {
		struct capture_file file;
		struct reader reader[READERS];
		uint8_t block[CAPTURE_BLOCK_MAX];
	} *m;                /* NULL: no memory was allocated */
	uint64_t order;      /* number of the order that the file belongs to; 0: there is no file */
	uint64_t turn;       /* of the last call */
	const struct reader *of; /* the reader whose block is in `block`; NULL: `block` is empty */
	size_t len;          /* of that block */
} c;

void capture_export_ask(void)
{
	struct run_order *o = dp_get()->plugin_data;
	if (o)
		memcpy(o->plan.capture, generator.plan.capture, sizeof o->plan.capture);
}

const char *capture_export_missing(void)
{
	if (!plan_captured(&generator.plan))
		return "the script captures no port";
	if (conduct_busy())
		return "a run is on";
	if (!conduct_order())
		return "there was no run and no test since the ports started, or the last did not begin";
	return NULL;
}

uint32_t capture_export_number(void)
{
	return (uint32_t)(conduct_order()->number & ((1u << NUMBER_BITS) - 1));
}

/* --- the logs --- */

/* A data core's result is not trusted: a log outside of the core's own memory is not read. */
static void take_log(unsigned core)
{
	int pair = core_pair_of(core);
	const struct run_result *r = pair >= 0 ? conduct_result((unsigned)pair) : NULL;
	if (!r)
		return;
	struct capture_log *log = &c.m->file.log[c.m->file.logs];
	*log = r->captured;
	log->used = __atomic_load_n(&r->captured.used, __ATOMIC_ACQUIRE);
	if (core_arena_has(core, log->memory, log->bytes) && log->used <= log->bytes)
		c.m->file.logs++;
}

static void take_file(void)
{
	struct capture_file *f = &c.m->file;
	memset(f, 0, sizeof *f);
	f->epoch_ns = walltime_epoch();
	memcpy(f->port, generator.plan.capture, sizeof f->port);
	for (unsigned p = 0; p < core_port_count(); p++)
		f->bps[p] = conduct_line_bps(&generator.plan, p);
	for (unsigned core = 0; core < self.info->cores; core++)
		take_log(core);
	for (unsigned i = 0; i < READERS; i++)
		capture_begin(&c.m->reader[i].place);
	c.of = NULL;
	c.order = conduct_order()->number;
}

/* The file of the last order; NULL: there is none. */
static const struct capture_file *file(void)
{
	if (capture_export_missing())
		return NULL;
	if (!c.m)
		c.m = core_private_alloc(sizeof *c.m);
	if (!c.m) {
		if (!c.told)
			console_log("there is not enough memory to write captures");
		c.told = true;
		return NULL;
	}
	/* a core that has not seen the end of the run may still write */
	if (c.order != conduct_order()->number && core_quiesce())
		take_file();
	return c.order == conduct_order()->number ? &c.m->file : NULL;
}

uint64_t capture_export_bytes(void)
{
	const struct capture_file *f = file();
	uint64_t bytes = 0;
	for (unsigned i = 0; f && i < f->logs; i++)
		bytes += f->log[i].used;
	return bytes;
}

/* --- reading --- */

/* The nearest reader at or before byte `at`. If all readers are beyond it, the least recently used
 * one starts at the beginning of the file. */
static struct reader *reader_before(uint64_t at)
{
	struct reader *best = NULL, *oldest = &c.m->reader[0];
	for (unsigned i = 0; i < READERS; i++) {
		struct reader *r = &c.m->reader[i];
		if (r->turn < oldest->turn)
			oldest = r;
		if (r->place.at > at || (best && r->place.at < best->place.at))
			continue;
		if (!best || r->place.at > best->place.at || r->turn < best->turn)
			best = r;
	}
	if (!best) {
		best = oldest;
		capture_begin(&best->place);
		c.of = NULL;
	}
	best->turn = ++c.turn;
	return best;
}

static size_t load(const struct capture_file *f, const struct reader *r)
{
	if (c.of != r)
		c.len = capture_block(f, &r->place, c.m->block);
	c.of = r;
	return c.len;
}

enum capture_export_have capture_export_piece(uint32_t number, uint64_t at, const char **text,
                                              size_t *len)
{
	const struct capture_file *f = file();
	if (!f || number != capture_export_number())
		return CAPTURE_EXPORT_GONE;
	struct reader *r = reader_before(at);
	for (unsigned i = 0; i < BLOCKS_MAX; i++) {
		size_t n = load(f, r);
		uint64_t skip = at - r->place.at;
		if (skip < n) {
			*text = (const char *)c.m->block + skip;
			*len = n - (size_t)skip;
			return CAPTURE_EXPORT_PIECE;
		}
		if (capture_is_end(&r->place))
			return CAPTURE_EXPORT_END;
		capture_next(f, &r->place, n);
		c.of = NULL;
		if (n == 0)
			break;
	}
	return CAPTURE_EXPORT_LATER;
}

/* --- the console --- */

void capture_export_show(struct shell *sh)
{
	const struct capture_file *f = file();
	uint64_t room = 0;
	for (unsigned p = 0; f && p < PLAN_PORTS_MAX; p++) {
		struct capture_count sum = {0};
		if (f->port[p].size == 0)
			continue;
		for (unsigned i = 0; i < f->logs; i++) {
			sum.received += f->log[i].port[p].received;
			sum.kept += f->log[i].port[p].kept;
			sum.no_room += f->log[i].port[p].no_room;
		}
		shell_print(sh, "eth%u: received %llu frames, kept %llu, no room for %llu\n", p,
		            (ull)sum.received, (ull)sum.kept, (ull)sum.no_room);
	}
	for (unsigned i = 0; f && i < f->logs; i++)
		room += f->log[i].bytes;
	if (f)
		shell_print(sh, "%llu of %llu KiB of memory are used\n",
		            (ull)(capture_export_bytes() >> 10), (ull)(room >> 10));
}

#define LINE_BYTES 57 /* 76 characters (RFC 2045 6.8) */
#define LINES 24      /* of one call */

/* Reads *n bytes of the file. If there are fewer, *n is their number and the result the reason. */
static enum capture_export_have read_file(uint32_t number, uint64_t at, uint8_t *out, size_t *n)
{
	enum capture_export_have have = CAPTURE_EXPORT_PIECE;
	size_t done = 0, len;
	const char *text;
	while (done < *n && (have = capture_export_piece(number, at + done, &text, &len)) ==
	                    CAPTURE_EXPORT_PIECE) {
		len = len < *n - done ? len : *n - done;
		memcpy(out + done, text, len);
		done += len;
	}
	*n = done;
	return have;
}

/* n bytes, 1 to 3, as four characters. */
static void put_base64(char *out, const uint8_t *in, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t v = 0;
	for (unsigned i = 0; i < 3; i++)
		v = v << 8 | (i < n ? in[i] : 0);
	for (unsigned i = 0; i < 4; i++)
		out[i] = i <= n ? digits[v >> (18 - 6 * i) & 63] : '=';
}

enum capture_export_have capture_export_lines(struct shell *sh, uint32_t number, uint64_t *at)
{
	enum capture_export_have have = CAPTURE_EXPORT_PIECE;
	for (unsigned line = 0; line < LINES && have == CAPTURE_EXPORT_PIECE; line++) {
		uint8_t in[LINE_BYTES];
		char out[LINE_BYTES / 3 * 4 + 1];
		size_t n = sizeof in, chars = 0;
		have = read_file(number, *at, in, &n);
		if (n == 0 || have == CAPTURE_EXPORT_LATER) /* only the last line may be short */
			break;
		for (size_t i = 0; i < n; i += 3, chars += 4)
			put_base64(out + chars, in + i, n - i);
		out[chars++] = '\n';
		shell_write(sh, out, chars);
		*at += n;
	}
	return have;
}
