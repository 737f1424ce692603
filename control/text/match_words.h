/*
 * The words for a struct match (net/match.h), a small part of pcap-filter(7):
 *
 *     filter    = term { [and | or] term }        without a word between them: and
 *     term      = [not] primitive
 *     primitive = [src | dst] host ADDRESS | [src | dst] net PREFIX | [src | dst] port N
 *               | ip | ip6 | arp | tcp | udp | icmp | icmp6 | sctp | proto N | vlan [N]
 *
 * From left to right, `and` and `or` binding alike. ADDRESS and PREFIX of either family; N is
 * decimal. What a protocol's word asks is asked of either version of IP.
 */
#ifndef CONTROL_TEXT_MATCH_WORDS_H
#define CONTROL_TEXT_MATCH_WORDS_H

#include "control/text/text.h"
#include "net/match.h"

/* Reads n words. E_INVAL: *why says what is wrong with word *bad, n being the end. */
int match_words(struct match *m, char *const *word, unsigned n, unsigned *bad, const char **why);

#endif
