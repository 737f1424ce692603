/* The part of the vhost-user backend that is not inline: see vhost_ring.h. */
#include "vhost_ring.h"

#include <stdio.h>
#include <stdlib.h>

#define PORTS 2

pthread_mutex_t vhost_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned vhost_batch = 64;
uint64_t vhost_rest_ticks;

static struct vhost_port *ports[PORTS];
static unsigned port_count;

void vhost_die(const char *what)
{
	fprintf(stderr, "vhost: %s\n", what);
	exit(1);
}

/* --- the peer's memory --- */

uint8_t *vhost_find_region(struct vhost_port *p, uint64_t addr, uint64_t bytes)
{
	for (unsigned i = 0; i < p->regions; i++) {
		const struct vhost_region *r = &p->region[i];
		if (addr - r->from < r->size && bytes <= r->size - (addr - r->from)) {
			p->last = r;
			return r->at + (addr - r->from);
		}
	}
	vhost_die("the peer gave an address outside its memory");
}

static void learn_memory(struct vhost_port *p)
{
	struct rte_vhost_memory *mem;
	if (rte_vhost_get_mem_table(p->vid, &mem) != 0)
		vhost_die("cannot get the peer's memory");
	if (mem->nregions == 0 || mem->nregions > VHOST_REGIONS)
		vhost_die("too many memory regions");
	p->regions = mem->nregions;
	for (unsigned i = 0; i < mem->nregions; i++) {
		const struct rte_vhost_mem_region *r = &mem->regions[i];
		p->region[i] = (struct vhost_region){r->guest_phys_addr, r->size,
		                                     (uint8_t *)(uintptr_t)r->host_user_addr};
	}
	p->last = &p->region[0];
	free(mem);
}

static void learn_ring(struct vhost_port *p, struct vhost_ring *q, uint16_t index)
{
	struct rte_vhost_vring v;
	if (rte_vhost_get_vhost_vring(p->vid, index, &v) != 0 || v.size == 0)
		vhost_die("cannot get a ring");
	q->desc = v.desc;
	q->avail = v.avail;
	q->used = v.used;
	q->size = v.size;
	q->port = p;
	rte_vhost_enable_guest_notification(p->vid, index, 0);
	q->used->flags = VRING_USED_F_NO_NOTIFY;
}

void vhost_learn(struct vhost_port *p)
{
	if (p->vid < 0)
		vhost_die("the peer has gone");
	p->features = 0;
	rte_vhost_get_negotiated_features(p->vid, &p->features);
	if (!(p->features & VHOST_VERSION_1) || (p->features & p->not_offered))
		vhost_die("the peer wants another virtio than ours");
	learn_memory(p);
	learn_ring(p, &p->rx, 0);
	learn_ring(p, &p->tx, 1);
}

/* --- callbacks of librte_vhost --- */

static struct vhost_port *port_of(int vid)
{
	char path[256];
	if (rte_vhost_get_ifname(vid, path, sizeof path) != 0)
		vhost_die("a device without a name");
	for (unsigned i = 0; i < port_count; i++)
		if (strcmp(ports[i]->path, path) == 0)
			return ports[i];
	vhost_die("a device of unknown name");
}

static int new_device(int vid)
{
	pthread_mutex_lock(&vhost_lock);
	struct vhost_port *p = port_of(vid);
	uint16_t avail, used;
	p->vid = vid;
	rte_vhost_get_vring_base(vid, 0, &avail, &used);
	p->rx = (struct vhost_ring){.next = avail, .seen = avail};
	rte_vhost_get_vring_base(vid, 1, &avail, &used);
	p->tx = (struct vhost_ring){.next = avail, .seen = avail};
	pthread_mutex_unlock(&vhost_lock);
	return 0;
}

static void destroy_device(int vid)
{
	pthread_mutex_lock(&vhost_lock);
	struct vhost_port *p = port_of(vid);
	rte_vhost_set_vring_base(vid, 0, p->rx.next, p->rx.next);
	rte_vhost_set_vring_base(vid, 1, p->tx.next, p->tx.next);
	p->vid = -1;
	p->enabled = 0;
	pthread_mutex_unlock(&vhost_lock);
}

static int vring_state_changed(int vid, uint16_t index, int enable)
{
	pthread_mutex_lock(&vhost_lock);
	struct vhost_port *p = port_of(vid);
	if (index < 2)
		p->enabled = (uint8_t)((p->enabled & ~(1u << index)) | (unsigned)!!enable << index);
	pthread_mutex_unlock(&vhost_lock);
	return 0;
}

void vhost_listen(struct vhost_port *p, const char *path, uint64_t offloads)
{
	static const struct rte_vhost_device_ops ops = {
		.new_device = new_device,
		.destroy_device = destroy_device,
		.vring_state_changed = vring_state_changed,
	};
	if (port_count == PORTS)
		vhost_die("too many ports");
	ports[port_count++] = p;
	p->path = path;
	p->vid = -1;
	p->not_offered = (VHOST_NEVER | VHOST_OFFLOADS) & ~offloads;
	if (rte_vhost_driver_register(path, 0) != 0 ||
	    rte_vhost_driver_disable_features(path, p->not_offered) != 0 ||
	    rte_vhost_driver_callback_register(path, &ops) != 0 || rte_vhost_driver_start(path) != 0)
		vhost_die("cannot listen on a socket");
}

/* --- frames --- */

unsigned vhost_gather(const struct vhost_ring *q, uint16_t id, uint8_t *to, unsigned room)
{
	unsigned bytes = 0;
	for (unsigned links = 0;; links++) {
		const struct vring_desc *d = vhost_descriptor(q, id);
		if (links == q->size || (d->flags & (VRING_DESC_F_INDIRECT | VRING_DESC_F_WRITE)))
			vhost_die("a frame to send is an endless, indirect or writable chain");
		const uint8_t *from = vhost_address(q->port, d->addr, d->len);
		if (bytes < room)
			memcpy(to + bytes, from, d->len < room - bytes ? d->len : room - bytes);
		bytes += d->len;
		if (!(d->flags & VRING_DESC_F_NEXT))
			return bytes;
		id = d->next;
	}
}
