/* DHCP messages that come although no address of ours is their destination (dataplane/dhcp.h). */
#ifndef CONTROL_HOST_DHCP_INPUT_H
#define CONTROL_HOST_DHCP_INPUT_H

#include "net/counters.h"
#include "runtime/runtime.h"

/* Takes a message from a data core that holds such an IPv4 packet (dhcp_is_wanted). Returns its fate. */
enum counter dhcp_input(const struct core_msg *m);

#endif
