/*
 * The script defines the frames to send. This parser makes a `struct plan` from its text; a printer
 * makes text from the plan.
 *
 * The syntax is that of the configuration (docs/configuration.md); docs/pktgen.md describes the
 * statements. The parser is a pure function. From any bytes it makes either a complete plan,
 * checked as a whole, or one error that names the line, the word and the reason.
 *
 * Invariants
 * 1. After an error *out is all zero: no plan is read in part.
 * 2. Every accepted plan can be sent. For each stream that does not replay a capture, frames_init
 *    (frames.h) succeeds with each of its sizes, those of an RFC 2544 test included.
 * 3. script_print() writes text that parses to the same plan (line numbers aside).
 * 4. Parsing takes time linear in the length of the text and allocates nothing.
 *
 *     script.c         lines, the table of statements, statements of the script and of rfc2544
 *     script_stream.c  statements of a stream, except those of the next two files
 *     script_vary.c    vary
 *     script_replay.c  replay, speed, loop
 *     script_probe.c   probe
 *     words.c          words that several kinds of statement use
 *     script_value.c   numbers with units
 *     script_parse.h   declarations shared by these files
 *     script_check.c   checks of the whole script
 *     script_print.c   from plan to text
 *
 * Deliberately missing: variables, loops and includes. The fields of a stream vary instead.
 */
#ifndef PKTGEN_SCRIPT_SCRIPT_H
#define PKTGEN_SCRIPT_SCRIPT_H

#include "control/text/text.h"
#include "lib/types.h"
#include "tools/pktgen/plan.h"

#define SCRIPT_PORTS_MAX PLAN_PORTS_MAX /* eth0 to eth15, as in the configuration */

/* Parses len bytes of text. Returns 0, or E_INVAL with *err filled and *out empty. */
int script_parse(const char *text, size_t len, struct plan *out, struct text_error *err);

/* Checks that the machine has the ports that the plan names. Returns 0, or E_INVAL with *err
 * filled. */
int script_check_ports(const struct plan *p, unsigned ports, struct text_error *err);

typedef void (*script_write_fn)(void *ctx, const char *text, size_t len);

/* Writes the plan as text, in pieces of less than 200 characters. */
void script_print(const struct plan *p, script_write_fn write, void *ctx);

#endif
