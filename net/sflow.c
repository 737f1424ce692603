/* See sflow.h. */
#include "net/sflow.h"

#include "lib/bytes.h"
#include "lib/mem.h"

#define VERSION 5
#define ADDRESS_IP4 1
#define ADDRESS_IP6 2
#define FLOW_SAMPLE 1      /* data formats of enterprise 0 */
#define COUNTERS_SAMPLE 2
#define SAMPLED_HEADER 1
#define IF_COUNTERS 1
#define ETHERNET_COUNTERS 2
#define PROTOCOL_ETHERNET 1
#define FCS_BYTES 4
#define TYPE_ETHERNET 6 /* ifType ethernetCsmacd */
#define FULL_DUPLEX 1

#define FLOW_WORDS 16     /* of a flow sample, its format and length included, without the head of the frame */
#define COUNTERS_BYTES (20 + 8 + 88 + 8 + 52)

static void put32(struct sflow_datagram *d, uint32_t v)
{
	be32_store(d->bytes + d->at, v);
	d->at += 4;
}

static void put64(struct sflow_datagram *d, uint64_t v)
{
	put32(d, (uint32_t)(v >> 32));
	put32(d, (uint32_t)v);
}

void sflow_begin(struct sflow_datagram *d, const struct net_addr *agent, uint32_t sequence, uint32_t uptime_ms)
{
	const bool four = net_addr_is_ip4(agent);
	d->at = 0;
	put32(d, VERSION);
	put32(d, four ? ADDRESS_IP4 : ADDRESS_IP6);
	if (four) {
		put32(d, net_addr_to_ip4(agent));
	} else {
		memcpy(d->bytes + d->at, agent, sizeof *agent);
		d->at += sizeof *agent;
	}
	put32(d, 0); /* sub_agent_id */
	put32(d, sequence);
	put32(d, uptime_ms);
	d->head = d->at;
	d->samples = 0;
	put32(d, 0);
}

static bool fits(const struct sflow_datagram *d, uint32_t bytes) { return bytes <= sizeof d->bytes - d->at; }

/* Ends a sample. */
static bool count_one(struct sflow_datagram *d)
{
	be32_store(d->bytes + d->head, ++d->samples);
	return true;
}

bool sflow_put_flow(struct sflow_datagram *d, const struct sflow_flow *f)
{
	const uint32_t kept = f->kept < SFLOW_HEAD_MAX ? f->kept : SFLOW_HEAD_MAX, padded = (kept + 3) & ~3u;
	if (!fits(d, 4 * FLOW_WORDS + padded))
		return false;
	put32(d, FLOW_SAMPLE);
	put32(d, 4 * (FLOW_WORDS - 2) + padded);
	put32(d, f->sequence);
	put32(d, f->source); /* type 0 in the high byte: ifIndex */
	put32(d, f->rate);
	put32(d, f->pool);
	put32(d, f->drops);
	put32(d, f->input);
	put32(d, f->output);
	put32(d, 1); /* records */
	put32(d, SAMPLED_HEADER);
	put32(d, 4 * 4 + padded);
	put32(d, PROTOCOL_ETHERNET);
	put32(d, f->length + FCS_BYTES);
	put32(d, FCS_BYTES); /* stripped */
	put32(d, kept);
	memcpy(d->bytes + d->at, f->head, kept);
	memset(d->bytes + d->at + kept, 0, padded - kept);
	d->at += padded;
	return count_one(d);
}

static void put_if_counters(struct sflow_datagram *d, const struct sflow_counters *c)
{
	put32(d, IF_COUNTERS);
	put32(d, 88);
	put32(d, c->source);
	put32(d, TYPE_ETHERNET);
	put64(d, c->speed);
	put32(d, FULL_DUPLEX);
	put32(d, (uint32_t)c->admin_up | (uint32_t)c->oper_up << 1);
	put64(d, c->in_octets);
	put32(d, c->in_packets);
	put32(d, SFLOW_NO_COUNTER); /* multicast and broadcast are among the packets above */
	put32(d, SFLOW_NO_COUNTER);
	put32(d, c->in_discards);
	put32(d, c->in_errors);
	put32(d, SFLOW_NO_COUNTER); /* unknown protocols */
	put64(d, c->out_octets);
	put32(d, c->out_packets);
	put32(d, SFLOW_NO_COUNTER);
	put32(d, SFLOW_NO_COUNTER);
	put32(d, c->out_discards);
	put32(d, c->out_errors);
	put32(d, c->promiscuous);
}

/* In the order of EtherLike-MIB (RFC 3635). What no driver counts is marked so. */
static void put_ethernet_counters(struct sflow_datagram *d, const struct sflow_counters *c)
{
	put32(d, ETHERNET_COUNTERS);
	put32(d, 52);
	put32(d, SFLOW_NO_COUNTER); /* alignment errors */
	put32(d, c->fcs_errors);
	for (unsigned i = 0; i < 6; i++) /* single, multiple collisions, SQE test, deferred, late, excessive collisions */
		put32(d, SFLOW_NO_COUNTER);
	put32(d, c->internal_transmit_errors);
	put32(d, SFLOW_NO_COUNTER); /* carrier sense errors */
	put32(d, c->frame_too_longs);
	put32(d, c->internal_receive_errors);
	put32(d, SFLOW_NO_COUNTER); /* symbol errors */
}

bool sflow_put_counters(struct sflow_datagram *d, const struct sflow_counters *c)
{
	if (!fits(d, COUNTERS_BYTES))
		return false;
	put32(d, COUNTERS_SAMPLE);
	put32(d, COUNTERS_BYTES - 8);
	put32(d, c->sequence);
	put32(d, c->source);
	put32(d, 2); /* records */
	put_if_counters(d, c);
	put_ethernet_counters(d, c);
	return count_one(d);
}
