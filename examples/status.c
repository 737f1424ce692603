/* A host's command line options and its status output (host.h). */
#include "examples/host.h"

#include <inttypes.h>
#include <string.h>

/* --- options --- */

void host_defaults(struct host_options *o)
{
	*o = (struct host_options){
		.tap.dev = "tap0", .dad_transmits = 1,
		.mac = {0x02, 0x48, 0x79, 0, 0, 1}, .tcp = TCP_PARAMS_DEFAULT,
	};
}

const struct option_row *host_options_table(struct host_options *o)
{
	struct tcp_params *t = &o->tcp;
	const struct option_row rows[] = {
		{"dev", OPTION_TEXT, &o->tap.dev, "tap device (tap0)"},
		{"fd", OPTION_U32, &o->tap.fd, "an open device instead"},
		{"tun", OPTION_ON, &o->tap.tun, "the device is a tun"},
		{"address", OPTION_PREFIX, o->address, "one of each family, or one (192.0.2.1/24)"},
		{"gateway", OPTION_ADDR, o->gateway, "the way to other networks, of each family"},
		{"dad-transmits", OPTION_U32, &o->dad_transmits, "probes a second apart, before an IPv6 address is used (1)"},
		{"mac", OPTION_MAC, o->mac, "Ethernet address (02:48:79:00:00:01)"},
		{"mtu", OPTION_U32, &t->mtu, "of the link (1500)"},
		{"offload", OPTION_ON, &o->tap.offload, "Linux does checksums and segments"},
		{"sg", OPTION_ON, &o->sg, "packets in pieces, without other offloads"},
		{"in", OPTION_TEXT, &o->tap.in, "trouble: loss=1,delay=20,... (impair.h)"},
		{"out", OPTION_TEXT, &o->tap.out, "the same on the way out"},
		{"seed", OPTION_U64, &o->tap.seed, "of that trouble"},
		{"pcap", OPTION_TEXT, &o->tap.pcap, "file for all frames"},
		{"buffers", OPTION_U32, &o->buffers, "for packets (32768; with --offload 8192)"},
		{"connections", OPTION_U32, &t->connections, "at most"},
		{"syn-max", OPTION_U32, &t->syn_max, "half-open connections before SYN cookies"},
		{"rcv-buf", OPTION_U32, &t->rcv_buf, "bytes of a connection"},
		{"rcv-buf-max", OPTION_U32, &t->rcv_buf_max, "to which it may grow; 0: not"},
		{"snd-buf", OPTION_U32, &t->snd_buf, "bytes of a connection"},
		{"reassembly", OPTION_U32, &t->reassembly_bufs, "buffers out of order"},
		{"newreno", OPTION_ON, &o->newreno, "instead of CUBIC"},
		{"no-sack", OPTION_OFF, &t->sack, "feature off"},
		{"no-timestamps", OPTION_OFF, &t->timestamps, "feature off"},
		{"no-window-scale", OPTION_OFF, &t->window_scale, "feature off"},
		{"no-ecn", OPTION_OFF, &t->ecn, "feature off"},
		{"fastopen", OPTION_ON, &o->fastopen, "TCP Fast Open"},
		{"keepalive", OPTION_U32, &t->keepalive_ms, "ms idle before a probe (off)"},
		{"keepalive-interval", OPTION_U32, &t->keepalive_interval_ms, "ms between probes"},
		{"keepalive-probes", OPTION_U32, &t->keepalive_probes, "before giving up"},
		{"user-timeout", OPTION_U32, &t->user_timeout_ms, "ms without acknowledgement"},
		{"syn-timeout", OPTION_U32, &t->syn_timeout_ms, "ms to open"},
		{"time-wait", OPTION_U32, &t->time_wait_ms, "ms"},
		{"key", OPTION_TEXT, &o->key, "a number instead of a secret: runs alike"},
		{NULL, OPTION_ON, NULL, NULL},
	};
	static struct option_row table[ARRAY_LEN(rows)];
	memcpy(table, rows, sizeof rows);
	return table;
}

/* --- status --- */

static void status_link(const char *name, const struct impair *i, FILE *to)
{
	const struct impair_counts *c = &i->counts;
	fprintf(to, ",\"%s\":{\"passed\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"duplicated\":%" PRIu64
	        ",\"reordered\":%" PRIu64 ",\"corrupted\":%" PRIu64 ",\"marked\":%" PRIu64
	        ",\"overflowed\":%" PRIu64 "}", name, c->passed, c->lost, c->duplicated,
	        c->reordered, c->corrupted, c->marked, c->overflowed);
}

void host_status(struct host *h)
{
	uint64_t fates = 0;
	const char *comma = "";
	printf("{\"counters\":{");
	for (unsigned i = 0; i < CNT_MAX; i++) {
		if (counter_desc[i].kind != COUNTER_INFO)
			fates += h->cnt.v[i];
		if (h->cnt.v[i]) {
			printf("%s\"%s\":%" PRIu64, comma, counter_desc[i].name, h->cnt.v[i]);
			comma = ",";
		}
	}
	printf("},\"received\":%" PRIu64 ",\"fates\":%" PRIu64, h->received, fates);
	printf(",\"sent\":%" PRIu64 ",\"send_failed\":%" PRIu64, h->tap.tx_frames, h->tap.tx_lost);
	printf(",\"buffers\":%u,\"buffers_free\":%u", h->pool.count, h->pool.free);
	printf(",\"connections\":%u,\"established\":%u,\"syn_received\":%u,\"time_wait\":%u",
	       tcp_connections(h->tcp), tcp_count(h->tcp, TCP_ESTABLISHED),
	       tcp_count(h->tcp, TCP_SYN_RECEIVED), tcp_count(h->tcp, TCP_TIME_WAIT));
	status_link("link_in", &h->tap.in, stdout);
	status_link("link_out", &h->tap.out, stdout);
	if (h->ops->status)
		h->ops->status(h, stdout);
	puts("}");
	fflush(stdout);
}
