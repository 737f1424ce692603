#include "tools/nicsim/wires/open.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	struct wire *(*open)(const struct wire_spec *s);
} kinds[] = {
	{"tap", tap_open},   {"tap-fd", tap_fd_open}, {"link", link_open}, {"pcap", pcap_open},
	{"stream", stream_open}, {"gen", gen_open},   {"sink", sink_open}, {"none", none_open},
};

struct wire *wire_bad(const struct wire_spec *s, const char *word, const char *what)
{
	fprintf(stderr, "nicsim: port %u: wire: %s: %s\n", s->port, word, what);
	return NULL;
}

/* The first word is the argument, unless it has the form KEY=VALUE ("gen:rate=1M") or follows a
 * ';'. */
static bool cut_up(struct wire_spec *s)
{
	char *rest = s->text + strcspn(s->text, ":;");
	bool argument = *rest == ':';
	s->argument = "";
	if (*rest == 0)
		return true;
	*rest++ = 0;
	for (char *word; (word = strsep(&rest, ";")); argument = false) {
		if (argument && strchr(word, '=') == NULL) {
			s->argument = word;
		} else {
			if (s->options == WIRE_WORDS)
				return false;
			s->option[s->options++] = word;
		}
	}
	return true;
}

struct wire *wire_open(const char *text, unsigned port, const uint8_t mac[6])
{
	struct wire_spec s = {.port = port};
	memcpy(s.mac, mac, sizeof s.mac);
	if (strlen(text) >= sizeof s.text)
		return wire_bad(&s, text, "too long");
	strcpy(s.text, text);
	if (!cut_up(&s))
		return wire_bad(&s, text, "too many options");
	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].name, s.text) == 0)
			return kinds[i].open(&s);
	return wire_bad(&s, text, "no such kind of wire");
}

bool wires_complete(void)
{
	return links_complete();
}
