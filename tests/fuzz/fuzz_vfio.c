/*
 * A client of nicsim that is not QEMU (tools/nicsim/vfio_user.c, dma.c, pci.c): messages in pieces
 * of any size, false lengths, file descriptors of any kind and number, overlapping memory, regions
 * and vectors that do not exist. Nothing is accessed but what was given, every answer is complete,
 * and after the client has left none of its descriptors is open.
 *
 * Input: instructions; a message's body is mostly bytes of the input.
 */
#include "tools/nicsim/vfio_user.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/rig.h"

#define MEMORY_BYTES 0x10000u
#define BAR_BYTES 0x2000u
#define BODY_MAX 512
#define FDS_MOST 10 /* in one message; more than allowed */

static const struct model_ops card = {
	.vendor = 0x8086,
	.device = 0x10fb,
	.class_code = 0x020000,
	.bar_bytes = {BAR_BYTES, 0, 0, 4096},
	.bar_is_64 = {true},
	.pm_cap = 0x40,
	.msix_cap = 0x70,
	.pcie_cap = 0xa0,
	.pcie_speed = 2,
	.pcie_lanes = 8,
	.msix_vectors = 16,
	.msix_bar = 3,
	.msix_pba = 0x800,
};

static struct vfio_user server;
static struct pci pci;
static struct dma_map dma;
static int client, memory = -1, event = -1, broken_pipe = -1, device = -1;
static unsigned gone;

/* --- the owner: a card that accesses memory where its registers say --- */

static void check_access(unsigned bar, uint64_t offset, unsigned bytes)
{
	assert_true(bar < 6 && offset + bytes <= card.bar_bytes[bar]);
	assert_true(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

static uint64_t read_bar(void *ctx, unsigned bar, uint64_t offset, unsigned bytes)
{
	(void)ctx;
	check_access(bar, offset, bytes);
	return 0x0123456789abcdefull;
}

static void write_bar(void *ctx, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value)
{
	(void)ctx;
	check_access(bar, offset, bytes);
	uint64_t n = value >> 48 ? value >> 48 : 64;
	enum dma_access access = offset & 8 ? DMA_WRITE : DMA_READ;
	uint8_t *p = dma_find(&dma, value & 0xffffffffffff, n, access);
	volatile uint8_t sum = 0;
	for (uint64_t i = 0; p && i < n; i++) {
		sum ^= p[i];
		if (access == DMA_WRITE)
			p[i] = sum;
	}
	pci_vector_fire(&pci, (unsigned)value);
}

static void reset(void *ctx) { pci_reset(ctx); }
static void config_written(void *ctx) { (void)ctx; }
static void connected(void *ctx) { (void)ctx; }
static void has_gone(void *ctx, const char *why)
{
	(void)ctx, (void)why;
	gone++;
}

static const struct bar_range mapped[] = {{0, 4096}, {0, 0}};
static struct vfio_user_owner owner = {read_bar, write_bar,  reset, config_written,
                                       connected, has_gone, mapped, -1};

/* --- the client --- */

static int some_fd(void)
{
	int fds[] = {memory, event, broken_pipe, device};
	return fds[rig_u8() % 4];
}

static void send_bytes(const void *data, size_t bytes, unsigned fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FDS_MOST * sizeof(int))];
	} control;
	struct iovec iov = {(void *)(uintptr_t)data, bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fd_of[FDS_MOST];
	if (fds) {
		memset(&control, 0, sizeof control);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		for (unsigned i = 0; i < fds; i++)
			fd_of[i] = some_fd();
		memcpy(CMSG_DATA(c), fd_of, fds * sizeof(int));
	}
	if (bytes)
		sendmsg(client, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends a message of this command; its length is sometimes false, and it may come in two pieces. */
static void message(uint16_t command, const void *body, uint32_t bytes)
{
	uint8_t all[sizeof(struct vu_header) + BODY_MAX + 64], how = rig_u8();
	struct vu_header h = {1, command, (uint32_t)sizeof h + bytes, 0, 0};
	if ((how & 15) == 1)
		h.bytes = rig_u16();
	if ((how & 15) == 2)
		h.flags = rig_u8();
	memcpy(all, &h, sizeof h);
	memcpy(all + sizeof h, body, bytes);
	size_t n = sizeof h + bytes, first = how & 16 ? rig_u8() % n : n;
	send_bytes(all, first, how & 32 ? rig_u8() % (FDS_MOST + 1) : 0);
	if (first < n) {
		vfio_user_run(&server);
		send_bytes(all + first, n - first, how & 64 ? rig_u8() % (FDS_MOST + 1) : 0);
	}
}

static uint64_t some_address(void)
{
	static const uint64_t likely[] = {0, 0x1000, 0x8000, 0x10000, 0x20000, 64ull << 30, INT64_MAX,
	                                  UINT64_MAX};
	uint8_t how = rig_u8();
	return likely[how % 8] + (how & 0x80 ? rig_u16() : 0);
}

/* Sends a body of the correct form, with some plausible numbers. */
static void likely_message(unsigned which)
{
	struct vu_version version = {0, rig_u8()};
	struct vu_dma_map map = {32, rig_u8() & 7, some_address(), some_address(), some_address()};
	struct vu_dma_unmap unmap = {24, rig_u8() & 3, some_address(), some_address()};
	struct vu_region_info region = {rig_u8() * 4u, 0, rig_u8(), 0, 0, 0};
	struct vu_irq_set irqs = {20, VU_TRIGGER | (rig_u8() & 7), VU_IRQ_MSIX, rig_u8(), rig_u8()};
	struct {
		struct vu_access a;
		uint8_t data[64];
	} access = {{rig_u16(), rig_u8() % 10, rig_u8()}, {0}};
	random_fill(access.data, 8);
	switch (which % 7) {
	case 0: message(VU_VERSION, &version, sizeof version); break;
	case 1: message(VU_DMA_MAP, &map, sizeof map); break;
	case 2: message(VU_DMA_UNMAP, &unmap, sizeof unmap); break;
	case 3: message(VU_GET_REGION_INFO, &region, sizeof region); break;
	case 4: message(VU_SET_IRQS, &irqs, sizeof irqs); break;
	case 5: message(VU_REGION_READ, &access, sizeof access.a); break;
	case 6: message(VU_REGION_WRITE, &access, sizeof access.a + access.a.count % 65); break;
	}
}

static void any_message(void)
{
	uint8_t body[BODY_MAX];
	uint16_t command = rig_u8() % 16, bytes = rig_u16() % BODY_MAX;
	random_fill(body, bytes);
	message(command, body, bytes);
}

/* Sends more than the server can hold, as part of a message of that length, or of none. */
static void flood(void)
{
	static uint8_t zeroes[16 * 1024];
	send_bytes(zeroes, 64u * rig_u8(), 0);
}

/* No memory is listed twice. */
static void check_memory(void)
{
	for (unsigned i = 0; i < dma.count; i++)
		for (unsigned k = 0; k < i; k++) {
			const struct dma_region *a = &dma.region[i], *b = &dma.region[k];
			assert_true(a->bus + a->bytes <= b->bus || b->bus + b->bytes <= a->bus);
		}
}

/* Takes the answers: each is complete, and its length field is correct. */
static void take_answers(void)
{
	static uint8_t in[1 << 20];
	ssize_t n = recv(client, in, sizeof in, MSG_DONTWAIT);
	for (ssize_t at = 0; n > 0 && at < n;) {
		struct vu_header h;
		assert_true(n - at >= (ssize_t)sizeof h);
		memcpy(&h, in + at, sizeof h);
		assert_true(h.bytes >= sizeof h && h.bytes <= n - at);
		assert_int_equal(h.flags & VU_TYPE_MASK, VU_REPLY);
		at += h.bytes;
	}
}

/* --- start and end --- */

static void open_all(void)
{
	int both[2];
	memory = memfd_create("guest", MFD_CLOEXEC);
	event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	device = open("/dev/zero", O_RDWR | O_CLOEXEC);
	assert_true(memory >= 0 && event >= 0 && device >= 0);
	assert_true(ftruncate(memory, MEMORY_BYTES) == 0);
	assert_int_equal(pipe2(both, O_CLOEXEC), 0);
	close(both[0]);
	broken_pipe = both[1];
	owner.bar0_fd = memory;
	signal(SIGPIPE, SIG_IGN); /* as in tools/nicsim/main.c */
}

static void connect_both(void)
{
	int both[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
	client = both[0];
	fcntl(both[1], F_SETFL, O_NONBLOCK);
	memset(&server, 0, sizeof server);
	server = (struct vfio_user){.owner = &owner, .ctx = &pci, .pci = &pci, .dma = &dma,
	                            .listen_fd = -1, .fd = both[1]};
	pci_init(&pci, &card);
	gone = 0;
}

/* Number of open descriptors, equal before and after a client. */
static unsigned open_fds(void)
{
	unsigned n = 0;
	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (memory < 0)
		open_all();
	unsigned before = open_fds();
	connect_both();
	rig_input(data, size);
	if (rig_u8() & 1)
		server.greeted = true;
	for (unsigned turns = 0; rig_more() && turns < 100 && server.fd >= 0; turns++) {
		uint8_t what = rig_u8();
		if (what == 0x7f)
			flood();
		else if (what & 0x80)
			any_message();
		else
			likely_message(what);
		vfio_user_run(&server);
		take_answers();
		check_memory();
	}
	close(client);
	for (unsigned i = 0; i < 10 && server.fd >= 0; i++)
		vfio_user_run(&server);
	assert_int_equal(server.fd, -1);
	assert_int_equal(gone, 1);
	assert_int_equal(dma.count, 0);
	assert_int_equal(open_fds(), before);
	return 0;
}
