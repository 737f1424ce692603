/*
 * Messages of DHCP for IPv4 (RFC 2131 2), which are BOOTP's (RFC 951, RFC 1542), and their options (RFC 2132).
 *
 *     octet 0 op, 1 htype, 2 hlen, 3 hops, 4 xid, 8 secs, 10 flags, 12 ciaddr, 16 yiaddr, 20 siaddr, 24 giaddr,
 *           28 chaddr (16), 44 sname (64), 108 file (128), 236 magic cookie, 240 options
 *
 * An option is a code, a length and that many octets; 0 is padding, 255 ends a field. Option 52 says that `file`,
 * `sname` or both hold options too (RFC 2132 9.3). An option that occurs several times is one, cut into pieces, in the
 * order options field, file, sname (RFC 3396).
 *
 *     relay4.c     a relay agent's changes of messages
 *     client4.c    the client
 *     relay6.c     the relay agent of DHCPv6
 *
 * Addresses are in host byte order.
 */
#ifndef NET_DHCP_DHCP4_H
#define NET_DHCP_DHCP4_H

#include "lib/types.h"
#include "net/counters.h"

#define DHCP4_SERVER_PORT 67
#define DHCP4_CLIENT_PORT 68

#define DHCP4_OP 0
#define DHCP4_HTYPE 1
#define DHCP4_HLEN 2
#define DHCP4_HOPS 3
#define DHCP4_XID 4
#define DHCP4_SECS 8
#define DHCP4_FLAGS 10
#define DHCP4_CIADDR 12
#define DHCP4_YIADDR 16
#define DHCP4_GIADDR 24
#define DHCP4_CHADDR 28
#define DHCP4_SNAME 44
#define DHCP4_SNAME_BYTES 64
#define DHCP4_FILE 108
#define DHCP4_FILE_BYTES 128
#define DHCP4_COOKIE 236
#define DHCP4_OPTIONS 240

#define DHCP4_BYTES_MIN 300 /* RFC 1542 2.1: of a message that we send */
#define DHCP4_BYTES_MAX 1472 /* of a message that we send: a datagram that Ethernet carries unfragmented */

#define DHCP4_REQUEST 1 /* op */
#define DHCP4_REPLY 2
#define DHCP4_ETHERNET 1 /* htype */
#define DHCP4_BROADCAST 0x8000 /* of flags: RFC 2131 2 */

enum dhcp4_option_code { /* RFC 2132 */
	DHCP4_OPT_PAD = 0,
	DHCP4_OPT_MASK = 1,
	DHCP4_OPT_ROUTER = 3,
	DHCP4_OPT_DNS = 6,
	DHCP4_OPT_HOSTNAME = 12,
	DHCP4_OPT_DOMAIN = 15,
	DHCP4_OPT_NTP = 42,
	DHCP4_OPT_ADDRESS = 50, /* requested IP address */
	DHCP4_OPT_LEASE = 51,
	DHCP4_OPT_OVERLOAD = 52,
	DHCP4_OPT_TYPE = 53,
	DHCP4_OPT_SERVER = 54,
	DHCP4_OPT_PARAMETERS = 55,
	DHCP4_OPT_SIZE = 57, /* maximum message size */
	DHCP4_OPT_T1 = 58,
	DHCP4_OPT_T2 = 59,
	DHCP4_OPT_CLIENT = 61, /* client identifier */
	DHCP4_OPT_AGENT = 82,  /* RFC 3046 */
	DHCP4_OPT_ROUTES = 121, /* RFC 3442: classless static routes */
	DHCP4_OPT_END = 255,
};

enum dhcp4_type { /* option 53: RFC 2132 9.6 */
	DHCP4_DISCOVER = 1,
	DHCP4_OFFER,
	DHCP4_DHCPREQUEST,
	DHCP4_DECLINE,
	DHCP4_ACK,
	DHCP4_NAK,
	DHCP4_RELEASE,
	DHCP4_INFORM,
};

/* The fields of a message that hold options, in the order of RFC 3396. */
struct dhcp4_options {
	struct {
		const uint8_t *at;
		unsigned len;
	} field[3];
	unsigned fields;
};

/* Is it a whole message with options, rather than one of BOOTP with another vendor's area? */
bool dhcp4_has_options(const uint8_t *message, unsigned len);

/* Finds the options of a message. CNT_drop_dhcp_malformed: it is too short, its magic cookie is another one, or
 * an option does not fit its field. */
enum counter dhcp4_options(const uint8_t *message, unsigned len, struct dhcp4_options *out);

/* Copies the option, all its pieces together, into out. Returns its length; E_NOENT: the message has none;
 * E_NOMEM: it is longer than room. */
int dhcp4_option(const struct dhcp4_options *o, enum dhcp4_option_code code, uint8_t *out, unsigned room);

/* The value of an option of 4 octets; false: it is missing, or of another length. */
bool dhcp4_option_u32(const struct dhcp4_options *o, enum dhcp4_option_code code, uint32_t *out);

/* The message type; 0: none, or an unknown one. */
enum dhcp4_type dhcp4_type(const struct dhcp4_options *o);

/* --- building: a message in the caller's memory of at least DHCP4_BYTES_MAX bytes --- */

struct dhcp4_build {
	uint8_t *at;
	unsigned len;
	bool full; /* an option did not fit, and is missing */
};

/* Begins a message with all fixed fields zero but op, htype, hlen and xid, the cookie, and option 53.
 * chaddr: 6 bytes. */
void dhcp4_begin(struct dhcp4_build *b, uint8_t *at, uint8_t op, enum dhcp4_type type, uint32_t xid,
                 const uint8_t *chaddr);
/* n is at most 255. */
void dhcp4_put(struct dhcp4_build *b, enum dhcp4_option_code code, const void *data, unsigned n);
void dhcp4_put_u32(struct dhcp4_build *b, enum dhcp4_option_code code, uint32_t value);
/* Ends it; returns its length. */
unsigned dhcp4_end(struct dhcp4_build *b);

#endif
