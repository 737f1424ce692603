/*
 * The server side of vfio-user: one socket, one guest at a time. Translates messages into calls;
 * the owner (struct vfio_user_owner) implements the device.
 *
 * 1. Every size, index, offset and file descriptor is checked before it is used. A request that
 *    cannot be granted is answered with an error; a stream that has lost its framing is closed.
 * 2. Never blocks: reading stops when no data is left; a peer that does not read its replies is
 *    disconnected.
 * 3. When the guest disconnects, its memory is unmapped and its vectors are closed before the owner
 *    is told.
 */
#ifndef NICSIM_VFIO_USER_H
#define NICSIM_VFIO_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/dma.h"
#include "tools/nicsim/pci.h"
#include "tools/nicsim/vfio_user_proto.h"

#define VU_FDS_MAX   8           /* in one message */
#define VU_DATA_MAX  4096u       /* in one access: all of configuration space */
#define VU_BYTES_MAX (16 + 8192) /* of a message: QEMU's longest is its capabilities */

struct vfio_user_owner {
	/* bar < 6, offset + bytes inside it, bytes 1, 2, 4 or 8. */
	uint64_t (*read)(void *ctx, unsigned bar, uint64_t offset, unsigned bytes);
	void (*write)(void *ctx, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value);
	void (*reset)(void *ctx);
	void (*config_written)(void *ctx);
	void (*connected)(void *ctx);
	void (*gone)(void *ctx, const char *why);
	const struct bar_range *mapped; /* of BAR 0, offered to the guest; NULL: none */
	int bar0_fd;
};

struct vfio_user {
	const struct vfio_user_owner *owner;
	void *ctx;
	struct pci *pci;
	struct dma_map *dma;
	int listen_fd;
	int fd; /* -1: no guest */
	bool greeted; /* VERSION has been negotiated */
	char path[108];

	/* The message that is arriving. */
	uint32_t have;
	unsigned fds;
	int fd_of[VU_FDS_MAX]; /* -1: taken over by the handler of the message */
	union {
		struct vu_header header;
		uint8_t bytes[VU_BYTES_MAX];
	} in;
};

/* Listens at `path`. Returns false after a message on stderr. */
bool vfio_user_open(struct vfio_user *u, const char *path, const struct vfio_user_owner *owner,
                    void *ctx, struct pci *pci, struct dma_map *dma);
void vfio_user_close(struct vfio_user *u);

/* What to poll for POLLIN. */
static inline int vfio_user_fd(const struct vfio_user *u)
{
	return u->fd >= 0 ? u->fd : u->listen_fd;
}

/* Accepts a guest, or handles messages: a few at most, so that other ports get their turn. */
void vfio_user_run(struct vfio_user *u);

#endif
