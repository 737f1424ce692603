/*
 * `upgrade URL`: gets a file of `hayate image --upgrade` by HTTP/1.1 (net/http/response.h) and has it written as the
 * image that does not run (control/storage/boot_disk.h), as a PUT to /api/v1/image does.
 *
 *     IDLE --begin--> LOOKUP --address--> CONNECT --established--> ASK --request sent--> RECEIVE
 *     RECEIVE --all is there--> WRITE --> IDLE
 *     any but WRITE --a failure, or image_fetch_cancel()--> IDLE
 *
 * Invariants
 * 1. Memory for the file is taken when its first IMAGE_HEADER bytes have been checked, and for as many bytes as they
 *    say.
 * 2. Over http:// the file's SHA-256 must be stated; over https:// the server's certificate is verified. So nobody on
 *    the path chooses the file.
 * 3. The active image and the one that runs are not touched; the next boot starts the same one as before.
 *
 * Bounds: one download at a time; FETCH_SILENT_NS without a byte of the server's, FETCH_NS in total; IMAGE_FILE_MAX
 * bytes; the window is FETCH_WINDOW, which bounds what the control core hashes in one turn.
 */
#ifndef CONTROL_MANAGEMENT_IMAGE_FETCH_H
#define CONTROL_MANAGEMENT_IMAGE_FETCH_H

#include "lib/types.h"
#include "runtime/runtime.h"

#define FETCH_SILENT_NS (30 * SECOND_NS)
#define FETCH_NS (3600 * SECOND_NS)
#define FETCH_WINDOW 32768
#define FETCH_URL 200 /* the console's lines are no longer */
#define FETCH_TEXT 768 /* of image_fetch_text(), with NUL */

/*
 * Begins a download. sha256: of the whole file, 64 hexadecimal digits, or NULL. NULL: it has begun, and `done` is
 * called once, perhaps before this function returns, with NULL when the image has been written, or with why not,
 * which is valid within the call. Else why it cannot begin.
 */
const char *image_fetch_begin(const char *url, const char *sha256, void (*done)(void *arg, const char *why), void *arg);

/* Ends the download, and calls `done`. False: there is none, or the image is being written. */
bool image_fetch_cancel(void);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t image_fetch_timer(void);

/* How it goes, or went: a line for people. False: there has been no download since the start. */
bool image_fetch_text(char *to, size_t bytes);

#endif
