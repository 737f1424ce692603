/* See packet.h. */
#include "net/ntp/packet.h"

#include "lib/bytes.h"
#include "lib/mem.h"

#define SECONDS_1900_TO_1970 2208988800u
#define SECONDS_1900_TO_2024 3913056000u
#define ERA_SECONDS (1ull << 32)

#define MODE_CLIENT 3
#define MODE_SERVER 4
#define VERSION_MIN 3 /* a server answers in the version of the request, or in its own lower one */

/* by offset (7.3, figure 8) */
#define AT_STRATUM 1
#define AT_POLL 2
#define AT_PRECISION 3
#define AT_ROOT_DELAY 4
#define AT_ROOT_DISPERSION 8
#define AT_REFERENCE_ID 12
#define AT_REFERENCE 16
#define AT_ORIGIN 24
#define AT_RECEIVE 32
#define AT_TRANSMIT 40

void ntp_request(uint8_t out[NTP_BYTES], uint64_t cookie)
{
	memset(out, 0, NTP_BYTES);
	out[0] = NTP_VERSION << 3 | MODE_CLIENT;
	memcpy(out + AT_TRANSMIT, &cookie, sizeof cookie);
}

/* The short format: 16 bits of seconds, 16 of their fraction. */
static int64_t short_ns(const uint8_t *p) { return (int64_t)((uint64_t)be32_load(p) * NTP_SECOND_NS >> 16); }

uint64_t ntp_time_ns(uint64_t timestamp)
{
	uint64_t seconds = timestamp >> 32;
	if (seconds < SECONDS_1900_TO_2024)
		seconds += ERA_SECONDS;
	return (seconds - SECONDS_1900_TO_1970) * NTP_SECOND_NS + ((timestamp & UINT32_MAX) * NTP_SECOND_NS >> 32);
}

int64_t ntp_precision_ns(int8_t precision)
{
	if (precision >= 0)
		return NTP_SECOND_NS;
	return precision < -29 ? 1 : (int64_t)NTP_SECOND_NS >> -precision;
}

/* Tests 6 and 7 of figure 22 (9.2), as in A.5.1.1: the server's clock is synchronized, and its distance
 * from the reference clock is believable. */
static bool is_synchronized(const struct ntp_packet *p)
{
	return p->leap != NTP_LEAP_UNKNOWN && p->stratum < NTP_STRATUM_MAX &&
	       p->root_delay_ns / 2 + p->root_dispersion_ns < NTP_MAXDISP_NS && p->reference_ns <= p->transmit_ns;
}

enum counter ntp_answer(const uint8_t *data, unsigned len, uint64_t cookie, struct ntp_packet *p)
{
	if (len < NTP_BYTES || (data[0] & 7) != MODE_SERVER)
		return CNT_drop_ntp_malformed;
	memset(p, 0, sizeof *p);
	p->leap = data[0] >> 6;
	p->version = data[0] >> 3 & 7;
	p->stratum = data[AT_STRATUM];
	if (p->version < VERSION_MIN || p->version > NTP_VERSION)
		return CNT_drop_ntp_malformed;
	if (memcmp(data + AT_ORIGIN, &cookie, sizeof cookie) != 0)
		return CNT_drop_ntp_origin;
	p->reference_id = be32_load(data + AT_REFERENCE_ID);
	p->kiss = p->stratum == 0;
	if (p->kiss)
		return CNT_NONE;
	const uint64_t reference = be64_load(data + AT_REFERENCE), receive = be64_load(data + AT_RECEIVE),
	               transmit = be64_load(data + AT_TRANSMIT);
	if (receive == 0 || transmit == 0)
		return CNT_drop_ntp_malformed;
	p->poll = data[AT_POLL];
	p->precision = (int8_t)data[AT_PRECISION];
	p->root_delay_ns = short_ns(data + AT_ROOT_DELAY);
	p->root_dispersion_ns = short_ns(data + AT_ROOT_DISPERSION);
	p->reference_ns = reference ? ntp_time_ns(reference) : 0;
	p->receive_ns = ntp_time_ns(receive);
	p->transmit_ns = ntp_time_ns(transmit);
	if (p->transmit_ns < p->receive_ns)
		return CNT_drop_ntp_malformed;
	return is_synchronized(p) ? CNT_NONE : CNT_drop_ntp_unsynchronized;
}
