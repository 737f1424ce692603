#include "tools/nicsim/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/loop.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/wires/open.h"

/* --- commands: each returns NULL, or an error text --- */

static const char *do_fault(struct port *p, char *arg, uint64_t now)
{
	struct port_fault_ref ref;
	if (!port_fault_parse(p->model->ops, arg, &ref))
		return "no such fault, or its argument is wrong";
	port_fault_set(p, ref, now);
	return NULL;
}

static const char *do_clear(struct port *p, char *arg, uint64_t now)
{
	struct port_fault_ref ref;
	if (strcmp(arg, "all") == 0)
		port_fault_clear_all(p, now);
	else if (port_fault_parse(p->model->ops, arg, &ref))
		port_fault_clear(p, ref, now);
	else
		return "no such fault";
	return NULL;
}

static const char *do_carrier(struct port *p, char *arg, uint64_t now)
{
	bool up = strcmp(arg, "up") == 0;
	if (!up && strcmp(arg, "down") != 0)
		return "up or down";
	p->unplugged = !up;
	port_look_at_cable(p, now);
	return NULL;
}

static const char *do_gen(struct port *p, char *arg, uint64_t now)
{
	(void)now;
	return gen_command(p->wire, arg);
}

static const char *do_link(struct port *p, char *arg, uint64_t now)
{
	(void)now;
	return link_command(p->wire, arg);
}

static const char *do_reset_stats(struct port *p, char *arg, uint64_t now)
{
	(void)now;
	if (*arg)
		return "takes no argument";
	port_reset_stats(p);
	return NULL;
}

static const struct {
	const char *name;
	const char *(*run)(struct port *p, char *arg, uint64_t now);
} port_commands[] = {
	{"fault", do_fault},
	{"clear", do_clear},
	{"carrier", do_carrier},
	{"gen", do_gen},
	{"link", do_link},
	{"reset-stats", do_reset_stats},
};

/* Runs "N COMMAND [ARGUMENT]". */
static const char *run_port_command(struct nicsim *s, char *text)
{
	char *number = strsep(&text, " "), *name = strsep(&text, " "), nothing[] = "";
	uint64_t n;
	if (!parse_u64(number, &n) || n >= s->ports)
		return "no such port";
	for (unsigned i = 0; name && i < sizeof port_commands / sizeof port_commands[0]; i++)
		if (strcmp(name, port_commands[i].name) == 0)
			return port_commands[i].run(&s->port[n], text ? text : nothing,
			                            clock_now());
	return "of a port: fault, clear, carrier, gen, link, reset-stats";
}

static void answer(struct nicsim *s, char *line, struct json *j)
{
	const char *error = NULL;
	bool stats = strcmp(line, "stats") == 0;
	if (strncmp(line, "port ", 5) == 0)
		error = run_port_command(s, line + 5);
	else if (strcmp(line, "quit") == 0)
		s->quit = true;
	else if (!stats)
		error = "no such command (stats, port, quit)";
	json_object(j, NULL);
	json_bool(j, "ok", error == NULL);
	if (error)
		json_string(j, "error", error);
	if (stats)
		nicsim_stats(s, j);
	json_end(j);
}

/* --- clients --- */

static void hang_up(struct control_client *c)
{
	close(c->fd);
	c->fd = -1;
}

/* The socket buffer holds the replies of a client that sends several commands before it reads. */
static void obey(struct control_client *c, char *line, struct nicsim *s)
{
	struct json j;
	json_init(&j);
	answer(s, line, &j);
	const char *text = json_text(&j);
	struct iovec iov[2] = {{(void *)(uintptr_t)text, j.bytes}, {(void *)(uintptr_t)"\n", 1}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	if (text == NULL ||
	    sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(j.bytes + 1))
		hang_up(c);
	json_free(&j);
}

static void read_client(struct control_client *c, struct nicsim *s)
{
	ssize_t n = recv(c->fd, c->line + c->have, sizeof c->line - c->have, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->have += (unsigned)n;
	char *end;
	while (c->fd >= 0 && (end = memchr(c->line, '\n', c->have))) {
		unsigned used = (unsigned)(end + 1 - c->line);
		*end = 0;
		if (end > c->line && end[-1] == '\r')
			end[-1] = 0;
		obey(c, c->line, s);
		c->have -= used;
		memmove(c->line, c->line + used, c->have);
	}
	if (c->fd >= 0 && c->have == sizeof c->line)
		hang_up(c); /* no command is that long */
}

static void accept_client(struct control *c)
{
	const int room = 4 << 20;
	int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		if (c->client[i].fd < 0) {
			c->client[i].fd = fd;
			c->client[i].have = 0;
			return;
		}
	close(fd);
}

/* --- open, close, poll --- */

bool control_open(struct control *c, const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	c->path = path;
	c->listen_fd = -1;
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		c->client[i].fd = -1;
	if (path == NULL)
		return true;
	errno = ENAMETOOLONG;
	if (strlen(path) < sizeof at.sun_path) {
		strcpy(at.sun_path, path);
		c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		unlink(path);
		if (c->listen_fd >= 0 &&
		    bind(c->listen_fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
		    listen(c->listen_fd, CONTROL_CLIENTS) == 0)
			return true;
	}
	fprintf(stderr, "nicsim: control socket %s: %s\n", path, strerror(errno));
	return false;
}

void control_close(struct control *c)
{
	if (c->listen_fd < 0)
		return;
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		if (c->client[i].fd >= 0)
			close(c->client[i].fd);
	close(c->listen_fd);
	unlink(c->path);
}

unsigned control_poll(const struct control *c, struct pollfd *v)
{
	v[0] = (struct pollfd){.fd = c->listen_fd, .events = POLLIN};
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		v[1 + i] = (struct pollfd){.fd = c->client[i].fd, .events = POLLIN};
	return CONTROL_FDS;
}

void control_run(struct control *c, const struct pollfd *v, struct nicsim *s)
{
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		if (v[1 + i].revents && c->client[i].fd >= 0)
			read_client(&c->client[i], s);
	if (v[0].revents)
		accept_client(c);
}
