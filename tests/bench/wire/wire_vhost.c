/* A wire of wire.h: a vhost-user socket with a virtio driver at the other end. */
#include <rte_eal.h>
#include <stdio.h>
#include <stdlib.h>

#include "vhost_ring.h"
#include "wire.h"

static struct vhost_port port;
static uint16_t taken_to, given_to; /* ahead of the published index */

static bool is_up(void)
{
	pthread_mutex_lock(&vhost_lock);
	bool up = vhost_is_up(&port);
	pthread_mutex_unlock(&vhost_lock);
	return up;
}

static void enter(bool *csum, bool *tso)
{
	pthread_mutex_lock(&vhost_lock);
	vhost_learn(&port);
	taken_to = port.tx.next;
	given_to = port.rx.next;
	*csum = port.features & VHOST_GUEST_CSUM;
	*tso = false; /* a guest needs mergeable buffers to receive large frames */
}

static void leave(void)
{
	pthread_mutex_unlock(&vhost_lock);
}

/* Whether there are entries after `at`, of those published up to q->next. */
static bool is_there(struct vhost_ring *q, uint16_t at)
{
	if (at == q->next)
		vhost_available(q, 0);
	return q->seen != at;
}

static unsigned take(uint8_t *to, unsigned room)
{
	struct vhost_ring *q = &port.tx;
	if (!is_there(q, taken_to))
		return 0;
	uint16_t slot = taken_to & (q->size - 1), id = q->avail->ring[slot];
	unsigned len = vhost_gather(q, id, to, room);
	q->used->ring[slot] = (struct vring_used_elem){id, 0};
	taken_to++;
	return len;
}

static void taken(void)
{
	if (taken_to != port.tx.next)
		vhost_publish(&port.tx, taken_to);
}

static bool give(const struct iovec *piece, unsigned n)
{
	struct vhost_ring *q = &port.rx;
	if (!is_there(q, given_to))
		return false;
	uint16_t slot = given_to & (q->size - 1), id = q->avail->ring[slot];
	const struct vring_desc *d = vhost_descriptor(q, id);
	if (d->flags != VRING_DESC_F_WRITE)
		vhost_die("a receive buffer is a chain, or not to be written");
	uint8_t *to = vhost_address(&port, d->addr, d->len);
	uint32_t len = 0;
	for (unsigned i = 0; i < n; i++) {
		if (piece[i].iov_len > d->len - len)
			vhost_die("a receive buffer is too small");
		memcpy(to + len, piece[i].iov_base, piece[i].iov_len);
		len += (uint32_t)piece[i].iov_len;
	}
	q->used->ring[slot] = (struct vring_used_elem){id, len};
	given_to++;
	return true;
}

static void given(void)
{
	if (given_to != port.rx.next)
		vhost_publish(&port.rx, given_to);
}

static void idle(void)
{
	vhost_call(&port.rx, 0, true);
	vhost_call(&port.tx, 0, true);
}

const struct wire *wire_vhost_open(int argc, char **eal, const char *path, bool offloads)
{
	static const struct wire wire = {is_up, enter, leave, take, taken, give, given, idle, 64};
	if (rte_eal_init(argc, eal) < 0)
		vhost_die("EAL does not start");
	vhost_batch = 1;
	vhost_listen(&port, path, offloads ? VHOST_OFFLOADS : 0);
	return &wire;
}
