/*
 * The inside of TCP: what the files of net/tcp/ know of each other.
 *
 *     wire.c        header and options, read and written
 *     table.c       instance, connections, their hash table, ports
 *     input.c       a segment arrives (RFC 9293 3.10.7)
 *     open.c        SYN, listeners, cookies, Fast Open: until a connection is established
 *     recv.c        received data: delivery, the window
 *     ranges.c      received data that is out of order: reassembly, what SACK tells
 *     ack.c         an acknowledgement arrives: scoreboard, RTT, window, urgent
 *     scoreboard.c  finds chunks by sequence number, by time sent, and those lost
 *     loss.c        what was lost, and what the sender does about it: RACK-TLP, NewReno, PRR, RTO
 *     congestion.c  how large the congestion window is: CUBIC, NewReno
 *     output.c      what to send now, and the making of segments
 *     queue.c       the send queue: chunks
 *     timer.c       deadlines of a connection; wheel.c the wheel they hang in
 *     api.c         what the application calls
 *
 * A received segment goes input → ack → loss → recv; whatever it changes, the connection is put on
 * the pending list (tcp_touch), and once the vector is through, tcp_flush lets output look at each
 * connection once: so answers carry the acknowledgement, and many segments are acknowledged by one.
 * All that is called from outside ends so. A connection whose way has no room (tcp_ops.full) goes
 * from the pending list to those that wait for that way, and from there to output by tcp_room; what
 * comes in meanwhile is answered together with the rest.
 *
 * Invariants
 * 1. A connection whose state is TCP_CLOSED has no buffer, no hash entry and no deadline; its
 *    record is free, or on a list and freed by tcp_flush. So whoever calls the application asks for
 *    the state afterwards, and may use the record till then.
 * 2. The send queue covers [snd_una, end of what was given) without a gap, by chunks in order; a
 *    chunk is one segment on the wire: sent, acknowledged, lost as a whole. q_unsent is the first
 *    that never was sent; all before it were. Before SYN is acknowledged snd_una is iss, and the
 *    queue begins at iss + 1.
 * 3. sacked, lost, retrans are sums over the chunks of [snd_una, snd_nxt): of those SACKED; those
 *    LOST and not SACKED; those that were sent again since they were LOST. Without SACK, sacked is
 *    what duplicate acknowledgements say has left the network, and no chunk has the mark.
 * 4. rcv_adv, the right edge of the window that was offered, never moves left (RFC 9293 3.8.6).
 */
#ifndef NET_TCP_INSIDE_H
#define NET_TCP_INSIDE_H

#include "lib/number.h"
#include "net/ip.h"
#include "net/tcp/tcp.h"
#include "net/tcp/wheel.h"
#include "net/tcp/wire.h"

#define TCP_NONE UINT32_MAX /* no buffer, no connection */
#define TCP_HASH_WORDS 9    /* of a key that tcp_hash multiplies by, and one it adds */
#define TCP_BACKOFF_MAX 32  /* doublings: more than any timeout has */

/* Payloads up to so many bytes are copied where they could be sent from their place with a buffer
 * more: a copy of so much costs less than the second descriptor. */
#define TCP_COPY_MAX 256

/* Bytes before the payload of a chunk that is made here: Ethernet, the largest IP and TCP
 * headers. */
#define TCP_HEADROOM (14 + IP_HLEN_MAX + TCP_HLEN_MAX)
#define TCP_PAYLOAD_OFFSET 192 /* in its buffer; a cache line begins */
_Static_assert(BUF_FRAME_LEAST + TCP_HEADROOM <= TCP_PAYLOAD_OFFSET, "headers fit in front");

/* --- chunks: in pkt_meta.queue of the first buffer of each --- */

enum tcp_chunk_flag {
	CHUNK_SENT = 1,
	CHUNK_SACKED = 2,
	CHUNK_LOST = 4,
	CHUNK_RETRANS = 8,  /* sent again since it was marked as lost */
	CHUNK_EVER = 16,    /* was ever sent more than once: its RTT is ambiguous (Karn) */
	CHUNK_FIN = 32,     /* ends with FIN */
	CHUNK_PSH = 64,     /* the application gave it as the end of something */
	CHUNK_CUT = 128,    /* never sent, what is left of one that was cut: tcp_queue_fill */
	CHUNK_LANE = 256,   /* on the scoreboard's lane */
};

struct tcp_chunk {
	uint32_t next;    /* buffer, or TCP_NONE */
	uint32_t seq;
	uint16_t off;     /* of the payload, from the start of the buffer */
	uint16_t len;     /* payload; 0 only with FIN */
	uint32_t flags;   /* enum tcp_chunk_flag */
	uint32_t sent_us[2]; /* when it was last sent, 64 bits in two halves (queue[] is of words) */
	uint32_t ends;    /* seq + len + FIN */
	uint32_t order;   /* number of its last sending, counted over the connection */
	/* scoreboard.c, while there is one */
	uint32_t earlier, later; /* in its list there, or TCP_NONE */
	uint32_t lane;    /* the next with CHUNK_LANE, or TCP_NONE */
};

/* Chunks in a row, by earlier and later. */
struct tcp_chunks {
	uint32_t first, last; /* TCP_NONE: it is empty */
};
_Static_assert(sizeof(struct tcp_chunk) <= sizeof((struct pkt_meta *)0)->queue, "fits a buffer");

/* --- a buffer of out-of-order data: the same place --- */

/* One of a range, which has no gap and no overlap (ranges.c). */
struct tcp_piece {
	uint32_t next;       /* of the same range, or TCP_NONE */
	uint32_t seq;
	uint16_t off, len;
	uint32_t range_last; /* in the first of a range: its last */
};
_Static_assert(sizeof(struct tcp_piece) <= sizeof((struct pkt_meta *)0)->queue, "fits a buffer");

/* --- a connection --- */

enum tcp_conn_flag {
	CONN_PENDING = 1 << 0,     /* on the pending list, or on that of a way */
	CONN_TS = 1 << 1,          /* timestamps agreed on */
	CONN_SACK = 1 << 2,
	CONN_ECN = 1 << 3,
	CONN_WSCALE = 1 << 4,
	CONN_PASSIVE = 1 << 5,     /* came in */
	CONN_NODELAY = 1 << 6,
	CONN_ACK_NOW = 1 << 7,     /* the next output sends an ACK in any case */
	CONN_ACK_DUE = 1 << 8,     /* something is to be acknowledged; soon or by the timer */
	CONN_ECE = 1 << 9,         /* CE was seen: ECE in every segment until CWR (RFC 3168 6.1.3) */
	CONN_CWR = 1 << 10,        /* the next new data carries CWR (6.1.2) */
	CONN_CLOSING = 1 << 11,    /* the application has closed: FIN is queued, or will be */
	CONN_FIN_QUEUED = 1 << 12,
	CONN_FIN_RCVD = 1 << 13,
	CONN_ACCEPTED = 1 << 14,   /* the application knows it: closed() is owed */
	CONN_URG_SND = 1 << 15,    /* snd_up is ahead of snd_una */
	CONN_URG_RCV = 1 << 16,    /* rcv_up has not been delivered */
	CONN_KEEPALIVE = 1 << 17,
	CONN_LIMITED = 1 << 18,    /* the last output stopped at cwnd: it may grow */
	CONN_FASTOPEN = 1 << 19,   /* counts in fastopen; or its SYN had data or asked for a cookie */
	CONN_SYN_DATA = 1 << 20,   /* the SYN carried the first chunk */
	CONN_PROBED = 1 << 21,     /* a TLP is out (RFC 8985 7) */
	CONN_PROBE_RETRANS = 1 << 22, /* it was sent before */
	CONN_REORDERED = 1 << 23,  /* RACK.reordering_seen */
	CONN_DSACK = 1 << 24,      /* dsack has to be told */
	CONN_BOARD = 1 << 25,      /* has a scoreboard (scoreboard.c) */
	CONN_NO_ECN_RETRY = 1 << 26, /* SYN is sent again without ECN (RFC 3168 6.1.1.1) */
	CONN_STARVED = 1 << 27,    /* tcp_send took less for want of buffers: acked() tells */
	CONN_WND_UPDATE = 1 << 28, /* the application has made room: see if to tell */
	CONN_HAS_RTT = 1 << 29,
	CONN_FIN_SEEN = 1 << 30,   /* rcv_fin is where the peer's data ends */
};

enum tcp_timer {
	TIMER_SEND, /* retransmission, tail loss probe, reordering, window probe: conn.send_kind */
	TIMER_ACK,  /* delayed ACK */
	TIMER_LIFE, /* handshake, keep-alive, FIN-WAIT-2, TIME-WAIT, by state */
	TIMER_COUNT
};

enum tcp_send_kind { SEND_RTO, SEND_TLP, SEND_REORDER, SEND_PROBE };

enum tcp_recovery {
	RECOVERY_OPEN,     /* nothing is believed lost */
	RECOVERY_FAST,     /* fast recovery, until recover is acknowledged */
	RECOVERY_RTO,      /* after a timeout, likewise */
};

struct tcp_conn {
	/* who: compared for each received segment */
	struct net_addr remote, local;
	uint16_t remote_port, local_port;
	uint32_t hash_next; /* index + 1 of the next in its bucket, or in the free list; 0: none */
	uint8_t state;      /* enum tcp_state */
	uint8_t armed;      /* bits of enum tcp_timer */
	uint8_t send_kind;  /* enum tcp_send_kind */
	uint8_t recovery;   /* enum tcp_recovery */
	uint32_t flags;     /* enum tcp_conn_flag */
	uint32_t pending_next; /* connection, on that list */
	uint32_t pseudo;    /* ip_pseudo_sum of what we send */

	/* receive (RFC 9293 3.3.1) */
	uint32_t rcv_nxt, rcv_adv, rcv_up;
	uint32_t rcv_held;  /* bytes that the application has and has not consumed */
	uint32_t rcv_buf;   /* may grow: tcp_tune */
	uint32_t tune_seq, tune_us; /* look when all before it is consumed; when that was begun */
	uint32_t tune_rtt_ms; /* least age of a timestamp that data echoed; UINT32_MAX: none */
	uint32_t acked_to;  /* rcv_nxt of the last segment that we sent: Last.ACK.sent */
	uint32_t irs;
	uint32_t ooo;       /* buffer with the table of ranges, or TCP_NONE (ranges.c) */
	uint32_t ts_recent, ts_recent_ms;
	uint32_t rcv_fin;
	struct tcp_sack dsack;
	uint16_t ooo_bufs;
	uint16_t rcv_mss;   /* largest segment seen, as on the wire: two are acknowledged at once */
	uint8_t rcv_wscale, snd_wscale;
	uint16_t peer_mss;  /* as in its SYN */

	/* send */
	uint32_t iss, snd_una, snd_nxt, snd_max; /* snd_max: behind the highest byte ever sent; a window
	                                            probe is beyond snd_nxt */
	uint32_t snd_wnd, snd_wl1, snd_wl2, snd_up, max_wnd;
	uint32_t ack_floor; /* no acknowledgement below can be a late one; never below iss */
	uint32_t q_first, q_last, q_unsent; /* chunks (buffers), TCP_NONE */
	uint32_t q_bytes;   /* payload in the queue */
	uint32_t q_bufs;    /* buffers it lies in */
	uint32_t q_end;     /* sequence number behind it */
	uint16_t mss;       /* payload of a segment without options, by peer and path */
	uint16_t path_mtu;

	/* loss */
	uint32_t sacked, lost, retrans; /* bytes of sequence space */
	uint32_t recover;   /* snd_nxt when recovery began */
	uint32_t prr_delivered, prr_out, prr_flight;
	uint16_t dup_acks;
	uint16_t lane_gap;  /* chunks since the last on the lane */
	uint32_t fack;      /* highest sequence number ever known to have arrived */
	uint64_t rack_us;   /* when the newest segment that arrived had been sent */
	uint32_t rack_order, rack_rtt_us;
	uint32_t sendings;  /* of chunks; see sent_after in loss.c */
	uint32_t probe_end; /* TLP.end_seq */
	uint32_t rto_una;   /* snd_una at the last timeout */
	uint8_t reo_mult, reo_persist; /* RFC 8985 6.2: reo_wnd in quarters of min_rtt */
	uint8_t backoff, probes; /* of the timer; unanswered keep-alive or window probes */
	uint32_t reo_round; /* D-SACKs count once until this is acknowledged */
	uint32_t undo_ts;   /* our clock at the first retransmission: an echo of less was not of it */
	uint32_t undo_una;  /* snd_una when recovery began */
	uint32_t undo_end;  /* after recovery: until this is acknowledged a D-SACK can undo it */
	uint32_t undo_retrans; /* retransmissions not yet reported by D-SACK as needless */
	uint32_t ecn_end;   /* one reduction until this is acknowledged */

	/* time */
	uint64_t syn_us;    /* when our SYN was sent first */
	uint32_t srtt_us, rttvar_us, rto_us, min_rtt_us;
	uint32_t min_rtt_ms; /* when that was seen */
	uint32_t at_ms[TIMER_COUNT]; /* deadlines of those armed */
	uint32_t rto_at_ms; /* that of a retransmission, whatever TIMER_SEND waits for before it */
	uint32_t heard_ms;  /* last segment of the peer's */
	uint32_t sent_ms;   /* last data of ours */
	uint32_t stuck_ms;  /* since when the same bytes are not acknowledged */
	uint32_t ts_offset;
	uint32_t user_timeout_ms;
	uint32_t retransmits;
	uint32_t path_raise_ms; /* when a larger path MTU may be tried again; 0: it is not smaller */
	uint32_t limit_ms;  /* challenge and duplicate ACKs: end of the period */
	uint16_t limit_used;
	uint8_t ip_hlen;    /* ip_header_bytes of what we send */
	struct wheel_node wheel;
	union {
		struct { uint32_t age_next, age_prev; };     /* TIME-WAIT: connections, oldest first */
		struct { uint32_t lane_first, lane_last; };  /* before: chunks, or TCP_NONE */
	};

	struct cc cc;
	struct cc undo_cc; /* before the last reduction; mss 0: nothing to undo */
	struct tcp *tcp;
	const struct tcp_app *app;
	void *arg;

	/* the scoreboard (scoreboard.c), with lane_first, lane_last, lane_gap */
	struct tcp_chunks in_flight, lost_wait;
	uint32_t rack_at;   /* last in in_flight that was seen to be sent before rack_order, TCP_NONE */
	uint32_t board_end; /* it is needed until this is acknowledged */
	uint32_t sacked_chunks;
	uint32_t undo_order; /* sendings when recovery began */
};
_Static_assert(sizeof(struct tcp_conn) <= 640, "a million of them in less than 1 GiB");

/* --- an instance --- */

/* Fast Open, as a client: what servers have given us. Direct mapped by a hash of the address. */
#define TCP_FASTOPEN_CACHE 64
struct tcp_cookie_entry {
	struct net_addr remote;
	uint16_t mss;
	uint8_t len; /* 0: empty entry */
	uint8_t cookie[TCP_COOKIE_MAX];
};

/* Connections in a row, by pending_next: the first that came is the first to go. */
struct tcp_list {
	uint32_t first, last; /* TCP_NONE: it is empty */
};

struct tcp {
	struct tcp_params p;
	const struct tcp_ops *ops;
	void *ctx;
	struct bufpool *pool;
	struct counters *cnt;
	uint64_t now_us;
	uint64_t tick;         /* the same in ms: the wheel's */
	uint64_t tick_us;      /* when that began */
	uint32_t now_ms;       /* tick modulo 2^32 */
	struct siphash_key key;
	uint64_t hash_key[TCP_HASH_WORDS + 1]; /* made from it, for the table */
	struct tcp_conn *conns;
	uint32_t *buckets;     /* index + 1 */
	uint32_t bucket_mask;
	uint32_t free;         /* index + 1 of the record that was freed last; 0: none */
	uint32_t records;      /* those from here on were never used, and hold anything */
	uint32_t connections;
	struct tcp_list pending;
	struct tcp_list waiting[TCP_WAYS]; /* for room on way 1, 2, ... */
	uint32_t ways;         /* bit w - 1: somebody waits for way w */
	uint32_t age_first, age_last;   /* TIME-WAIT */
	uint32_t ooo_bufs, fastopen;
	uint32_t states[TCP_TIME_WAIT + 1];
	uint32_t listeners;
	uint32_t port_next;
	uint64_t cookie_us;    /* when the last SYN cookie was sent; 0: never */
	bool busy;             /* a call from outside is under way: it will flush */
	uint8_t rcv_wscale;
	struct tcp_listen *listener;
	struct wheel wheel;
	struct tcp_cookie_entry cookies[TCP_FASTOPEN_CACHE];
};

static inline void tcp_count_event(struct tcp *t, enum counter c) { t->cnt->v[c]++; }

static inline struct tcp_chunk *chunk_at(const struct tcp *t, uint32_t buf)
{
	return (struct tcp_chunk *)(void *)pkt_meta(t->pool, buf)->queue;
}

static inline struct tcp_piece *piece_at(const struct tcp *t, uint32_t buf)
{
	return (struct tcp_piece *)(void *)pkt_meta(t->pool, buf)->queue;
}

static inline uint64_t chunk_sent_us(const struct tcp_chunk *ch)
{
	return ch->sent_us[0] | (uint64_t)ch->sent_us[1] << 32;
}

/* Sequence space of a chunk. */
static inline uint32_t chunk_space(const struct tcp_chunk *ch)
{
	return ch->ends - ch->seq;
}

static inline uint32_t conn_index(const struct tcp *t, const struct tcp_conn *c)
{
	return (uint32_t)(c - t->conns);
}

/* The MSS of a peer that names none (RFC 9293 3.7.1, MUST-15): 536 or, IPv6, 1220. */
static inline uint16_t tcp_mss_default(const struct net_addr *remote)
{
	return (uint16_t)(ip_mtu_min(remote) - ip_header_bytes(remote) - TCP_HLEN);
}

/* --- table.c --- */

/*
 * Where a connection hangs in the table. Pair-multiply-shift (Thorup, "High Speed Hashing for
 * Integers and Strings", 2015, 4.2): whoever does not know the key finds no two connections that
 * collide more often than by chance. A third of the time of SipHash-1-3, and enough: no value of it
 * is ever shown to anybody.
 */
static inline uint32_t tcp_hash(const struct tcp *t, const struct net_addr *remote,
                                uint16_t remote_port, const struct net_addr *local,
                                uint16_t local_port)
{
	const uint64_t *k = t->hash_key;
	uint32_t ports = (uint32_t)remote_port << 16 | local_port;
	uint64_t sum = (k[0] + remote->w[3]) * (k[1] + local->w[3]) + k[2] * ports;
	if (unlikely(!net_addr_is_ip4(remote)))
		sum += (k[3] + remote->w[0]) * (k[4] + remote->w[1]) +
		       (k[5] + local->w[0]) * (k[6] + local->w[1]) +
		       (k[7] + remote->w[2]) * (k[8] + local->w[2]);
	return (uint32_t)((sum + k[9]) >> 32);
}

struct tcp_conn *tcp_find(const struct tcp *t, uint32_t hash, const struct tcp_segment *s);

/* A new connection in the table, its identity and defaults set; NULL: no more, not counted. */
struct tcp_conn *tcp_conn_new(struct tcp *t, const struct net_addr *local, uint16_t local_port,
                              const struct net_addr *remote, uint16_t remote_port);
void tcp_set_state(struct tcp *t, struct tcp_conn *c, enum tcp_state state);

/* The end of a connection: gives all back, and tells the application `why` unless it is asked not
 * to (tell false). The record stays until tcp_flush. */
void tcp_conn_end(struct tcp *t, struct tcp_conn *c, int why, bool tell);

/* Our end has been reached in order: TIME-WAIT. */
void tcp_time_wait(struct tcp *t, struct tcp_conn *c);

/* An ephemeral port; 0: none is free. */
uint16_t tcp_port_choose(struct tcp *t, const struct net_addr *local, const struct net_addr *remote,
                         uint16_t remote_port);

/* Puts a connection on the pending list. */
void tcp_touch(struct tcp *t, struct tcp_conn *c);

/* Lets each connection of the pending list send what it has to, or wait; frees those that have
 * ended. */
void tcp_flush(struct tcp *t);

/* 0, or the number of the way that has no room for a packet of the connection's. */
static inline unsigned tcp_way_full(const struct tcp *t, const struct tcp_conn *c)
{
	return t->ops->full ? t->ops->full(t->ctx, &c->remote) : 0;
}

void tcp_set_now(struct tcp *t, uint64_t now_us);

/* A connection's own clock of the timestamps option, in ms. */
static inline uint32_t tcp_ts_now(const struct tcp *t, const struct tcp_conn *c)
{
	return t->now_ms + c->ts_offset;
}

/* --- input.c --- */

/* May a challenge or duplicate ACK be sent? Counts it (RFC 5961 7, per connection). */
bool tcp_ack_permitted(struct tcp *t, struct tcp_conn *c);

/* --- open.c --- */

/* A segment for which there is no connection. The payload, if any, is not taken. */
enum counter tcp_input_listen(struct tcp *t, struct tcp_segment *s, struct pkt *p, bool *taken);

/* In SYN-SENT; as tcp_conn's input. */
enum counter tcp_input_syn_sent(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s,
                                struct pkt *p, bool *taken);

/* Our SYN has been acknowledged, the state is not changed yet: it becomes ESTABLISHED and the
 * application is told. False: the connection has ended meanwhile. */
bool tcp_established(struct tcp *t, struct tcp_conn *c);

/* The first sequence number of a connection (RFC 6528 3). */
uint32_t tcp_isn(const struct tcp *t, const struct net_addr *local, uint16_t local_port,
                 const struct net_addr *remote, uint16_t remote_port);

/* Options of our SYN or SYN-ACK, to o; returns their length. */
unsigned tcp_syn_options(struct tcp *t, struct tcp_conn *c, uint8_t *o);

/* mss from peer_mss and path_mtu; what is queued unsent may have to be cut again. */
void tcp_mss_set(struct tcp *t, struct tcp_conn *c);

/* Less than path_mtu fits the path; a larger one is tried again later (RFC 1191 6.3). */
void tcp_path_lower(struct tcp *t, struct tcp_conn *c, uint32_t mtu);

/* Bytes of IP packet that the way to `remote` is believed to carry before anything was learnt of
 * it. */
uint32_t tcp_link_mtu(const struct tcp *t, const struct net_addr *remote);

/* The MSS that we offer. */
uint16_t tcp_mss_offered(const struct tcp *t, const struct net_addr *remote);

/* --- recv.c --- */

/* Takes the payload of an acceptable segment: to the application, or among the ranges. The buffer
 * has passed when *taken is set. Returns the packet's fate. */
enum counter tcp_receive(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s, struct pkt *p,
                         bool *taken);

/* The window to be offered now; moves rcv_adv. */
uint32_t tcp_window(struct tcp *t, struct tcp_conn *c);

/* True when the window should be told for its own sake (RFC 9293 3.8.6.2.2). */
bool tcp_window_worth_telling(const struct tcp *t, const struct tcp_conn *c);

/* What rcv_buf may grow to. */
static inline uint32_t tcp_rcv_buf_most(const struct tcp_params *p)
{
	return u32_max(p->rcv_buf, u32_min(p->rcv_buf_max, p->snd_buf));
}

/* All up to tune_seq has been consumed: should there be room for more? */
void tcp_tune(struct tcp *t, struct tcp_conn *c);

/* Bytes that were here already came again: D-SACK tells (RFC 2883 4). */
void tcp_note_duplicate(struct tcp *t, struct tcp_conn *c, uint32_t start, uint32_t end);

/* --- ranges.c --- */

enum tcp_kept {
	KEPT_BUFFER,  /* the buffer has passed to the connection */
	KEPT_NOTHING, /* all of its bytes were here */
	KEPT_NO_ROOM, /* too many ranges or buffers: the segment has to be dropped */
};

/* Keeps the payload of s, which lies in p and beyond rcv_nxt. */
enum tcp_kept tcp_ranges_keep(struct tcp *t, struct tcp_conn *c, const struct pkt *p,
                              const struct tcp_segment *s);

/* Takes the first buffer out when it begins at rcv_nxt or before; *seq: where. The caller owns it. */
bool tcp_ranges_take(struct tcp *t, struct tcp_conn *c, struct pkt *p, uint32_t *seq);

/* SACK blocks to be told, at most `max`; the D-SACK first, which is then told. */
unsigned tcp_sack_blocks(struct tcp *t, struct tcp_conn *c, struct tcp_sack *out, unsigned max);

/* Gives back all out-of-order buffers. */
void tcp_ranges_free(struct tcp *t, struct tcp_conn *c);

/* --- ack.c --- */

/* RFC 5961 5.2: may the peer have sent this acknowledgement? Not of what was never sent, and not of
 * more than a window before what it has acknowledged; nor of what would be before the connection's
 * first byte, though that may be within a window. */
static inline bool tcp_ack_acceptable(const struct tcp_conn *c, const struct tcp_segment *s)
{
	return seq_le(s->ack, c->snd_max) && seq_ge(s->ack, c->ack_floor);
}

/* Takes the acknowledgement in a segment that is acceptable, and it as well. */
void tcp_ack(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s);

/* --- scoreboard.c --- */

/* A SACK, loss or retransmission is about to be entered: there is a scoreboard from now on. */
void tcp_board_begin(struct tcp *t, struct tcp_conn *c);

/* A scoreboard is there: buf was sent for the first time, and is the last of those sent. */
void tcp_board_sent(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf was sent again; its marks as well. */
void tcp_board_sent_again(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf, which was not SACKED, is; the sums as well. */
void tcp_board_sacked(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf was sent, and is believed lost unless it is SACKED: marks and sums. */
void tcp_mark_lost(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf, which was sent, leaves the queue from its beginning; its marks are still as they were. */
void tcp_board_acked(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf, which was sent and is not SACKED, was cut: `tail` has the rest, and its marks. */
void tcp_board_split(struct tcp *t, struct tcp_conn *c, uint32_t buf, uint32_t tail);

/* From chunk `from` on the first that was sent and does not begin before seq; q_unsent: none. For
 * numbers that rise; *lane is lane_first before the first call. */
uint32_t tcp_board_seek(const struct tcp *t, const struct tcp_conn *c, uint32_t from, uint32_t *lane,
                        uint32_t seq);

/* From `from` on the first chunk that is not SACKED, or q_unsent. */
uint32_t tcp_board_unsacked(const struct tcp *t, const struct tcp_conn *c, uint32_t from);

/* The last chunk that was sent, TCP_NONE: none is outstanding. */
uint32_t tcp_board_last(const struct tcp *t, const struct tcp_conn *c);

/* The last chunk in flight that was sent before what rack_order counts, TCP_NONE: none was. */
uint32_t tcp_board_before_rack(const struct tcp *t, struct tcp_conn *c);

/* None is LOST any more: the loss that began at undo_order proved to be none. */
void tcp_board_undo(struct tcp *t, struct tcp_conn *c);

/* The retransmission timer: the first chunk is lost, and those sent until limit_us, or `all`. */
void tcp_board_timeout(struct tcp *t, struct tcp_conn *c, bool all, uint64_t limit_us);

/* --- loss.c --- */

/* What one acknowledgement has brought. */
struct tcp_acked {
	uint32_t bytes;      /* of data, acknowledged cumulatively */
	uint32_t delivered;  /* sequence space newly known to have arrived, by ACK or SACK */
	uint32_t before;     /* flight before it */
	uint32_t una_before;
	uint32_t rtt_us;     /* from the newest segment that was sent once; 0: none */
	uint32_t tsecr;
	bool advanced;       /* snd_una has moved */
	bool sacked;         /* new SACK information */
	bool dsack;
	bool duplicate;      /* a duplicate ACK by RFC 5681 2 */
	bool ece;
	bool has_ts;
	bool retrans_acked;  /* something that was sent again was among it */
};

void tcp_loss_on_ack(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a);
void tcp_loss_on_timer(struct tcp *t, struct tcp_conn *c);

/* The retransmission timeout, backed off (RFC 6298 5.5), ms. */
uint32_t tcp_rto_ms(const struct tcp *t, const struct tcp_conn *c);

/* A chunk has arrived, says an ACK or SACK (RFC 8985 6.2, steps 1 to 3). */
void tcp_rack_arrived(struct tcp *t, struct tcp_conn *c, const struct tcp_chunk *ch,
                      struct tcp_acked *a);

/* Arms the timer that fits what is outstanding. */
void tcp_send_timer(struct tcp *t, struct tcp_conn *c);

/* New data went out: a timer that does not run is started (RFC 6298 5.1), a tail loss probe is put
 * off (RFC 8985 7.2), but not beyond the RTO, which runs from the first not acknowledged. */
void tcp_send_timer_sent(struct tcp *t, struct tcp_conn *c);

void tcp_rtt_sample(struct tcp *t, struct tcp_conn *c, uint32_t rtt_us);

/* Bytes believed to be in the network (RFC 6675 pipe). */
static inline uint32_t tcp_flight(const struct tcp_conn *c)
{
	uint32_t out = c->snd_nxt - c->snd_una, gone = c->sacked + c->lost;
	return (out > gone ? out - gone : 0) + c->retrans;
}

/* --- output.c --- */

/* Sends what may be sent now. */
void tcp_output(struct tcp *t, struct tcp_conn *c);

/* Sends chunk `buf`, the first that is unsent, or another one again. False: no buffer. */
bool tcp_send_chunk(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* The window or a lack of buffers has held data back for a while, and nothing is under way that
 * would bring an answer (RFC 9293 3.8.6.1, 3.8.6.2.1). */
void tcp_probe(struct tcp *t, struct tcp_conn *c);

/* A segment without data; `seq` is snd_nxt but for probes. */
void tcp_send_empty(struct tcp *t, struct tcp_conn *c, uint8_t flags, uint32_t seq);

/* SYN or SYN-ACK, by state. */
void tcp_send_syn(struct tcp *t, struct tcp_conn *c);

/* A reset of a connection that is synchronized. */
void tcp_send_reset(struct tcp *t, struct tcp_conn *c);

/* The reset that RFC 9293 3.10.7.1 answers a segment with for which there is no connection. */
void tcp_reset_for(struct tcp *t, const struct tcp_segment *s);

/* A segment that belongs to no connection (SYN cookies). */
struct tcp_reply {
	uint32_t seq, ack;
	uint16_t wnd;
	uint8_t flags;
	unsigned options_len; /* multiple of 4 */
	uint8_t options[TCP_HLEN_MAX - TCP_HLEN];
};
void tcp_send_reply(struct tcp *t, const struct tcp_segment *to, const struct tcp_reply *r);

/* Payload of a full segment with the options that every segment has. */
static inline uint32_t tcp_full(const struct tcp_conn *c)
{
	return c->mss - (c->flags & CONN_TS ? TCP_TS_BYTES : 0u);
}

/* --- queue.c --- */

/*
 * Chunks of one connection: one for so much of snd_buf, and a few. A peer chooses how small
 * segments are (48 bytes of MSS, 36 beside timestamps), and each takes a buffer: bytes alone would
 * be no bound (CVE-2019-11479). An MSS below 536 is obeyed all the same, for RFC 9293 3.7.1
 * (MUST-16) leaves no choice, and small hosts have reasons for theirs.
 */
#define TCP_CHUNK_BYTES_MIN 256
#define TCP_CHUNKS_MIN 16

static inline bool tcp_queue_full(const struct tcp *t, const struct tcp_conn *c)
{
	return c->q_bufs >= t->p.snd_buf / TCP_CHUNK_BYTES_MIN + TCP_CHUNKS_MIN;
}

/* Copies up to n bytes behind the queue; returns how many. */
uint32_t tcp_queue_copy(struct tcp *t, struct tcp_conn *c, const uint8_t *data, uint32_t n);

/* Queues the payload in its buffer, which passes. */
void tcp_queue_pkt(struct tcp *t, struct tcp_conn *c, const struct pkt *p);

/* Queues FIN if it has to be and there is a buffer for it. */
void tcp_queue_fin(struct tcp *t, struct tcp_conn *c);

/* Cuts a chunk after `len` bytes of payload. False: no buffer, or the queue has enough of them and
 * what is under way will give some back. */
bool tcp_queue_split(struct tcp *t, struct tcp_conn *c, uint32_t buf, uint32_t len);

/* Fills a chunk up that is left of one that was cut, from those behind it that have to be cut too,
 * so that a smaller MSS does not make a small segment of every rest. */
void tcp_queue_fill(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* Takes everything before `ack` out of the queue; returns bytes of payload. Calls tcp_rack_arrived
 * for each chunk sent, and fills in a. */
uint32_t tcp_queue_ack(struct tcp *t, struct tcp_conn *c, uint32_t ack, struct tcp_acked *a);

void tcp_queue_free(struct tcp *t, struct tcp_conn *c);

/* --- timer.c --- */

void tcp_timer_set(struct tcp *t, struct tcp_conn *c, enum tcp_timer which, uint32_t ms);
void tcp_timer_clear(struct tcp_conn *c, enum tcp_timer which);

/* What the state wants of TIMER_LIFE. */
void tcp_life_timer(struct tcp *t, struct tcp_conn *c);

static inline bool tcp_timer_armed(const struct tcp_conn *c, enum tcp_timer which)
{
	return c->armed >> which & 1;
}

#endif
