/*
 * Reads frames from a capture file, and writes frames to one, in the classic format ("PCAP Capture
 * File Format", draft-ietf-opsawg-pcap): either byte order, micro- or nanoseconds, link type
 * Ethernet. Written files have nanoseconds.
 *
 * Frames go out at the times of their time stamps, divided by `speed`; speed=flat: as fast as there
 * is room.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/open.h"

#define MAGIC_US 0xa1b2c3d4u
#define MAGIC_NS 0xa1b23c4du
#define ETHERNET 1u
#define FILE_MAX (1u << 30)

struct file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, longest, link;
};

struct record_header {
	uint32_t seconds, fraction, bytes, original;
};

struct pcap {
	struct wire w;
	uint8_t *file;
	uint64_t file_bytes, at; /* of the next record */
	bool swapped, nano;
	double speed;            /* 0: flat */
	uint64_t loops;          /* remaining, with the current one; UINT64_MAX: unlimited */
	uint64_t epoch;          /* when this loop began; 0: not started */
	uint64_t first_ns;       /* stamp of the first record */
	uint64_t skipped;        /* truncated or too long to send */
	FILE *out;
};

static struct pcap *pcap_of(struct wire *w)
{
	return (struct pcap *)(void *)w;
}

static uint32_t order(const struct pcap *p, uint32_t value)
{
	return p->swapped ? __builtin_bswap32(value) : value;
}

/* The record at `at`; false at the end, or when the rest is malformed. */
static bool record_at(const struct pcap *p, uint64_t at, struct record_header *r)
{
	if (p->file_bytes - at < sizeof *r)
		return false;
	memcpy(r, p->file + at, sizeof *r);
	r->seconds = order(p, r->seconds);
	r->fraction = order(p, r->fraction);
	r->bytes = order(p, r->bytes);
	r->original = order(p, r->original);
	return r->bytes <= p->file_bytes - at - sizeof *r;
}

static uint64_t stamp(const struct pcap *p, const struct record_header *r)
{
	return r->seconds * NS_PER_S + r->fraction * (p->nano ? 1ull : 1000ull);
}

/* When a record is due. */
static uint64_t due(const struct pcap *p, const struct record_header *r)
{
	if (p->speed == 0 || p->epoch == 0)
		return 0;
	uint64_t ns = stamp(p, r);
	return p->epoch +
	       (ns > p->first_ns ? (uint64_t)((double)(ns - p->first_ns) / p->speed) : 0);
}

/* The next record to send; skips those that cannot be sent, and begins the next loop at the end. */
static bool next_record(struct pcap *p, struct record_header *r)
{
	for (unsigned begun = 0; p->loops > 0;) {
		if (!record_at(p, p->at, r)) {
			p->loops -= p->loops != UINT64_MAX;
			p->at = sizeof(struct file_header);
			p->epoch = 0;
			if (begun++) /* the file has no record that can be sent */
				p->loops = 0;
		} else if (r->bytes != r->original || r->bytes < 14 || r->bytes > FRAME_MAX) {
			p->at += sizeof *r + r->bytes;
			p->skipped++;
		} else {
			return true;
		}
	}
	return false;
}

static unsigned pcap_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	struct pcap *p = pcap_of(w);
	struct record_header r;
	unsigned n = 0;
	for (; n < max && next_record(p, &r); n++) {
		if (p->epoch == 0) {
			p->epoch = now;
			p->first_ns = stamp(p, &r);
		}
		if (due(p, &r) > now)
			break;
		v[n] = (struct frame){.data = p->file + p->at + sizeof r, .bytes = r.bytes};
		p->at += sizeof r + r.bytes;
	}
	return n;
}

static void pcap_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	struct pcap *p = pcap_of(w);
	struct timespec t; /* captures carry the time of day */
	(void)now;
	if (p->out == NULL)
		return;
	clock_gettime(CLOCK_REALTIME, &t);
	struct record_header r = {(uint32_t)t.tv_sec, (uint32_t)t.tv_nsec, bytes, bytes};
	if (fwrite(&r, sizeof r, 1, p->out) != 1 || fwrite(data, bytes, 1, p->out) != 1)
		w->dropped++;
}

static uint64_t pcap_deadline(struct wire *w, uint64_t now)
{
	struct pcap *p = pcap_of(w);
	struct record_header r;
	(void)now;
	return next_record(p, &r) ? due(p, &r) : UINT64_MAX;
}

static bool pcap_carrier(struct wire *w)
{
	(void)w;
	return true;
}

static void pcap_stats(struct wire *w, struct json *j)
{
	struct pcap *p = pcap_of(w);
	json_u64(j, "skipped", p->skipped);
	json_bool(j, "finished", p->loops == 0);
	if (p->out)
		fflush(p->out); /* the caller wants to read the file */
}

static void pcap_close(struct wire *w)
{
	struct pcap *p = pcap_of(w);
	if (p->out)
		fclose(p->out);
	free(p->file);
	free(p);
}

static const struct wire_ops pcap_ops = {
	.name = "pcap",
	.pull = pcap_pull,
	.send = pcap_send,
	.deadline = pcap_deadline,
	.carrier = pcap_carrier,
	.stats = pcap_stats,
	.close = pcap_close,
};

/* --- open: each returns an error text, or NULL --- */

static const char *read_file(struct pcap *p, const char *path)
{
	struct stat st;
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return strerror(errno);
	const char *error = NULL;
	if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		error = "no regular file of at most 1 GiB";
	else if ((p->file = malloc((size_t)st.st_size + 1)) == NULL)
		error = "no memory";
	else
		p->file_bytes = fread(p->file, 1, (size_t)st.st_size, f);
	fclose(f);
	return error;
}

static const char *open_in(struct pcap *p, const char *path)
{
	struct file_header h;
	const char *error = read_file(p, path);
	if (error)
		return error;
	if (p->file_bytes < sizeof h)
		return "no capture file";
	memcpy(&h, p->file, sizeof h);
	p->swapped =
	        h.magic == __builtin_bswap32(MAGIC_US) || h.magic == __builtin_bswap32(MAGIC_NS);
	p->nano = order(p, h.magic) == MAGIC_NS;
	if (order(p, h.magic) != MAGIC_US && !p->nano)
		return "no classic capture file";
	if ((order(p, h.link) & 0xffff) != ETHERNET)
		return "its frames are not Ethernet";
	p->at = sizeof h;
	p->loops = p->loops ? p->loops : 1;
	return NULL;
}

static const char *open_out(struct pcap *p, const char *path)
{
	const struct file_header h = {MAGIC_NS, 2, 4, 0, 0, FRAME_MAX, ETHERNET};
	p->out = fopen(path, "we");
	if (p->out == NULL || fwrite(&h, sizeof h, 1, p->out) != 1)
		return strerror(errno);
	return NULL;
}

static const char *set_option(struct pcap *p, const char *word)
{
	const char *v;
	if ((v = parse_key(word, "out")))
		return open_out(p, v);
	if ((v = parse_key(word, "loop"))) {
		if (strcmp(v, "forever") == 0)
			p->loops = UINT64_MAX;
		else if (!parse_u64(v, &p->loops) || p->loops == 0)
			return "a number from 1, or forever";
		return NULL;
	}
	v = parse_key(word, "speed");
	if (v == NULL)
		return "no option of pcap";
	p->speed = 0;
	if (strcmp(v, "flat") != 0 && (!parse_number(v, &p->speed, NULL) || p->speed <= 0))
		return "a factor, or flat";
	return NULL;
}

struct wire *pcap_open(const struct wire_spec *s)
{
	const char *error = NULL, *word = s->argument;
	struct pcap *p = calloc(1, sizeof *p);
	if (p == NULL)
		return wire_bad(s, "pcap", "no memory");
	p->w.ops = &pcap_ops;
	p->w.fd = -1;
	p->w.patient = true;
	p->speed = 1;
	for (unsigned i = 0; i < s->options && error == NULL; i++)
		error = set_option(p, word = s->option[i]);
	if (error == NULL && *s->argument)
		error = open_in(p, word = s->argument);
	else if (error == NULL)
		p->loops = 0;
	if (error) {
		pcap_close(&p->w);
		return wire_bad(s, word, error);
	}
	p->w.realtime = p->speed != 0;
	return &p->w;
}
