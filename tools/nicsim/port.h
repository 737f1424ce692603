/*
 * A port: one model with its guest (vfio_user.h), its PCI side (pci.h), the guest's memory (dma.h)
 * and its wire, and the faults that any card can have whatever its model:
 *
 *   master-abort   accesses reach no device: reads give all ones, writes are lost
 *   removed        pulled out of the slot: as above, and neither DMA nor frames
 *   link-flap      the cable is out for half of each period
 *
 * A guest is "live" when it has connected and has enabled bus mastering: only then do generators
 * start, and only then are mapped doorbells checked.
 */
#ifndef NICSIM_PORT_H
#define NICSIM_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/dma.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/options.h"
#include "tools/nicsim/pci.h"
#include "tools/nicsim/vfio_user.h"
#include "tools/nicsim/wires/wire.h"

enum port_fault { PORT_MASTER_ABORT, PORT_REMOVED, PORT_LINK_FLAP, PORT_FAULTS };
extern const struct fault_kind port_faults[]; /* ends with a NULL name */

struct port {
	unsigned number;
	const struct port_options *options;
	struct model *model;
	struct wire *wire;
	struct pci pci;
	struct dma_map dma;
	struct vfio_user server;
	struct vfio_user_owner owner;
	uint32_t *bar0;
	int bar0_fd;

	bool live;       /* see above */
	bool had_guest;  /* a guest has connected at least once */
	bool readable;   /* the wire's fd is readable; cleared when a pull empties it */
	bool unplugged;  /* by a command on the control socket */
	bool flapped;    /* link-flap has the cable out at the moment */
	uint32_t faults; /* bit per enum port_fault */
	uint64_t fault_arg[PORT_FAULTS];
	uint64_t fault_due; /* next change by link-flap or removed; UINT64_MAX: never */
};

/* Opens model, wire and socket. False after a message on stderr; port_close undoes a partial
 * open. */
bool port_open(struct port *p, unsigned number, const struct port_options *o);
void port_close(struct port *p);

/* Moves frames both ways and lets the model work. True if any frame moved. */
bool port_run(struct port *p, uint64_t now);

/* When port_run has work even if no file descriptor wakes us. */
uint64_t port_deadline(struct port *p, uint64_t now);

/* Tells the model if the carrier has changed. Cheap, but not meant for every turn of a hot loop. */
void port_look_at_cable(struct port *p, uint64_t now);

/* One fault, of the model or common to all ports. */
struct port_fault_ref {
	bool common;    /* index is an enum port_fault, else one of the model's */
	unsigned index;
	uint64_t arg;
};
/* Parses NAME[:ARG]; ref may be NULL. */
bool port_fault_parse(const struct model_ops *ops, const char *text, struct port_fault_ref *ref);
void port_fault_set(struct port *p, struct port_fault_ref ref, uint64_t now);
void port_fault_clear(struct port *p, struct port_fault_ref ref, uint64_t now);
void port_fault_clear_all(struct port *p, uint64_t now);

void port_stats(struct port *p, struct json *j);
void port_reset_stats(struct port *p);

#endif
