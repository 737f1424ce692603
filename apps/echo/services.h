/*
 * The interfaces between the files of the echo application.
 *
 *     echo.c   which service a packet is for; hooks of struct app
 *     udp.c    the services over UDP
 *     tcp.c    the services over TCP
 *     text.c   the pattern of the character generator
 */
#ifndef APPS_ECHO_SERVICES_H
#define APPS_ECHO_SERVICES_H

#include "dataplane/services.h"
#include "dataplane/state.h"

/* udp.c: takes p, a packet to us in the form that udp_check() defines, if it is a datagram for one
 * of the services. False: it is for none; p stays the caller's, unchanged. */
bool udp_service(struct pkt *p, const struct services *services);

/* tcp.c: listens on the ports of the services, if this core has TCP. */
void tcp_services_start(const struct services *services);

/*
 * text.c: RFC 864's pattern: lines of 72 characters from the ring of 95 printable ones, each
 * starting one character later than the line before, and ending in CR LF. The pattern repeats after
 * CHARGEN_BYTES; chargen_text() returns these. chargen_init() makes them.
 */
#define CHARGEN_LINE 74
#define CHARGEN_BYTES (95u * CHARGEN_LINE)
void chargen_init(void);
const char *chargen_text(void);

#endif
