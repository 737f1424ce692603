/*
 * The plan: a parsed script, checked as a whole. script.c makes the plan, frames.c builds frames
 * from it, and the control core passes it to the data cores in published memory. It is plain data
 * without pointers, so it may be copied.
 *
 * Addresses are in network order as on the wire (struct net_addr, bytes), ports, tags and lengths
 * in host order. Frame lengths are without FCS here; in scripts and reports they include the FCS,
 * as in RFC 2544 and Ethernet.
 */
#ifndef PKTGEN_PLAN_H
#define PKTGEN_PLAN_H

#include "lib/types.h"
#include "net/addr.h"

#define PLAN_STREAMS_MAX 32
#define PLAN_PORTS_MAX 16
#define PLAN_LIST_MAX 32   /* values of a list */
#define PLAN_FIELDS_MAX 8  /* modifiers of a stream */
#define PLAN_SIZES_MAX 16  /* frame sizes of a stream */
#define PLAN_NAME_BYTES 24
#define PLAN_FILE_BYTES 64
#define PLAN_VLANS_MAX 2   /* tags of a frame */
#define PLAN_FRAME_MIN 60  /* 64 with FCS */
#define PLAN_FRAME_MAX 9216
#define PLAN_FCS_BYTES 4
/* Default of catch_up_ns. At 100 Gbit/s a full ring lasts 7 us; pauses of the host take 50. */
#define PLAN_CATCH_UP_NS 1000000ull
#define PLAN_WIRE_BYTES 20 /* preamble, SFD, least gap: L1 adds them to frame and FCS */

enum plan_proto { PLAN_UDP, PLAN_TCP, PLAN_ICMP, PLAN_IP_ONLY }; /* ICMP: echo requests */

/* How a field changes from frame to frame. The value in frame n, with k = n modulo count: */
enum plan_mode {
	PLAN_INCREMENT, /* first + k * step */
	PLAN_RANDOM,    /* first + a random number below count, made of n and seed (frames.h) */
	PLAN_LIST,      /* list[k] */
};

enum plan_where {
	PLAN_MAC_SRC, PLAN_MAC_DST, PLAN_VLAN, /* the outer tag's ID */
	PLAN_IP_SRC, PLAN_IP_DST, /* of an IPv6 address the low 64 bits */
	PLAN_PORT_SRC, PLAN_PORT_DST, /* in ICMP: identifier, sequence number */
	PLAN_PAYLOAD, /* `bytes` bytes at `offset` of the payload */
};

struct plan_field {
	enum plan_where where;
	enum plan_mode mode;
	uint64_t first, step, count; /* numbers in host order; count at least 1 */
	uint64_t seed;
	uint64_t list[PLAN_LIST_MAX];
	uint16_t offset; /* in the payload, after the stamp if there is one */
	uint8_t bytes;   /* 1, 2, 4 or 8 */
};

/* The size of frame n: size[n modulo sizes] (IMIX is such a list), or a random one from size[0] to
 * size[1], by size_seed. */
enum plan_sizes { PLAN_SIZES_LIST, PLAN_SIZES_RANDOM };

enum plan_rate_unit {
	PLAN_FLAT,    /* as fast as the ring takes frames */
	PLAN_PPS,     /* frames a second */
	PLAN_L1_BPS,  /* bits a second on the wire: frame, FCS, preamble, gap */
	PLAN_L2_BPS,  /* bits a second of frame and FCS */
	PLAN_PERCENT, /* of the port's line rate, in 1/1000 per cent */
	PLAN_RECORDED, /* the times of the replayed capture; value: speed in 1/PLAN_SPEED_ONE */
};

#define PLAN_SPEED_EXPONENT 3
#define PLAN_SPEED_ONE 1000

struct plan_rate {
	enum plan_rate_unit unit;
	uint64_t value;
};

/* The length of a run: whichever limit is reached first; 0: no limit. */
struct plan_limit {
	uint64_t ns;
	uint64_t frames;
};

/* A stream that sends the frames of a capture. It has one sender. The stream's members that
 * describe frames have no effect. */
struct plan_replay {
	char file[PLAN_FILE_BYTES]; /* name of the capture; empty: the frames are built */
	uint32_t line;              /* of the script */
	uint64_t rounds;            /* number of times the file is sent; 0: until a limit */
};

struct plan_stream {
	char name[PLAN_NAME_BYTES];
	uint32_t line;      /* of the script */
	uint8_t port;       /* that sends the frames */
	uint8_t port_in;    /* that should receive them; PLAN_PORT_NONE: any port */
	uint8_t cores;      /* data cores that share the stream; 0: all */
	bool stamped;       /* frames carry struct stamp: they are counted, judged and timed */
	bool resolve;       /* the destination MAC is resolved (ARP, ND) as for our own packets */
	enum plan_proto proto;
	bool v6;
	uint8_t mac_src[6], mac_dst[6]; /* src all zero: the port's own */
	struct net_addr src, dst;
	uint16_t sport, dport;
	uint8_t ttl, tos, tcp_flags;
	uint8_t vlans;
	uint16_t vlan[PLAN_VLANS_MAX]; /* TCI, outer first */
	enum plan_sizes size_mode;
	uint8_t sizes;
	uint16_t size[PLAN_SIZES_MAX];
	uint64_t size_seed;
	uint8_t fields;
	struct plan_field field[PLAN_FIELDS_MAX];
	struct plan_rate rate;
	bool card_rate;     /* kept by the card's limiter: PLAN_L2_BPS, alone on port and core */
	struct plan_rate rate_end; /* of a ramp: linearly from rate to rate_end over ramp_ns */
	uint64_t ramp_ns;          /* 0: no ramp */
	uint32_t burst;            /* frames sent back to back; 1: frames are evenly spaced */
	uint16_t weight;           /* frames per turn, among PLAN_FLAT streams of one port */
	struct plan_limit limit;
	struct plan_replay replay;
};
#define PLAN_PORT_NONE 0xff

/* The hosts behind a port: addresses for which the generator answers ARP and ND requests. */
struct plan_answer {
	uint8_t port, plen; /* plen of 128 bits, as in struct net_addr */
	uint32_t line;
	struct net_addr prefix;
};
#define PLAN_ANSWERS_MAX 32

/* Frames that are timed by the cards, one at a time beside the streams (probe.h). */
struct plan_probe {
	uint32_t line;
	uint8_t port, port_in;
	bool ip;                 /* PTP over UDP; false: directly over Ethernet */
	struct net_addr src, dst;
	uint64_t every_ns;       /* interval; 0: no probes */
};

/* The capture of a port: frames received during a run (capture.h). */
struct plan_capture {
	uint32_t line;   /* of the script */
	uint32_t size;   /* bytes to keep of a frame, without FCS; 0: the port is not captured */
	uint64_t frames; /* number of frames to keep, the first ones; 0: no limit */
};

enum plan_test {
	PLAN_RUN, PLAN_THROUGHPUT, PLAN_LATENCY, PLAN_FRAME_LOSS, PLAN_BACK_TO_BACK, PLAN_TESTS
};

/* RFC 2544 26.1 to 26.4. The tests set rate and size of all streams. */
struct plan_rfc2544 {
	uint32_t tests;      /* bits 1 << PLAN_THROUGHPUT ... */
	uint32_t line;
	uint8_t sizes;
	uint16_t size[PLAN_SIZES_MAX]; /* of the frames; by default those of section 9.1 */
	uint64_t duration_ns;          /* of sending in a trial: 60 s by section 24 */
	uint64_t settle_ns;            /* after it, for frames in flight: 2 s by section 23 */
	uint64_t learn_ns;             /* after learning frames: 2 s; 0: no learning frames */
	uint64_t rest_ns;              /* after the trial, for the device: 5 s */
	uint64_t loss_ppm;   /* allowed loss of a throughput trial; 0 by RFC 1242 3.17 */
	uint64_t resolution; /* of the search, in 1/1000 per cent of line rate */
	uint64_t rate_min, rate_max;   /* of the search, in the same unit */
	uint32_t repeats;    /* of latency and back-to-back trials; 20, 50 by sections 26.2, 26.4 */
};

struct plan {
	uint8_t streams, answers;
	bool has_rfc2544;
	bool autostart;          /* the script contains `run` */
	bool verify;             /* check the checksums of received frames, too */
	struct plan_limit limit; /* of the run */
	uint64_t catch_up_ns;    /* a stream catches up by this much at most; 0: PLAN_CATCH_UP_NS */
	struct plan_rfc2544 rfc2544;
	struct plan_probe probe;
	struct plan_stream stream[PLAN_STREAMS_MAX];
	struct plan_answer answer[PLAN_ANSWERS_MAX];
	/* Assumed line rate of a port, L1; 0: that of its link. */
	uint64_t line_bps[PLAN_PORTS_MAX];
	uint32_t line_line[PLAN_PORTS_MAX]; /* of the script */
	struct plan_capture capture[PLAN_PORTS_MAX];
};

/* The ports that are captured, by bit. */
static inline uint32_t plan_captured(const struct plan *p)
{
	uint32_t ports = 0;
	for (unsigned i = 0; i < PLAN_PORTS_MAX; i++)
		ports |= (uint32_t)(p->capture[i].size != 0) << i;
	return ports;
}

static inline uint64_t plan_catch_up_ns(const struct plan *p)
{
	return p->catch_up_ns ? p->catch_up_ns : PLAN_CATCH_UP_NS;
}

#endif
