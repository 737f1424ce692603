/* Base64 (RFC 4648 4), as HTTP's credentials (RFC 7617 2) and the text of SSH's public keys have it. */
#ifndef CONTROL_TEXT_BASE64_H
#define CONTROL_TEXT_BASE64_H

#include "control/text/text.h"

/* Decodes t into `to`, of `size` bytes; returns the number of bytes. -1: t is not base64 with its padding, bits
 * that are left over are not zero (3.5), or it decodes to more than `size` bytes. */
int base64_decode(struct text t, uint8_t *to, size_t size);

/* The same of digits without padding. `plus` counts like '+': '.' in passlib's dialect. */
int base64_decode_digits(struct text t, char plus, uint8_t *to, size_t size);

/* Writes n bytes as base64 with its padding and a NUL: BASE64_SIZE(n) bytes. */
#define BASE64_SIZE(n) (((n) + 2) / 3 * 4 + 1)
void base64_encode(char *to, const uint8_t *data, size_t n);

#endif
