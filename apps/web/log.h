/*
 * The access log: a data core notes one of N requests, the control core keeps the last ones.
 *
 *     log.h, log.c   a data core notes requests in a ring in its shared memory (struct web_core)
 *     log_text.c     a line in the Combined Log Format
 *     log_kept.c     the control core takes what has been noted, `show web log`, the page /access.log
 *
 * Nothing waits for the control core: a request that finds the ring full is counted as web_log_lost. The
 * control core takes LOG_TAKE requests of a core in a turn, between its other work.
 *
 * What a data core writes is untrusted, and most of it is text of a client: it is copied once, and a line
 * escapes all that could be taken for another line or a command of a terminal.
 */
#ifndef APPS_WEB_LOG_H
#define APPS_WEB_LOG_H

#include "apps/web/published.h"

struct tcp_conn;

#define LOG_TAKE 64

/* --- a data core --- */

extern const uint32_t *log_sample; /* web_published.log_sample, or a 0 */

/* At the start of the program, and when published memory is another. fresh: nothing has been noted. NULL: no log. */
void log_start(const struct web_published *w, bool fresh);

static inline bool log_is_on(void)
{
	return __atomic_load_n(log_sample, __ATOMIC_RELAXED) != 0;
}

/* Notes a request of connection c and its answer, if it is the turn of this request. bytes: of the content. */
void log_note(const struct tcp_conn *c, const struct http_request *r, unsigned status, uint64_t bytes);

/* --- the control core --- */

/* Takes what data cores have noted. True: there may be more. */
bool log_take_all(struct web_published *w);

/*
 * The line of an entry, with NUL, in the Combined Log Format:
 *     address - - [time] "request line" status bytes "referer" "user agent"
 * As Apache's mod_log_config does, it writes a quotation mark and a backslash with a backslash before it,
 * whitespace as in C, and other bytes that are not printable ASCII as \xhh. seconds: when the request came,
 * since 1970. Of a text that gets too long, the end is missing. Returns buf.
 */
#define LOG_LINE_MAX 1216
char *log_line(char buf[LOG_LINE_MAX], const struct log_entry *e, uint64_t seconds);

#endif
