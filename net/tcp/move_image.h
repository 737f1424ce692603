/*
 * The format of the messages in which a connection moves: see move.h. The messages of a connection,
 * each behind its head, are one stream of bytes:
 *
 *     move_record    app_bytes bytes of the application
 *     move_buffer    its len bytes           for each chunk of the send queue, in order
 *     move_buffer    its len bytes           for each piece of out-of-order data, in order
 *
 * A record with its bytes is whole in the first message, and a move_buffer is whole in its message;
 * the bytes behind it continue in the next. Byte order is the machine's, and nothing is aligned:
 * structures are copied out before use.
 */
#ifndef NET_TCP_MOVE_IMAGE_H
#define NET_TCP_MOVE_IMAGE_H

#include "net/tcp/inside.h"
#include "net/tcp/move.h"

#define MOVE_MAGIC 0x4d504354u /* "TCPM" */
#define MOVE_VERSION 1u
#define MOVE_APP_NONE UINT32_MAX /* in TIME-WAIT, of which no application knows */

struct move_head {
	uint32_t magic;
	uint16_t version;
	uint16_t part;    /* 0, 1, ... */
	uint64_t id;
	uint32_t bytes;   /* behind the head */
	uint32_t record;  /* sizeof(struct move_record): the other side is of this build */
};

struct move_record {
	struct tcp_conn c; /* links, buffers and pointers mean nothing */
	uint64_t now_us;   /* the old instance's time, from which its times are counted */
	uint32_t now_ms;
	uint32_t app, app_bytes;
	uint32_t chunks, pieces;
	uint32_t reserved;
};

struct move_buffer {
	uint32_t seq;
	uint16_t len;
	uint16_t flags; /* enum tcp_chunk_flag; of a piece: 0 */
	uint32_t sent_us[2];
	uint32_t order;
};

_Static_assert(sizeof(struct move_head) + sizeof(struct move_record) + TCP_MOVE_APP_MAX <=
	               TCP_MOVE_MSG_MIN,
               "a connection without data takes one message");
_Static_assert(sizeof(struct move_buffer) == sizeof((struct tcp_move_in *)0)->head, "see move.h");

/* --- move_check.c --- */

/* May a connection have these variables? TCP_MOVE_MORE: yes; otherwise the reason. */
enum tcp_move tcp_move_check(const struct move_record *r);

/* May this chunk stand behind those that c has? The buffers of c's pool have `stride` bytes. */
bool tcp_move_check_chunk(const struct tcp_conn *c, const struct move_buffer *b, uint32_t stride);

/* May the peer have sent these bytes out of order? */
bool tcp_move_check_piece(const struct tcp_conn *c, const struct move_buffer *b, uint32_t stride);

#endif
