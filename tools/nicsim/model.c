/*
 * What all models have in common: entry points for register accesses with counting, tracing and
 * checks against the register table; faults by name; violations; calls to the host and the wire.
 *
 * A read of an unknown offset is only traced, because register dumps read many. A write to an
 * unknown offset is a violation: the driver believes that a register is there.
 */
#include "tools/nicsim/model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/wires/wire.h"

#define PRINTED_MAX 100 /* different messages of violations per port */

/* A model and this file's private state. */
struct box {
	struct model m; /* first: a struct model * is a struct box * */
	struct reg_map *map;
	unsigned printed;
	uint64_t printed_hash[PRINTED_MAX];
};

static struct box *box_of(const struct model *m)
{
	return (struct box *)(uintptr_t)m;
}

/* --- create and destroy --- */

static unsigned count_rows(const struct reg_row *rows)
{
	unsigned n = 0;
	while (rows && rows[n].name)
		n++;
	return n;
}

/* Asserts what model.h requires of a model's constants. */
static void check_ops(const struct model_ops *o)
{
	unsigned n;
	assert(o->bar_bytes[0] <= 1ull << 32);
	for (unsigned i = 0; i < 6; i++)
		assert(o->bar_bytes[i] % 4096 == 0 && !(o->bar_bytes[i] & (o->bar_bytes[i] - 1)));
	assert(o->pm_cap <= 256 - 8 && o->msix_cap <= 256 - 12 && o->pcie_cap <= 256 - 60);
	assert(o->msix_vectors <= VECTORS_MAX && (o->msix_vectors || !o->msix_cap));
	for (n = 0; o->mapped && o->mapped[n].bytes; n++) {
		assert(o->mapped[n].offset % 4096 == 0 && o->mapped[n].bytes % 4096 == 0);
		assert(o->mapped[n].offset + o->mapped[n].bytes <= o->bar_bytes[0]);
	}
	assert(n <= MAPPED_MAX);
	for (n = 0; o->faults && o->faults[n].name; n++)
		assert(o->faults[n].help);
	assert(n <= FAULTS_MAX);
	for (const struct reg_row *r = o->regs; r && r->name; r++) {
		assert(r->offset % 4 == 0 && r->count >= 1 && r->count <= 65536);
		assert(r->count == 1 || (r->stride && r->stride % 4 == 0));
		assert(r->offset + (uint64_t)(r->count - 1) * r->stride < o->bar_bytes[0]);
	}
}

struct model *model_create(const struct model_ops *ops, unsigned port, const struct sim_host *host,
                           struct wire *wire, uint32_t *bar0, const uint8_t mac[6], bool line_rate,
                           uint64_t now)
{
	check_ops(ops);
	struct box *b = calloc(1, sizeof *b);
	if (b == NULL)
		return NULL;
	struct model *m = &b->m;
	m->state = calloc(1, ops->state_bytes ? ops->state_bytes : 1);
	m->reg_stats = calloc(count_rows(ops->regs) + 1, sizeof *m->reg_stats);
	if (ops->regs)
		b->map = reg_map_make(ops->regs, ops->bar_bytes[0]);
	if (m->state == NULL || m->reg_stats == NULL || (ops->regs && b->map == NULL)) {
		free(m->state);
		free(m->reg_stats);
		reg_map_free(b->map);
		free(b);
		return NULL;
	}
	m->ops = ops;
	m->port = port;
	m->host = *host;
	m->wire = wire;
	m->bar0 = bar0;
	memcpy(m->mac, mac, sizeof m->mac);
	m->line_rate = line_rate;
	m->masters = true;
	m->now = now;
	ops->create(m);
	return m;
}

void model_destroy(struct model *m)
{
	if (m == NULL)
		return;
	if (m->ops->destroy)
		m->ops->destroy(m);
	reg_map_free(box_of(m)->map);
	free(m->reg_stats);
	free(m->state);
	free(box_of(m));
}

/* --- register accesses --- */

struct reg_ref model_reg(const struct model *m, uint32_t offset)
{
	return reg_find(box_of(m)->map, offset);
}

static void trace_time(struct model *m)
{
	fprintf(m->trace, "%llu.%09llu ", m->now / NS_PER_S, m->now % NS_PER_S);
}

static void trace(struct model *m, char direction, unsigned bar, uint64_t offset, unsigned bytes,
                  uint64_t value)
{
	char name[64];
	if (bar == 0)
		reg_name(box_of(m)->map, (uint32_t)offset, name, sizeof name);
	else
		snprintf(name, sizeof name, "BAR%u+0x%" PRIx64, bar, offset);
	trace_time(m);
	fprintf(m->trace, "%c %s 0x%0*" PRIx64 "\n", direction, name, (int)(2 * bytes), value);
}

/* Checks one of the registers that a write touches against its row. */
static void check_write(struct model *m, uint32_t offset, uint32_t value)
{
	char name[64];
	struct reg_ref r = model_reg(m, offset);
	reg_name(box_of(m)->map, offset, name, sizeof name);
	if (r.row == NULL) {
		model_violation(m, "%s: written 0x%08x, but there is no register", name, value);
		return;
	}
	m->reg_stats[r.row_index].writes++;
	if (r.row->access == REG_RO || r.row->access == REG_RC)
		model_violation(m, "%s: written 0x%08x, but it is read-only (%s)", name, value,
		                r.row->section);
	else if (value & ~r.row->writable)
		model_violation(m, "%s: written 0x%08x: bits 0x%08x are reserved (%s)", name, value,
		                value & ~r.row->writable, r.row->section);
}

uint64_t model_read(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t now)
{
	uint64_t value = UINT64_MAX >> (64 - 8 * bytes);
	m->now = now;
	m->reads++;
	if (bar == 0)
		for (unsigned i = 0; i < bytes; i += 4) {
			struct reg_ref r = model_reg(m, (uint32_t)offset + i);
			if (r.row)
				m->reg_stats[r.row_index].reads++;
		}
	if (!m->removed)
		value &= m->ops->read(m, bar, offset, bytes);
	if (m->trace)
		trace(m, 'R', bar, offset, bytes, value);
	return value;
}

void model_write(struct model *m, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value,
                 uint64_t now)
{
	m->now = now;
	m->writes++;
	if (m->trace)
		trace(m, 'W', bar, offset, bytes, value);
	if (m->removed)
		return;
	if (bar == 0 && m->ops->regs && bytes >= 4 && offset % 4 == 0)
		for (unsigned i = 0; i < bytes; i += 4)
			check_write(m, (uint32_t)offset + i, (uint32_t)(value >> 8 * i));
	m->ops->write(m, bar, offset, bytes, value);
}

/* --- faults --- */

int model_fault_find(const struct model_ops *ops, const char *name)
{
	for (unsigned i = 0; ops->faults && ops->faults[i].name; i++)
		if (strcmp(ops->faults[i].name, name) == 0)
			return (int)i;
	return -1;
}

void model_fault_set(struct model *m, unsigned index, uint64_t arg)
{
	m->faults |= 1u << index;
	m->fault_arg[index] = arg;
	if (m->ops->fault)
		m->ops->fault(m, index);
}

void model_fault_clear(struct model *m, unsigned index)
{
	m->faults &= ~(1u << index);
	if (m->ops->fault)
		m->ops->fault(m, index);
}

bool model_fault_strikes(struct model *m, unsigned index)
{
	if (!model_fault(m, index))
		return false;
	uint64_t every = m->fault_arg[index] ? m->fault_arg[index] : 1;
	return ++m->fault_count[index] % every == 0;
}

/* --- violations --- */

/* True once per message: a faulty driver repeats its violation in every packet. */
static bool is_news(struct box *b, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	for (unsigned i = 0; i < b->printed; i++)
		if (b->printed_hash[i] == hash)
			return false;
	if (b->printed == PRINTED_MAX)
		return false;
	b->printed_hash[b->printed++] = hash;
	return true;
}

void model_violation(struct model *m, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(m->last_violation, sizeof m->last_violation, format, ap);
	va_end(ap);
	m->violations++;
	if (m->trace) {
		trace_time(m);
		fprintf(m->trace, "! %s\n", m->last_violation);
	}
	if (is_news(box_of(m), m->last_violation))
		fprintf(stderr, "nicsim: port %u: violation: %s\n", m->port, m->last_violation);
}

/* --- calls to the host and the wire --- */

void *model_reach_other(struct model *m, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	struct dma_piece p;
	if (m->host.piece && m->host.piece(m->host.ctx, bus, &p))
		m->piece = p;
	return m->host.dma(m->host.ctx, bus, bytes, access);
}

void *model_dma_error(struct model *m, uint64_t bus, uint64_t bytes, const char *what)
{
	m->dma_errors++;
	model_violation(m, "%s: 0x%" PRIx64 " + %" PRIu64 " is not the guest's memory", what, bus, bytes);
	return NULL;
}

void model_irq(struct model *m, unsigned vector)
{
	m->irqs++;
	m->host.irq(m->host.ctx, vector);
}

void model_send_all(struct model *m, const struct frame *v, unsigned n)
{
	const uint64_t bytes = frames_bytes(v, n);
	m->tx_frames += n;
	m->tx_bytes += bytes;
	if (m->wire)
		wire_send(m->wire, v, n, bytes, m->now);
}

void model_send(struct model *m, const uint8_t *data, uint32_t bytes)
{
	model_send_all(m, &(struct frame){.data = data, .bytes = bytes}, 1);
}
