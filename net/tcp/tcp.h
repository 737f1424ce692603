/*
 * TCP (RFC 9293) over IPv4 and IPv6: a function of (packet, time). Each core has its own instance;
 * instances share nothing.
 *
 * An instance (struct tcp) has no thread, no clock and no device. Its owner gives it memory once
 * and calls it with received packets and with the time. The instance calls back through struct
 * tcp_ops to send a packet and through struct tcp_app to report what happens to a connection. In
 * the loop of a data core:
 *
 *     tcp_input(t, packets, n, now_us)   for each received vector
 *     tcp_tick(t, now_us)                once per iteration, and not after tcp_deadline(t)
 *     tcp_room(t, now_us)                when there is room again after tcp_ops.full
 *
 * An application is a struct tcp_app. This one echoes what it receives:
 *
 *     static bool accept(struct tcp_conn *c) { return true; }
 *     static void data(struct tcp_conn *c, struct pkt *p) { tcp_send_pkt(c, p); }
 *     static void acked(struct tcp_conn *c, uint32_t n) { tcp_consumed(c, n); }
 *     static void fin(struct tcp_conn *c) { tcp_close(c); }
 *     static const struct tcp_app echo = {.accept = accept, .data = data, .acked = acked, .fin = fin};
 *     ...
 *     tcp_listen(t, &(struct tcp_listen){.port = 7, .app = &echo});
 *
 * (Received bytes count against the window until tcp_consumed. The echo calls it when the peer has
 * acknowledged the echoed bytes, so tcp_send_pkt always has room while snd_buf >= rcv_buf. The
 * instance never lets rcv_buf grow beyond snd_buf.)
 *
 * Zero copy. A received payload is passed on in the buffer it arrived in. A payload given to
 * tcp_send_pkt is sent from its own buffer and kept there until it is acknowledged; the header is
 * written in front of it if there is room. Small payloads are copied together (TCP_COPY_MAX).
 *
 * Implemented: RFC 9293 with 7323 (window scale, timestamps, PAWS), 2018 and 2883 (SACK, D-SACK),
 * 8985 (RACK-TLP; it covers what 6675 does), 6582 (NewReno for peers without SACK), 5681, 6928,
 * 9438 (CUBIC), 6937 (PRR), 6298, 3042, 3168 (ECN), 5961, 6528, 4987 (SYN cookies), 7413 (Fast
 * Open), 6093 (urgent data in line), 1191 and 8201 with black-hole fallback, 6191 (TIME-WAIT
 * re-use).
 *
 * Connections can move between instances: move.h.
 *
 * Deliberately missing: windows that shrink again when a connection is idle, sending IP options and
 * extension headers, flow labels (0), precedence, RFC 1144 compression, use of one buffer pool by
 * two cores at the same time.
 *
 * Units: addresses are struct net_addr; ports are in host order; lengths are in bytes. Times are
 * arguments, in us of any clock that does not run backwards. Calls without a time (tcp_send,
 * tcp_close and so on) use the time of the last call that had one. Outside of callbacks, an owner
 * that was idle for long therefore calls tcp_tick first. No call waits. An int result is E_OK or a
 * negative enum error.
 */
#ifndef NET_TCP_TCP_H
#define NET_TCP_TCP_H

#include "lib/pkt.h"
#include "lib/siphash.h"
#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "net/tcp/congestion.h"

struct tcp;
struct tcp_conn;

/* --- an instance --- */

enum tcp_offload {
	TCP_TX_CSUM = 1, /* the driver or device completes PKT_CSUM_PARTIAL */
	TCP_TX_SG = 2,   /* PKT_CHAIN may be sent */
	TCP_TX_TSO4 = 4, /* PKT_TSO may be sent for IPv4 (4) or IPv6 (6); each needs the first
	                    two */
	TCP_TX_TSO6 = 8,
	TCP_TX_TSO = TCP_TX_TSO4 | TCP_TX_TSO6,
};

/* The owner's parameters. TCP_PARAMS_DEFAULT has a sensible value for each. */
struct tcp_params {
	uint32_t connections;     /* at most, in all states: the memory is taken at once. When all are in
	                             use the oldest TIME-WAIT ends; without any, SYNs get cookies */
	uint32_t listeners;
	uint32_t syn_max;         /* half-open (SYN-RECEIVED); further SYNs are answered by SYN
	                             cookies */
	uint32_t fastopen_max;    /* half-open connections using Fast Open; 0: no Fast Open */
	uint32_t reassembly_bufs; /* buffers with out-of-order segments, over all connections */
	uint32_t rcv_buf, snd_buf; /* bytes per connection; rcv_buf <= 2^30. However small the
	                              segments, each uses at most one buffer per 256 bytes */
	uint32_t rcv_buf_max;     /* rcv_buf may grow to this and to snd_buf, if a peer fills it and
	                             the application keeps up; <= rcv_buf: it does not grow */
	uint32_t rcv_buf_given;   /* the most that tcp_set_rcv_buf gives a connection; 0: nothing */
	uint32_t snd_buf_given;   /* the snd_buf of a connection after tcp_set_snd_buf; 0: none has it */
	uint32_t mtu;             /* largest IP packet on the links, bytes; tcp_ops.mtu6 may say
	                             less */
	uint32_t offload;         /* enum tcp_offload */
	uint32_t pool_reserve;    /* buffers to leave in the pool: below this, windows do not
	                             open */
	enum cc_algorithm congestion;
	uint32_t rto_min_ms;      /* RFC 6298 2.4 says 1 s (SHOULD); 200 ms is common practice */
	uint32_t rto_max_ms;
	uint32_t delack_ms;       /* RFC 9293 3.8.6.3: < 500 */
	uint32_t syn_timeout_ms;  /* limit for an unanswered active or passive open */
	uint32_t user_timeout_ms; /* limit for unacknowledged data (RFC 9293 3.8.3, R2) */
	uint32_t keepalive_ms;    /* idle before the first probe; 0: off (RFC 9293 3.8.4: default off) */
	uint32_t keepalive_interval_ms;
	uint32_t keepalive_probes;
	uint32_t time_wait_ms;    /* 2 MSL */
	uint32_t fin_wait2_ms;    /* silence of a peer that has not closed after we did; 0: no
	                             limit */
	uint32_t challenge_acks;  /* per connection in 5 s (RFC 5961 7) */
	bool ecn, timestamps, sack, window_scale; /* offered and accepted */
	uint16_t port_first, port_last; /* the ephemeral range */
};

#define TCP_PARAMS_DEFAULT ((struct tcp_params){ \
	.connections = 16384, .listeners = 16, .syn_max = 2048, .fastopen_max = 256, \
	.reassembly_bufs = 8192, .rcv_buf = 262144, .snd_buf = 4194304, \
	.rcv_buf_max = 4194304, .mtu = 1500, \
	.pool_reserve = 1024, .congestion = CC_CUBIC, .rto_min_ms = 200, .rto_max_ms = 60000, \
	.delack_ms = 40, .syn_timeout_ms = 180000, .user_timeout_ms = 120000, \
	.keepalive_interval_ms = 75000, .keepalive_probes = 9, .time_wait_ms = 60000, \
	.fin_wait2_ms = 60000, .challenge_acks = 10, .ecn = true, .timestamps = true, .sack = true, \
	.window_scale = true, .port_first = 32768, .port_last = 60999})

struct tcp_ops {
	/*
	 * Sends p. Its Ethernet header (ETH_HLEN bytes, not yet written) starts at p->data and the
	 * IP packet follows. Its buffers pass to the callee. Flags: PKT_OWN and those
	 * params.offload allows. May be called during any call of the instance, but must not call
	 * it.
	 */
	void (*tx)(void *ctx, struct pkt *p);

	/*
	 * Returns 0 if the transmit path to `remote` has room for another packet. Otherwise returns
	 * the number of that path (a "way"), 1 to TCP_WAYS, and the connection waits for
	 * tcp_room(). Asked before packets that can wait: data, acknowledgements, and packets sent
	 * by timers. The first answer to a SYN, resets and cookies go to tx at once; each received
	 * segment or application call causes at most one. Must not call the instance. NULL: there
	 * is always room.
	 */
	unsigned (*full)(void *ctx, const struct net_addr *remote);

	/*
	 * The MTU of the link used to reach `remote`, for IPv6: where routers advertise an MTU, it
	 * may fall, or rise again up to params.mtu. Asked when a connection begins and when its
	 * path MTU is probed again. Must not call the instance. NULL: params.mtu.
	 */
	unsigned (*mtu6)(void *ctx, const struct net_addr *remote);

	/*
	 * Called while an ephemeral port is chosen: would the answers to such a connection reach
	 * this core (RSS)? NULL: always.
	 */
	bool (*ours)(void *ctx, const struct net_addr *local, uint16_t local_port,
	             const struct net_addr *remote, uint16_t remote_port);

	/*
	 * Asked about a segment without a connection: may another instance have that connection, or
	 * is it on its way from one to the other (move.h)? Then the segment is dropped without an
	 * answer. NULL: never.
	 */
	bool (*elsewhere)(void *ctx, const struct net_addr *local, uint16_t local_port,
	                  const struct net_addr *remote, uint16_t remote_port);
};

#define TCP_WAYS 16

/* Bytes of memory that an instance needs for its tables. */
size_t tcp_memory_bytes(const struct tcp_params *params);

/*
 * Makes an instance in `mem`: tcp_memory_bytes() bytes, 64-byte aligned, with any content, owned by
 * the instance from now on. The memory of a connection is not touched until the connection exists.
 * Buffers come from `pool`, events are counted in `cnt`. `key` is secret and random; it protects
 * sequence numbers, cookies and the hash table. All pointers stay valid as long as the instance
 * exists.
 */
struct tcp *tcp_init(void *mem, const struct tcp_params *params, struct bufpool *pool,
                     struct counters *cnt, const struct siphash_key *key,
                     const struct tcp_ops *ops, void *ctx, uint64_t now_us);

/*
 * Takes n received packets. Each has an IP packet at data + ETH_HLEN that has passed ip4_check, or
 * ip6_check and, unless its next header is TCP, ip6_upper. It is TCP, not a fragment, and for one
 * of our addresses. The checksum is verified here unless PKT_CSUM_OK or PKT_CSUM_PARTIAL is set.
 * The buffers pass to the instance, and each packet is counted under one fate. Answers are sent
 * before the call returns; segments of one connection are acknowledged together.
 */
void tcp_input(struct tcp *t, struct pkt *v, unsigned n, uint64_t now_us);

/*
 * Takes an ICMP error about a TCP segment of ours. `ip` is the quoted IP packet, of which the first
 * `len` bytes are there; `what` is the error. The error is believed only if the quoted sequence
 * number is in flight (RFC 5927 4.1).
 */
enum tcp_icmp { TCP_ICMP_UNREACH, TCP_ICMP_TOO_BIG };
void tcp_icmp(struct tcp *t, const uint8_t *ip, unsigned len, enum tcp_icmp what, uint32_t mtu,
              uint64_t now_us);

/* The same for a message read by icmp4_input(), an ICMP4_KIND_ERROR. Soft errors (RFC 9293 3.9.2.2,
 * MUST-56: net or host unreachable, time exceeded, parameter problem) have no effect. Hard errors
 * end only an open; SHLD-26 would end any connection, and RFC 5927 5.2 says why not. */
void tcp_icmp4(struct tcp *t, const struct icmp4_msg *m, uint64_t now_us);
void tcp_icmp6(struct tcp *t, const struct icmp6_msg *m, uint64_t now_us);

/* Does all work due at now_us. */
void tcp_tick(struct tcp *t, uint64_t now_us);

/* The time by which tcp_tick has to be called; UINT64_MAX: no timer is armed. */
uint64_t tcp_deadline(const struct tcp *t);

/*
 * A full way may have room again: connections that wait for it send, in the order they came, until
 * it is full. Costs nothing while no connection waits. A full way must have room in the end, even
 * if only to drop the packets, because the timers of its connections wait as well.
 */
void tcp_room(struct tcp *t, uint64_t now_us);

/* --- opening --- */

/* Events of a connection. Called during tcp_input, tcp_tick, tcp_icmp and, if the event concerns
 * another connection, during the calls below. May call all functions below. A NULL member is not
 * called. */
struct tcp_app {
	/* An incoming connection is established. Returning false resets it. Required for
	 * listening. */
	bool (*accept)(struct tcp_conn *c);

	/* The connection opened by tcp_connect is established. */
	void (*connected)(struct tcp_conn *c);

	/* Received bytes, in order: p->data, p->len (1 or more). The buffer passes to the
	 * application, which frees it (pkt_free) or sends it (tcp_send_pkt). Required. */
	void (*data)(struct tcp_conn *c, struct pkt *p);

	/* `bytes` were acknowledged: there is that much more room to send. 0: tcp_send had taken
	 * less than there was room for because buffers had run out; now it may take more. */
	void (*acked)(struct tcp_conn *c, uint32_t bytes);

	/* The peer has closed its half and sends no more data. This side can still send. */
	void (*fin)(struct tcp_conn *c);

	/* Urgent data is expected or has arrived: see tcp_urgent(). It is delivered in line by data
	 * (RFC 6093). */
	void (*urgent)(struct tcp_conn *c);

	/* The connection has ended for any reason except tcp_abort(); c is invalid after the call.
	 * E_OK: both sides have closed. E_RESET: the peer reset it. E_TIMEOUT. E_REFUSED: the open
	 * was refused. */
	void (*closed)(struct tcp_conn *c, int why);
};

struct tcp_listen {
	struct net_addr addr; /* one of ours, or NET_ADDR_ANY */
	uint16_t port;
	bool fastopen;        /* accepts data in a SYN with a cookie (RFC 7413) */
	bool nodelay;         /* connections begin with Nagle's algorithm off */
	const struct tcp_app *app;
	void *arg;            /* initial tcp_arg() of its connections */
};

/* E_NOMEM: too many listeners. E_INVAL: port 0, or the address and port already have a listener. */
int tcp_listen(struct tcp *t, const struct tcp_listen *l);

/* Stops listening on the port: SYNs and the ACKs of earlier SYN cookies (RFC 4987) are reset.
 * Existing connections go on; one that is not established yet is still accepted. */
void tcp_unlisten(struct tcp *t, uint16_t port);

struct tcp_open {
	struct net_addr local, remote; /* of one family */
	uint16_t local_port; /* 0: choose an ephemeral port (RFC 6056 3.3.3) */
	uint16_t remote_port;
	bool nodelay;
	bool fastopen;       /* sends `data` with the SYN if a cookie is known, else asks for a
	                        cookie */
	const void *data;    /* first bytes to send, copied; at most snd_buf */
	uint32_t data_len;
	const struct tcp_app *app;
	void *arg;
};

/* Begins an active open. On failure returns NULL and sets *error (unless NULL): E_NOMEM, or
 * E_INVAL: no free port, a connection with the same addresses and ports, or remote_port 0. */
struct tcp_conn *tcp_connect(struct tcp *t, const struct tcp_open *o, uint64_t now_us, int *error);

/* --- a connection: valid from accept or tcp_connect until closed returns, or tcp_abort() --- */

/* Bytes that tcp_send, tcp_send_outside and tcp_send_pkt would take now. */
uint32_t tcp_send_room(const struct tcp_conn *c);

/* Copies and sends up to n bytes and returns the bytes taken: fewer if snd_buf is full or the
 * buffer pool is low, 0 also if this side has closed. */
uint32_t tcp_send(struct tcp_conn *c, const void *data, uint32_t n);

/*
 * The same as tcp_send without a copy, where the device can send pieces (TCP_TX_SG). The bytes lie outside the pool, in
 * memory that devices can read, and must not change while pool->outside[kind] is not 0 (lib/pkt.h, buf_set_outside):
 * until the peer has acknowledged them, and the device has sent what it holds.
 */
uint32_t tcp_send_outside(struct tcp_conn *c, const void *data, uint32_t n, unsigned kind);

/* Sends p->data, p->len (1 or more; neither PKT_CHAIN nor PKT_SHARED) from its buffer, which passes
 * to the connection. On E_AGAIN (no room) and E_INVAL (closed) the caller keeps it. */
int tcp_send_pkt(struct tcp_conn *c, struct pkt *p);

/* The same as tcp_send, and all queued bytes up to the last one taken become urgent (RFC 9293
 * 3.8.5). Data and mark are one call because bytes given to tcp_send may have left when it
 * returns. */
uint32_t tcp_send_urgent(struct tcp_conn *c, const void *data, uint32_t n);

/* The application has finished with n received bytes: the window opens by n. */
void tcp_consumed(struct tcp_conn *c, uint32_t n);

/* Received bytes that the application has not consumed. */
uint32_t tcp_unconsumed(const struct tcp_conn *c);

/* Bytes taken by these functions that the peer has not acknowledged. */
uint32_t tcp_unacked(const struct tcp_conn *c);

/* Closes this side: FIN follows the queued data. The connection still receives. */
void tcp_close(struct tcp_conn *c);

/* Ends the connection at once with a reset; `closed` is not called. */
void tcp_abort(struct tcp_conn *c);

void *tcp_arg(const struct tcp_conn *c);
void tcp_set_arg(struct tcp_conn *c, void *arg);
void tcp_set_nodelay(struct tcp_conn *c, bool on);
void tcp_set_keepalive(struct tcp_conn *c, bool on); /* idle time params.keepalive_ms; 0: 2 h */
void tcp_set_user_timeout(struct tcp_conn *c, uint32_t ms);

/* The connection's rcv_buf, for an application that receives much and does not hold buffers: at least the
 * present one, at most params.rcv_buf_given. It does not depend on snd_buf. */
void tcp_set_rcv_buf(struct tcp_conn *c, uint32_t bytes);

/* Gives the connection params.snd_buf_given, for an application that has one connection with much
 * to send. */
void tcp_set_snd_buf(struct tcp_conn *c);
struct tcp *tcp_instance(const struct tcp_conn *c);

/* True while urgent data is pending. *bytes: undelivered bytes up to the end of urgent data, 0 if
 * there are none. */
bool tcp_urgent(const struct tcp_conn *c, uint32_t *bytes);

enum tcp_state {
	TCP_CLOSED,
	TCP_SYN_SENT,
	TCP_SYN_RECEIVED,
	TCP_ESTABLISHED,
	TCP_FIN_WAIT_1,
	TCP_FIN_WAIT_2,
	TCP_CLOSE_WAIT,
	TCP_CLOSING,
	TCP_LAST_ACK,
	TCP_TIME_WAIT,
};

/* Readable state of a connection. */
struct tcp_info {
	struct net_addr local, remote;
	uint16_t local_port, remote_port;
	enum tcp_state state;
	uint32_t mss;            /* payload of a full segment at present */
	uint32_t cwnd, ssthresh;
	uint32_t flight;         /* bytes believed to be in the network */
	uint32_t unsent, unacked; /* bytes queued */
	uint32_t bufs;           /* of the pool, that these are in */
	uint32_t snd_wnd, rcv_wnd;
	uint32_t srtt_us, rttvar_us, rto_us, min_rtt_us;
	uint32_t retransmits;    /* segments */
	bool timestamps, sack, window_scale, ecn, in_recovery;
};
void tcp_info(const struct tcp_conn *c, struct tcp_info *out);

/* tcp_count: connections in one state. tcp_connections: in all states but TCP_CLOSED. */
uint32_t tcp_count(const struct tcp *t, enum tcp_state state);
uint32_t tcp_connections(const struct tcp *t);

/*
 * Walks the connections, in no particular order. Returns the next one among the `looks` records
 * from *cursor on, or NULL if they hold none. *cursor is 0 at first and advances; at the end it
 * stays.
 */
struct tcp_conn *tcp_next(const struct tcp *t, uint32_t *cursor, uint32_t looks);

#endif
