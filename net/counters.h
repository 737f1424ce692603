/*
 * The single registry of packet counters (ARCHITECTURE.md, Counters).
 *
 * Every received frame ends in exactly one FATE: forwarded, delivered to the machine itself, or
 * dropped under a named reason. When no packet is in flight,
 *
 *     received = sum of all fates (+ packets waiting for a neighbour, a gauge)
 *
 * holds, and tests check it. INFO counters count events outside that sum. Each core has its own
 * array, which only that core writes; readers add them up.
 *
 * Columns: name (as in `show counters` and the tests), kind, one-line meaning.
 */
#ifndef NET_COUNTERS_H
#define NET_COUNTERS_H

#include "lib/types.h"

#define NET_COUNTERS(X) \
	X(forwarded, FATE, "packets sent on, by their route or by a program") \
	X(delivered_arp, FATE, "ARP messages taken by the machine itself") \
	X(delivered_icmp, FATE, "ICMP messages to the machine itself") \
	X(delivered_icmp6, FATE, "ICMPv6 messages to the machine itself, but neighbour discovery and MLD") \
	X(delivered_nd, FATE, "neighbour and router discovery messages taken by the machine itself") \
	X(delivered_mld, FATE, "MLD messages taken by the machine itself") \
	X(delivered_udp, FATE, "UDP datagrams to the machine itself") \
	X(delivered_tcp, FATE, "TCP segments to the machine itself") \
	X(delivered_engine, FATE, "frames handed to the routing engine") \
	X(delivered_vxlan, FATE, "frames of the routing engine, taken out of VXLAN and sent") \
	X(delivered_bfd, FATE, "BFD packets of a session of ours") \
	X(delivered_stp, FATE, "BPDUs, messages of the spanning tree protocols, taken by the bridge itself") \
	X(delivered_lldp, FATE, "LLDP frames taken by the machine itself") \
	X(delivered_lacp, FATE, "LACPDUs and markers, messages of link aggregation, taken by the machine itself") \
	X(delivered_snoop, FATE, "IGMP, MLD and PIM messages taken by the snooping of the switch") \
	X(delivered_dhcp, FATE, "DHCP messages relayed, or taken by the client") \
	X(reassembled, FATE, "fragments that went into a packet of which another was the last to come") \
	X(discarded, FATE, "packets that the discard application threw away, its work") \
	X(judged, FATE, "test frames that the generator judged, its work") \
	X(drop_eth_short, DROP, "frame shorter than its Ethernet header") \
	X(drop_eth_src, DROP, "source address that is no station's: a group's, or all zero") \
	X(drop_eth_dst, DROP, "unicast frame to another station's address") \
	X(drop_eth_type, DROP, "EtherType that is not spoken here") \
	X(drop_vlan_unknown, DROP, "802.1Q tag of a VLAN that no interface is on") \
	X(drop_port_down, DROP, "the interface has no address of that version of IP, or is shut down") \
	X(drop_arp_malformed, DROP, "ARP message too short or not Ethernet/IPv4") \
	X(drop_arp_not_ours, DROP, "ARP request for an address that is not ours") \
	X(drop_arp_bad_sender, DROP, "ARP sender address is ours, multicast, broadcast or off the link") \
	X(drop_ip4_short, DROP, "IPv4 packet shorter than its header") \
	X(drop_ip4_version, DROP, "IP version field is not 4") \
	X(drop_ip4_header_len, DROP, "IPv4 header length below 20 or beyond the packet") \
	X(drop_ip4_total_len, DROP, "IPv4 total length below the header or beyond the frame") \
	X(drop_ip4_checksum, DROP, "IPv4 header checksum wrong") \
	X(drop_ip4_options, DROP, "malformed IPv4 options, or source routing") \
	X(drop_ip4_src_martian, DROP, "source address that no host may send from") \
	X(drop_ip4_dst_martian, DROP, "destination address that must not be forwarded") \
	X(drop_ip4_src_local, DROP, "source address is one of ours") \
	X(drop_ip4_ttl, DROP, "time to live ran out here") \
	X(drop_ip4_no_route, DROP, "no route to the destination") \
	X(drop_ip4_null0, DROP, "route to null0") \
	X(drop_route_blackhole, DROP, "route to nowhere, silently") \
	X(drop_route_unreachable, DROP, "route that says unreachable") \
	X(drop_route_prohibit, DROP, "route that says prohibited") \
	X(drop_ip4_not_ours, DROP, "for another host, and this application does not forward") \
	X(drop_ip4_link_bcast, DROP, "unicast packet in a link-layer broadcast, or broadcast not for us") \
	X(drop_ip4_multicast, DROP, "multicast group nobody here joined") \
	X(drop_ip4_need_frag, DROP, "larger than the next link's MTU and DF is set") \
	X(drop_fragment_local, DROP, "packet to the machine itself in fragments, which its receiver does not take") \
	X(drop_ip4_proto, DROP, "protocol without a receiver here") \
	X(drop_ip6_short, DROP, "IPv6 packet shorter than its header") \
	X(drop_ip6_version, DROP, "IP version field is not 6") \
	X(drop_ip6_payload_len, DROP, "IPv6 payload length beyond the frame, or a jumbogram") \
	X(drop_ip6_src_martian, DROP, "IPv6 source address that may not be on a wire or be forwarded") \
	X(drop_ip6_dst_martian, DROP, "IPv6 destination address that may not be on a wire") \
	X(drop_ip6_src_local, DROP, "IPv6 source address is one of ours") \
	X(drop_ip6_tentative, DROP, "for an IPv6 address of ours that DAD has not passed yet") \
	X(drop_ip6_scope, DROP, "link-local address on a packet to be forwarded") \
	X(drop_ip6_hop_limit, DROP, "hop limit ran out here") \
	X(drop_ip6_no_route, DROP, "no route to the IPv6 destination") \
	X(drop_ip6_null0, DROP, "IPv6 route to null0") \
	X(drop_ip6_not_ours, DROP, "IPv6 for another host, and this application does not forward") \
	X(drop_ip6_link_mcast, DROP, "unicast IPv6 packet in a link-layer multicast or broadcast") \
	X(drop_ip6_multicast, DROP, "IPv6 multicast group nobody here joined") \
	X(drop_ip6_too_big, DROP, "IPv6 packet larger than the next link's MTU") \
	X(drop_ip6_ext_malformed, DROP, "IPv6 extension header or option longer than what it lies in") \
	X(drop_ip6_ext_limit, DROP, "more IPv6 extension headers, options or padding than is sane") \
	X(drop_ip6_option, DROP, "unknown IPv6 option that must not be skipped") \
	X(drop_ip6_routing, DROP, "IPv6 routing header with a route left to follow") \
	X(drop_ip6_first_fragment, DROP, "first IPv6 fragment without all of its headers") \
	X(drop_ip6_proto, DROP, "IPv6 next header without a receiver here") \
	X(drop_icmp6_malformed, DROP, "ICMPv6 message too short or with a wrong checksum") \
	X(drop_icmp6_type, DROP, "ICMPv6 type that needs no answer here") \
	X(drop_nd_malformed, DROP, "ND message with a wrong length, code, flag, target or option") \
	X(drop_nd_hop_limit, DROP, "ND message whose hop limit is not 255: from another link, or forged") \
	X(drop_nd_fragment, DROP, "ND message in a fragment (RFC 6980)") \
	X(drop_nd_not_ours, DROP, "neighbour solicitation for an address that is not ours") \
	X(drop_nd_bad_sender, DROP, "ND sender claims our address, or one that no station may have") \
	X(drop_nd_unknown, DROP, "neighbour advertisement that nobody waited for") \
	X(drop_nd_redirect, DROP, "ICMPv6 redirect: not followed here") \
	X(drop_nd_router, DROP, "router solicitation or advertisement that is not for this role") \
	X(drop_mld_malformed, DROP, "MLD message with a wrong length, hop limit, source or no router alert") \
	X(drop_mld_type, DROP, "MLD message that is for routers of multicast") \
	X(drop_icmp_malformed, DROP, "ICMP message too short or with a wrong checksum") \
	X(drop_icmp_type, DROP, "ICMP type that needs no answer here") \
	X(drop_frag_overlap, DROP, "fragments that overlap or disagree, and all others of their packet") \
	X(drop_frag_duplicate, DROP, "fragment that was here already, the very same") \
	X(drop_frag_length, DROP, "fragment that is empty, or not the last and not in units of 8 bytes") \
	X(drop_frag_too_long, DROP, "fragment of a packet longer than allowed") \
	X(drop_frag_tiny, DROP, "fragment that cuts through the TCP header") \
	X(drop_frag_many, DROP, "fragments of a packet that is in too many pieces") \
	X(drop_frag_ecn, DROP, "fragments of a packet whose ECN marks contradict (RFC 3168 5.3)") \
	X(drop_frag_full, DROP, "fragments that gave way to newer packets") \
	X(drop_frag_timeout, DROP, "fragments whose packet was not whole in time") \
	X(drop_udp_malformed, DROP, "UDP length or checksum wrong") \
	X(drop_udp_loop, DROP, "request from a port that answers itself: it would never end") \
	X(drop_udp_port, DROP, "UDP port without a receiver") \
	X(drop_dhcp_malformed, DROP, "DHCP message or option of a wrong length, or not of the protocol") \
	X(drop_dhcp_hops, DROP, "DHCP request that too many relay agents have had") \
	X(drop_dhcp_agent, DROP, "DHCP request of a client with a relay agent's option (RFC 3046 2.1.1)") \
	X(drop_dhcp_unwanted, DROP, "DHCP message that nobody here waits for, or from the wrong side of the relay") \
	X(drop_dns_malformed, DROP, "DNS answer that is malformed") \
	X(drop_dns_question, DROP, "DNS answer to no question of ours that waits for one, or from another source") \
	X(drop_ntp_malformed, DROP, "NTP packet too short, not a server's answer, or without a timestamp") \
	X(drop_ntp_origin, DROP, "NTP answer to no request of ours that waits for one, or from another source") \
	X(drop_ntp_unsynchronized, DROP, "NTP answer of a server whose clock is not synchronized") \
	X(drop_bfd_malformed, DROP, "BFD version, length, multiplier, discriminator or flag that no packet may have") \
	X(drop_bfd_auth, DROP, "BFD packet with authentication, which no session here uses") \
	X(drop_bfd_ttl, DROP, "BFD packet from farther away than its session allows") \
	X(drop_bfd_session, DROP, "BFD packet of no session") \
	X(drop_bfd_admin, DROP, "BFD packet of a session that is administratively down") \
	X(drop_lldp_order, DROP, "LLDP frame without chassis ID, port ID and time to live in this order, each once") \
	X(drop_lldp_length, DROP, "LLDP frame whose chassis ID, port ID, TTL or end is of invalid length") \
	X(drop_lldp_scope, DROP, "LLDP frame to another group address than that of the nearest bridge") \
	X(drop_lldp_off, DROP, "LLDP frame on a port that does not receive LLDP") \
	X(drop_lldp_room, DROP, "LLDP frame of a neighbour beyond those that a port keeps") \
	X(drop_stp_malformed, DROP, "frame to the spanning tree address that is no BPDU, or too short") \
	X(drop_stp_age, DROP, "STP configuration BPDU whose message age has reached its max age") \
	X(drop_stp_own, DROP, "BPDU that came back to the port that sent it: the wire is a loop") \
	X(drop_stp_guard, DROP, "BPDU on a port with BPDU guard") \
	X(drop_bundle, DROP, "frame from a port that its port channel does not use") \
	X(drop_slow_subtype, DROP, "slow protocol (EtherType 0x8809) other than LACP and Marker") \
	X(drop_lacp_malformed, DROP, "LACPDU or marker that is too short, with a TLV of wrong length, or from a group address") \
	X(drop_lacp_marker_rate, DROP, "marker beyond ten a second of a port, not answered") \
	X(drop_tcp_malformed, DROP, "TCP header, options or checksum wrong, or flags that never go together") \
	X(drop_tcp_port, DROP, "TCP segment for no connection and no listener (reset in answer)") \
	X(drop_tcp_listen, DROP, "to a listener, and neither SYN nor the answer to a SYN cookie") \
	X(drop_tcp_full, DROP, "answer to a SYN cookie for which there was no connection left") \
	X(drop_tcp_elsewhere, DROP, "TCP segment whose connection is on its way to or from another core") \
	X(drop_tcp_seq, DROP, "TCP segment outside of the receive window") \
	X(drop_tcp_timestamp, DROP, "TCP timestamp missing, or older than the last (PAWS, RFC 7323)") \
	X(drop_tcp_ack, DROP, "TCP segment without ACK, or one that acknowledges what was not sent") \
	X(drop_tcp_challenged, DROP, "RST or SYN that RFC 5961 does not believe") \
	X(drop_tcp_closed, DROP, "TCP data for a connection that takes no more") \
	X(drop_tcp_buffers, DROP, "TCP data not taken because too few buffers are left") \
	X(drop_tcp_reassembly, DROP, "TCP segment out of order, and no room to keep it") \
	X(drop_ip4_urpf, DROP, "no way back to the source, or another one than it came by (ip verify unicast source)") \
	X(drop_ip6_urpf, DROP, "the same of IPv6 (ipv6 verify unicast source)") \
	X(drop_acl_in, DROP, "denied by the access list of the interface it came in by") \
	X(drop_acl_out, DROP, "denied by the access list of the interface it was to leave by") \
	X(drop_acl_undetermined, DROP, "to be filtered, and its ports cannot be told: fragment or headers too short, or too many") \
	X(drop_snoop_malformed, DROP, "IGMP or MLD message too short or with a wrong checksum, or MLD not from the link") \
	X(drop_snoop_limit, DROP, "IGMP, MLD or PIM message beyond the rate of the port that snooping takes") \
	X(drop_snoop_no_listener, DROP, "to a group that no other port has a listener of") \
	X(drop_link_limit, DROP, "frame of a link protocol (spanning tree, LACP, LLDP) beyond the port's rate") \
	X(drop_engine_limit, DROP, "frame for the routing engine beyond the rate of its protocol") \
	X(drop_engine_down, DROP, "frame for the routing engine, to which no link that is up leads") \
	X(drop_vxlan_sender, DROP, "VXLAN packet not from the routing engine to its source address, or by another interface") \
	X(drop_vxlan_malformed, DROP, "VXLAN packet without VNI or whole frame, or with a malformed frame") \
	X(drop_vxlan_vni, DROP, "VXLAN network that no interface has") \
	X(drop_vxlan_source, DROP, "frame of the routing engine from an address that is not ours") \
	X(drop_vxlan_type, DROP, "frame of the routing engine that the router itself sends: ARP, neighbour discovery, VLAN tag") \
	X(drop_vxlan_too_big, DROP, "frame of the routing engine that is longer than the interface's MTU") \
	X(drop_vxlan_route, DROP, "packet of the routing engine without a route to another machine by a link that is up") \
	X(drop_switch_vlan, DROP, "of a VLAN that the port it came by does not carry (switchport)") \
	X(drop_switch_blocked, DROP, "came by a port that does not forward: shut down, or just learning") \
	X(drop_switch_reserved, DROP, "to an address that no bridge forwards: 01:80:c2:00:00:00 to 0f") \
	X(drop_switch_same_port, DROP, "its destination is behind the port it came by") \
	X(drop_switch_no_port, DROP, "no other port that forwards carries its VLAN, or not the one of its destination") \
	X(drop_switch_storm_broadcast, DROP, "broadcast beyond the storm-control level of the port it came by") \
	X(drop_switch_storm_multicast, DROP, "multicast beyond the storm-control level of the port it came by") \
	X(drop_switch_storm_unicast, DROP, "to an unknown station, beyond the storm-control level of the port it came by") \
	X(drop_switch_too_big, DROP, "longer than the MTU of the port it was to leave by") \
	X(drop_xdp, DROP, "result XDP_DROP of a program") \
	X(drop_xdp_aborted, DROP, "result XDP_ABORTED of a program, or a result that is none") \
	X(drop_xdp_redirect, DROP, "sent by a program to an interface that is not there, is down, or has a smaller MTU") \
	X(drop_neigh_queue, DROP, "pushed out of the queue of a neighbour being resolved") \
	X(drop_neigh_unreachable, DROP, "neighbour did not answer") \
	X(drop_neigh_table, DROP, "neighbour table full, or too many new neighbours a second") \
	X(drop_punt_full, DROP, "ring to the control core full") \
	X(drop_steer_full, DROP, "for another data core, which takes packets too slowly (receive-steering)") \
	X(drop_tx_full, DROP, "transmit ring full") \
	X(drop_tx_down, DROP, "out-going port is down") \
	X(drop_no_buffer, DROP, "no buffer for a packet that had to be built") \
	X(drop_restart, DROP, "in hand or waiting when a core or the ports were restarted") \
	X(xdp_sent, INFO, "of those forwarded, frames sent by a program: XDP_TX, XDP_REDIRECT") \
	X(switch_flooded, INFO, "frames sent to all other ports of their VLAN: a group's, or an unknown station's") \
	X(switch_copies, INFO, "frames sent besides the one received, by flooding") \
	X(switch_mirrored, INFO, "frames of source ports sent by the destination of their monitor session") \
	X(switch_mirror_lost, INFO, "frames of source ports not mirrored: no buffer, or too long for the destination") \
	X(switch_reports_lost, INFO, "new or moved stations not told to the control core, which had too many already") \
	X(switch_learned, INFO, "stations learned") \
	X(switch_moved, INFO, "stations seen at another port than before") \
	X(switch_aged, INFO, "stations forgotten because they sent nothing for the ageing time") \
	X(switch_refused, INFO, "stations not learned: the table or the port's limit is reached") \
	X(snoop_refused, INFO, "reports of groups that snooping has no room for: their VLANs are flooded") \
	X(snoop_tx_query, INFO, "IGMP and MLD queries sent by snooping, by port") \
	X(redirect_needed, INFO, "forwarded out of the interface it came in by") \
	X(redirect_limited, INFO, "redirects of either family withheld by the rate limit") \
	X(fragments_created, INFO, "fragments sent in place of packets too large") \
	X(fragmented, INFO, "packets sent on whole as fragments") \
	X(reassembled_packets, INFO, "packets put together from fragments, atomic ones too") \
	X(icmp_tx_echo_reply, INFO, "echo replies sent") \
	X(icmp_tx_echo_request, INFO, "echo requests sent (console ping)") \
	X(icmp_tx_time_exceeded, INFO, "ICMP time exceeded sent") \
	X(icmp_tx_unreach_net, INFO, "ICMP net unreachable sent") \
	X(icmp_tx_unreach_host, INFO, "ICMP host unreachable sent") \
	X(icmp_tx_unreach_proto, INFO, "ICMP protocol unreachable sent") \
	X(icmp_tx_unreach_port, INFO, "ICMP port unreachable sent") \
	X(icmp_tx_unreach_frag, INFO, "ICMP fragmentation needed sent") \
	X(icmp_tx_unreach_prohibited, INFO, "ICMP administratively prohibited sent") \
	X(icmp_tx_param_problem, INFO, "ICMP parameter problem sent") \
	X(icmp_tx_redirect, INFO, "ICMP redirects sent") \
	X(icmp6_tx_echo_reply, INFO, "ICMPv6 echo replies sent") \
	X(icmp6_tx_echo_request, INFO, "ICMPv6 echo requests sent (console ping)") \
	X(icmp6_tx_unreach_no_route, INFO, "ICMPv6 no route to destination sent") \
	X(icmp6_tx_unreach_prohibited, INFO, "ICMPv6 administratively prohibited sent") \
	X(icmp6_tx_unreach_scope, INFO, "ICMPv6 beyond scope of source address sent") \
	X(icmp6_tx_unreach_address, INFO, "ICMPv6 address unreachable sent") \
	X(icmp6_tx_unreach_port, INFO, "ICMPv6 port unreachable sent") \
	X(icmp6_tx_unreach_policy, INFO, "ICMPv6 source address failed policy sent") \
	X(icmp6_tx_unreach_reject, INFO, "ICMPv6 reject route sent") \
	X(icmp6_tx_too_big, INFO, "ICMPv6 packet too big sent") \
	X(icmp6_tx_time_exceeded, INFO, "ICMPv6 time exceeded sent") \
	X(icmp6_tx_param_problem, INFO, "ICMPv6 parameter problem sent") \
	X(icmp_err_ratelimited, INFO, "ICMP errors of either family withheld by the rate limit") \
	X(icmp_err_suppressed, INFO, "ICMP errors that RFC 1122 3.2.2 or RFC 4443 2.4 forbids to send") \
	X(arp_tx_request, INFO, "ARP requests sent") \
	X(arp_tx_reply, INFO, "ARP replies sent") \
	X(arp_limited, INFO, "neighbours not asked for, or not learned, by a rate limit") \
	X(arp_conflict, INFO, "another station claims one of our addresses") \
	X(nd_tx_solicit, INFO, "neighbour solicitations sent") \
	X(nd_tx_advert, INFO, "neighbour advertisements sent") \
	X(nd_tx_router_solicit, INFO, "router solicitations sent") \
	X(nd_tx_router_advert, INFO, "router advertisements sent") \
	X(nd_tx_redirect, INFO, "IPv6 redirects sent") \
	X(nd_limited, INFO, "neighbours not asked for or not learned, or advertisements withheld, by a rate limit") \
	X(nd_conflict, INFO, "another station claims one of our IPv6 addresses") \
	X(nd_duplicate, INFO, "own IPv6 addresses found in use by another station (DAD)") \
	X(nd_looped, INFO, "own DAD probes that came back (RFC 7527)") \
	X(nd_router_inconsistent, INFO, "other routers' advertisements that contradict ours") \
	X(nd_router_refused, INFO, "parts of router advertisements not believed, or without room") \
	X(mld_tx_report, INFO, "MLD reports and leaves sent") \
	X(dns_tx, INFO, "DNS questions sent") \
	X(ntp_tx, INFO, "NTP requests sent") \
	X(udp_tx, INFO, "UDP datagrams sent by the machine itself") \
	X(dhcp_tx, INFO, "DHCP messages sent by the client, and to servers and clients by the relay") \
	X(dhcp_relay_no_room, INFO, "DHCP requests relayed without option 82, for which they had no room") \
	X(bfd_tx, INFO, "BFD packets sent") \
	X(lldp_tx, INFO, "LLDP frames sent") \
	X(lldp_aged, INFO, "LLDP neighbours whose time to live has passed") \
	X(stp_tx, INFO, "BPDUs sent") \
	X(lacp_tx, INFO, "LACPDUs sent") \
	X(lacp_marker_tx, INFO, "answers to markers sent") \
	X(tcp_tx, INFO, "TCP segments sent (a TSO frame counts once)") \
	X(tcp_tx_rst, INFO, "of these, resets") \
	X(tcp_connects, INFO, "TCP connections established that were opened here") \
	X(tcp_accepts, INFO, "TCP connections established that came in") \
	X(tcp_closes, INFO, "TCP connections that ended orderly") \
	X(tcp_resets, INFO, "TCP connections ended by a reset that came in") \
	X(tcp_aborts, INFO, "TCP connections ended by a reset from here") \
	X(tcp_timeouts, INFO, "TCP connections given up because the peer did not answer") \
	X(tcp_full, INFO, "TCP connections not made because the table was full") \
	X(tcp_moved_out, INFO, "TCP connections that another core has taken over") \
	X(tcp_moved_in, INFO, "TCP connections taken over from another core") \
	X(tcp_move_refused, INFO, "TCP connections not taken over from another core") \
	X(tcp_retransmits, INFO, "TCP segments sent again") \
	X(tcp_rto, INFO, "retransmission timeouts") \
	X(tcp_tlp, INFO, "tail loss probes (RFC 8985)") \
	X(tcp_recoveries, INFO, "fast recoveries begun") \
	X(tcp_undone, INFO, "congestion responses taken back because nothing had been lost") \
	X(tcp_ecn, INFO, "congestion responses to ECN") \
	X(tcp_reordered, INFO, "times the network was seen to reorder") \
	X(tcp_out_of_order, INFO, "TCP segments kept until those before them came") \
	X(tcp_duplicates, INFO, "TCP segments with bytes that were here already") \
	X(tcp_challenge_acks, INFO, "challenge ACKs sent (RFC 5961)") \
	X(tcp_ack_limited, INFO, "challenge and duplicate ACKs withheld by their limit") \
	X(tcp_cookies_tx, INFO, "SYN cookies sent: too many half-open connections, or no connection left") \
	X(tcp_cookies_good, INFO, "connections made from a SYN cookie") \
	X(tcp_cookies_bad, INFO, "ACKs that carried no good SYN cookie while some were out") \
	X(tcp_fastopen, INFO, "SYNs whose data was taken (Fast Open)") \
	X(tcp_fastopen_refused, INFO, "SYNs with data whose cookie was wrong, or too many of them") \
	X(tcp_window_probes, INFO, "probes of a closed window") \
	X(tcp_keepalives, INFO, "keep-alive probes sent") \
	X(tcp_keepalives_rx, INFO, "keep-alive probes of peers, or Linux' of a closed window, answered") \
	X(tcp_time_wait_reused, INFO, "connections begun out of TIME-WAIT (RFC 6191)") \
	X(tcp_time_wait_recycled, INFO, "TIME-WAITs ended early for want of connections") \
	X(tcp_pmtu, INFO, "times a path's MTU was found smaller (RFC 1191)") \
	X(tcp_black_hole, INFO, "times a smaller MTU was tried because nothing came through") \
	X(tcp_no_buffer, INFO, "segments that could not be made: no buffer") \
	X(web_requests, INFO, "HTTP requests answered by the web application") \
	X(web_client_errors, INFO, "of these, by a status of 400 to 499") \
	X(web_server_errors, INFO, "of these, by a status of 500 to 599") \
	X(web_timeouts, INFO, "connections of the web application that were too slow") \
	X(web_log_lost, INFO, "requests missing in the access log because the control core had not taken those before") \
	X(web_replaced, INFO, "answers of the web application ended because the site was replaced again") \
	X(web_evicted, INFO, "connections of the web application ended because too many were in the middle of a request") \
	X(http_misdirected, INFO, "HTTP requests for a host that this machine is not, answered by 421") \
	X(originated_drop_tx, INFO, "own packets that could not leave: a full ring, a dead link, no route") \
	X(originated_drop_no_buffer, INFO, "own packets for which there was no buffer") \
	X(punted, INFO, "received frames handed from a data core to the control core") \
	X(punt_taken, INFO, "of these, frames the control core has taken") \
	X(injected, INFO, "frames handed from the control core to a data core") \
	X(steered, INFO, "received frames passed from a data core to another (receive-steering)") \
	X(steer_taken, INFO, "of these, frames the other data core has taken") \
	X(steer_refused, INFO, "buffers or frames that a data core returned and did not have, or that are malformed") \
	X(cores_gathered, INFO, "flows gathered on fewer data cores") \
	X(cores_spread, INFO, "flows spread over more data cores") \
	X(buckets_moved, INFO, "buckets of cards' tables moved to another data core") \
	X(move_held, INFO, "received frames held while their bucket, or another of that port, was moved") \
	X(moves_undone, INFO, "moves taken back: the new core had no room for all TCP connections of the bucket") \
	X(moved_early, INFO, "moves that ended early: frames may have been overtaken, none was lost")

enum counter {
#define NET_COUNTER_ENUM(name, kind, help) CNT_##name,
	NET_COUNTERS(NET_COUNTER_ENUM)
#undef NET_COUNTER_ENUM
	CNT_MAX
};

/* The fates come first: those of packets that were not dropped, then the drops. They are also counted
 * per interface, by these numbers. */
#define CNT_DROP_FIRST CNT_drop_eth_short
#define CNT_FATES (CNT_drop_restart + 1)

/* Returned by checks for a packet that may proceed: no fate yet. */
#define CNT_NONE CNT_MAX

enum counter_kind { COUNTER_FATE, COUNTER_DROP, COUNTER_INFO };

struct counter_desc {
	const char *name;
	const char *help;
	enum counter_kind kind;
};

extern const struct counter_desc counter_desc[CNT_MAX];

struct counters {
	uint64_t v[CNT_MAX];
};

#endif
