#include "tools/nicsim/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/open.h"

static bool is_on(const struct port *p, enum port_fault fault)
{
	return p->faults >> fault & 1;
}

/* --- called by the model --- */

static void *host_dma(void *ctx, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	struct port *p = ctx;
	return p->live && !p->model->removed ? dma_find(&p->dma, bus, bytes, access) : NULL;
}

static bool host_piece(void *ctx, uint64_t bus, struct dma_piece *out)
{
	const struct port *p = ctx;
	return p->live && !p->model->removed && dma_piece(&p->dma, bus, out);
}

static void host_irq(void *ctx, unsigned vector)
{
	struct port *p = ctx;
	if (p->live && !p->model->removed)
		pci_vector_fire(&p->pci, vector);
}

/* --- called by the guest --- */

static void look_if_live(struct port *p)
{
	p->live = p->server.fd >= 0 && pci_bus_master(&p->pci);
	p->model->masters = p->live;
}

static uint64_t guest_read(void *ctx, unsigned bar, uint64_t offset, unsigned bytes)
{
	struct port *p = ctx;
	uint8_t *at;
	uint64_t value = 0;
	if (is_on(p, PORT_MASTER_ABORT) || p->model->removed)
		return UINT64_MAX;
	if (!pci_msix_at(&p->pci, bar, offset, bytes, &at))
		return model_read(p->model, bar, offset, bytes, clock_now());
	if (at)
		memcpy(&value, at, bytes);
	return value;
}

static void guest_write(void *ctx, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value)
{
	struct port *p = ctx;
	uint8_t *at;
	if (is_on(p, PORT_MASTER_ABORT) || p->model->removed)
		return;
	if (!pci_msix_at(&p->pci, bar, offset, bytes, &at))
		model_write(p->model, bar, offset, bytes, value, clock_now());
	else if (at)
		memcpy(at, &value, bytes);
}

static void guest_reset(void *ctx)
{
	struct port *p = ctx;
	pci_reset(&p->pci);
	look_if_live(p);
	p->model->now = clock_now();
	p->model->ops->reset(p->model);
}

static void guest_config_written(void *ctx)
{
	look_if_live(ctx);
}

static void guest_connected(void *ctx)
{
	struct port *p = ctx;
	p->had_guest = true;
	fprintf(stderr, "nicsim: port %u: guest connected\n", p->number);
}

static void guest_gone(void *ctx, const char *why)
{
	struct port *p = ctx;
	fprintf(stderr, "nicsim: port %u: guest gone%s%s\n", p->number, why ? ": " : "",
	        why ? why : "");
	guest_reset(p);
}

/* --- open and close --- */

/* QEMU may map BAR 0; the seals keep it from shrinking the file while we use it. */
static bool make_bar0(struct port *p)
{
	uint64_t bytes = p->options->model->bar_bytes[0];
	p->bar0_fd = memfd_create("nicsim-bar0", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->bar0_fd < 0 || ftruncate(p->bar0_fd, (off_t)bytes) != 0 ||
	    fcntl(p->bar0_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return false;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->bar0_fd, 0);
	p->bar0 = at == MAP_FAILED ? NULL : at;
	return p->bar0 != NULL;
}

static bool make_model(struct port *p)
{
	const struct port_options *o = p->options;
	const struct sim_host host = {p, host_dma, host_irq, host_piece};
	if (make_bar0(p))
		p->model = model_create(o->model, p->number, &host, p->wire, p->bar0, o->mac,
		                        o->line_rate, clock_now());
	if (p->model == NULL)
		fprintf(stderr, "nicsim: port %u: %s\n", p->number, strerror(errno));
	return p->model != NULL;
}

static bool open_trace(struct port *p)
{
	if (p->options->trace == NULL)
		return true;
	p->model->trace = fopen(p->options->trace, "we");
	if (p->model->trace == NULL)
		fprintf(stderr, "nicsim: %s: %s\n", p->options->trace, strerror(errno));
	return p->model->trace != NULL;
}

bool port_open(struct port *p, unsigned number, const struct port_options *o)
{
	memset(p, 0, sizeof *p);
	p->number = number;
	p->options = o;
	p->bar0_fd = p->server.listen_fd = p->server.fd = -1;
	p->fault_due = UINT64_MAX;
	pci_init(&p->pci, o->model);
	p->wire = wire_open(o->wire, number, o->mac);
	if (p->wire == NULL || !make_model(p) || !open_trace(p))
		return false;
	p->owner = (struct vfio_user_owner){
		.read = guest_read,
		.write = guest_write,
		.reset = guest_reset,
		.config_written = guest_config_written,
		.connected = guest_connected,
		.gone = guest_gone,
		.mapped = o->line_rate ? o->model->mapped : NULL,
		.bar0_fd = p->bar0_fd,
	};
	for (unsigned i = 0; i < o->faults; i++) {
		struct port_fault_ref ref;
		port_fault_parse(o->model, o->fault[i], &ref);
		port_fault_set(p, ref, clock_now());
	}
	return vfio_user_open(&p->server, o->socket, &p->owner, p, &p->pci, &p->dma);
}

void port_close(struct port *p)
{
	vfio_user_close(&p->server);
	if (p->model && p->model->trace)
		fclose(p->model->trace);
	model_destroy(p->model);
	if (p->wire)
		p->wire->ops->close(p->wire);
	if (p->bar0)
		munmap(p->bar0, p->options->model->bar_bytes[0]);
	if (p->bar0_fd >= 0)
		close(p->bar0_fd);
}

/* --- faults of every model --- */

const struct fault_kind port_faults[] = {
        [PORT_MASTER_ABORT] = {"master-abort", NULL, 0, "reads give all ones, writes are lost"},
        [PORT_REMOVED] = {"removed", "AFTER_MS", 0,
                          "surprise removal: as above, no DMA, no frames"},
        [PORT_LINK_FLAP] = {"link-flap", "PERIOD_MS", 1000, "carrier goes down and up again"},
        [PORT_FAULTS] = {0},
};

static int find_common(const char *name)
{
	for (unsigned i = 0; i < PORT_FAULTS; i++)
		if (strcmp(port_faults[i].name, name) == 0)
			return (int)i;
	return -1;
}

bool port_fault_parse(const struct model_ops *ops, const char *text, struct port_fault_ref *ref)
{
	char name[64];
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	if (n >= sizeof name)
		return false;
	memcpy(name, text, n);
	name[n] = 0;
	int common = find_common(name), own = model_fault_find(ops, name);
	if (common < 0 && own < 0)
		return false;
	const struct fault_kind *kind = common >= 0 ? &port_faults[common] : &ops->faults[own];
	uint64_t arg = kind->standard;
	if (colon && (kind->arg == NULL || !parse_u64(colon + 1, &arg)))
		return false;
	if (common == PORT_LINK_FLAP && (arg == 0 || arg > 1u << 30))
		return false;
	if (common == PORT_REMOVED && arg > 1u << 30)
		return false;
	if (ref)
		*ref = (struct port_fault_ref){common >= 0, (unsigned)(common >= 0 ? common : own),
		                               arg};
	return true;
}

/* Applies the faults that are due and computes when the next one is. */
static void faults_run(struct port *p, uint64_t now)
{
	uint64_t due = UINT64_MAX, half = p->fault_arg[PORT_LINK_FLAP] * NS_PER_MS / 2;
	if (is_on(p, PORT_REMOVED) && !p->model->removed) {
		if (now >= p->fault_arg[PORT_REMOVED])
			p->model->removed = true;
		else
			due = p->fault_arg[PORT_REMOVED];
	}
	p->flapped = is_on(p, PORT_LINK_FLAP) && now / half % 2 == 0;
	if (is_on(p, PORT_LINK_FLAP) && (now / half + 1) * half < due)
		due = (now / half + 1) * half;
	p->fault_due = due;
	port_look_at_cable(p, now);
}

void port_fault_set(struct port *p, struct port_fault_ref ref, uint64_t now)
{
	p->model->now = now;
	if (!ref.common) {
		model_fault_set(p->model, ref.index, ref.arg);
		return;
	}
	p->faults |= 1u << ref.index;
	/* removed: the argument becomes a point in time */
	p->fault_arg[ref.index] = ref.index == PORT_REMOVED ? now + ref.arg * NS_PER_MS : ref.arg;
	faults_run(p, now);
}

void port_fault_clear(struct port *p, struct port_fault_ref ref, uint64_t now)
{
	p->model->now = now;
	if (!ref.common) {
		model_fault_clear(p->model, ref.index);
		return;
	}
	p->faults &= ~(1u << ref.index);
	if (ref.index == PORT_REMOVED && p->model->removed) {
		p->model->removed = false; /* plugged in again: a card just powered on */
		guest_reset(p);
	}
	faults_run(p, now);
}

void port_fault_clear_all(struct port *p, uint64_t now)
{
	for (unsigned i = 0; i < PORT_FAULTS; i++)
		if (p->faults >> i & 1)
			port_fault_clear(p, (struct port_fault_ref){.common = true, .index = i}, now);
	for (unsigned i = 0; i < FAULTS_MAX; i++)
		if (model_fault(p->model, i))
			port_fault_clear(p, (struct port_fault_ref){.index = i}, now);
}

void port_look_at_cable(struct port *p, uint64_t now)
{
	struct model *m = p->model;
	p->wire->pulled = p->unplugged || p->flapped || m->removed;
	bool up = p->wire->ops->carrier(p->wire) && !p->wire->pulled;
	if (up == m->carrier)
		return;
	m->carrier = up;
	m->now = now;
	if (!m->removed) /* a removed model is not called */
		m->ops->carrier(m);
}

/* --- frames --- */

/* Whether to ask the wire for frames. A patient wire waits for a guest; others are drained. */
static bool takes_frames(const struct port *p)
{
	return !p->wire->patient || (p->live && p->model->carrier);
}

static bool pull(struct port *p, uint64_t now)
{
	struct frame v[FRAME_BURST];
	struct wire *w = p->wire;
	struct model *m = p->model;
	if (!takes_frames(p) || (!p->readable && w->ops->deadline(w, now) > now))
		return false;
	bool deaf = !m->carrier; /* also when removed: the frames are lost */
	unsigned max = deaf || w->realtime ? FRAME_BURST : m->ops->rx_room(m, FRAME_BURST);
	if (max == 0)
		return false;
	unsigned n = wire_pull(w, v, max, now);
	if (n < max)
		p->readable = false;
	if (deaf)
		m->rx_refused += n;
	else if (n > 0)
		m->ops->receive(m, v, n);
	return n > 0;
}

bool port_run(struct port *p, uint64_t now)
{
	struct model *m = p->model;
	m->now = now;
	if (__builtin_expect(now >= p->fault_due, 0))
		faults_run(p, now);
	bool moved = pull(p, now);
	if (!m->removed)
		moved |= m->ops->work(m);
	return moved;
}

uint64_t port_deadline(struct port *p, uint64_t now)
{
	struct wire *w = p->wire;
	struct model *m = p->model;
	m->now = now;
	uint64_t due = p->fault_due, next = m->removed ? UINT64_MAX : m->ops->deadline(m);
	due = next < due ? next : due;
	if (!takes_frames(p))
		return due;
	next = p->readable ? now : w->ops->deadline(w, now);
	/* Frames that wait at their source until the guest makes room need no look before that. */
	if (next <= now && m->carrier && !w->realtime && m->ops->rx_room(m, 1) == 0)
		return due;
	return next < due ? next : due;
}

/* --- statistics --- */

static void stats_faults(struct port *p, struct json *j)
{
	json_array(j, "faults");
	for (unsigned i = 0; i < PORT_FAULTS; i++)
		if (p->faults >> i & 1)
			json_string(j, NULL, port_faults[i].name);
	for (unsigned i = 0; i < FAULTS_MAX; i++)
		if (model_fault(p->model, i))
			json_string(j, NULL, p->model->ops->faults[i].name);
	json_end(j);
}

static void stats_wire(struct wire *w, struct json *j)
{
	json_object(j, "wire");
	json_string(j, "name", w->ops->name);
	json_u64(j, "to_model_frames", w->to_model_frames);
	json_u64(j, "to_model_bytes", w->to_model_bytes);
	json_u64(j, "from_model_frames", w->from_model_frames);
	json_u64(j, "from_model_bytes", w->from_model_bytes);
	json_u64(j, "dropped", w->dropped);
	if (w->ops->stats)
		w->ops->stats(w, j);
	json_end(j);
}

/* Lists only registers that were accessed: a table has hundreds of rows. */
static void stats_registers(struct model *m, struct json *j)
{
	json_object(j, "registers");
	for (unsigned i = 0; m->ops->regs && m->ops->regs[i].name; i++) {
		const struct reg_stats *s = &m->reg_stats[i];
		if (s->reads + s->writes == 0)
			continue;
		json_object(j, m->ops->regs[i].name);
		json_u64(j, "reads", s->reads);
		json_u64(j, "writes", s->writes);
		json_end(j);
	}
	json_end(j);
}

void port_stats(struct port *p, struct json *j)
{
	struct model *m = p->model;
	char mac[24];
	snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", m->mac[0], m->mac[1], m->mac[2],
	         m->mac[3], m->mac[4], m->mac[5]);
	json_u64(j, "port", p->number);
	json_string(j, "model", m->ops->name);
	json_string(j, "mode", m->line_rate ? "line-rate" : "strict");
	json_string(j, "mac", mac);
	json_bool(j, "connected", p->server.fd >= 0);
	json_bool(j, "live", p->live);
	json_bool(j, "carrier", m->carrier);
	json_bool(j, "removed", m->removed);
	json_u64(j, "reads", m->reads);
	json_u64(j, "writes", m->writes);
	json_u64(j, "rx_frames", m->rx_frames);
	json_u64(j, "rx_bytes", m->rx_bytes);
	json_u64(j, "rx_missed", m->rx_missed);
	json_u64(j, "rx_refused", m->rx_refused);
	json_u64(j, "tx_frames", m->tx_frames);
	json_u64(j, "tx_bytes", m->tx_bytes);
	json_u64(j, "tx_lost", m->tx_lost);
	json_u64(j, "tx_segments", m->tx_segments);
	json_u64(j, "irqs", m->irqs);
	json_u64(j, "dma_errors", m->dma_errors);
	json_u64(j, "violations", m->violations);
	if (m->violations)
		json_string(j, "last_violation", m->last_violation);
	else
		json_null(j, "last_violation");
	stats_faults(p, j);
	stats_wire(p->wire, j);
	json_object(j, "device");
	m->ops->stats(m, j);
	json_end(j);
	stats_registers(m, j);
}

void port_reset_stats(struct port *p)
{
	struct model *m = p->model;
	m->reads = m->writes = m->rx_frames = m->rx_bytes = m->rx_missed = 0;
	m->rx_refused = 0;
	m->tx_frames = m->tx_bytes = m->tx_lost = m->tx_segments = m->irqs = 0;
	for (unsigned i = 0; m->ops->regs && m->ops->regs[i].name; i++)
		m->reg_stats[i] = (struct reg_stats){0, 0};
	wire_reset_stats(p->wire);
}
