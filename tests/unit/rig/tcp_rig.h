/*
 * Instances of TCP joined by a wire, in virtual time: the laboratory of the property tests.
 *
 * A rig has hosts, each an instance with a buffer pool of its own, and for each host the wire that
 * leads away from it. Time jumps from event to event. Everything random comes from the rig's seed,
 * so that number alone repeats a run; it is printed when something is wrong.
 *
 *     tcp_rig.c     hosts, events, time
 *     tcp_link.c    a device that resolves TSO, chains and partial checksums; the path of a segment
 *     tcp_police.c  the rules for every segment, whatever the state of its connection
 *     tcp_flow.c    applications that talk to each other and check what they receive
 *
 * Invariants
 * 1. Nothing here shares code with what is tested except lib/: formats are written out once more.
 * 2. A host is given a segment in a buffer of its pool whose other bytes are poisoned. The frames
 *    it sends must not change until the device has read them.
 * 3. When something is wrong the process ends at once (rig_fail), after printing the seed.
 *
 * Both versions of IP: odd seeds use IPv4, even ones IPv6. An address is 32 bits, which in IPv6
 * follow a prefix that all hosts share.
 *
 * Omitted: extension headers, Ethernet (the header is neither written nor read), VLAN tags.
 */
#ifndef TESTS_UNIT_RIG_TCP_RIG_H
#define TESTS_UNIT_RIG_TCP_RIG_H

#include "tests/unit/rig/host.h"

#include "net/tcp/tcp.h"

#define RIG_HOSTS 4
#define RIG_POSTED 16
#define MS 1000u
#define SECOND 1000000u
#define MILLION 1000000u

/* Ends the process with the text, the seed, and the line. */
_Noreturn void rig_fail(const char *file, unsigned line, const char *format, ...)
	PRINTF_LIKE(3, 4);
#define rig_check(expr) \
	do { \
		if (!(expr)) \
			rig_fail(__FILE__, __LINE__, "%s", #expr); \
	} while (0)
#define rig_check_equal(a, b) \
	do { \
		unsigned long long a_ = (unsigned long long)(a), b_ = (unsigned long long)(b); \
		if (a_ != b_) \
			rig_fail(__FILE__, __LINE__, "%s is %llu, %s is %llu", #a, a_, #b, b_); \
	} while (0)

/* A random-number generator of its own for one thing (splitmix64). */
struct chance {
	uint64_t state;
};
uint64_t chance_next(struct chance *c);
static inline uint32_t chance_below(struct chance *c, uint32_t n)
{
	return (uint32_t)((chance_next(c) >> 32) * n >> 32);
}
static inline bool chance_ppm(struct chance *c, uint32_t ppm)
{
	return ppm != 0 && chance_below(c, MILLION) < ppm;
}
static inline uint32_t chance_range(struct chance *c, uint32_t low, uint32_t high)
{
	return low + chance_below(c, high - low + 1);
}

/* What happens to the packets that a host sends. All zero: they arrive at once, whole and in
 * order. */
struct wire {
	uint64_t rate_bps;        /* 0: no limit */
	uint32_t queue_bytes;     /* before the rate limit; 0: no limit */
	uint32_t mark_bytes;      /* with more than this queued, ECT becomes CE; 0: never */
	uint32_t delay_us;
	uint32_t jitter_us;       /* added at random; order is kept */
	uint32_t loss_ppm;
	uint32_t burst_ppm, burst_segments; /* how often a run of losses begins; how long it is */
	uint32_t dup_ppm;
	uint32_t reorder_ppm, reorder_us;   /* some are late by up to this, later ones overtake them */
	uint32_t corrupt_ppm;     /* one byte is changed */
	uint32_t ce_ppm;          /* ECT becomes CE */
	uint32_t mtu;             /* of a router on the path; 0: as the links */
	bool icmp;                /* whether that router sends ICMP (RFC 1191) */
	bool cut;                 /* nothing gets through */
};

struct wire_state {
	uint64_t busy_ns;         /* the rate limit is busy until then */
	uint64_t last_us;         /* last arrival in order */
	uint32_t burst_left;
	uint64_t burst_end_us;
	uint64_t segments, bytes, lost, dropped_full, corrupted, marked, too_big;
};

struct rig_host_params {
	struct tcp_params tcp;
	uint32_t bufs, stride;
	uint32_t device_us;  /* most time until the device reads a given frame; 0: at once */
	uint32_t device_room; /* frames that fill it (tcp_ops.full); 0: no limit */
	uint32_t batch_us;   /* arrivals within this time come in one vector */
	uint32_t late_us;    /* most delay of tcp_tick after the deadline */
	uint32_t ring;       /* most segments that wait for the host; 0: 1024 */
	bool checked;        /* the device verifies checksums (PKT_CSUM_OK) */
	uint64_t key;
};

/* The default: TCP_PARAMS_DEFAULT with small tables and long timeouts. */
struct rig_host_params rig_host_default(void);

struct rig_frame;

struct rig_host {
	struct rig *rig;
	unsigned index;
	uint32_t addr;
	struct rig_host_params p;
	struct tcp *tcp;
	void *mem;
	struct bufpool pool;
	uint8_t *bufs;
	uint32_t *stack;
	struct counters cnt;

	/* the wire from here */
	struct wire wire;
	struct wire_state way;
	/* sees each segment before the wire, and may change it; false: it is lost */
	bool (*filter)(struct rig_host *h, uint8_t *ip, unsigned len);
	void *filter_arg;

	/* frames that the device has not yet read */
	struct rig_sent *sent_first, *sent_last;
	uint32_t sent_n;
	/* Receive buffers of the device: it keeps them when the pool is empty, so an
	 * acknowledgement can always be received and free others. */
	struct pkt posted[RIG_POSTED];
	unsigned posted_n;
	/* segments that wait for the next tcp_input */
	struct rig_frame **ring;
	unsigned waiting;
	bool rx_due;

	uint64_t due_us, deadline_us; /* when tcp_tick will be called; what tcp_deadline returned */
	uint64_t given;               /* packets given to tcp_input */
	uint64_t frames, no_buffer, ring_full, bad; /* sent; lost on arrival */
};

struct rig {
	uint64_t seed, now_us;
	struct chance chance;
	struct rig_host host[RIG_HOSTS];
	unsigned hosts;
	struct event *heap;
	unsigned events, heap_room;
	uint64_t order;
	struct police *police;
	struct rig_frame *free_frames[2];
	bool trace;
	bool ip6;

	/* A machine of several hosts with one address: which of them gets a segment that arrives for
	 * `to`, NULL: it waits; whose connection is not at h (tcp_ops.elsewhere). NULL: each is alone. */
	struct rig_host *(*route)(struct rig_host *to, const uint8_t *ip);
	bool (*elsewhere)(struct rig_host *h, uint16_t local_port, uint16_t remote_port);
	bool overtakes; /* what one of them sends may arrive after what the other sends later */
	void *machine;
};

/* True if the run of this seed is over IPv6. */
static inline bool rig_is_ip6(uint64_t seed) { return seed % 2 == 0; }

/* An address in the form that instances use. */
struct net_addr rig_addr(const struct rig *r, uint32_t addr);

/* --- tcp_rig.c --- */

/* How often a test runs its property: SEED=n runs that seed alone, RUNS=n that many from the first
 * on. Otherwise random_rounds(usual). */
struct rig_runs {
	uint64_t first, end;
};
struct rig_runs rig_runs(const char *test, unsigned usual);

struct rig *rig_new(uint64_t seed, uint64_t now_us);
struct rig_host *rig_host_add(struct rig *r, const struct rig_host_params *p);

/* Sets both wires of hosts 0 and 1. */
void rig_wires(struct rig *r, const struct wire *w);

/* Calls fn(arg) at that time. */
void rig_at(struct rig *r, uint64_t t_us, void (*fn)(void *), void *arg);

/* Lets time pass until t_us, and does all that is due. */
void rig_run(struct rig *r, uint64_t t_us);

/* Lets time pass until nothing is pending, which must be before t_us. */
void rig_run_dry(struct rig *r, uint64_t t_us);

/* Lets time pass until done(arg), which must be before t_us. */
void rig_run_until(struct rig *r, uint64_t t_us, bool (*done)(void *), void *arg);

/*
 * Checks the end state: no buffer is missing, no connection left, no timer armed, each packet has
 * had one fate. Frees the rig.
 */
void rig_end(struct rig *r);

/* The same checks without the end, and without that of connections. */
void rig_check_fates(const struct rig *r);

/* Injects an IP packet as if from the wire; it need not come from a host. */
void rig_inject(struct rig_host *to, const uint8_t *ip, unsigned len);

/* The host with this address, or NULL. */
struct rig_host *rig_host_of(struct rig *r, uint32_t addr);

/* --- tcp_link.c --- */

/* The device of a host takes a frame (struct tcp_ops). */
void wire_tx(void *ctx, struct pkt *p);
unsigned wire_full(void *ctx, const struct net_addr *remote);
bool wire_elsewhere(void *ctx, const struct net_addr *local, uint16_t local_port,
                    const struct net_addr *remote, uint16_t remote_port);

/* The device reads what is due. */
void wire_device(struct rig_host *h);

/* A segment arrives. */
void wire_arrive(struct rig_host *to, struct rig_frame *f);

/* Gives buffers to the device, as far as there are any. */
void wire_post(struct rig_host *h);

/* Passes the vector of arrived segments to the instance. */
void wire_receive(struct rig_host *h);

/* An ICMP error arrives that quotes f. */
void wire_icmp(struct rig_host *to, struct rig_frame *f);

struct rig_frame {
	struct rig_frame *next;
	uint32_t room, len;
	uint32_t mtu; /* of an ICMP error */
	bool damaged;
	uint8_t ip[];
};
struct rig_frame *rig_frame_new(struct rig *r, unsigned len);
void rig_frame_free(struct rig *r, struct rig_frame *f);

enum event_kind { EVENT_CALL, EVENT_ARRIVE, EVENT_ICMP, EVENT_RECEIVE, EVENT_DEVICE };
struct event {
	uint64_t t_us, order;
	enum event_kind kind;
	struct rig_host *host;
	struct rig_frame *frame;
	void (*fn)(void *);
	void *arg;
};
void rig_event(struct rig *r, const struct event *e);

/* The sum of RFC 1071 over n bytes, folded, not inverted, in host order. */
uint32_t wire_sum(const uint8_t *p, size_t n, uint32_t sum);

/* The TCP checksum of the packet at ip, including its own field: 0 if that is correct. */
uint16_t wire_tcp_csum(const uint8_t *ip);

/* Rewrites the checksums, for filters that change a segment. */
void wire_csum_set(uint8_t *ip);

/* Writes an IP header before n bytes of TCP; returns where those begin. */
uint8_t *wire_ip_put(const struct rig *r, uint8_t *ip, uint32_t src, uint32_t dst, unsigned n);

static inline unsigned get16(const uint8_t *p) { return (unsigned)p[0] << 8 | p[1]; }
static inline uint32_t get32(const uint8_t *p) { return (uint32_t)get16(p) << 16 | get16(p + 2); }
static inline void set16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}
static inline void set32(uint8_t *p, uint32_t v)
{
	set16(p, v >> 16);
	set16(p + 2, v);
}

/* Fields of an IP packet with TCP in it. */
#define IP6_PREFIX 0x20010db8u
static inline bool ip_is6(const uint8_t *ip) { return ip[0] >> 4 == 6; }
static inline unsigned ip_hlen(const uint8_t *ip) { return ip_is6(ip) ? 40 : (ip[0] & 15u) * 4; }
static inline unsigned ip_len(const uint8_t *ip)
{
	return ip_is6(ip) ? 40 + get16(ip + 4) : get16(ip + 2);
}
static inline uint32_t ip_from(const uint8_t *ip) { return get32(ip + (ip_is6(ip) ? 20 : 12)); }
static inline uint32_t ip_to(const uint8_t *ip) { return get32(ip + (ip_is6(ip) ? 36 : 16)); }
static inline unsigned ip_ecn(const uint8_t *ip) { return ip_is6(ip) ? ip[1] >> 4 & 3 : ip[1] & 3; }
static inline uint8_t *seg_tcp(const uint8_t *ip) { return (uint8_t *)ip + ip_hlen(ip); }
static inline unsigned seg_hlen(const uint8_t *ip) { return (seg_tcp(ip)[12] >> 4) * 4u; }
static inline unsigned seg_len(const uint8_t *ip)
{
	return ip_len(ip) - ip_hlen(ip) - seg_hlen(ip);
}
static inline uint32_t seg_seq(const uint8_t *ip) { return get32(seg_tcp(ip) + 4); }
static inline uint32_t seg_ack(const uint8_t *ip) { return get32(seg_tcp(ip) + 8); }
static inline unsigned seg_flags(const uint8_t *ip) { return seg_tcp(ip)[13]; }
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32, ECE = 64, CWR = 128 };

/* The option of that kind, or NULL. */
uint8_t *seg_option(const uint8_t *ip, uint8_t kind);

/* --- tcp_police.c --- */

struct police *police_new(void);
void police_free(struct police *p);

/* Checks a segment that host h sends; ends the process if it breaks a rule. */
void police_segment(struct rig_host *h, const uint8_t *ip, unsigned len);

#endif
