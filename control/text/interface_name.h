/*
 * Names and keys of interfaces.
 *
 * A key is a name as a number. It means the same interface in every configuration:
 *     ethN       N
 *     ethN.VID   N | VID << 8
 *     vlanN      N | CONFIG_KEY_SVI; a VLAN of the switch
 *     port-channelN, port-channelN.VID
 *                N | VID << 8 | CONFIG_KEY_CHANNEL; a bundle of ports
 *     loN        N | CONFIG_KEY_LOOPBACK
 */
#ifndef CONTROL_TEXT_INTERFACE_NAME_H
#define CONTROL_TEXT_INTERFACE_NAME_H

#include "control/text/text.h"

#define CONFIG_PORTS_MAX 16 /* equals NIC_PORTS_MAX; control/forwarding/interfaces.c asserts it */
#define CONFIG_LOOPBACKS_MAX 16
#define CONFIG_VID_MAX 4094 /* IEEE 802.1Q 9.6 */
#define CONFIG_CHANNELS_MAX 16 /* port channels, from 1 */
#define CONFIG_IF_NAME_SIZE 20 /* "port-channel16.4094" */
#define INTERFACE_COLUMN "%-19s" /* of names in a table of the console, as wide as the longest */
#define PORT_COLUMN "%-14s" /* the same where only ports and port channels are named: "port-channel16" */
#define CONFIG_KEY_LOOPBACK (1u << 31)
#define CONFIG_KEY_SVI (1u << 30) /* a switch virtual interface */
#define CONFIG_KEY_CHANNEL (1u << 29)

/* All names, for error messages. */
#define CONFIG_IF_NAMES "eth0 to eth15, port-channel1 to port-channel16, a VLAN as eth0.100, vlan1 to vlan4094 of a " \
	"switch, or lo0 to lo15"

/* Sets *key to the key of the name; E_INVAL: no interface can have this name. */
int config_key_parse(struct text name, uint32_t *key);

/* Writes the name for the key to buf; returns buf. */
char *config_key_name(char buf[CONFIG_IF_NAME_SIZE], uint32_t key);

#endif
