/*
 * The inside of the echo application: what its files know of each other.
 *
 *     echo.c   which service a packet is for; hooks of struct app
 *     udp.c    the services over UDP
 *     tcp.c    the services over TCP
 *     text.c   what the character generator says
 */
#ifndef APPS_ECHO_SERVICES_H
#define APPS_ECHO_SERVICES_H

#include "dataplane/services.h"
#include "dataplane/state.h"

/* udp.c: takes a datagram for one of the services, in p, a packet to us as udp_check()
 * wants it. False: it is for none of them; p is the caller's and unchanged. */
bool udp_service(struct pkt *p, const struct services *services);

/* tcp.c: listens on the ports of the services, if this core has TCP. */
void tcp_services_start(const struct services *services);

/*
 * text.c: RFC 864's pattern, lines of 72 out of the ring of 95 printable characters, each line
 * beginning one further on, CR LF behind. It repeats after CHARGEN_BYTES, which chargen_text() has.
 */
#define CHARGEN_LINE 74
#define CHARGEN_BYTES (95u * CHARGEN_LINE)
void chargen_init(void);
const char *chargen_text(void);

#endif
