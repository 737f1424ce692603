/*
 * The boot module: a text, which is configuration and script, and behind it the files that a script
 * speaks of, for a loader may hand over one module only (QEMU's direct boot). A file begins with a
 * line of its own:
 *
 *     text
 *     file NAME BYTES     then so many bytes, whatever they are, and at once the next such line
 *
 * The first line that begins with the word "file", in its first column, ends the text; no statement
 * of configuration or script begins with it.
 */
#ifndef CONTROL_TEXT_MODULE_H
#define CONTROL_TEXT_MODULE_H

#include "control/text/text.h"

#define MODULE_NAME_MAX 63 /* characters of a file's name */

struct module {
	struct text text;
	struct text files; /* from the first `file` line on; empty: none */
};

/* Cuts the module. E_INVAL, *err filled: what stands behind the text are no files, or one of them
 * is not whole. The text is good nevertheless, and there are no files then. */
int module_open(struct module *m, struct text whole, struct text_error *err);

/* The file of exactly that name; false: there is none. */
bool module_file(const struct module *m, struct text name, struct text *data);

#endif
