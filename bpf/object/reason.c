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

static bool fits_a_section(char c)
{
	return printable(c) && c != ' ';
}

bool object_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
	       c == '$';
}

static bool fits_a_symbol(char c)
{
	return object_name_char(c) || c == '-';
}

static bool take_name(char to[BPF_NAME], bool (*fits)(char), const char *what, const char *name, struct bpf_reason *why)
{
	unsigned n = 0;
	for (; n < BPF_NAME && name[n]; n++) {
		if (!fits(name[n]))
			return object_refuse(why, "%s %.60s: the name may not have a byte 0x%02x", what, name,
			                     (unsigned char)name[n]);
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

bool object_name(char to[BPF_NAME], const char *what, const char *name, struct bpf_reason *why)
{
	return take_name(to, fits_a_symbol, what, name, why);
}

bool object_section_name(char to[BPF_NAME], const char *name, struct bpf_reason *why)
{
	return take_name(to, fits_a_section, "section", name, why);
}

bool object_begins(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return false;
	return true;
}
