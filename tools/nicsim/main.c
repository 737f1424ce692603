/*
 * nicsim: models of network cards as a process beside QEMU (docs/nicsim.md). This file starts and
 * ends the process; loop.c runs it in between.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/loop.h"
#include "tools/nicsim/wires/judge.h"
#include "tools/nicsim/wires/open.h"

enum { EXIT_USAGE = 1, EXIT_VIOLATIONS = 3 };

static struct nicsim sim;

/* --- statistics --- */

void nicsim_stats(struct nicsim *s, struct json *j)
{
	json_string(j, "nicsim", NICSIM_VERSION);
	json_u64(j, "time_ns", clock_now());
	json_array(j, "ports");
	for (unsigned i = 0; i < s->ports; i++) {
		json_object(j, NULL);
		port_stats(&s->port[i], j);
		json_end(j);
	}
	json_end(j);
	judge_stats(j);
}

/* Replaces a file atomically: a reader sees the old text or the new one. */
static bool write_file(const char *path, const char *text)
{
	char first[4096];
	if (snprintf(first, sizeof first, "%s~", path) >= (int)sizeof first)
		return false;
	FILE *f = fopen(first, "we");
	if (f == NULL)
		return false;
	bool ok = fprintf(f, "%s\n", text) > 0;
	ok &= fclose(f) == 0;
	return ok && rename(first, path) == 0;
}

void nicsim_report(struct nicsim *s)
{
	struct json j;
	json_init(&j);
	json_object(&j, NULL);
	nicsim_stats(s, &j);
	json_end(&j);
	const char *text = json_text(&j);
	if (text == NULL)
		fprintf(stderr, "nicsim: no memory for statistics\n");
	else if (s->options.stats == NULL)
		printf("%s\n", text);
	else if (!write_file(s->options.stats, text))
		fprintf(stderr, "nicsim: %s: %s\n", s->options.stats, strerror(errno));
	fflush(stdout);
	json_free(&j);
}

/* --- start and end --- */

static bool open_signals(struct nicsim *s)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd >= 0;
}

static bool open_all(struct nicsim *s)
{
	if (!open_signals(s) || !control_open(&s->control, s->options.control))
		return false;
	for (unsigned i = 0; i < s->options.ports; i++) {
		s->ports++; /* port_close accepts a port that is only partly open */
		if (!port_open(&s->port[i], i, &s->options.port[i]))
			return false;
	}
	return wires_complete();
}

static void close_all(struct nicsim *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		port_close(&s->port[i]);
	control_close(&s->control);
	close(s->signal_fd);
}

static bool say_ready(const struct options *o)
{
	static const char text[] = "nicsim: ready\n";
	if (o->ready_fd < 0)
		return printf("%s", text) > 0 && fflush(stdout) == 0;
	bool ok = write(o->ready_fd, text, sizeof text - 1) == sizeof text - 1;
	close(o->ready_fd);
	return ok;
}

/* The parent may have exited before prctl took effect, so its pid is checked afterwards. */
static void die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent || parent == 1)
		exit(EXIT_USAGE);
}

static int exit_status(const struct nicsim *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		if (s->port[i].model->violations)
			return EXIT_VIOLATIONS;
	return 0;
}

int main(int argc, char **argv)
{
	pid_t parent = getppid();
	enum options_result r = options_parse(&sim.options, argc, argv);
	if (r != OPTIONS_RUN)
		return r == OPTIONS_DONE ? 0 : EXIT_USAGE;
	if (sim.options.die_with_parent)
		die_with(parent);
	sim.control.listen_fd = sim.signal_fd = -1;
	if (!open_all(&sim) || !say_ready(&sim.options)) {
		close_all(&sim);
		return EXIT_USAGE;
	}
	uint64_t duration = sim.options.duration_ns;
	sim.end = duration ? clock_now() + duration : UINT64_MAX;
	loop_run(&sim);
	nicsim_report(&sim);
	int status = exit_status(&sim);
	close_all(&sim);
	return status;
}
