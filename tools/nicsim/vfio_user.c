#include "tools/nicsim/vfio_user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGES_PER_TURN 64

/* What the server can do. QEMU and libvfio-user implement version 0.1. */
static const char capabilities[] =
	"{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":4096}}";

/* --- replies --- */

struct reply {
	struct vu_header header;
	union {
		struct vu_version version;
		struct vu_device_info device;
		struct vu_region_info region;
		struct vu_irq_info irq;
		struct vu_access access;
		uint8_t bytes[sizeof(struct vu_access) + VU_DATA_MAX];
	} u;
	uint32_t bytes; /* of u */
	int fd;         /* to pass; -1: none */
};

static bool send_reply(struct vfio_user *u, struct reply *r)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {r, sizeof r->header + r->bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (r->fd >= 0) {
		memset(&control, 0, sizeof control);
		msg.msg_control = &control;
		msg.msg_controllen = sizeof control.space;
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &r->fd, sizeof(int));
	}
	r->header.bytes = (uint32_t)iov.iov_len;
	return sendmsg(u->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)iov.iov_len;
}

/* --- commands: each gets its body, fills in the reply, returns 0 or an errno --- */

typedef int handler(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r);

static int do_version(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_version *v = body;
	(void)bytes;
	if (u->greeted || v->major != 0)
		return EINVAL;
	/* The JSON is not parsed: its limits are far above what we send. */
	r->u.version.major = 0;
	r->u.version.minor = v->minor < 1 ? v->minor : 1;
	memcpy(r->u.bytes + sizeof r->u.version, capabilities, sizeof capabilities);
	r->bytes = sizeof r->u.version + sizeof capabilities;
	u->greeted = true;
	return 0;
}

static int do_dma_map(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_dma_map *m = body;
	(void)bytes;
	(void)r;
	if (u->fds > 1 || m->flags & ~VU_MAP_FLAGS)
		return EINVAL;
	return -dma_add(u->dma, m->address, m->bytes, u->fds ? u->fd_of[0] : -1, m->offset,
	                m->flags & VU_MAP_WRITE);
}

static int do_dma_unmap(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_dma_unmap *m = body;
	int error = 0;
	(void)bytes;
	if (m->flags & ~VU_UNMAP_ALL) /* dirty pages are not tracked */
		return EINVAL;
	if (!(m->flags & VU_UNMAP_ALL))
		error = -dma_remove(u->dma, m->address, m->bytes);
	else if (m->address != 0 || m->bytes != 0)
		error = EINVAL;
	else
		dma_clear(u->dma);
	memcpy(r->u.bytes, m, sizeof *m);
	r->bytes = sizeof *m;
	return error;
}

static int do_device_info(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	(void)u;
	(void)body;
	(void)bytes;
	r->u.device = (struct vu_device_info){sizeof r->u.device, VU_DEVICE_RESETS | VU_DEVICE_PCI,
	                                      VU_REGIONS, VU_IRQS};
	r->bytes = sizeof r->u.device;
	return 0;
}

static uint64_t region_bytes(const struct vfio_user *u, uint32_t region)
{
	if (region == VU_REGION_CONFIG)
		return PCI_CONFIG_BYTES;
	return region < 6 ? u->pci->ops->bar_bytes[region] : 0;
}

_Static_assert(sizeof(struct vu_region_info) + sizeof(struct vu_sparse) +
                       MAPPED_MAX * sizeof(struct vu_area) <= VU_DATA_MAX, "fits a reply");

/* Appends the parts of BAR 0 that can be mapped, if the client has room for them. */
static void add_areas(struct vfio_user *u, uint32_t room, struct reply *r)
{
	struct vu_sparse sparse = {.id = 1, .version = 1};
	uint32_t at = sizeof r->u.region;
	while (u->owner->mapped[sparse.count].bytes)
		sparse.count++;
	r->u.region.argsz = (uint32_t)(at + sizeof sparse + sparse.count * sizeof(struct vu_area));
	r->u.region.flags |= VU_REGION_MMAP | VU_REGION_CAPS;
	r->u.region.capability = at;
	if (room < r->u.region.argsz) /* the client asks again with more room */
		return;
	memcpy(r->u.bytes + at, &sparse, sizeof sparse);
	for (uint32_t i = 0; i < sparse.count; i++) {
		struct vu_area a = {u->owner->mapped[i].offset, u->owner->mapped[i].bytes};
		memcpy(r->u.bytes + at + sizeof sparse + i * sizeof a, &a, sizeof a);
	}
	r->bytes = r->u.region.argsz;
	r->fd = u->owner->bar0_fd;
}

static int do_region_info(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_region_info *i = body;
	(void)bytes;
	if (i->index >= VU_REGIONS || i->argsz < sizeof *i)
		return EINVAL;
	uint64_t size = region_bytes(u, i->index);
	r->u.region = (struct vu_region_info){
		.argsz = sizeof r->u.region,
		.flags = size ? VU_REGION_READS | VU_REGION_WRITES : 0,
		.index = i->index,
		.bytes = size,
	};
	r->bytes = sizeof r->u.region;
	if (i->index == 0 && u->owner->mapped && u->owner->mapped[0].bytes)
		add_areas(u, i->argsz, r);
	return 0;
}

static int do_irq_info(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_irq_info *i = body;
	(void)bytes;
	if (i->index >= VU_IRQS)
		return EINVAL;
	r->u.irq = (struct vu_irq_info){.argsz = sizeof r->u.irq, .index = i->index};
	if (i->index == VU_IRQ_MSIX && u->pci->ops->msix_cap) {
		r->u.irq.flags = VU_IRQ_EVENTFD | VU_IRQ_NORESIZE;
		r->u.irq.count = u->pci->ops->msix_vectors;
	}
	r->bytes = sizeof r->u.irq;
	return 0;
}

static int do_set_irqs(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_irq_set *s = body;
	uint32_t data = s->flags & VU_DATA_MASK;
	uint32_t vectors = s->index == VU_IRQ_MSIX && u->pci->ops->msix_cap
	                           ? u->pci->ops->msix_vectors
	                           : 0;
	(void)bytes;
	(void)r;
	if (s->index >= VU_IRQS || s->start > vectors || s->count > vectors - s->start)
		return EINVAL;
	if ((s->flags & VU_ACTION_MASK) != VU_TRIGGER ||
	    s->flags & ~(VU_ACTION_MASK | VU_DATA_MASK))
		return EINVAL;
	if (data == VU_DATA_NONE && u->fds == 0) {
		for (uint32_t i = 0; i < s->count; i++)
			pci_vector_fire(u->pci, s->start + i);
		if (s->count == 0 && s->index == VU_IRQ_MSIX)
			pci_vectors_clear(u->pci);
		return 0;
	}
	/* One eventfd per vector, or none to disable them. */
	if (data != VU_DATA_EVENTFD || (u->fds != 0 && u->fds != s->count))
		return EINVAL;
	for (uint32_t i = 0; i < s->count; i++) {
		pci_vector_set(u->pci, s->start + i, u->fds ? u->fd_of[i] : -1);
		if (u->fds)
			u->fd_of[i] = -1;
	}
	return 0;
}

/* Checks the bounds of an access, and that BARs are accessed in sizes that a CPU uses. */
static int check_access(const struct vfio_user *u, const struct vu_access *a)
{
	uint64_t size = region_bytes(u, a->region);
	if (a->count == 0 || a->count > VU_DATA_MAX || a->offset > size ||
	    a->count > size - a->offset)
		return EINVAL;
	if (a->region != VU_REGION_CONFIG && (a->count > 8 || (a->count & (a->count - 1)) != 0))
		return EINVAL;
	return 0;
}

static int do_read(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_access *a = body;
	uint8_t *data = r->u.bytes + sizeof *a;
	int error = check_access(u, a);
	(void)bytes;
	if (error)
		return error;
	r->u.access = *a;
	r->bytes = (uint32_t)sizeof *a + a->count;
	if (a->region == VU_REGION_CONFIG) {
		pci_read(u->pci, (uint32_t)a->offset, data, a->count);
	} else {
		uint64_t value = u->owner->read(u->ctx, a->region, a->offset, a->count);
		memcpy(data, &value, a->count);
	}
	return 0;
}

static int do_write(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	const struct vu_access *a = body;
	const uint8_t *data = (const uint8_t *)body + sizeof *a;
	int error = check_access(u, a);
	if (error)
		return error;
	if (bytes != sizeof *a + a->count)
		return EINVAL;
	r->u.access = *a;
	r->bytes = sizeof *a;
	if (a->region == VU_REGION_CONFIG) {
		enum pci_effect effect = pci_write(u->pci, (uint32_t)a->offset, data, a->count);
		if (effect == PCI_FUNCTION_RESET)
			u->owner->reset(u->ctx);
		u->owner->config_written(u->ctx);
	} else {
		uint64_t value = 0;
		memcpy(&value, data, a->count);
		u->owner->write(u->ctx, a->region, a->offset, a->count, value);
	}
	return 0;
}

static int do_reset(struct vfio_user *u, const void *body, uint32_t bytes, struct reply *r)
{
	(void)body;
	(void)bytes;
	(void)r;
	u->owner->reset(u->ctx);
	return 0;
}

static const struct {
	handler *handle;
	uint32_t bytes; /* of the body, at least */
	uint32_t fds;   /* at most */
} commands[] = {
	[VU_VERSION] = {do_version, sizeof(struct vu_version), 0},
	[VU_DMA_MAP] = {do_dma_map, sizeof(struct vu_dma_map), 1},
	[VU_DMA_UNMAP] = {do_dma_unmap, sizeof(struct vu_dma_unmap), 0},
	[VU_GET_INFO] = {do_device_info, sizeof(struct vu_device_info), 0},
	[VU_GET_REGION_INFO] = {do_region_info, sizeof(struct vu_region_info), 0},
	[VU_GET_IRQ_INFO] = {do_irq_info, sizeof(struct vu_irq_info), 0},
	[VU_SET_IRQS] = {do_set_irqs, sizeof(struct vu_irq_set), VU_FDS_MAX},
	[VU_REGION_READ] = {do_read, sizeof(struct vu_access), 0},
	[VU_REGION_WRITE] = {do_write, sizeof(struct vu_access), 0},
	[VU_DEVICE_RESET] = {do_reset, 0, 0},
};

/* --- the connection --- */

static void drop_fds(struct vfio_user *u)
{
	for (unsigned i = 0; i < u->fds; i++)
		if (u->fd_of[i] >= 0)
			close(u->fd_of[i]);
	u->fds = 0;
}

static void hang_up(struct vfio_user *u, const char *why)
{
	if (u->fd < 0)
		return;
	drop_fds(u);
	close(u->fd);
	u->fd = -1;
	u->have = 0;
	dma_clear(u->dma);
	pci_vectors_clear(u->pci);
	u->owner->gone(u->ctx, why);
}

static int dispatch(struct vfio_user *u, uint32_t bytes, struct reply *r)
{
	unsigned command = u->in.header.command;
	if (command >= sizeof commands / sizeof commands[0] || commands[command].handle == NULL)
		return ENOTSUP;
	if (bytes < commands[command].bytes || u->fds > commands[command].fds)
		return EINVAL;
	if (!u->greeted && command != VU_VERSION)
		return EPROTO;
	return commands[command].handle(u, u->in.bytes + sizeof u->in.header, bytes, r);
}

/* Handles a complete message. */
static void handle(struct vfio_user *u)
{
	static struct reply r; /* 4 KiB that need not be cleared; there is one thread */
	const struct vu_header *h = &u->in.header;
	if ((h->flags & VU_TYPE_MASK) != 0) {
		hang_up(u, "a message that is no command");
		return;
	}
	r.bytes = 0;
	r.fd = -1;
	int error = dispatch(u, h->bytes - (uint32_t)sizeof *h, &r);
	drop_fds(u);
	u->have = 0;
	if (h->flags & VU_NO_REPLY)
		return;
	r.header = (struct vu_header){h->id, h->command, 0, VU_REPLY, 0};
	if (error) {
		r.header.flags |= VU_ERROR;
		r.header.error = (uint32_t)error;
		r.bytes = 0;
		r.fd = -1;
	}
	if (!send_reply(u, &r))
		hang_up(u, "replies are not taken");
}

/* Keeps the descriptors that came with part of a message; false if there are too many. */
static bool keep_fds(struct vfio_user *u, struct msghdr *msg)
{
	bool kept = !(msg->msg_flags & MSG_CTRUNC);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (u->fds < VU_FDS_MAX) {
				u->fd_of[u->fds++] = fd;
			} else {
				close(fd);
				kept = false;
			}
		}
	}
	return kept;
}

enum progress { PROGRESS_NONE, PROGRESS_SOME, PROGRESS_END };

/* Reads up to `until` bytes of the message. */
static enum progress fill(struct vfio_user *u, uint32_t until)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(2 * VU_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = {u->in.bytes + u->have, until - u->have};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
	                     .msg_controllen = sizeof control.space};
	ssize_t n = recvmsg(u->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return PROGRESS_NONE;
	if (n <= 0) {
		hang_up(u, n == 0 ? NULL : strerror(errno));
		return PROGRESS_END;
	}
	if (!keep_fds(u, &msg)) {
		hang_up(u, "more file descriptors than a message can have");
		return PROGRESS_END;
	}
	u->have += (uint32_t)n;
	return PROGRESS_SOME;
}

/* One step: reads part of a message, and handles the message once it is complete. */
static enum progress step(struct vfio_user *u)
{
	uint32_t until = sizeof u->in.header;
	if (u->have >= until)
		until = u->in.header.bytes; /* checked below when the header was complete */
	enum progress p = fill(u, until);
	if (p != PROGRESS_SOME || u->have < sizeof u->in.header)
		return p;
	if (u->in.header.bytes < sizeof u->in.header || u->in.header.bytes > VU_BYTES_MAX) {
		hang_up(u, "a message of impossible length");
		return PROGRESS_END;
	}
	if (u->have == u->in.header.bytes)
		handle(u);
	return u->fd >= 0 ? PROGRESS_SOME : PROGRESS_END;
}

static void accept_guest(struct vfio_user *u)
{
	int fd = accept4(u->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	u->fd = fd;
	u->have = 0;
	u->fds = 0;
	u->greeted = false;
	u->owner->connected(u->ctx);
}

void vfio_user_run(struct vfio_user *u)
{
	if (u->fd < 0)
		accept_guest(u);
	for (unsigned i = 0; u->fd >= 0 && i < 2 * MESSAGES_PER_TURN; i++)
		if (step(u) != PROGRESS_SOME)
			return;
}

/* --- open and close --- */

/* Whether a server already listens there. */
static bool is_alive(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool alive = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno == EAGAIN;
	close(fd);
	return alive;
}

/* The socket is renamed to its path only once it listens: a client that waits for the path may
 * connect at once. */
static bool listen_at(struct vfio_user *u)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct sockaddr_un first = {.sun_family = AF_UNIX};
	memcpy(at.sun_path, u->path, sizeof at.sun_path);
	if (is_alive(&at)) {
		errno = EADDRINUSE;
		return false;
	}
	int n = snprintf(first.sun_path, sizeof first.sun_path, "%s~", u->path);
	if (n < 0 || (size_t)n >= sizeof first.sun_path) {
		errno = ENAMETOOLONG;
		return false;
	}
	unlink(first.sun_path);
	return bind(u->listen_fd, (const struct sockaddr *)&first, sizeof first) == 0 &&
	       listen(u->listen_fd, 1) == 0 && rename(first.sun_path, u->path) == 0;
}

bool vfio_user_open(struct vfio_user *u, const char *path, const struct vfio_user_owner *owner,
                    void *ctx, struct pci *pci, struct dma_map *dma)
{
	u->owner = owner;
	u->ctx = ctx;
	u->pci = pci;
	u->dma = dma;
	u->fd = -1;
	snprintf(u->path, sizeof u->path, "%s", path);
	u->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (u->listen_fd >= 0 && strlen(path) < sizeof u->path && listen_at(u))
		return true;
	fprintf(stderr, "nicsim: socket %s: %s\n", path,
	        strlen(path) < sizeof u->path ? strerror(errno) : "the name is too long");
	if (u->listen_fd >= 0)
		close(u->listen_fd);
	u->listen_fd = -1;
	return false;
}

void vfio_user_close(struct vfio_user *u)
{
	if (u->listen_fd < 0)
		return;
	if (u->fd >= 0)
		close(u->fd);
	drop_fds(u);
	u->fd = -1;
	dma_clear(u->dma);
	pci_vectors_clear(u->pci);
	close(u->listen_fd);
	unlink(u->path);
	u->listen_fd = -1;
}
