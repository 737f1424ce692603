/*
 * The internals of TCP: what the files of net/tcp/ share.
 *
 *     wire.c        parse and write the header and options
 *     table.c       instance, connections, their hash table, ports
 *     input.c       segment arrival (RFC 9293 3.10.7)
 *     open.c        SYN, listeners, cookies, Fast Open: until a connection is established
 *     recv.c        received data: delivery, the window
 *     ranges.c      out-of-order data: reassembly, SACK blocks to send
 *     ack.c         acknowledgement arrival: scoreboard, RTT, window, urgent
 *     scoreboard.c  finds chunks by sequence number, by time sent, and those lost
 *     loss.c        loss detection and recovery: RACK-TLP, NewReno, PRR, RTO
 *     congestion.c  the congestion window: CUBIC, NewReno
 *     output.c      decides what to send now, and builds segments
 *     queue.c       the send queue: chunks
 *     timer.c       deadlines of a connection; wheel.c is their timing wheel
 *     api.c         functions for the application
 *     move.c        a connection leaves for another instance; move_in.c, move_check.c: it arrives
 *
 * A received segment passes through input, ack, loss and recv. Each puts a connection it changes on
 * the pending list (tcp_touch). When the vector is done, tcp_flush runs output once for each
 * pending connection. Data thus carries the acknowledgement, and one ACK covers many segments.
 * Every call from outside ends with tcp_flush. A connection whose way has no room (tcp_ops.full)
 * moves from the pending list to the list waiting for that way; tcp_room later passes it to output.
 * Segments that arrive meanwhile are answered together with the rest.
 *
 * Invariants
 * 1. A connection in TCP_CLOSED has no buffer, no hash entry and no deadline. Its record is free,
 *    or on a list and freed by tcp_flush. A function that calls the application therefore checks
 *    the state afterwards, and may use the record until tcp_flush. A frozen connection (conn.frozen,
 *    move.h) is in TCP_CLOSED too but keeps its buffers, and no list but move.c frees it.
 * 2. The send queue covers [snd_una, end of queued data) without a gap, in ordered chunks. A chunk
 *    is one segment on the wire: sent, acknowledged and lost as a whole. q_unsent is the first
 *    chunk never sent; all before it were. Before SYN is acknowledged, snd_una is iss and the queue
 *    begins at iss + 1.
 * 3. sacked, lost, retrans are sums over the chunks of [snd_una, snd_nxt): of SACKED chunks; of
 *    LOST chunks that are not SACKED; of chunks sent again since they were LOST. Without SACK,
 *    sacked is what duplicate acknowledgements say has left the network, and no chunk has the mark.
 * 4. rcv_adv, the right edge of the offered window, never moves left (RFC 9293 3.8.6).
 */
#ifndef NET_TCP_INSIDE_H
#define NET_TCP_INSIDE_H

#include "lib/number.h"
#include "net/ip.h"
#include "net/tcp/tcp.h"
#include "net/tcp/wheel.h"
#include "net/tcp/wire.h"

#define TCP_NONE UINT32_MAX /* no buffer, no connection */
#define TCP_HASH_WORDS 9    /* key words that tcp_hash multiplies by; it adds one more */
#define TCP_BACKOFF_MAX 32  /* doublings: more than any timeout needs */

/* Payloads up to this size are copied, even where a second buffer would avoid it: the copy costs
 * less than the second descriptor. */
#define TCP_COPY_MAX 256

/* Bytes in front of the payload of a chunk made here: Ethernet and the largest IP and TCP
 * headers. */
#define TCP_HEADROOM (14 + IP_HLEN_MAX + TCP_HLEN_MAX)
#define TCP_PAYLOAD_OFFSET 192 /* in its buffer, at the start of a cache line */
_Static_assert(BUF_FRAME_LEAST + TCP_HEADROOM <= TCP_PAYLOAD_OFFSET, "headers fit in front");

/* --- chunks: in pkt_meta.queue of each chunk's first buffer --- */

enum tcp_chunk_flag {
	CHUNK_SENT = 1,
	CHUNK_SACKED = 2,
	CHUNK_LOST = 4,
	CHUNK_RETRANS = 8,  /* sent again since it was marked as lost */
	CHUNK_EVER = 16,    /* was ever sent more than once: its RTT is ambiguous (Karn) */
	CHUNK_FIN = 32,     /* ends with FIN */
	CHUNK_PSH = 64,     /* ends a write of the application */
	CHUNK_CUT = 128,    /* never sent; the rest of a chunk that was cut: tcp_queue_fill */
	CHUNK_LANE = 256,   /* on the scoreboard's lane */
};

struct tcp_chunk {
	uint32_t next;    /* buffer, or TCP_NONE */
	uint32_t seq;
	uint16_t off;     /* where the payload begins: an offset for buf_at() */
	uint16_t len;     /* payload; 0 only with FIN */
	uint32_t flags;   /* enum tcp_chunk_flag */
	uint32_t sent_us[2]; /* when it was last sent, 64 bits in two halves (queue[] is of words) */
	uint32_t ends;    /* seq + len + FIN */
	uint32_t order;   /* number of its last transmission, counted per connection */
	/* used by scoreboard.c, while there is a scoreboard */
	uint32_t earlier, later; /* in its list there, or TCP_NONE */
	uint32_t lane;    /* the next with CHUNK_LANE, or TCP_NONE */
};

/* A list of chunks, linked by earlier and later. */
struct tcp_chunks {
	uint32_t first, last; /* TCP_NONE: empty */
};
_Static_assert(sizeof(struct tcp_chunk) <= sizeof((struct pkt_meta *)0)->queue, "fits a buffer");

/* --- a buffer of out-of-order data: also in pkt_meta.queue --- */

/* One buffer of a range, which has no gap and no overlap (ranges.c). */
struct tcp_piece {
	uint32_t next;       /* next in the same range, or TCP_NONE */
	uint32_t seq;
	uint16_t off, len;
	uint32_t range_last; /* in the first piece of a range: the last one */
};
_Static_assert(sizeof(struct tcp_piece) <= sizeof((struct pkt_meta *)0)->queue, "fits a buffer");

/* --- a connection --- */

enum tcp_conn_flag {
	CONN_PENDING = 1 << 0,     /* on the pending list, or waiting for a way */
	CONN_TS = 1 << 1,          /* timestamps were negotiated */
	CONN_SACK = 1 << 2,
	CONN_ECN = 1 << 3,
	CONN_WSCALE = 1 << 4,
	CONN_PASSIVE = 1 << 5,     /* opened by the peer */
	CONN_NODELAY = 1 << 6,
	CONN_ACK_NOW = 1 << 7,     /* the next output sends an ACK in any case */
	CONN_ACK_DUE = 1 << 8,     /* an ACK is due, soon or by the timer */
	CONN_ECE = 1 << 9,         /* CE was seen: ECE in every segment until CWR (RFC 3168 6.1.3) */
	CONN_CWR = 1 << 10,        /* the next new data carries CWR (6.1.2) */
	CONN_CLOSING = 1 << 11,    /* the application has closed: FIN is queued or will be */
	CONN_FIN_QUEUED = 1 << 12,
	CONN_FIN_RCVD = 1 << 13,
	CONN_ACCEPTED = 1 << 14,   /* the application knows the connection: closed() is due */
	CONN_URG_SND = 1 << 15,    /* snd_up is ahead of snd_una */
	CONN_URG_RCV = 1 << 16,    /* rcv_up has not been delivered */
	CONN_KEEPALIVE = 1 << 17,
	CONN_LIMITED = 1 << 18,    /* the last output was limited by cwnd: cwnd may grow */
	CONN_FASTOPEN = 1 << 19,   /* counted in tcp.fastopen, or our SYN had data or asked for a
	                              cookie */
	CONN_SYN_DATA = 1 << 20,   /* the SYN carried the first chunk */
	CONN_PROBED = 1 << 21,     /* a TLP is outstanding (RFC 8985 7) */
	CONN_PROBE_RETRANS = 1 << 22, /* that probe was a retransmission */
	CONN_REORDERED = 1 << 23,  /* RACK.reordering_seen */
	CONN_DSACK = 1 << 24,      /* dsack has to be sent */
	CONN_BOARD = 1 << 25,      /* has a scoreboard (scoreboard.c) */
	CONN_NO_ECN_RETRY = 1 << 26, /* SYN is sent again without ECN (RFC 3168 6.1.1.1) */
	CONN_STARVED = 1 << 27,    /* tcp_send took less for lack of buffers: acked() follows */
	CONN_WND_UPDATE = 1 << 28, /* the application has freed room: check whether to send a window
	                              update */
	CONN_HAS_RTT = 1 << 29,
	CONN_FIN_SEEN = 1 << 30,   /* rcv_fin is where the peer's data ends */
};
#define CONN_SND_GIVEN (1u << 31) /* tcp_set_snd_buf; an enumerator is no unsigned number */

enum tcp_timer {
	TIMER_SEND, /* retransmission, tail loss probe, reordering, window probe: conn.send_kind */
	TIMER_ACK,  /* delayed ACK */
	TIMER_LIFE, /* handshake, keep-alive, FIN-WAIT-2 or TIME-WAIT, by state */
	TIMER_COUNT
};

enum tcp_send_kind { SEND_RTO, SEND_TLP, SEND_REORDER, SEND_PROBE };

enum tcp_recovery {
	RECOVERY_OPEN,     /* nothing is believed lost */
	RECOVERY_FAST,     /* fast recovery, until recover is acknowledged */
	RECOVERY_RTO,      /* after a timeout, until recover is acknowledged */
};

/* A new field that is a time, or that only means something to this instance: see `settle` in
 * move_in.c. */
struct tcp_conn {
	/* identity: compared for each received segment */
	struct net_addr remote, local;
	uint16_t remote_port, local_port;
	uint32_t hash_next; /* index + 1 of the next in its bucket or in the free list; 0: none */
	uint8_t state;      /* enum tcp_state */
	uint8_t armed;      /* bit per enum tcp_timer */
	uint8_t send_kind;  /* enum tcp_send_kind */
	uint8_t recovery;   /* enum tcp_recovery */
	uint32_t flags;     /* enum tcp_conn_flag */
	uint32_t pending_next; /* next connection on that list */
	uint32_t pseudo;    /* ip_pseudo_sum of the packets we send */

	/* receive (RFC 9293 3.3.1) */
	uint32_t rcv_nxt, rcv_adv, rcv_up;
	uint32_t rcv_held;  /* bytes delivered to the application and not consumed */
	uint32_t rcv_buf;   /* may grow: tcp_tune */
	uint32_t tune_seq, tune_us; /* run tcp_tune when all bytes before tune_seq are consumed;
	                               when that interval began */
	uint32_t tune_rtt_ms; /* minimum age of a timestamp echoed with data; UINT32_MAX: none */
	uint32_t acked_to;  /* rcv_nxt in the last segment we sent: Last.ACK.sent */
	uint32_t irs;
	uint32_t ooo;       /* buffer with the table of ranges, or TCP_NONE (ranges.c) */
	uint32_t ts_recent, ts_recent_ms;
	uint32_t rcv_fin;
	struct tcp_sack dsack;
	uint16_t ooo_bufs;
	uint16_t rcv_mss;   /* largest segment seen on the wire; two of them are acknowledged at
	                       once */
	uint8_t rcv_wscale, snd_wscale;
	uint16_t peer_mss;  /* from its SYN */

	/* send */
	uint32_t iss, snd_una, snd_nxt, snd_max; /* snd_max: end of the highest byte ever sent; a
	                                            window probe lies beyond snd_nxt */
	uint32_t snd_wnd, snd_wl1, snd_wl2, snd_up, max_wnd;
	uint32_t ack_floor; /* ACKs below are not acceptable (RFC 5961 5.2); never below iss */
	uint32_t q_first, q_last, q_unsent; /* chunks (buffers), or TCP_NONE */
	uint32_t q_bytes;   /* payload bytes in the queue */
	uint32_t q_bufs;    /* buffers in the queue */
	uint32_t q_end;     /* sequence number at the end of the queue */
	uint16_t mss;       /* payload of a segment without options, bounded by peer and path */
	uint16_t path_mtu;

	/* loss */
	uint32_t sacked, lost, retrans; /* bytes of sequence space */
	uint32_t recover;   /* snd_nxt when recovery began */
	uint32_t prr_delivered, prr_out, prr_flight;
	uint16_t dup_acks;
	uint16_t lane_gap;  /* chunks since the last one on the lane */
	uint32_t fack;      /* highest sequence number ever known to have arrived */
	uint64_t rack_us;   /* when the newest segment that has arrived was sent */
	uint32_t rack_order, rack_rtt_us;
	uint32_t sendings;  /* transmissions of chunks; see sent_after in loss.c */
	uint32_t probe_end; /* TLP.end_seq */
	uint32_t rto_una;   /* snd_una at the last timeout */
	uint8_t reo_mult, reo_persist; /* RFC 8985 6.2: reo_wnd in quarters of min_rtt */
	uint8_t backoff, probes; /* of the timer; unanswered keep-alive or window probes */
	uint32_t reo_round; /* D-SACKs count once until this is acknowledged */
	uint32_t undo_ts;   /* our timestamp at the first retransmission; a smaller echo answers an
	                       earlier transmission */
	uint32_t undo_una;  /* snd_una when recovery began */
	uint32_t undo_end;  /* after recovery, a D-SACK can undo it until this is acknowledged */
	uint32_t undo_retrans; /* retransmissions that no D-SACK has yet reported as needless */
	uint32_t ecn_end;   /* no further reduction by ECN until this is acknowledged */

	/* time */
	uint64_t syn_us;    /* when our SYN was first sent */
	uint32_t srtt_us, rttvar_us, rto_us, min_rtt_us;
	uint32_t min_rtt_ms; /* when min_rtt_us was measured */
	uint32_t at_ms[TIMER_COUNT]; /* deadlines of the armed timers */
	uint32_t rto_at_ms; /* deadline of the RTO, even if TIMER_SEND expires earlier for another
	                       purpose */
	uint32_t heard_ms;  /* last segment from the peer */
	uint32_t sent_ms;   /* last data we sent */
	uint32_t stuck_ms;  /* since when snd_una has not advanced */
	uint32_t ts_offset;
	uint32_t user_timeout_ms;
	uint32_t retransmits;
	uint32_t path_raise_ms; /* when a larger path MTU may be tried again; 0: it was not
	                           lowered */
	uint32_t limit_ms;  /* challenge and duplicate ACKs: end of the period */
	uint16_t limit_used;
	uint8_t ip_hlen;    /* ip_header_bytes of the packets we send */
	uint8_t frozen;     /* the state to which a connection that moves returns; 0: none does. Its
	                       move is then in wheel.tick */
	struct wheel_node wheel;
	union {
		struct { uint32_t age_next, age_prev; };     /* TIME-WAIT: connections, oldest
		                                                first */
		struct { uint32_t lane_first, lane_last; };  /* earlier states: chunks, or
		                                                TCP_NONE */
	};

	struct cc cc;
	struct cc undo_cc; /* state before the last reduction; mss 0: nothing to undo */
	struct tcp *tcp;
	const struct tcp_app *app;
	void *arg;

	/* the scoreboard (scoreboard.c), together with lane_first, lane_last, lane_gap */
	struct tcp_chunks in_flight, lost_wait;
	uint32_t rack_at;   /* last chunk of in_flight known to be sent before rack_order, or
	                       TCP_NONE */
	uint32_t board_end; /* the scoreboard is needed until this is acknowledged */
	uint32_t sacked_chunks;
	uint32_t undo_order; /* sendings when recovery began */
};
_Static_assert(sizeof(struct tcp_conn) <= 640, "a million of them in less than 1 GiB");

/* --- an instance --- */

/* Fast Open client: cookies from servers. Direct mapped by a hash of the address. */
#define TCP_FASTOPEN_CACHE 64
struct tcp_cookie_entry {
	struct net_addr remote;
	uint16_t mss;
	uint8_t len; /* 0: empty entry */
	uint8_t cookie[TCP_COOKIE_MAX];
};

/* A list of connections, linked by pending_next, first in, first out. */
struct tcp_list {
	uint32_t first, last; /* TCP_NONE: empty */
};

struct tcp {
	struct tcp_params p;
	const struct tcp_ops *ops;
	void *ctx;
	struct bufpool *pool;
	struct counters *cnt;
	uint64_t now_us;
	uint64_t tick;         /* now in ms, 64 bits: the wheel's time */
	uint64_t tick_us;      /* when that tick began */
	uint32_t now_ms;       /* tick modulo 2^32 */
	struct siphash_key key;
	uint64_t hash_key[TCP_HASH_WORDS + 1]; /* derived from key, for the hash table */
	struct tcp_conn *conns;
	uint32_t *buckets;     /* index + 1 */
	uint32_t bucket_mask;
	uint32_t free;         /* index + 1 of the most recently freed record; 0: none */
	uint32_t records;      /* records from this index on were never used and hold arbitrary
	                          bytes */
	uint32_t connections;
	uint32_t coming;       /* packets of this tcp_input that have not been looked at */
	struct tcp_list pending;
	struct tcp_list waiting[TCP_WAYS]; /* waiting for room on way 1, 2, ... */
	uint32_t ways;         /* bit w - 1: a connection waits for way w */
	uint32_t age_first, age_last;   /* TIME-WAIT */
	uint32_t ooo_bufs, fastopen;
	uint32_t states[TCP_TIME_WAIT + 1];
	uint32_t listeners;
	uint32_t port_next;
	uint64_t cookie_us;    /* when the last SYN cookie was sent; 0: never */
	bool busy;             /* a call from outside is in progress and will flush */
	uint8_t rcv_wscale;
	struct tcp_listen *listener;
	const struct tcp_move_app *move_apps;
	uint32_t move_apps_n;
	uint32_t moves;        /* connections that were frozen */
	struct wheel wheel;
	struct tcp_cookie_entry cookies[TCP_FASTOPEN_CACHE];
};

static inline void tcp_count_event(struct tcp *t, enum counter c) { t->cnt->v[c]++; }

static inline struct tcp_chunk *chunk_at(const struct tcp *t, uint32_t buf)
{
	return (struct tcp_chunk *)(void *)pkt_meta(t->pool, buf)->queue;
}

/* Does the payload lie outside the pool? */
static inline bool is_outside(const struct tcp_chunk *ch)
{
	return ch->off & BUF_OUTSIDE;
}

static inline const uint8_t *chunk_payload(const struct tcp *t, uint32_t buf)
{
	return buf_at(t->pool, buf, chunk_at(t, buf)->off);
}

static inline struct tcp_piece *piece_at(const struct tcp *t, uint32_t buf)
{
	return (struct tcp_piece *)(void *)pkt_meta(t->pool, buf)->queue;
}

static inline uint64_t chunk_sent_us(const struct tcp_chunk *ch)
{
	return ch->sent_us[0] | (uint64_t)ch->sent_us[1] << 32;
}

/* Sequence space that a chunk occupies. */
static inline uint32_t chunk_space(const struct tcp_chunk *ch)
{
	return ch->ends - ch->seq;
}

static inline uint32_t conn_index(const struct tcp *t, const struct tcp_conn *c)
{
	return (uint32_t)(c - t->conns);
}

/* The MSS of a peer whose SYN names none (RFC 9293 3.7.1, MUST-15): 536 or, for IPv6, 1220. */
static inline uint16_t tcp_mss_default(const struct net_addr *remote)
{
	return (uint16_t)(ip_mtu_min(remote) - ip_header_bytes(remote) - TCP_HLEN);
}

/* --- table.c --- */

/*
 * The bucket hash of a connection. Pair-multiply-shift (Thorup, "High Speed Hashing for Integers
 * and Strings", 2015, 4.2): without the key, an attacker cannot choose connections that collide
 * more often than by chance. It takes a third of the time of SipHash-1-3, and it is enough because
 * no hash value is ever disclosed.
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

/* The connection of these addresses and ports, which have this hash, or NULL. */
static inline struct tcp_conn *tcp_find_key(const struct tcp *t, uint32_t hash,
                                            const struct net_addr *remote, uint16_t remote_port,
                                            const struct net_addr *local, uint16_t local_port)
{
	uint32_t i = t->buckets[hash & t->bucket_mask];
	while (i) {
		struct tcp_conn *c = &t->conns[i - 1];
		if (c->remote_port == remote_port && c->local_port == local_port &&
		    net_addr_equal(&c->remote, remote) && net_addr_equal(&c->local, local))
			return c;
		i = c->hash_next;
	}
	return NULL;
}

static inline struct tcp_conn *tcp_find(const struct tcp *t, uint32_t hash, const struct tcp_segment *s)
{
	return tcp_find_key(t, hash, &s->src, s->src_port, &s->dst, s->dst_port);
}

/* A new connection in the table, its identity and defaults set; NULL: no more, not counted. */
struct tcp_conn *tcp_conn_new(struct tcp *t, const struct net_addr *local, uint16_t local_port,
                              const struct net_addr *remote, uint16_t remote_port);
void tcp_set_state(struct tcp *t, struct tcp_conn *c, enum tcp_state state);

/* Takes a connection out of the table and puts it back, without any effect on its state. */
void tcp_conn_unhash(struct tcp *t, struct tcp_conn *c);
void tcp_conn_hash(struct tcp *t, struct tcp_conn *c);

/* The connection of these addresses and ports, or NULL. */
struct tcp_conn *tcp_conn_twin(const struct tcp *t, const struct tcp_conn *c);

/* Freezes c: its state becomes conn.frozen. tcp_conn_thaw is the reverse; the caller sets timers. */
void tcp_conn_freeze(struct tcp *t, struct tcp_conn *c);
void tcp_conn_thaw(struct tcp *t, struct tcp_conn *c);

/* Frees a frozen connection and all it holds, and tells nobody. */
void tcp_conn_forget(struct tcp *t, struct tcp_conn *c);

/* Ends a connection: releases everything it holds and, if `tell`, reports `why` to the application.
 * The record stays until tcp_flush. */
void tcp_conn_end(struct tcp *t, struct tcp_conn *c, int why, bool tell);

/* The connection has closed in order on both sides: TIME-WAIT. */
void tcp_time_wait(struct tcp *t, struct tcp_conn *c);

/* Chooses an ephemeral port; 0: none is free. */
uint16_t tcp_port_choose(struct tcp *t, const struct net_addr *local, const struct net_addr *remote,
                         uint16_t remote_port);

/* Puts a connection on the pending list. */
void tcp_touch_first(struct tcp *t, struct tcp_conn *c);
static inline void tcp_touch(struct tcp *t, struct tcp_conn *c)
{
	if (!(c->flags & CONN_PENDING) && c->state != TCP_CLOSED)
		tcp_touch_first(t, c);
}

/* Runs output for each connection of the pending list, or lets it wait for its way; frees the ended
 * ones. */
void tcp_flush(struct tcp *t);

/* 0, or the number of the way that has no room for a packet of this connection. */
static inline unsigned tcp_way_full(const struct tcp *t, const struct tcp_conn *c)
{
	return t->ops->full ? t->ops->full(t->ctx, &c->remote) : 0;
}

void tcp_set_now(struct tcp *t, uint64_t now_us);

/* A connection's clock for the timestamps option, in ms. */
static inline uint32_t tcp_ts_now(const struct tcp *t, const struct tcp_conn *c)
{
	return t->now_ms + c->ts_offset;
}

/* --- input.c --- */

/* May a challenge or duplicate ACK be sent? Counts it (RFC 5961 7, per connection). */
bool tcp_ack_permitted(struct tcp *t, struct tcp_conn *c);

/* --- open.c --- */

/* Handles a segment without a connection. Sets *taken if the payload's buffer has passed on. */
enum counter tcp_input_listen(struct tcp *t, struct tcp_segment *s, struct pkt *p, bool *taken);

/* Handles a segment in SYN-SENT; parameters as in tcp_input_listen. */
enum counter tcp_input_syn_sent(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s,
                                struct pkt *p, bool *taken);

/* Our SYN has been acknowledged but the state is unchanged: enters ESTABLISHED and tells the
 * application. False: the connection has ended meanwhile. */
bool tcp_established(struct tcp *t, struct tcp_conn *c);

/* The listener for that address and port, or NULL. */
const struct tcp_listen *tcp_listener(const struct tcp *t, const struct net_addr *local, uint16_t port);

/* The initial sequence number of a connection (RFC 6528 3). */
uint32_t tcp_isn(const struct tcp *t, const struct net_addr *local, uint16_t local_port,
                 const struct net_addr *remote, uint16_t remote_port);

/* Writes the options of our SYN or SYN-ACK to o; returns their length. */
unsigned tcp_syn_options(struct tcp *t, struct tcp_conn *c, uint8_t *o);

/* Sets mss from peer_mss and path_mtu; queued unsent chunks may have to be cut again. */
void tcp_mss_set(struct tcp *t, struct tcp_conn *c);

/* The path carries at most `mtu`; a larger MTU is tried again later (RFC 1191 6.3). */
void tcp_path_lower(struct tcp *t, struct tcp_conn *c, uint32_t mtu);

/* The link MTU assumed for the path to `remote` before anything is learned about that path. */
uint32_t tcp_link_mtu(const struct tcp *t, const struct net_addr *remote);

/* The MSS that we advertise. */
uint16_t tcp_mss_offered(const struct tcp *t, const struct net_addr *remote);

/* --- recv.c --- */

/* Takes the payload of an acceptable segment: delivers it or keeps it as a range. If *taken is set,
 * the buffer has passed on. Returns the packet's fate. */
enum counter tcp_receive(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s, struct pkt *p,
                         bool *taken);

/* tcp_receive for a segment with payload and no other flags than ACK and PSH, whose payload is next in
 * order and within the window, while no range, FIN or urgent data is awaited (input.c, is_predicted). The
 * application may have closed this side meanwhile. */
enum counter tcp_receive_next(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s,
                              struct pkt *p, bool *taken);

/* The window that there is room for, bytes; at least the one that was offered. */
static inline uint32_t tcp_window_space(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t offered = c->rcv_adv - c->rcv_nxt;
	uint32_t room = c->rcv_held < c->rcv_buf ? c->rcv_buf - c->rcv_held : 0;
	room = u32_min(room, 0xffffu << (c->flags & CONN_WSCALE ? c->rcv_wscale : 0));
	/* Below pool_reserve, each connection gets a small window, so that connections holding many
	 * buffers do not stop the others. Below half of it, offered windows are kept but none is
	 * opened. */
	if (unlikely(t->pool->free < t->p.pool_reserve)) {
		uint32_t least = t->pool->free > t->p.pool_reserve / 2 ? 4u * c->rcv_mss : 0;
		room = u32_min(room, u32_max(offered, least));
	}
	return u32_max(room, offered);
}

/* The window to offer now; moves rcv_adv. Inlined: it is written in every segment. */
static inline uint32_t tcp_window(struct tcp *t, struct tcp_conn *c)
{
	uint32_t offered = c->rcv_adv - c->rcv_nxt, room = tcp_window_space(t, c);
	uint8_t shift = c->flags & CONN_WSCALE ? c->rcv_wscale : 0;
	/* Silly window avoidance (RFC 9293 3.8.6.2.2): the edge moves by a segment or by half the
	 * buffer. */
	if (room - offered < u32_min(c->rcv_buf / 2, c->rcv_mss))
		room = offered;
	/* Rounding down may retract less than one unit (RFC 7323 2.4 tells senders so). Data within
	 * the earlier offer is still accepted. */
	uint32_t field = u32_min(room >> shift, 0xffff);
	uint32_t edge = c->rcv_nxt + (field << shift);
	if (seq_gt(edge, c->rcv_adv))
		c->rcv_adv = edge;
	return field;
}

/* True when a window update should be sent on its own (RFC 9293 3.8.6.2.2). */
bool tcp_window_worth_telling(const struct tcp *t, const struct tcp_conn *c);

/* The maximum to which rcv_buf may grow. */
static inline uint32_t tcp_rcv_buf_most(const struct tcp_params *p)
{
	return u32_max(p->rcv_buf, u32_min(p->rcv_buf_max, p->snd_buf));
}

/* All bytes up to tune_seq have been consumed: decides whether rcv_buf should grow. */
void tcp_tune(struct tcp *t, struct tcp_conn *c);

/* Already received bytes came again: reported by D-SACK (RFC 2883 4). */
void tcp_note_duplicate(struct tcp *t, struct tcp_conn *c, uint32_t start, uint32_t end);

/* --- ranges.c --- */

enum tcp_kept {
	KEPT_BUFFER,  /* the buffer has passed to the connection */
	KEPT_NOTHING, /* all of its bytes had already arrived */
	KEPT_NO_ROOM, /* too many ranges or buffers: the segment has to be dropped */
};

/* Keeps the payload of s, which lies in p and beyond rcv_nxt. */
enum tcp_kept tcp_ranges_keep(struct tcp *t, struct tcp_conn *c, const struct pkt *p,
                              const struct tcp_segment *s);

/* Takes the first buffer out if it begins at or before rcv_nxt; *seq: its first byte. The caller
 * then owns the buffer. */
bool tcp_ranges_take(struct tcp *t, struct tcp_conn *c, struct pkt *p, uint32_t *seq);

/* Writes at most `max` SACK blocks to send, the D-SACK first; the D-SACK counts as sent. */
unsigned tcp_sack_blocks(struct tcp *t, struct tcp_conn *c, struct tcp_sack *out, unsigned max);

/* The piece behind `buf`, in order of sequence numbers, TCP_NONE: the first one. Returns TCP_NONE at
 * the end. *range is 0 at first and advances. */
uint32_t tcp_ranges_next(const struct tcp *t, const struct tcp_conn *c, uint32_t *range, uint32_t buf);

/* Frees all out-of-order buffers. */
void tcp_ranges_free(struct tcp *t, struct tcp_conn *c);

/* --- ack.c --- */

/* RFC 5961 5.2: may the peer have sent this acknowledgement? It must not cover bytes never sent,
 * nor lie more than a window below what is acknowledged already, nor below the connection's first
 * byte even if that is within a window. */
static inline bool tcp_ack_acceptable(const struct tcp_conn *c, const struct tcp_segment *s)
{
	return seq_le(s->ack, c->snd_max) && seq_ge(s->ack, c->ack_floor);
}

/* Processes the ACK of a segment for which tcp_ack_acceptable is true. */
void tcp_ack(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s);

/* --- scoreboard.c --- */

/* Must be called before a SACK, loss or retransmission is recorded: makes the scoreboard if there
 * is none. */
void tcp_board_begin(struct tcp *t, struct tcp_conn *c);

/* With a scoreboard: buf was sent for the first time and is the last one sent. */
void tcp_board_sent(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf was sent again: updates its marks as well. */
void tcp_board_sent_again(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf becomes SACKED and was not before: updates the sums as well. */
void tcp_board_sacked(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf was sent and, unless SACKED, is believed lost: updates marks and sums. */
void tcp_mark_lost(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf, which was sent, leaves the front of the queue; its marks are still unchanged. */
void tcp_board_acked(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* buf, which was sent and is not SACKED, was cut: `tail` holds the rest, with the same marks. */
void tcp_board_split(struct tcp *t, struct tcp_conn *c, uint32_t buf, uint32_t tail);

/* The first sent chunk from `from` on that does not begin before seq; q_unsent: none. Successive
 * calls pass increasing seq; *lane is lane_first before the first call. */
uint32_t tcp_board_seek(const struct tcp *t, const struct tcp_conn *c, uint32_t from, uint32_t *lane,
                        uint32_t seq);

/* The first chunk from `from` on that is not SACKED, or q_unsent. */
uint32_t tcp_board_unsacked(const struct tcp *t, const struct tcp_conn *c, uint32_t from);

/* The last chunk sent; TCP_NONE: none is outstanding. */
uint32_t tcp_board_last(const struct tcp *t, const struct tcp_conn *c);

/* The last chunk in flight that was sent before rack_order; TCP_NONE: none. */
uint32_t tcp_board_before_rack(const struct tcp *t, struct tcp_conn *c);

/* Makes the scoreboard of a queue whose chunks have their marks and orders already, by their marks.
 * board_end is set. */
void tcp_board_restore(struct tcp *t, struct tcp_conn *c);

/* Clears LOST in all chunks: the loss that began at undo_order was spurious. */
void tcp_board_undo(struct tcp *t, struct tcp_conn *c);

/* On an RTO: the first chunk is lost, and all sent until limit_us, or every one if `all`. */
void tcp_board_timeout(struct tcp *t, struct tcp_conn *c, bool all, uint64_t limit_us);

/* --- loss.c --- */

/* The effect of one acknowledgement. */
struct tcp_acked {
	uint32_t bytes;      /* data bytes acknowledged cumulatively */
	uint32_t delivered;  /* sequence space newly known to have arrived, by ACK or SACK */
	uint32_t before;     /* flight before this acknowledgement */
	uint32_t una_before;
	uint32_t rtt_us;     /* of the newest segment that was sent only once; 0: none */
	uint32_t tsecr;
	bool advanced;       /* snd_una has moved */
	bool sacked;         /* new SACK information */
	bool dsack;
	bool duplicate;      /* a duplicate ACK by RFC 5681 2 */
	bool ece;
	bool has_ts;
	bool retrans_acked;  /* it covers a retransmitted chunk */
};

void tcp_loss_on_ack(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a);

/* The same, with tcp_rack_arrived, for all that was outstanding, one chunk that was sent once, in RECOVERY_OPEN
 * with nothing marked. snd_una has moved. */
void tcp_loss_on_answer(struct tcp *t, struct tcp_conn *c, const struct tcp_chunk *ch);
void tcp_loss_on_timer(struct tcp *t, struct tcp_conn *c);

/* The retransmission timeout, backed off (RFC 6298 5.5), ms. */
uint32_t tcp_rto_ms(const struct tcp *t, const struct tcp_conn *c);

/* An ACK or SACK reports the arrival of a chunk (RFC 8985 6.2, steps 1 to 3). */
void tcp_rack_arrived(struct tcp *t, struct tcp_conn *c, const struct tcp_chunk *ch,
                      struct tcp_acked *a);

/* Arms the timer for the outstanding data. */
void tcp_send_timer(struct tcp *t, struct tcp_conn *c);

/* New data was sent: starts TIMER_SEND if it is not running (RFC 6298 5.1) and postpones a tail
 * loss probe (RFC 8985 7.2), but not beyond the RTO, which runs from the first unacknowledged
 * byte. */
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

/* Sends chunk `buf`: the first unsent one, or another one again. False: no buffer. */
bool tcp_send_chunk(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* Called when the window or a lack of buffers has held data back for a while and nothing is
 * outstanding that would bring an answer (RFC 9293 3.8.6.1, 3.8.6.2.1). */
void tcp_probe(struct tcp *t, struct tcp_conn *c);

/* Sends a segment without data; `seq` is snd_nxt except for probes. */
void tcp_send_empty(struct tcp *t, struct tcp_conn *c, uint8_t flags, uint32_t seq);

/* Sends SYN or SYN-ACK, by state. */
void tcp_send_syn(struct tcp *t, struct tcp_conn *c);

/* Sends a reset for a synchronized connection. */
void tcp_send_reset(struct tcp *t, struct tcp_conn *c);

/* Sends the reset that answers a segment without a connection (RFC 9293 3.10.7.1). */
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

/* Payload of a full segment, less the options that every segment has. */
static inline uint32_t tcp_full(const struct tcp_conn *c)
{
	return c->mss - (c->flags & CONN_TS ? TCP_TS_BYTES : 0u);
}

/* --- queue.c --- */

/*
 * The number of chunks of one connection is bounded: one per TCP_CHUNK_BYTES_MIN bytes of snd_buf,
 * plus TCP_CHUNKS_MIN. A peer chooses the segment size (48 bytes of MSS, 36 beside timestamps), and
 * each segment takes a buffer, so a bound in bytes would not limit buffers (CVE-2019-11479). An MSS
 * below 536 is obeyed all the same: RFC 9293 3.7.1 (MUST-16) requires it, and small hosts have
 * reasons for it.
 */
#define TCP_CHUNK_BYTES_MIN 256
#define TCP_CHUNKS_MIN 16

static inline uint32_t tcp_snd_buf(const struct tcp *t, const struct tcp_conn *c)
{
	return c->flags & CONN_SND_GIVEN ? t->p.snd_buf_given : t->p.snd_buf;
}

static inline uint32_t tcp_queue_most(const struct tcp *t, const struct tcp_conn *c)
{
	return tcp_snd_buf(t, c) / TCP_CHUNK_BYTES_MIN + TCP_CHUNKS_MIN;
}

static inline bool tcp_queue_full(const struct tcp *t, const struct tcp_conn *c)
{
	return c->q_bufs >= tcp_queue_most(t, c);
}

/* Appends `len` bytes at `off` in a buffer of the connection's as a chunk never sent. */
void tcp_queue_append(struct tcp *t, struct tcp_conn *c, uint32_t buf, unsigned off, unsigned len);

/* Appends up to n copied bytes to the queue; returns how many. */
uint32_t tcp_queue_copy(struct tcp *t, struct tcp_conn *c, const uint8_t *data, uint32_t n);

/* The same for bytes outside the pool (buf_set_outside), of which only those are copied that still fit into a chunk
 * with other bytes. */
uint32_t tcp_queue_outside(struct tcp *t, struct tcp_conn *c, const uint8_t *data, uint32_t n, unsigned kind);

/* Queues the payload in its buffer, which passes to the connection. */
void tcp_queue_pkt(struct tcp *t, struct tcp_conn *c, const struct pkt *p);

/* Queues FIN if one is due and a buffer is available. */
void tcp_queue_fin(struct tcp *t, struct tcp_conn *c);

/* Cuts a chunk after `len` bytes of payload. False: no buffer, or the queue has its maximum of
 * chunks and those outstanding will free some. */
bool tcp_queue_split(struct tcp *t, struct tcp_conn *c, uint32_t buf, uint32_t len);

/* Refills a chunk left over from a cut, from the chunks behind it that also have to be cut.
 * Otherwise a smaller MSS would turn each rest into a small segment. */
void tcp_queue_fill(struct tcp *t, struct tcp_conn *c, uint32_t buf);

/* Removes everything before `ack` from the queue; returns bytes of payload. Calls tcp_rack_arrived
 * for each chunk sent, and fills in a. */
uint32_t tcp_queue_ack(struct tcp *t, struct tcp_conn *c, uint32_t ack, struct tcp_acked *a);

void tcp_queue_free(struct tcp *t, struct tcp_conn *c);

/* --- timer.c --- */

/* The connection's entry of the wheel moves to `tick`. */
void tcp_timer_move(struct tcp *t, struct tcp_conn *c, uint64_t tick);

static inline void tcp_timer_set(struct tcp *t, struct tcp_conn *c, enum tcp_timer which, uint32_t ms)
{
	/* rounded up: never early (RFC 6298 1) */
	uint32_t ticks = ms + (t->now_us != t->tick_us);
	uint64_t tick = t->tick + ticks;
	c->at_ms[which] = t->now_ms + ticks;
	c->armed |= (uint8_t)(1u << which);
	if (unlikely(c->wheel.tick > tick || !c->wheel.prev))
		tcp_timer_move(t, c, tick);
}

static inline void tcp_timer_clear(struct tcp_conn *c, enum tcp_timer which)
{
	c->armed &= (uint8_t)~(1u << which);
}

/* Puts a connection into the wheel by its armed timers; overdue ones are due now. */
void tcp_timers_resume(struct tcp *t, struct tcp_conn *c);

/* Sets TIMER_LIFE as the state requires. */
void tcp_life_timer(struct tcp *t, struct tcp_conn *c);

static inline bool tcp_timer_armed(const struct tcp_conn *c, enum tcp_timer which)
{
	return c->armed >> which & 1;
}

#endif
