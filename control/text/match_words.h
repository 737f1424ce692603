/*
 * Parser of the words for a struct match (net/match.h), a small part of pcap-filter(7):
 *
 *     filter    = term { [and | or] term }        two terms without a word between them: and
 *     term      = [not] primitive
 *     primitive = [src | dst] host ADDRESS | [src | dst] net PREFIX | [src | dst] port N
 *               | ip | ip6 | arp | tcp | udp | icmp | icmp6 | sctp | proto N | vlan [N]
 *
 * Terms combine from left to right; `and` and `or` have equal precedence. ADDRESS and PREFIX are of
 * either family. N is decimal. The protocol words (tcp, udp and so on) match both versions of IP.
 */
#ifndef CONTROL_TEXT_MATCH_WORDS_H
#define CONTROL_TEXT_MATCH_WORDS_H

#include "control/text/text.h"
#include "net/match.h"

/* Parses n words into *m. E_INVAL: *why is the reason and *bad the number of the wrong word; n is
 * the end of the line. */
int match_words(struct match *m, char *const *word, unsigned n, unsigned *bad, const char **why);

#endif
