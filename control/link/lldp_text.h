/*
 * What LLDP neighbours announce, as text for the console and for JSON. Octets of a text that are no printable ASCII
 * characters are dots. An identifier that is no such text is written as hexadecimal octets.
 */
#ifndef CONTROL_LINK_LLDP_TEXT_H
#define CONTROL_LINK_LLDP_TEXT_H

#include "net/lldp/pdu.h"

#define LLDP_TEXT_MAX (LLDP_STRING_MAX + 1)
#define LLDP_TEXT_ID_MAX (3 * LLDP_STRING_MAX) /* as hexadecimal octets */

/* Each returns buf, or "-" for an empty text and for no capability. */
const char *lldp_text_string(char buf[LLDP_TEXT_MAX], const struct lldp_string *s);
const char *lldp_text_chassis(char buf[LLDP_TEXT_ID_MAX], const struct lldp_id *id);
const char *lldp_text_port(char buf[LLDP_TEXT_ID_MAX], const struct lldp_id *id);
const char *lldp_text_address(char buf[LLDP_TEXT_ID_MAX], unsigned family, const struct lldp_string *s);

/* Capabilities, one bit each (802.1AB table 8-4), as words with commas between them. Other bits have no word. */
#define LLDP_CAPABILITIES 11
const char *lldp_text_capabilities(char buf[LLDP_TEXT_MAX], unsigned set);

#endif
