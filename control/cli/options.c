/* See options.h. */
#include "control/cli/options.h"

#include "control/config/running.h"
#include "control/text/text.h"
#include "dataplane/state.h"
#include "lib/mem.h"

int option_interface(const char *word, uint32_t *n)
{
	uint32_t key;
	if (text_parse_u32(text_of(word), 0, NIC_PORTS_MAX - 1, &key) != E_OK &&
	    config_key_parse(text_of(word), &key) != E_OK)
		return E_INVAL;
	int number = config_number(&running.config, key);
	if (number < 0 || !dp_exists(dp_get(), (unsigned)number))
		return E_NOENT;
	*n = (uint32_t)number;
	return E_OK;
}

/* Parses an option's value. False: it is wrong, and an error was printed. */
static bool read_value(struct shell *sh, const struct option *o, const char *word)
{
	if (o->max) {
		if (word && text_parse_u32(text_of(word), o->min, o->max, o->value) == E_OK)
			return true;
		shell_print(sh, "%s takes a number from %u to %u\n", o->name, o->min, o->max);
		return false;
	}
	int e = word ? option_interface(word, o->value) : E_INVAL;
	if (e == E_NOENT)
		shell_print(sh, "there is no %s\n", word);
	else if (e != E_OK)
		shell_print(sh, "%s takes the name of one, such as eth0\n", o->name);
	return e == E_OK;
}

bool options_read(struct shell *sh, const struct option *option, unsigned options)
{
	char **argv = sh->argv;
	for (unsigned i = 1; i < sh->argc; i += 2) {
		const struct option *o = option;
		while (o < option + options && strcmp(argv[i], o->name) != 0)
			o++;
		if (o == option + options) {
			shell_print(sh, "%% unknown word \"%s\"\n", argv[i]);
			return false;
		}
		if (!read_value(sh, o, argv[i + 1]))
			return false;
	}
	return true;
}
