#include "tools/nicsim/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_number(const char *text, double *value, const char **end)
{
	char *stop;
	if (!isdigit((unsigned char)*text))
		return false;
	*value = strtod(text, &stop);
	if (*stop == 'k')
		*value *= 1e3;
	else if (*stop == 'M')
		*value *= 1e6;
	else if (*stop == 'G')
		*value *= 1e9;
	if (*stop == 'k' || *stop == 'M' || *stop == 'G')
		stop++;
	if (end)
		*end = stop;
	else if (*stop != 0)
		return false;
	return *value < 1e19;
}

bool parse_u64(const char *text, uint64_t *value)
{
	double number;
	char *stop;
	if (!isdigit((unsigned char)*text))
		return false;
	*value = strtoull(text, &stop, text[0] == '0' && text[1] == 'x' ? 16 : 10);
	if (*stop == 0)
		return true;
	if (!parse_number(text, &number, NULL))
		return false;
	*value = (uint64_t)(number + 0.5);
	return true;
}

bool parse_fraction(const char *text, double *value)
{
	const char *end;
	if (!parse_number(text, value, &end))
		return false;
	if (strcmp(end, "%") == 0)
		*value /= 100;
	else if (*end != 0)
		return false;
	return *value <= 1;
}

bool parse_ns(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	const char *end;
	double number;
	if (!parse_number(text, &number, &end))
		return false;
	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(end, units[i].name) == 0) {
			number *= units[i].ns;
			*ns = (uint64_t)number;
			return number < 1e18;
		}
	return false;
}

bool parse_mac(const char *text, uint8_t mac[6])
{
	unsigned v[6];
	int used = 0;
	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", v, v + 1, v + 2, v + 3, v + 4, v + 5,
	           &used) != 6 ||
	    text[used] != 0)
		return false;
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (uint8_t)v[i];
	return true;
}

bool parse_ip4(const char *text, uint32_t *address)
{
	unsigned v[4];
	int used = 0;
	if (sscanf(text, "%3u.%3u.%3u.%3u%n", v, v + 1, v + 2, v + 3, &used) != 4 ||
	    text[used] != 0)
		return false;
	*address = v[0] << 24 | v[1] << 16 | v[2] << 8 | v[3];
	return v[0] < 256 && v[1] < 256 && v[2] < 256 && v[3] < 256;
}

bool parse_switch(const char *text, bool *value)
{
	*value = strcmp(text, "on") == 0;
	return *value || strcmp(text, "off") == 0;
}

const char *parse_key(const char *word, const char *key)
{
	size_t n = strlen(key);
	return strncmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}
