/*
 * QEMU's `-netdev stream`: a stream socket that carries each frame after its length, four bytes,
 * big-endian. Connects, and retries every second while no peer answers; or listens (listen=on) and
 * has one peer at a time. The carrier is up while there is a peer.
 *
 * A peer that announces a frame longer than FRAME_MAX is disconnected: the framing is lost. Frames
 * for a peer that does not read are dropped whole, never in part.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/open.h"

#define BUFFER_BYTES (256u << 10)
#define RETRY_NS     NS_PER_S

enum state { LISTENING, WAITING, CONNECTING, CONNECTED };

struct stream_wire {
	struct wire w;
	enum state state;
	struct sockaddr_storage address;
	socklen_t address_bytes;
	bool listens;
	int listen_fd;
	uint64_t retry; /* WAITING: the next attempt; CONNECTING: the next check */
	uint64_t connections;
	uint32_t have, used; /* bytes in `in`; of those, passed on by the last pull */
	uint32_t out_have;   /* the rest of a partly sent frame */
	uint8_t out[4 + FRAME_MAX];
	uint8_t in[BUFFER_BYTES];
};

static struct stream_wire *of(struct wire *w)
{
	return (struct stream_wire *)(void *)w;
}

static void be_idle(struct stream_wire *s, uint64_t now)
{
	s->have = s->used = s->out_have = 0;
	s->state = s->listens ? LISTENING : WAITING;
	s->w.fd = s->listens ? s->listen_fd : -1;
	s->retry = now + RETRY_NS;
}

static void hang_up(struct stream_wire *s, uint64_t now)
{
	close(s->w.fd);
	be_idle(s, now);
}

static void be_connected(struct stream_wire *s, int fd)
{
	s->w.fd = fd;
	s->state = CONNECTED;
	s->connections++;
}

static void try_to_connect(struct stream_wire *s, uint64_t now)
{
	int fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s->retry = now + RETRY_NS;
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&s->address, s->address_bytes) == 0) {
		be_connected(s, fd);
	} else if (errno == EINPROGRESS) {
		s->w.fd = fd;
		s->state = CONNECTING;
		s->retry =
		        now + NS_PER_MS; /* checked by time, as the loop polls only for input */
	} else {
		close(fd);
	}
}

/* Checks whether connect() has completed. */
static void look_at_connect(struct stream_wire *s, uint64_t now)
{
	struct pollfd p = {.fd = s->w.fd, .events = POLLOUT};
	int error = 0;
	socklen_t bytes = sizeof error;
	s->retry = now + 10 * NS_PER_MS;
	if (poll(&p, 1, 0) <= 0)
		return;
	if (getsockopt(s->w.fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error)
		hang_up(s, now);
	else
		be_connected(s, s->w.fd);
}

/* Does what is due while there is no peer. */
static void look_for_peer(struct stream_wire *s, uint64_t now)
{
	if (s->state == LISTENING) {
		int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			be_connected(s, fd);
	} else if (now >= s->retry && s->state == WAITING) {
		try_to_connect(s, now);
	} else if (now >= s->retry && s->state == CONNECTING) {
		look_at_connect(s, now);
	}
}

/* --- receiving --- */

static void fill(struct stream_wire *s, uint64_t now)
{
	memmove(s->in, s->in + s->used, s->have - s->used);
	s->have -= s->used;
	s->used = 0;
	ssize_t n = recv(s->w.fd, s->in + s->have, sizeof s->in - s->have, MSG_DONTWAIT);
	if (n > 0)
		s->have += (uint32_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		hang_up(s, now);
}

static unsigned stream_pull(struct wire *w, struct frame *v, unsigned max, uint64_t now)
{
	struct stream_wire *s = of(w);
	unsigned n = 0;
	if (s->state != CONNECTED)
		look_for_peer(s, now);
	if (s->state != CONNECTED)
		return 0;
	fill(s, now);
	while (n < max && s->have - s->used >= 4) {
		const uint8_t *at = s->in + s->used;
		uint32_t bytes = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
		                 (uint32_t)at[2] << 8 | at[3];
		if (bytes == 0 || bytes > FRAME_MAX) {
			hang_up(s, now);
			return 0;
		}
		if (s->have - s->used - 4 < bytes)
			break;
		v[n++] = (struct frame){.data = at + 4, .bytes = bytes};
		s->used += 4 + bytes;
	}
	return n;
}

/* --- sending --- */

/* Sends the rest of a partly sent frame; true when none is left. */
static bool flush(struct stream_wire *s)
{
	if (s->out_have == 0)
		return true;
	ssize_t n = send(s->w.fd, s->out, s->out_have, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0) {
		s->out_have -= (uint32_t)n;
		memmove(s->out, s->out + n, s->out_have);
	}
	return s->out_have == 0;
}

static void stream_send(struct wire *w, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	struct stream_wire *s = of(w);
	(void)now;
	if (w->pulled || s->state != CONNECTED || !flush(s)) {
		w->dropped++;
		return;
	}
	const uint8_t head[4] = {(uint8_t)(bytes >> 24), (uint8_t)(bytes >> 16),
	                         (uint8_t)(bytes >> 8), (uint8_t)bytes};
	memcpy(s->out, head, 4);
	memcpy(s->out + 4, data, bytes);
	ssize_t n = send(s->w.fd, s->out, 4 + bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n <= 0) {
		w->dropped++; /* if the peer has gone, the next pull notices */
		return;
	}
	s->out_have = 4 + bytes - (uint32_t)n;
	memmove(s->out, s->out + n, s->out_have);
}

/* --- deadline, carrier, close --- */

static uint64_t stream_deadline(struct wire *w, uint64_t now)
{
	const struct stream_wire *s = of(w);
	(void)now;
	return s->state == WAITING || s->state == CONNECTING ? s->retry : UINT64_MAX;
}

static bool stream_carrier(struct wire *w)
{
	return of(w)->state == CONNECTED;
}

static void stream_stats(struct wire *w, struct json *j)
{
	json_u64(j, "connections", of(w)->connections);
}

static void stream_close(struct wire *w)
{
	struct stream_wire *s = of(w);
	if (s->w.fd >= 0 && s->w.fd != s->listen_fd)
		close(s->w.fd);
	if (s->listen_fd >= 0) {
		close(s->listen_fd);
		if (s->address.ss_family == AF_UNIX)
			unlink(((struct sockaddr_un *)(void *)&s->address)->sun_path);
	}
	free(s);
}

static const struct wire_ops stream_ops = {
	.name = "stream",
	.pull = stream_pull,
	.send = stream_send,
	.deadline = stream_deadline,
	.carrier = stream_carrier,
	.stats = stream_stats,
	.close = stream_close,
};

/* Parses "unix:PATH" or "HOST:PORT". */
static bool parse_address(struct stream_wire *s, const char *text)
{
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&s->address;
	if (strncmp(text, "unix:", 5) == 0) {
		un->sun_family = AF_UNIX;
		s->address_bytes = sizeof *un;
		return text[5] && strlen(text + 5) < sizeof un->sun_path &&
		       strcpy(un->sun_path, text + 5);
	}
	char host[128];
	const char *colon = strrchr(text, ':');
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	if (colon == NULL || (size_t)(colon - text) >= sizeof host)
		return false;
	snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return false;
	memcpy(&s->address, found->ai_addr, found->ai_addrlen);
	s->address_bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return true;
}

static bool start_listening(struct stream_wire *s)
{
	const int on = 1;
	int fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s->listen_fd = fd;
	if (fd < 0)
		return false;
	if (s->address.ss_family == AF_UNIX)
		unlink(((struct sockaddr_un *)(void *)&s->address)->sun_path);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	return bind(fd, (const struct sockaddr *)&s->address, s->address_bytes) == 0 &&
	       listen(fd, 1) == 0;
}

struct wire *stream_open(const struct wire_spec *spec)
{
	struct stream_wire *s = calloc(1, sizeof *s);
	if (s == NULL)
		return wire_bad(spec, "stream", "no memory");
	s->w.ops = &stream_ops;
	s->w.fd = s->listen_fd = -1;
	const char *error = NULL, *word = spec->argument;
	if (!parse_address(s, spec->argument))
		error = "unix:PATH or HOST:PORT";
	for (unsigned i = 0; i < spec->options && error == NULL; i++) {
		const char *v = parse_key(word = spec->option[i], "listen");
		if (v == NULL || !parse_switch(v, &s->listens))
			error = "listen=on or listen=off";
	}
	if (error == NULL && s->listens && !start_listening(s))
		error = strerror(errno);
	if (error) {
		wire_bad(spec, word, error);
		stream_close(&s->w);
		return NULL;
	}
	be_idle(s, clock_now());
	s->retry = 0;
	return &s->w;
}
