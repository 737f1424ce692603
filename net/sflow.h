/*
 * sFlow version 5 (sflow.org, sflow_version_5.txt), as an agent writes it: datagrams in XDR (RFC 4506). They
 * contain flow samples, with the first bytes of a frame, and counter samples of ports. Only the compact forms
 * are written: indexes of interfaces are below 2^24.
 */
#ifndef NET_SFLOW_H
#define NET_SFLOW_H

#include "lib/types.h"
#include "net/addr.h"

#define SFLOW_PORT 6343
#define SFLOW_DATAGRAM_MAX 1400 /* bytes of a datagram: below the MTU of a path with tunnels */
#define SFLOW_HEAD_MAX 128      /* bytes of a frame in a flow sample */

/* Output interfaces (typedef interface): an index below, or one of these. */
#define SFLOW_UNKNOWN 0u
#define SFLOW_INTERNAL 0x3fffffffu          /* the machine itself */
#define SFLOW_DISCARDED(reason) (1u << 30 | (reason)) /* reasons below 256: codes of ICMP destination unreachable */
#define SFLOW_NO_COUNTER 0xffffffffu        /* the machine does not count this */

struct sflow_datagram {
	uint32_t at;      /* bytes so far */
	uint32_t samples;
	uint32_t head;    /* offset of the number of samples */
	uint8_t bytes[SFLOW_DATAGRAM_MAX];
};

/* Begins a datagram. uptime_ms: since the agent started. */
void sflow_begin(struct sflow_datagram *d, const struct net_addr *agent, uint32_t sequence, uint32_t uptime_ms);

struct sflow_flow {
	uint32_t sequence; /* of the flow samples of this source */
	uint32_t source;   /* ifIndex of the port that samples */
	uint32_t rate;     /* one of so many packets */
	uint32_t pool;     /* packets that could have been sampled, modulo 2^32 */
	uint32_t drops;    /* samples lost for lack of resources, likewise */
	uint32_t input, output;
	uint32_t length;   /* of the frame, without FCS */
	const uint8_t *head;
	uint32_t kept;     /* bytes of it, at most SFLOW_HEAD_MAX */
};

struct sflow_counters {
	uint32_t sequence; /* of the counter samples of this source */
	uint32_t source;
	uint64_t speed;    /* bit/s */
	bool admin_up, oper_up, promiscuous;
	uint64_t in_octets, out_octets;
	uint32_t in_packets, in_discards, in_errors, out_packets, out_discards, out_errors; /* modulo 2^32 */
	uint32_t fcs_errors, frame_too_longs, internal_receive_errors, internal_transmit_errors;
};

/* Append a sample. False: it does not fit, and nothing has changed; it fits into an empty datagram. */
bool sflow_put_flow(struct sflow_datagram *d, const struct sflow_flow *f);
bool sflow_put_counters(struct sflow_datagram *d, const struct sflow_counters *c);

#endif
