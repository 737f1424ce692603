/* Reasons and names. */
#include "bpf/object/reason.h"

#include "lib/fmt.h"

static bool printable(char c)
{
	return c >= ' ' && c <= '~';
}

bool object_refuse(struct bpf_reason *why, const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(why->text, sizeof why->text, format, args);
	__builtin_va_end(args);
	for (char *c = why->text; *c; c++)
		if (!printable(*c))
			*c = '?';
	return false;
}

bool object_name(char to[BPF_NAME], const char *what, const char *name, struct bpf_reason *why)
{
	unsigned n = 0;
	for (; n < BPF_NAME && name[n]; n++) {
		if (!printable(name[n]) || name[n] == ' ')
			return object_refuse(why, "%s %.60s: the name has a byte that is not printable", what,
			                     name);
		to[n] = name[n];
	}
	if (n == 0)
		return object_refuse(why, "%s: the name is empty", what);
	if (n == BPF_NAME)
		return object_refuse(why, "%s %.60s...: the name is longer than %d characters", what, name,
		                     BPF_NAME - 1);
	to[n] = 0;
	return true;
}

bool object_begins(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return false;
	return true;
}
