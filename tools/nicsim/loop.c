#include "tools/nicsim/loop.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/nicsim/clock.h"

#define LOOK_NS     100000  /* between looks at file descriptors while polling memory */
#define IDLE_NS     2000000 /* without a frame, until the loop naps between polls */
#define NAP_NS      50000
#define TURNS       16      /* over the ports while frames move, before descriptors are checked */

/* --- file descriptors --- */

#define FDS_MAX (2 * PORTS_MAX + CONTROL_FDS + 1)

static void on_signal(struct nicsim *s)
{
	struct signalfd_siginfo info;
	while (read(s->signal_fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGUSR1)
			nicsim_report(s);
		else
			s->quit = true;
	}
}

static void add(struct pollfd *v, unsigned *n, int fd)
{
	v[(*n)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Waits until `until` at the latest and handles what has arrived. */
static void look(struct nicsim *s, uint64_t now, uint64_t until)
{
	struct pollfd v[FDS_MAX];
	unsigned n = 0;
	add(v, &n, s->signal_fd);
	for (unsigned i = 0; i < s->ports; i++) {
		struct port *p = &s->port[i];
		add(v, &n, vfio_user_fd(&p->server));
		add(v, &n,
		    p->readable ? -1 : p->wire->fd); /* known: it waits for room in the guest */
	}
	n += control_poll(&s->control, v + n);

	uint64_t wait = until > now ? until - now : 0;
	struct timespec t = {(time_t)(wait / NS_PER_S), (long)(wait % NS_PER_S)};
	if (ppoll(v, n, until == UINT64_MAX ? NULL : &t, NULL) <= 0)
		return;
	if (v[0].revents)
		on_signal(s);
	for (unsigned i = 0; i < s->ports; i++) {
		if (v[1 + 2 * i].revents)
			vfio_user_run(&s->port[i].server);
		if (v[2 + 2 * i].revents)
			s->port[i].readable = true;
	}
	control_run(&s->control, v + 1 + 2 * s->ports, s);
}

/* --- turns --- */

static bool run_ports(struct nicsim *s, uint64_t now)
{
	bool moved = false;
	for (unsigned i = 0; i < s->ports; i++)
		moved |= port_run(&s->port[i], now);
	return moved;
}

static uint64_t nearest_deadline(struct nicsim *s, uint64_t now)
{
	uint64_t due = s->end;
	for (unsigned i = 0; i < s->ports; i++) {
		uint64_t next = port_deadline(&s->port[i], now);
		due = next < due ? next : due;
	}
	return due;
}

/* Whether a guest can write to mapped memory without notifying us. */
static bool must_poll(const struct nicsim *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		if (s->port[i].model->line_rate && s->port[i].live)
			return true;
	return false;
}

static bool all_gone(const struct nicsim *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		if (!s->port[i].had_guest || s->port[i].server.fd >= 0)
			return false;
	return true;
}

/* Work that need not be done every turn. */
static void housekeeping(struct nicsim *s, uint64_t now)
{
	for (unsigned i = 0; i < s->ports; i++)
		port_look_at_cable(&s->port[i], now);
	if (now >= s->end || (s->options.once && all_gone(s)))
		s->quit = true;
}

static void flush_traces(const struct nicsim *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		if (s->port[i].model->trace)
			fflush(s->port[i].model->trace);
}

/* Runs the ports until no frame moves (returns false) or for TURNS turns. Advances *now. */
static bool run_turns(struct nicsim *s, uint64_t *now)
{
	bool moved = true;
	for (unsigned i = 0; moved && i < TURNS; i++) {
		moved = run_ports(s, *now);
		*now = clock_now();
	}
	return moved;
}

/* Polls the ports for LOOK_NS, or once when they are idle; returns the time. */
static uint64_t poll_turns(struct nicsim *s, uint64_t now, uint64_t *moved_at)
{
	uint64_t end = now + LOOK_NS;
	do {
		if (run_ports(s, now))
			*moved_at = now;
		else
			__builtin_ia32_pause();
		now = clock_now();
	} while (now < end && now - *moved_at < IDLE_NS);
	return now;
}

/* The time until which to sleep after poll_turns. */
static uint64_t nap_until(struct nicsim *s, uint64_t now, uint64_t moved_at)
{
	uint64_t due = nearest_deadline(s, now);
	if (now - moved_at < IDLE_NS || due <= now)
		return now; /* do not sleep, only check the descriptors */
	return due - now < NAP_NS ? due : now + NAP_NS;
}

void loop_run(struct nicsim *s)
{
	uint64_t now = clock_now(), moved_at = now;
	while (!s->quit) {
		housekeeping(s, now);
		uint64_t due;
		if (must_poll(s)) {
			now = poll_turns(s, now, &moved_at);
			due = nap_until(s, now, moved_at);
		} else {
			due = run_turns(s, &now) ? now : nearest_deadline(s, now);
		}
		if (s->quit)
			break;
		if (due > now)
			flush_traces(s);
		look(s, now, due);
		now = clock_now();
	}
}
