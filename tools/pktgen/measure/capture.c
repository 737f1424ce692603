/* See capture.h. */
#include "tools/pktgen/measure/capture.h"

#include "lib/fmt.h"
#include "lib/mem.h"

#define APPLICATION "Hayate pktgen"
#define PASSED_MAX 256 /* records left out in a call: some microseconds */
#define NO_LOG CAPTURE_LOGS_MAX

enum stage { SECTION, INTERFACES, PACKETS, STATISTICS, END };

static uint64_t record_bytes(uint64_t kept)
{
	return sizeof(struct capture_record) + ((kept + 7) & ~7ull);
}

/* --- logs --- */

static void append(struct capture_log *log, uint64_t at, const struct pkt *p, uint16_t kept,
                   uint64_t now_ns)
{
	const struct capture_record r = {
	        .ns = now_ns, .len = p->len, .kept = kept, .port = p->interface};
	memcpy(log->memory + at, &r, sizeof r);
	memcpy(log->memory + at + sizeof r, p->data, kept);
}

static inline bool is_wanted(const struct plan_capture *what, uint64_t n)
{
	return what->frames == 0 || n < what->frames;
}

void capture_vector(struct capture_log *log, const struct plan_capture *what, const struct pkt *v,
                    unsigned n, unsigned port, uint64_t now_ns)
{
	struct capture_count *count = &log->port[port];
	uint64_t used = log->used;
	count->received += n;
	for (unsigned i = 0; i < n && is_wanted(what, count->kept); i++) {
		uint16_t kept = v[i].len < what->size ? v[i].len : (uint16_t)what->size;
		/* room for the longest frame, so that no short one behind a long one is kept */
		if (log->bytes - used < record_bytes(PLAN_FRAME_MAX)) {
			count->no_room += n - i;
			break;
		}
		append(log, used, &v[i], kept, now_ns);
		used += record_bytes(kept);
		count->kept++;
	}
	__atomic_store_n(&log->used, used, __ATOMIC_RELEASE);
}

/* Reads the record at offset `at` of the log; false: there is no valid one. */
static bool record_at(const struct capture_file *f, unsigned log, uint64_t at,
                      struct capture_record *r)
{
	const struct capture_log *l = &f->log[log];
	if (at > l->used || l->used - at < sizeof *r)
		return false;
	memcpy(r, l->memory + at, sizeof *r);
	return r->port < PLAN_PORTS_MAX && f->port[r->port].size != 0 &&
	       r->kept <= f->port[r->port].size && r->kept <= r->len &&
	       record_bytes(r->kept) <= l->used - at;
}

/* --- the file --- */

/* The number of a port's pcapng interface. Only captured ports have one. */
static uint32_t interface_of(const struct capture_file *f, unsigned port)
{
	uint32_t n = 0;
	for (unsigned i = 0; i < port; i++)
		n += f->port[i].size != 0;
	return n;
}

static size_t interface_block(const struct capture_file *f, unsigned port, uint8_t *out)
{
	char name[8];
	fmt_format(name, sizeof name, "eth%u", port);
	return pcapng_interface(out, name, f->port[port].size, f->bps[port]);
}

static size_t packet_block(const struct capture_file *f, const struct capture_place *p,
                           uint8_t *out)
{
	struct capture_record r;
	if (p->log == NO_LOG || !record_at(f, p->log, p->next[p->log], &r))
		return 0;
	uint64_t at = p->next[p->log];
	const struct pcapng_packet packet = {.data = f->log[p->log].memory + at + sizeof r,
	                                     .interface = interface_of(f, r.port),
	                                     .len = r.kept,
	                                     .wire_len = r.len,
	                                     .ns = r.ns - f->epoch_ns};
	return pcapng_packet(out, &packet);
}

static size_t statistics_block(const struct capture_file *f, const struct capture_place *p,
                               uint8_t *out)
{
	struct pcapng_statistics s = {.interface = interface_of(f, p->port),
	                              .ns = p->ns ? p->ns - f->epoch_ns : 0,
	                              .delivered = p->given[p->port]};
	for (unsigned i = 0; i < f->logs; i++) {
		s.received += f->log[i].port[p->port].received;
		s.dropped += f->log[i].port[p->port].no_room;
	}
	return pcapng_statistics(out, &s);
}

size_t capture_block(const struct capture_file *f, const struct capture_place *p, uint8_t *out)
{
	switch (p->stage) {
	case SECTION:
		return pcapng_section(out, APPLICATION);
	case INTERFACES:
		return interface_block(f, p->port, out);
	case PACKETS:
		return packet_block(f, p, out);
	case STATISTICS:
		return statistics_block(f, p, out);
	default:
		return 0;
	}
}

bool capture_is_end(const struct capture_place *p)
{
	return p->stage == END;
}

void capture_begin(struct capture_place *p)
{
	memset(p, 0, sizeof *p);
}

/* False: every captured port has reached its limit. */
static bool wants_more(const struct capture_file *f, const struct capture_place *p)
{
	for (unsigned port = 0; port < PLAN_PORTS_MAX; port++)
		if (f->port[port].size != 0 && is_wanted(&f->port[port], p->given[port]))
			return true;
	return false;
}

/* Finds the log's next record of a port below its limit. Up to *left other records are skipped on
 * the way and deducted from it. False: there is no such record, or *left is 0. */
static bool wanted_record(const struct capture_file *f, struct capture_place *p, unsigned log,
                          unsigned *left, struct capture_record *r)
{
	while (*left && record_at(f, log, p->next[log], r)) {
		if (is_wanted(&f->port[r->port], p->given[r->port]))
			return true;
		p->next[log] += record_bytes(r->kept);
		--*left;
	}
	return false;
}

/* Finds the oldest record that is not in the file yet; of records of one time, that of the first
 * log. False: there are no more packets. True with p->log NO_LOG: not found yet. */
static bool find_packet(const struct capture_file *f, struct capture_place *p)
{
	unsigned left = PASSED_MAX;
	uint64_t ns = UINT64_MAX;
	p->log = NO_LOG;
	for (unsigned i = 0; i < f->logs && wants_more(f, p); i++) {
		struct capture_record r;
		if (!wanted_record(f, p, i, &left, &r) || (p->log != NO_LOG && r.ns >= ns))
			continue;
		p->log = i;
		ns = r.ns;
	}
	if (left == 0)
		p->log = NO_LOG; /* the logs not yet examined may have older ones */
	return left == 0 || p->log != NO_LOG;
}

static bool find_port(const struct capture_file *f, struct capture_place *p)
{
	while (p->port < PLAN_PORTS_MAX && f->port[p->port].size == 0)
		p->port++;
	return p->port < PLAN_PORTS_MAX;
}

/* Is there a block of this stage, from the place on? */
static bool find_block(const struct capture_file *f, struct capture_place *p)
{
	return p->stage == PACKETS ? find_packet(f, p) : p->stage == END || find_port(f, p);
}

static void pass_packet(const struct capture_file *f, struct capture_place *p)
{
	struct capture_record r;
	if (p->log == NO_LOG || !record_at(f, p->log, p->next[p->log], &r))
		return;
	p->given[r.port]++;
	p->ns = r.ns;
	p->next[p->log] += record_bytes(r.kept);
}

void capture_next(const struct capture_file *f, struct capture_place *p, size_t len)
{
	p->at += len;
	if (p->stage == SECTION)
		p->stage = INTERFACES;
	else if (p->stage == PACKETS)
		pass_packet(f, p);
	else
		p->port++;
	while (!find_block(f, p)) {
		p->stage++;
		p->port = 0;
	}
}
