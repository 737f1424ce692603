/*
 * Messages of syslog (RFC 5424), as a sender writes them. Each is one UDP datagram (RFC 5426 3.1), or one frame of
 * another transport.
 *
 *     <PRI>1 TIMESTAMP HOSTNAME APP-NAME PROCID MSGID STRUCTURED-DATA MSG
 */
#ifndef NET_SYSLOG_H
#define NET_SYSLOG_H

#include "lib/log_level.h"
#include "lib/types.h"

#define SYSLOG_PORT 514 /* RFC 5426 3.3 */
#define SYSLOG_TLS_PORT 6514 /* RFC 5425 4.1 */
#define SYSLOG_LOCAL0 16 /* facilities, table 1 of RFC 5424 6.2.1: local0 to local7 */
#define SYSLOG_LOCALS 8

struct syslog_message {
	unsigned facility; /* 0 to 23 */
	enum log_level level;
	uint64_t utc_ns;      /* since 1970; 0: the time of day is not known */
	bool synchronized;    /* to a reliable source of time (7.1.2) */
	const char *hostname; /* printable ASCII without blanks, as app and msgid; cut at 255, 48 and 32 bytes; "": none */
	const char *app;
	const char *msgid;
	uint64_t sequence;      /* from 1 on; begins again behind 2147483647 (7.3.1) */
	uint64_t since_boot_ns; /* 7.3.2 */
	const char *text;       /* printable ASCII */
};

/* Writes the message with a NUL behind it, cut at `size`; returns its length without that NUL. 700 bytes hold a text of
 * 447. */
size_t syslog_put(char *buf, size_t size, const struct syslog_message *m);

#endif
