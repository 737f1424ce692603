/*
 * Content codings, RFC 9110 8.4.1 and 12.5.3: which of the representations of a file, as it is or
 * compressed beforehand, answers a request. The server has to send "Vary: Accept-Encoding" with each answer
 * of a file that has several (12.5.5), and an ETag of its own for each (8.8.3.3).
 */
#ifndef NET_HTTP_CODING_H
#define NET_HTTP_CODING_H

#include "lib/types.h"

/* In the order of the server's preference, the best one last. */
enum http_coding { HTTP_IDENTITY, HTTP_GZIP, HTTP_ZSTD, HTTP_BR, HTTP_CODINGS };

/*
 * accept: the value of Accept-Encoding, "" if there was none. available: bit 1 << c for each coding c that
 * exists; HTTP_IDENTITY always does. Returns the available coding of the greatest weight, of several the
 * one that the server prefers, by the rules of 12.5.3:
 *     a coding that the field names has its weight, 1 if the field gives none; "x-gzip" is gzip (8.4.1.3)
 *     another one has the weight of "*", if the field has that
 *     other codings are not acceptable; identity is, but after all that the field names
 *     weight 0 is not acceptable
 * Without the field every coding is acceptable; the result is HTTP_IDENTITY, which every client can read.
 *
 * If nothing is acceptable, which needs "identity;q=0" or "*;q=0", the result is HTTP_IDENTITY. 12.4.1 lets a
 * server answer 406 or disregard the field. A client that sends such a field can do more with the file than
 * with an error.
 *
 * A malformed element is ignored. Of several elements for the same coding the last counts.
 */
enum http_coding http_coding_choose(const char *accept, unsigned available);

/* The name for Content-Encoding, "gzip"; NULL for HTTP_IDENTITY, which has none (8.4.1). */
const char *http_coding_name(enum http_coding c);

/* The suffix of a file's compressed form, ".gz", ".zst", ".br"; "" for HTTP_IDENTITY. */
const char *http_coding_suffix(enum http_coding c);

#endif
