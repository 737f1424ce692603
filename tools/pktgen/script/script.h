/*
 * The script: what is to be sent, from text to `struct plan`, and back.
 *
 * The dialect is that of the configuration (docs/configuration.md), its statements are in
 * docs/pktgen.md. The parser is a pure function. It takes any bytes and gives either a complete
 * plan, checked as a whole, or one error that names the line, the word and the reason.
 *
 * Invariants
 * 1. Nothing half read: after an error *out is empty (all zero).
 * 2. Every accepted plan can be sent: for each stream whose frames are made frames_init (frames.h)
 *    succeeds with every size that it may be sent in, those of RFC 2544 included.
 * 3. script_print() writes text that parses to the same plan (line numbers aside).
 * 4. Time is linear in the text, memory is the plan.
 *
 *     script.c         lines, the table of statements, those of the script itself
 *     script_stream.c  the statements of a stream; script_vary.c: `vary` of them, script_replay.c:
 *                      those about a capture
 *     words.c          words that statements of several files have
 *     script_value.c   numbers with units. script_parse.h: what these share
 *     script_check.c   checks of the whole script
 *     script_print.c   from plan to text
 *
 * Missing on purpose: variables, loops and includes. Fields of a stream vary instead.
 */
#ifndef PKTGEN_SCRIPT_SCRIPT_H
#define PKTGEN_SCRIPT_SCRIPT_H

#include "control/text/text.h"
#include "lib/types.h"
#include "tools/pktgen/plan.h"

#define SCRIPT_PORTS_MAX PLAN_PORTS_MAX /* eth0 to eth15, as in the configuration */

/* Parses len bytes of text. Returns 0, or E_INVAL with *err filled and *out empty. */
int script_parse(const char *text, size_t len, struct plan *out, struct text_error *err);

/* Checks that the machine has the ports that the plan names. 0, or E_INVAL with *err filled. */
int script_check_ports(const struct plan *p, unsigned ports, struct text_error *err);

typedef void (*script_write_fn)(void *ctx, const char *text, size_t len);

/* Writes the plan as text, in pieces of less than 200 characters. */
void script_print(const struct plan *p, script_write_fn write, void *ctx);

#endif
