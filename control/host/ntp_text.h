/* What the console and the page say about NTP. */
#ifndef CONTROL_HOST_NTP_TEXT_H
#define CONTROL_HOST_NTP_TEXT_H

#include "net/ntp/client.h"

/* A time as decimal milliseconds or seconds: "-0.123456". Returns buf. */
#define NTP_TEXT_MAX 48
char *ntp_text_ms(char buf[NTP_TEXT_MAX], int64_t ns);
char *ntp_text_s(char buf[NTP_TEXT_MAX], int64_t ns);

/* A frequency in parts per million: "-12.345". */
char *ntp_text_ppm(char buf[NTP_TEXT_MAX], int32_t frequency);

/* Four characters of stratum 1 or of a kiss code, else an address (of IPv6 servers a hash); "-" for 0. */
char *ntp_text_reference(char buf[NTP_TEXT_MAX], unsigned stratum, uint32_t id);

/* rejected, falseticker, outlier, candidate, system peer; denied, unresolved. */
const char *ntp_text_verdict(const struct ntp_server *s);

#endif
