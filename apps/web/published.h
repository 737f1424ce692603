/*
 * What control core and data cores of the web application know of each other: dp->plugin_data, which the
 * control core writes, and each data core's struct web_core (dp_plugin_shared).
 *
 * There are two places for sites, of which one is in force. Requests are answered from it. Answers that were
 * begun before it changed go on from the other place; each data core counts those. Contents are sent without a
 * copy: buffers name their bytes until the peer has acknowledged them and the device has sent what it holds;
 * each data core counts those too. The control core writes a place only while no data core uses it:
 *
 *     change `current` (release), core_quiesce(): no new answer uses the other place
 *     until answers[] and held[] of every data core are 0 there: wait, or have them ended (`ended`)
 *
 * A restarted control program publishes the same sites (store.h).
 */
#ifndef APPS_WEB_PUBLISHED_H
#define APPS_WEB_PUBLISHED_H

#include "apps/web/site.h"
#include "dataplane/tcp_move_area.h"
#include "lib/pkt.h"
#include "net/http/http.h"

/* A request in the access log (log.h). A text has no NUL at its end if it fills its place. */
#define LOG_FIELD_MAX 128
struct log_entry {
	uint64_t us;    /* core_now_us() */
	uint64_t bytes; /* of content */
	struct net_addr peer;
	uint32_t status;
	uint32_t reserved;
	char line[HTTP_LINE_KEPT];
	char referer[LOG_FIELD_MAX], agent[LOG_FIELD_MAX];
};

#define LOG_KEPT 256

#define WEB_PLACES 2
_Static_assert(WEB_PLACES <= BUF_OUTSIDE_KINDS, "a place is a kind of bytes outside");
#define WEB_NO_PLACE WEB_PLACES

struct web_published {
	uint64_t current;                    /* place in force; WEB_NO_PLACE: there is no site */
	uint64_t ended;                      /* answers from this place are to end; WEB_NO_PLACE: none */
	const struct site *site[WEB_PLACES]; /* NULL: there is none */
	uint16_t port;                       /* of TCP, host order; does not change */
	uint32_t log_sample;                 /* one of so many requests is noted; 0: none */
	uint64_t taken[CORES_MAX];           /* entries taken, by core: the tail of its ring */
	/* the control core's own: */
	uint64_t logged;                     /* entries so far: the next one goes to kept[logged % LOG_KEPT] */
	struct log_entry kept[LOG_KEPT];
};

#define LOG_SLOTS 128

struct web_core {
	struct tcp_move_area move;    /* dataplane/tcp_move.h; first */
	uint64_t answers[WEB_PLACES]; /* that are being sent, by place */
	/* Buffers that name its bytes (bufpool.outside): at least as many as at the end of the last turn. */
	uint64_t held[WEB_PLACES];
	uint64_t head;                /* requests noted for the access log */
	struct log_entry slot[LOG_SLOTS];
};

/* A message without content (INJECT_APP): the data core looks at `current` and `ended`. */
#define WEB_MSG_LOOK 0x776562u

#endif
