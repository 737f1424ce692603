#include "tools/nicsim/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/nicsim/clock.h"
#include "tools/nicsim/parse.h"
#include "tools/nicsim/port.h"

static const char usage[] =
        "nicsim: models of network cards, given to QEMU by vfio-user (docs/nicsim.md)\n"
        "\n"
        "  nicsim --port model=NAME,socket=PATH,wire=WIRE[,OPTION]... [--port ...] [OPTION]...\n"
        "\n"
        "Of a port:\n"
        "  mode=strict|line-rate  every access is a message, traced and checked (default), or the\n"
        "                         doorbell pages are mapped into the guest\n"
        "  mac=XX:XX:XX:XX:XX:XX  station address (52:54:00:82:59:PORT)\n"
        "  fault=NAME[:ARG]       a fault from the start, any number of them (below)\n"
        "  trace=FILE             every register access by name\n"
        "\n"
        "Wires (inside one, options follow after ';'):\n"
        "  tap:[NETNS/]NAME       a tap device, made if need be; tap-fd:N an open one\n"
        "  link:PORT              a cable to another port  [;rate=;delay=;loss=;corrupt=;\n"
        "                         duplicate=;reorder=;overtake=;frames=all|stamped;seed=]\n"
        "  pcap:[IN]              frames from a file       [;out=FILE;speed=X|flat;loop=N]\n"
        "  stream:unix:PATH, stream:HOST:PORT              [;listen=on]  as QEMU's -netdev stream\n"
        "  gen                    a generator that judges what comes back\n"
        "                         "
        "[;rate=N|Nbps|flat;count=N;time=T;size=N/N/...|imix;flows=N;dmac=;smac=;\n"
        "                         src=A.B.C.D;dst=A.B.C.D;prefixes=N;sport=N;dport=N;arp=on|off;\n"
        "                         start=auto|manual;seed=N]\n"
        "  sink                   judges what generators of other ports sent  [;arp=on|off;smac=;\n"
        "                         outside=on|off;vary=BYTES]\n"
        "  none                   a port with no cable\n"
        "\n"
        "Of the process:\n"
        "  --control SOCKET       commands, one a line, answered in JSON\n"
        "  --stats FILE           statistics as JSON at the end and on SIGUSR1 (standard output)\n"
        "  --ready-fd N           writes a line there once all sockets listen (standard output)\n"
        "  --once                 ends when all guests have gone\n"
        "  --die-with-parent      ends when its parent process ends\n"
        "  --duration S           ends after S seconds\n"
        "\n"
        "Exit status: 0; 1 wrong usage, or a failed start; 3 a guest broke a rule of its card.\n";

static void print_faults(const struct fault_kind *f)
{
	for (; f && f->name; f++) {
		char name[64];
		snprintf(name, sizeof name, "%s%s%s", f->name, f->arg ? ":" : "",
		         f->arg ? f->arg : "");
		printf("  %-26s %s", name, f->help);
		if (f->arg && f->standard)
			printf(" (%llu)", (unsigned long long)f->standard);
		printf("\n");
	}
}

static void print_help(void)
{
	printf("%s\nFaults of every model:\n", usage);
	print_faults(port_faults);
	for (unsigned i = 0; i < model_count; i++) {
		printf("\nmodel=%s: %s\n", models[i]->name, models[i]->title);
		print_faults(models[i]->faults);
	}
}

static bool bad(const char *what, const char *word)
{
	fprintf(stderr, "nicsim: %s: %s (see nicsim --help)\n", word, what);
	return false;
}

static bool find_model(const char *name, const struct model_ops **model)
{
	for (unsigned i = 0; i < model_count; i++)
		if (strcmp(models[i]->name, name) == 0) {
			*model = models[i];
			return true;
		}
	fprintf(stderr, "nicsim: model=%s: no such model; there are:", name);
	for (unsigned i = 0; i < model_count; i++)
		fprintf(stderr, " %s", models[i]->name);
	fprintf(stderr, "\n");
	return false;
}

static bool parse_mode(const char *text, bool *line_rate)
{
	*line_rate = strcmp(text, "line-rate") == 0;
	return *line_rate || strcmp(text, "strict") == 0;
}

static bool parse_port_word(struct port_options *p, const char *word)
{
	const char *v;
	if ((v = parse_key(word, "model")))
		return find_model(v, &p->model);
	if ((v = parse_key(word, "socket")))
		p->socket = v;
	else if ((v = parse_key(word, "wire")))
		p->wire = v;
	else if ((v = parse_key(word, "trace")))
		p->trace = v;
	else if ((v = parse_key(word, "mode")))
		return parse_mode(v, &p->line_rate) || bad("strict or line-rate", word);
	else if ((v = parse_key(word, "mac")))
		return (parse_mac(v, p->mac) && !(p->mac[0] & 1)) ||
		       bad("no unicast MAC address", word);
	else if ((v = parse_key(word, "fault")) && p->faults < PORT_FAULTS_MAX)
		p->fault[p->faults++] = v;
	else
		return bad(v ? "too many faults" : "no option of a port", word);
	return *v != 0 || bad("a value is missing", word);
}

static bool parse_port(struct options *o, char *text)
{
	if (o->ports == PORTS_MAX)
		return bad("too many ports", text);
	struct port_options *p = &o->port[o->ports];
	const uint8_t mac[6] = {0x52, 0x54, 0x00, 0x82, 0x59, (uint8_t)o->ports};
	memcpy(p->mac, mac, sizeof mac);
	for (char *rest = text, *word; (word = strsep(&rest, ","));)
		if (!parse_port_word(p, word))
			return false;
	if (p->model == NULL || p->socket == NULL || p->wire == NULL)
		return bad("a port needs model=, socket= and wire=", "--port");
	for (unsigned i = 0; i < p->faults; i++)
		if (!port_fault_parse(p->model, p->fault[i], NULL))
			return bad("no such fault, or its argument is wrong", p->fault[i]);
	o->ports++;
	return true;
}

/* Parses an option with a value. */
static bool parse_value(struct options *o, const char *name, char *value)
{
	uint64_t n;
	double seconds;
	if (strcmp(name, "--port") == 0)
		return parse_port(o, value);
	if (strcmp(name, "--control") == 0) {
		o->control = value;
	} else if (strcmp(name, "--stats") == 0) {
		o->stats = value;
	} else if (strcmp(name, "--ready-fd") == 0) {
		if (!parse_u64(value, &n) || n > 1 << 20)
			return bad("no file descriptor", value);
		o->ready_fd = (int)n;
	} else if (strcmp(name, "--duration") == 0) {
		if (!parse_number(value, &seconds, NULL) || seconds > 1e9)
			return bad("no number of seconds", value);
		o->duration_ns = (uint64_t)(seconds * 1e9);
	} else {
		return bad("no such option", name);
	}
	return true;
}

enum options_result options_parse(struct options *o, int argc, char **argv)
{
	memset(o, 0, sizeof *o);
	o->ready_fd = -1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			print_help();
			return OPTIONS_DONE;
		} else if (strcmp(argv[i], "--version") == 0) {
			printf("nicsim %s\n", NICSIM_VERSION);
			return OPTIONS_DONE;
		} else if (strcmp(argv[i], "--once") == 0) {
			o->once = true;
		} else if (strcmp(argv[i], "--die-with-parent") == 0) {
			o->die_with_parent = true;
		} else if (i + 1 == argc) {
			bad("no such option, or its value is missing", argv[i]);
			return OPTIONS_BAD;
		} else {
			if (!parse_value(o, argv[i], argv[i + 1]))
				return OPTIONS_BAD;
			i++;
		}
	}
	if (o->ports == 0) {
		bad("at least one is needed", "--port");
		return OPTIONS_BAD;
	}
	return OPTIONS_RUN;
}
