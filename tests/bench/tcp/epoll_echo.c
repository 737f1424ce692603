/*
 * The Linux peer of the benchmarks of TCP and UDP: one thread on epoll, or on a UDP socket.
 *
 *   epoll_echo [-6] tcp          port 7 echoes, 9 discards, 19 sends as much as possible
 *   epoll_echo [-6] udp [wait]   port 7 echoes; polls, or, with `wait`, sleeps in recvmmsg
 *
 * -6: with IPv6 sockets, for IPv6 only. Prints `ready` when it listens. It is written like typical
 * servers: level-triggered epoll, up to EVENTS events at a time, one read and one write for each,
 * TCP_NODELAY. Data that cannot be written at once is kept, and nothing more is read until it is
 * written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 512
#define BUFFER 65536
#define FILES 1048576 /* fs.nr_open, unless changed: a higher limit is refused even to root */
#define VECTOR 32
#define DATAGRAM 2048

struct client {
	int fd;
	uint16_t port;  /* local port */
	bool listener;
	uint32_t kept;  /* bytes that could not be written, at `at` */
	uint32_t from;
	uint8_t *at;
};

static uint8_t buffer[BUFFER];
static int epoll;
static bool six;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int socket_on(int type, uint16_t port)
{
	int one = 1, fd = socket(six ? AF_INET6 : AF_INET, type, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr *any = six ? (struct sockaddr *)&a6 : (struct sockaddr *)&a;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
	    (six && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) != 0) ||
	    bind(fd, any, six ? sizeof a6 : sizeof a) != 0)
		die("bind");
	return fd;
}

static void watch(struct client *c, uint32_t events, int operation)
{
	struct epoll_event e = {.events = events, .data.ptr = c};
	if (epoll_ctl(epoll, operation, c->fd, &e) != 0)
		die("epoll_ctl");
}

static struct client *new_client(int fd, uint16_t port, bool listener)
{
	struct client *c = calloc(1, sizeof *c);
	if (!c)
		die("calloc");
	*c = (struct client){.fd = fd, .port = port, .listener = listener};
	watch(c, port == 19 && !listener ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_ADD);
	return c;
}

static void drop(struct client *c)
{
	close(c->fd);
	free(c->at);
	free(c);
}

static void accept_all(const struct client *c)
{
	int fd, one = 1;
	while ((fd = accept4(c->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		new_client(fd, c->port, false);
	}
}

/* Writes the kept data; false: the connection is gone. */
static bool write_kept(struct client *c)
{
	ssize_t n = write(c->fd, c->at + c->from, c->kept);
	if (n < 0)
		return errno == EAGAIN;
	c->from += (uint32_t)n;
	c->kept -= (uint32_t)n;
	if (c->kept == 0)
		watch(c, EPOLLIN, EPOLL_CTL_MOD);
	return true;
}

static bool echo(struct client *c, uint32_t n)
{
	ssize_t done = write(c->fd, buffer, n);
	if (done < 0 && errno != EAGAIN)
		return false;
	done = done < 0 ? 0 : done;
	if ((uint32_t)done == n)
		return true;
	if (!c->at && !(c->at = malloc(BUFFER)))
		die("malloc");
	c->from = 0;
	c->kept = n - (uint32_t)done;
	memcpy(c->at, buffer + done, c->kept);
	watch(c, EPOLLOUT, EPOLL_CTL_MOD);
	return true;
}

static bool serve(struct client *c, uint32_t events)
{
	if (c->kept)
		return write_kept(c);
	if (c->port == 19 && events & EPOLLOUT && write(c->fd, buffer, BUFFER) < 0 &&
	    errno != EAGAIN)
		return false;
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return true;
	ssize_t n = read(c->fd, buffer, BUFFER);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	return c->port != 7 || echo(c, (uint32_t)n);
}

static void tcp(void)
{
	static const uint16_t ports[] = {7, 9, 19};
	struct rlimit files = {FILES, FILES};
	if (setrlimit(RLIMIT_NOFILE, &files) != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max; /* this needs no privilege */
		setrlimit(RLIMIT_NOFILE, &files);
	}
	epoll = epoll_create1(0);
	for (unsigned i = 0; i < 3; i++) {
		int fd = socket_on(SOCK_STREAM | SOCK_NONBLOCK, ports[i]);
		if (listen(fd, 4096) != 0)
			die("listen");
		new_client(fd, ports[i], true);
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		static struct epoll_event events[EVENTS];
		int n = epoll_wait(epoll, events, EVENTS, -1);
		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;
			if (c->listener)
				accept_all(c);
			else if (!serve(c, events[i].events))
				drop(c);
		}
	}
}

static void udp(bool wait)
{
	static uint8_t data[VECTOR][DATAGRAM];
	static struct sockaddr_in6 from[VECTOR]; /* large enough for both families */
	static struct iovec piece[VECTOR];
	static struct mmsghdr message[VECTOR];
	int fd = socket_on(wait ? SOCK_DGRAM : SOCK_DGRAM | SOCK_NONBLOCK, 7);
	puts("ready");
	fflush(stdout);
	for (;;) {
		for (unsigned i = 0; i < VECTOR; i++) {
			piece[i] = (struct iovec){data[i], DATAGRAM};
			message[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
			                                     .msg_namelen = sizeof from[i],
			                                     .msg_iov = &piece[i],
			                                     .msg_iovlen = 1};
		}
		int n = recvmmsg(fd, message, VECTOR, MSG_WAITFORONE, NULL);
		for (int i = 0; i < n; i++)
			piece[i].iov_len = message[i].msg_len;
		if (n > 0 && sendmmsg(fd, message, (unsigned)n, 0) < 0 && errno != EAGAIN)
			die("sendmmsg");
	}
}

int main(int argc, char **argv)
{
	six = argc >= 2 && strcmp(argv[1], "-6") == 0;
	argc -= six;
	argv += six;
	if (argc == 2 && strcmp(argv[1], "tcp") == 0)
		tcp();
	else if (argc >= 2 && strcmp(argv[1], "udp") == 0)
		udp(argc == 3);
	fprintf(stderr, "usage: epoll_echo [-6] tcp | udp [wait]\n");
	return 2;
}
