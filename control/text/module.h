/*
 * The boot module: a text (configuration and script), then the files that the script refers to.
 * They share one module because a loader may hand over only one (QEMU's direct boot). A line of its
 * own begins each file:
 *
 *     text
 *     file NAME BYTES     then that many arbitrary bytes; the next `file` line follows directly
 *
 * The first line that has the word "file" in its first column ends the text. No statement of the
 * configuration or of a script begins with this word.
 */
#ifndef CONTROL_TEXT_MODULE_H
#define CONTROL_TEXT_MODULE_H

#include "control/text/text.h"

#define MODULE_NAME_MAX 63 /* characters of a file's name */

struct module {
	struct text text;
	struct text files; /* from the first `file` line on; empty: none */
};

/* Splits the module into text and files, which point into `whole`. E_INVAL with *err: a `file` line
 * is malformed or a file is truncated. m->text is then valid and m->files empty. */
int module_open(struct module *m, struct text whole, struct text_error *err);

/* Sets *data to the file of exactly that name; false: there is none. */
bool module_file(const struct module *m, struct text name, struct text *data);

/* The files in their order: *at is 0 at first. False: there are no more. */
bool module_next(const struct module *m, size_t *at, struct text *name, struct text *data);

#endif
