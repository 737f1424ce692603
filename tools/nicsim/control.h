/*
 * Commands at run time: a Unix stream socket takes one command a line and answers each with one
 * line of JSON (docs/nicsim.md). It serves CONTROL_CLIENTS clients at a time and disconnects a
 * client that does not read its answers.
 */
#ifndef NICSIM_CONTROL_H
#define NICSIM_CONTROL_H

#include <poll.h>
#include <stdbool.h>

#define CONTROL_CLIENTS 4
#define CONTROL_FDS     (1 + CONTROL_CLIENTS)
#define CONTROL_LINE    1024

struct nicsim;

struct control {
	const char *path;
	int listen_fd; /* -1: no control socket */
	struct control_client {
		int fd; /* -1: free */
		unsigned have;
		char line[CONTROL_LINE];
	} client[CONTROL_CLIENTS];
};

/* path NULL: no control socket. Returns false after a message on stderr. */
bool control_open(struct control *c, const char *path);
void control_close(struct control *c);

/* Writes CONTROL_FDS entries to poll (unused ones with fd -1) and returns their number. */
unsigned control_poll(const struct control *c, struct pollfd *v);
void control_run(struct control *c, const struct pollfd *v, struct nicsim *s);

#endif
