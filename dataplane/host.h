/*
 * A host: an application that answers at our own addresses and forwards nothing. TCP segments go to the instance of
 * this data core (dataplane/tcp_data.h), datagrams to the application, if it takes any. ARP and all other packets
 * for us go to the control core, which answers ping and refuses the rest. No service takes fragments: they go to
 * the control core.
 *
 *     calls                 in its hook
 *     host_start            data_start, before tcp_listen(tcp_data, ...)
 *     host_tables           data_tables
 *     host_vector           rx_vector
 */
#ifndef DATAPLANE_HOST_H
#define DATAPLANE_HOST_H

#include "dataplane/services.h"
#include "runtime/runtime.h"

/* struct app, vector_max. 64-byte requests by virtio on 16, 64 and 256 connections (KVM in software, medians of 4
 * turns): 2.4, 2.8 and 2.9 million a second with 8 packets, 1.4, 2.7 and 2.9 with 32, 1.4, 1.4 and 1.5 with 256.
 * With 16 packets and the prefetches of host_vector: 1.7, 2.9 and 3.0, instead of 2.7, 3.1 and 3.2 with 8. */
#define HOST_VECTOR 8

/* Takes p, a packet to us in the form that udp_check() defines, and returns true, or leaves it unchanged to
 * the caller. */
typedef bool (*host_udp)(struct pkt *p, const struct services *services);

/* udp: NULL: all datagrams go to the control core. */
void host_start(host_udp udp);

void host_tables(void);

void host_vector(struct pkt *v, unsigned n, unsigned port);

#endif
