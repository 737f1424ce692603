/* Parses numbers and addresses of the command line. All return false for malformed text. */
#ifndef NICSIM_PARSE_H
#define NICSIM_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal or 0x…; k, M, G multiply by 10^3, 10^6, 10^9; a fraction may precede them ("14.88M"). The
 * text must end after the number; if `end` is not NULL, the rest is stored there. */
bool parse_number(const char *text, double *value, const char **end);
bool parse_u64(const char *text, uint64_t *value);
bool parse_fraction(const char *text, double *value); /* 0 to 1, or with % */
bool parse_ns(const char *text, uint64_t *ns);        /* with ns, us, ms or s */
bool parse_mac(const char *text, uint8_t mac[6]);
bool parse_ip4(const char *text, uint32_t *address); /* host order */
bool parse_switch(const char *text, bool *value);    /* on, off */

/* VALUE of "KEY=VALUE" if the key is this one, else NULL. */
const char *parse_key(const char *word, const char *key);

#endif
