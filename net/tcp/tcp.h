/*
 * TCP (RFC 9293) over IPv4 and IPv6: a function of (packet, time), one instance a core, nothing
 * shared between them.
 *
 * An instance (struct tcp) has no thread, no clock and no device. Its owner calls it with received
 * packets and with the time, gives it memory once, and is called back: by struct tcp_ops to send a
 * packet, by struct tcp_app for what happens to a connection. In a data core's loop:
 *
 *     tcp_input(t, packets, n, now_us)   for each vector that was received
 *     tcp_tick(t, now_us)                once a turn; tcp_deadline(t) says by when at the latest
 *     tcp_room(t, now_us)                when there is room again after tcp_ops.full
 *
 * An application is a struct tcp_app. This one sends back what it gets:
 *
 *     static bool accept(struct tcp_conn *c) { return true; }
 *     static void data(struct tcp_conn *c, struct pkt *p) { tcp_send_pkt(c, p); }
 *     static void acked(struct tcp_conn *c, uint32_t n) { tcp_consumed(c, n); }
 *     static void fin(struct tcp_conn *c) { tcp_close(c); }
 *     static const struct tcp_app echo = {.accept = accept, .data = data, .acked = acked, .fin = fin};
 *     ...
 *     tcp_listen(t, &(struct tcp_listen){.port = 7, .app = &echo});
 *
 * (What was received counts against the window until tcp_consumed; here until the peer has
 * acknowledged its echo, so tcp_send_pkt has room always, while snd_buf >= rcv_buf; that it is not
 * less than what rcv_buf grows to, the instance sees to.)
 *
 * Zero copy. A received payload is given up in the buffer it came in; what is given to tcp_send_pkt
 * is sent from the buffer it lies in, header written in front where there is room, and kept there
 * until it is acknowledged. Small pieces are copied together (TCP_COPY_MAX).
 *
 * What is implemented: RFC 9293 with 7323 (window scale, timestamps, PAWS), 2018 and 2883 (SACK,
 * D-SACK), 8985 (RACK-TLP; it covers what 6675 does), 6582 (NewReno for peers without SACK), 5681,
 * 6928, 9438 (CUBIC), 6937 (PRR), 6298, 3042, 3168 (ECN), 5961, 6528, 4987 (SYN cookies), 7413
 * (Fast Open), 6093 (urgent data in line), 1191 and 8201 with black-hole fallback, 6191 (TIME-WAIT
 * re-use).
 *
 * Deliberately missing: windows that shrink again when a connection is idle, IP options and
 * extension headers of ours, flow labels (0), precedence, RFC 1144 compression, simultaneous use of
 * one buffer pool by two cores.
 *
 * Units: times in us of any clock that does not run backwards, as an argument; calls without one
 * (tcp_send, tcp_close and so on) go by the time of the last call that had it, so outside of
 * callbacks an owner that was idle for long calls tcp_tick first; addresses
 * struct net_addr; ports in host order; lengths in bytes. Nothing waits. An int result is E_OK or a
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
	TCP_TX_CSUM = 1, /* PKT_CSUM_PARTIAL is completed by who sends */
	TCP_TX_SG = 2,   /* PKT_CHAIN is sent */
	TCP_TX_TSO4 = 4, /* PKT_TSO is sent, of IPv4 and of IPv6; each needs the first two */
	TCP_TX_TSO6 = 8,
	TCP_TX_TSO = TCP_TX_TSO4 | TCP_TX_TSO6,
};

/* What the owner chooses. TCP_PARAMS_DEFAULT has a sensible value for all. */
struct tcp_params {
	uint32_t connections;     /* at most, in all states: the memory is taken at once. When all are in
	                             use the oldest TIME-WAIT ends; without any, SYNs get cookies */
	uint32_t listeners;
	uint32_t syn_max;         /* half-open (SYN-RECEIVED); more are answered by SYN cookies */
	uint32_t fastopen_max;    /* of these, those that came with data by Fast Open; 0: no Fast Open */
	uint32_t reassembly_bufs; /* buffers with out-of-order segments, of all connections */
	uint32_t rcv_buf, snd_buf; /* bytes of one connection; rcv_buf <= 2^30. Each takes a buffer
	                              for 256 bytes at most, however small segments are */
	uint32_t rcv_buf_max;     /* rcv_buf may grow to this, and to snd_buf, where a peer fills it and
	                             the application keeps up; not more than rcv_buf: it is fixed */
	uint32_t mtu;             /* bytes of IP packet that the links carry; tcp_ops.mtu6 may say less */
	uint32_t offload;         /* enum tcp_offload */
	uint32_t pool_reserve;    /* buffers to leave in the pool: with fewer, windows open no more */
	enum cc_algorithm congestion;
	uint32_t rto_min_ms;      /* RFC 6298 2.4 says 1 s (SHOULD); as everybody, 200 ms */
	uint32_t rto_max_ms;
	uint32_t delack_ms;       /* RFC 9293 3.8.6.3: < 500 */
	uint32_t syn_timeout_ms;  /* an open, active or passive, that is not answered */
	uint32_t user_timeout_ms; /* data that is not acknowledged (RFC 9293 3.8.3, R2) */
	uint32_t keepalive_ms;    /* idle before the first probe; 0: off (RFC 9293 3.8.4: default off) */
	uint32_t keepalive_interval_ms;
	uint32_t keepalive_probes;
	uint32_t time_wait_ms;    /* 2 MSL */
	uint32_t fin_wait2_ms;    /* silence of a peer that does not close after we did; 0: for ever */
	uint32_t challenge_acks;  /* of one connection in 5 s (RFC 5961 7) */
	bool ecn, timestamps, sack, window_scale; /* offered and accepted */
	uint16_t port_first, port_last; /* ephemeral */
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
	 * Sends p: p->data is where its Ethernet header (ETH_HLEN bytes, not written yet) goes, the
	 * IP packet follows. Its buffers pass on. Flags: PKT_OWN, and what params.offload allows.
	 * May be called during any call of the instance but must not call it.
	 */
	void (*tx)(void *ctx, struct pkt *p);

	/*
	 * Has the way to `remote` no room for another packet? Its number then, 1 to TCP_WAYS: the
	 * connection waits for tcp_room(). 0: it has. Asked before packets that can wait: data,
	 * acknowledgements, what timers send. The first answer to a SYN, resets and cookies go to
	 * tx at once: one for a received segment, or by a call of the application's. Must not call
	 * the instance. NULL: there is always room.
	 */
	unsigned (*full)(void *ctx, const struct net_addr *remote);

	/*
	 * The MTU of the link by which packets go to `remote`, of IPv6: where routers advertise one it
	 * may become less, or more again, up to params.mtu. Asked when a connection begins and when
	 * its path is tried anew. Must not call the instance. NULL: params.mtu.
	 */
	unsigned (*mtu6)(void *ctx, const struct net_addr *remote);

	/*
	 * An ephemeral port is looked for: would the answers of such a connection come to this
	 * core (RSS)? NULL: always.
	 */
	bool (*ours)(void *ctx, const struct net_addr *local, uint16_t local_port,
	             const struct net_addr *remote, uint16_t remote_port);
};

#define TCP_WAYS 16

/* Memory an instance needs for its tables, bytes. */
size_t tcp_memory_bytes(const struct tcp_params *params);

/*
 * Makes an instance in `mem` (tcp_memory_bytes() of them, 64-byte aligned, whatever they hold, the
 * instance's from now on); a connection's part of it is not touched before there is one. Buffers
 * come from `pool`, events are counted in `cnt`; `key` is secret and random (sequence numbers,
 * cookies, hash table). All pointers stay valid for the life of the instance.
 */
struct tcp *tcp_init(void *mem, const struct tcp_params *params, struct bufpool *pool,
                     struct counters *cnt, const struct siphash_key *key,
                     const struct tcp_ops *ops, void *ctx, uint64_t now_us);

/*
 * n received packets. Of each: an IP packet at data + ETH_HLEN that has been through ip4_check, or
 * ip6_check and, unless its next header is TCP, ip6_upper; is TCP, no fragment, and for an address
 * of ours; the checksum is verified here unless PKT_CSUM_OK or PKT_CSUM_PARTIAL. The buffers pass
 * to the instance; each packet is counted in one fate. What it has to say in answer is sent before
 * the call returns; segments of one connection are acknowledged together.
 */
void tcp_input(struct tcp *t, struct pkt *v, unsigned n, uint64_t now_us);

/*
 * An ICMP error about a TCP segment of ours came in: the IP packet it quotes (the first `len` bytes
 * of it are there) and what it says. Believed only if the quoted sequence number is in flight (RFC
 * 5927 4.1).
 */
enum tcp_icmp { TCP_ICMP_UNREACH, TCP_ICMP_TOO_BIG };
void tcp_icmp(struct tcp *t, const uint8_t *ip, unsigned len, enum tcp_icmp what, uint32_t mtu,
              uint64_t now_us);

/* The same for a message as icmp4_input() read it, an ICMP4_KIND_ERROR. Of what says nothing of a
 * connection's end (RFC 9293 3.9.2.2, MUST-56: net or host unreachable, time exceeded, parameter
 * problem) nothing comes; hard errors end an open only (SHLD-26 would end any: RFC 5927 5.2 says
 * why not). */
void tcp_icmp4(struct tcp *t, const struct icmp4_msg *m, uint64_t now_us);
void tcp_icmp6(struct tcp *t, const struct icmp6_msg *m, uint64_t now_us);

/* Does what is due at now_us. */
void tcp_tick(struct tcp *t, uint64_t now_us);

/* When tcp_tick has to be called at the latest; UINT64_MAX: nothing waits for time. */
uint64_t tcp_deadline(const struct tcp *t);

/*
 * A way that was full may have room again: connections that wait for it send, first come first
 * served, until it is full anew. Costs nothing while none waits. A full way must have room in the
 * end, even if only to lose the packets: the timers of its connections wait as well.
 */
void tcp_room(struct tcp *t, uint64_t now_us);

/* --- opening --- */

/* What becomes of a connection. Called during tcp_input, tcp_tick, tcp_icmp and, if it concerns
 * another connection, during calls below; may call all of those below. Those that are NULL are not
 * called. */
struct tcp_app {
	/* A connection came in and is established. False: it is reset. Must be there to listen. */
	bool (*accept)(struct tcp_conn *c);

	/* What tcp_connect began is established. */
	void (*connected)(struct tcp_conn *c);

	/* Received bytes, in order: p->data, p->len (1 or more). The buffer passes to the application,
	 * which frees it (pkt_free) or sends it (tcp_send_pkt). Must be there. */
	void (*data)(struct tcp_conn *c, struct pkt *p);

	/* So many bytes were acknowledged: there is as much room more to send. 0: tcp_send had taken less
	 * than there was room for, because buffers had run out; now it may take more. */
	void (*acked)(struct tcp_conn *c, uint32_t bytes);

	/* The peer has closed its half: no more data comes. Data can still be sent. */
	void (*fin)(struct tcp_conn *c);

	/* Urgent data is on its way or here: tcp_urgent() (RFC 6093: it comes in line, by data). */
	void (*urgent)(struct tcp_conn *c);

	/* The end, whichever came to it, tcp_abort() alone excepted: c is gone after the call. E_OK: both
	 * sides have closed. E_RESET: by the peer. E_TIMEOUT. E_REFUSED: an open was. */
	void (*closed)(struct tcp_conn *c, int why);
};

struct tcp_listen {
	struct net_addr addr; /* one of ours, or NET_ADDR_ANY */
	uint16_t port;
	bool fastopen;        /* takes data in a SYN with a cookie (RFC 7413) */
	bool nodelay;         /* connections begin with Nagle's algorithm off */
	const struct tcp_app *app;
	void *arg;            /* tcp_arg() of its connections, to begin with */
};

/* E_NOMEM: too many listeners. E_INVAL: there is one. */
int tcp_listen(struct tcp *t, const struct tcp_listen *l);

/* Nobody listens on the port any more: SYNs are reset, and cookies that were given (RFC 4987). The
 * connections that have come in go on; one that is not established yet is still accepted. */
void tcp_unlisten(struct tcp *t, uint16_t port);

struct tcp_open {
	struct net_addr local, remote; /* of one family */
	uint16_t local_port; /* 0: an ephemeral one (RFC 6056 3.3.3) */
	uint16_t remote_port;
	bool nodelay;
	bool fastopen;       /* sends `data` with the SYN when a cookie is known, asks for one else */
	const void *data;    /* first bytes to send, copied; not more than snd_buf */
	uint32_t data_len;
	const struct tcp_app *app;
	void *arg;
};

/* Begins to connect; NULL, and *error (unless NULL) set: E_NOMEM, or E_INVAL: no port is free. */
struct tcp_conn *tcp_connect(struct tcp *t, const struct tcp_open *o, uint64_t now_us, int *error);

/* --- a connection, from accept or tcp_connect to the return of closed, or tcp_abort() --- */

/* Bytes that may be given to tcp_send and tcp_send_pkt now. */
uint32_t tcp_send_room(const struct tcp_conn *c);

/* Copies and sends up to n bytes; returns how many were taken: less when snd_buf or the buffer pool
 * is full, 0 also when this side has closed. */
uint32_t tcp_send(struct tcp_conn *c, const void *data, uint32_t n);

/* Sends p->data, p->len (1 or more; neither PKT_CHAIN nor PKT_SHARED) out of its buffer, which
 * passes to the connection. E_AGAIN: no room, or E_INVAL: closed; it is the caller's still. */
int tcp_send_pkt(struct tcp_conn *c, struct pkt *p);

/* The same as tcp_send, and all that is queued becomes urgent up to the last byte taken (RFC 9293
 * 3.8.5). Of one call, because what tcp_send is given may have left when it returns. */
uint32_t tcp_send_urgent(struct tcp_conn *c, const void *data, uint32_t n);

/* The application has done with n bytes that it received: the window opens by so much. */
void tcp_consumed(struct tcp_conn *c, uint32_t n);

/* No more is sent: FIN behind what is queued. Goes on to receive. */
void tcp_close(struct tcp_conn *c);

/* Ends it at once with a reset; `closed` is not called. */
void tcp_abort(struct tcp_conn *c);

void *tcp_arg(const struct tcp_conn *c);
void tcp_set_arg(struct tcp_conn *c, void *arg);
void tcp_set_nodelay(struct tcp_conn *c, bool on);
void tcp_set_keepalive(struct tcp_conn *c, bool on); /* after params.keepalive_ms; 0: after 2 h */
void tcp_set_user_timeout(struct tcp_conn *c, uint32_t ms);
struct tcp *tcp_instance(const struct tcp_conn *c);

/* Bytes not delivered yet up to the end of urgent data, 0: none is. True while there is a mark that
 * has not been passed. */
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

/* What may be looked at. */
struct tcp_info {
	struct net_addr local, remote;
	uint16_t local_port, remote_port;
	enum tcp_state state;
	uint32_t mss;            /* payload of a full segment now */
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

/* Connections in a state; those of all states but TCP_CLOSED: tcp_connections. */
uint32_t tcp_count(const struct tcp *t, enum tcp_state state);
uint32_t tcp_connections(const struct tcp *t);

/*
 * Walks the connections, in no order: the next one among the `looks` records from *cursor on, which
 * is 0 at first and moves on; NULL: there is none among them. At the end of all, *cursor stays.
 */
struct tcp_conn *tcp_next(const struct tcp *t, uint32_t *cursor, uint32_t looks);

#endif
