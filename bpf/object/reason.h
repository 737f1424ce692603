/* Reasons for a refusal, with text from an untrusted file in them. */
#ifndef BPF_OBJECT_REASON_H
#define BPF_OBJECT_REASON_H

#include "bpf/program.h"

/* Writes the reason, with '?' for every byte that is not printable ASCII, and returns false. Cuts off what
 * does not fit. */
bool object_refuse(struct bpf_reason *why, const char *format, ...) PRINTF_LIKE(2, 3);

/* What compilers put into the names of symbols and types. A path of the API, a line of the console and JSON need no
 * escape for it. */
bool object_name_char(char c);

/* Copies a name of 1 to BPF_NAME - 1 characters: of a program or map letters, digits and _.-$, of a section anything
 * printable but a space. False, with a reason that begins with `what`: it is not one. */
bool object_name(char to[BPF_NAME], const char *what, const char *name, struct bpf_reason *why);
bool object_section_name(char to[BPF_NAME], const char *name, struct bpf_reason *why);

bool object_begins(const char *text, const char *with);

#endif
