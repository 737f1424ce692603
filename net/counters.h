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
	X(delivered_arp, FATE, "ARP messages accepted by the machine itself") \
	X(delivered_icmp, FATE, "ICMP messages to the machine itself") \
	X(delivered_icmp6, FATE, "ICMPv6 messages to the machine itself, except neighbour discovery and MLD") \
	X(delivered_nd, FATE, "neighbour and router discovery messages accepted by the machine itself") \
	X(delivered_mld, FATE, "MLD messages accepted by the machine itself") \
	X(delivered_udp, FATE, "UDP datagrams to the machine itself") \
	X(delivered_tcp, FATE, "TCP segments to the machine itself") \
	X(delivered_engine, FATE, "frames handed to the routing engine") \
	X(delivered_vxlan, FATE, "frames of the routing engine, taken out of VXLAN and sent") \
	X(delivered_bfd, FATE, "BFD packets of a configured session") \
	X(delivered_stp, FATE, "spanning tree BPDUs accepted by the bridge itself") \
	X(delivered_lldp, FATE, "LLDP frames accepted by the machine itself") \
	X(delivered_lacp, FATE, "LACPDUs and markers of link aggregation accepted by the machine itself") \
	X(delivered_snoop, FATE, "IGMP, MLD and PIM messages accepted by the snooping of the switch") \
	X(delivered_dhcp, FATE, "DHCP messages relayed, or accepted by the client") \
	X(reassembled, FATE, "fragments of packets that were completed by another fragment") \
	X(discarded, FATE, "packets received and discarded by the discard application") \
	X(judged, FATE, "test frames received and evaluated by the generator") \
	X(drop_eth_short, DROP, "frame shorter than its Ethernet header") \
	X(drop_eth_src, DROP, "source MAC address that is a group address or all zero") \
	X(drop_eth_dst, DROP, "unicast frame to the MAC address of another station") \
	X(drop_eth_type, DROP, "EtherType that is not supported") \
	X(drop_vlan_unknown, DROP, "802.1Q tag of a VLAN without an interface") \
	X(drop_port_down, DROP, "the interface has no address of this IP version, or is shut down") \
	X(drop_arp_malformed, DROP, "ARP message too short or not Ethernet/IPv4") \
	X(drop_arp_not_ours, DROP, "ARP request for an address that is not ours") \
	X(drop_arp_bad_sender, DROP, "ARP sender address that is ours, multicast, broadcast or not on the link") \
	X(drop_ip4_short, DROP, "IPv4 packet shorter than its header") \
	X(drop_ip4_version, DROP, "IP version field is not 4") \
	X(drop_ip4_header_len, DROP, "IPv4 header length below 20 or beyond the packet") \
	X(drop_ip4_total_len, DROP, "IPv4 total length below the header or beyond the frame") \
	X(drop_ip4_checksum, DROP, "IPv4 header checksum wrong") \
	X(drop_ip4_options, DROP, "malformed IPv4 options, or source routing") \
	X(drop_ip4_src_martian, DROP, "source address that no host may use") \
	X(drop_ip4_dst_martian, DROP, "destination address that must not be forwarded") \
	X(drop_ip4_src_local, DROP, "source address that is ours") \
	X(drop_ip4_ttl, DROP, "time to live expired") \
	X(drop_ip4_no_route, DROP, "no route to the destination") \
	X(drop_ip4_null0, DROP, "route to null0") \
	X(drop_route_blackhole, DROP, "blackhole route") \
	X(drop_route_unreachable, DROP, "unreachable route") \
	X(drop_route_prohibit, DROP, "prohibit route") \
	X(drop_ip4_not_ours, DROP, "destination is another host, and this application does not forward") \
	X(drop_ip4_link_bcast, DROP, "unicast packet in a link-layer broadcast, or broadcast that is not for us") \
	X(drop_ip4_multicast, DROP, "multicast group that this machine has not joined") \
	X(drop_ip4_need_frag, DROP, "larger than the next link's MTU and DF is set") \
	X(drop_fragment_local, DROP, "fragment to the machine itself, of a protocol that takes no fragments") \
	X(drop_ip4_proto, DROP, "protocol without a receiver") \
	X(drop_ip6_short, DROP, "IPv6 packet shorter than its header") \
	X(drop_ip6_version, DROP, "IP version field is not 6") \
	X(drop_ip6_payload_len, DROP, "IPv6 payload length beyond the frame, or a jumbogram") \
	X(drop_ip6_src_martian, DROP, "IPv6 source address that is invalid on a link or in a forwarded packet") \
	X(drop_ip6_dst_martian, DROP, "IPv6 destination address that is invalid on a link") \
	X(drop_ip6_src_local, DROP, "IPv6 source address that is ours") \
	X(drop_ip6_tentative, DROP, "for an IPv6 address of ours that has not passed DAD yet") \
	X(drop_ip6_scope, DROP, "link-local address in a packet to be forwarded") \
	X(drop_ip6_hop_limit, DROP, "hop limit expired") \
	X(drop_ip6_no_route, DROP, "no route to the IPv6 destination") \
	X(drop_ip6_null0, DROP, "IPv6 route to null0") \
	X(drop_ip6_not_ours, DROP, "IPv6 destination is another host, and this application does not forward") \
	X(drop_ip6_link_mcast, DROP, "unicast IPv6 packet in a link-layer multicast or broadcast") \
	X(drop_ip6_multicast, DROP, "IPv6 multicast group that this machine has not joined") \
	X(drop_ip6_too_big, DROP, "IPv6 packet larger than the next link's MTU") \
	X(drop_ip6_ext_malformed, DROP, \
	  "IPv6 extension header or option longer than the packet or header that contains it") \
	X(drop_ip6_ext_limit, DROP, "IPv6 extension headers, options or padding beyond the limits of RFC 8504 5.3") \
	X(drop_ip6_option, DROP, "unknown IPv6 option that must not be skipped") \
	X(drop_ip6_routing, DROP, "IPv6 routing header with segments left") \
	X(drop_ip6_first_fragment, DROP, "first IPv6 fragment without the whole header chain") \
	X(drop_ip6_proto, DROP, "IPv6 next header without a receiver") \
	X(drop_icmp6_malformed, DROP, "ICMPv6 message too short or with a wrong checksum") \
	X(drop_icmp6_type, DROP, "ICMPv6 type that needs no answer") \
	X(drop_nd_malformed, DROP, "ND message with a wrong length, code, flag, target or option") \
	X(drop_nd_hop_limit, DROP, "ND message whose hop limit is not 255: from another link, or forged") \
	X(drop_nd_fragment, DROP, "ND message in a fragment (RFC 6980)") \
	X(drop_nd_not_ours, DROP, "neighbour solicitation for an address that is not ours") \
	X(drop_nd_bad_sender, DROP, "ND sender address that is ours, or that no station may have") \
	X(drop_nd_unknown, DROP, \
	  "neighbour advertisement without effect: unknown neighbour, no link-layer address, or our own") \
	X(drop_nd_redirect, DROP, "ICMPv6 redirect, which this machine does not follow") \
	X(drop_nd_router, DROP, \
	  "router solicitation where this machine does not advertise, or advertisement that it ignores") \
	X(drop_mld_malformed, DROP, "MLD message with a wrong length, hop limit, source or no router alert") \
	X(drop_mld_type, DROP, "MLD report or leave, which only multicast routers need") \
	X(drop_icmp_malformed, DROP, "ICMP message too short or with a wrong checksum") \
	X(drop_icmp_type, DROP, "ICMP type that needs no answer") \
	X(drop_frag_overlap, DROP, "fragments that overlap or contradict each other, and all others of their packet") \
	X(drop_frag_duplicate, DROP, "exact copy of a fragment received before") \
	X(drop_frag_length, DROP, "fragment that is empty, or not the last and not a multiple of 8 bytes long") \
	X(drop_frag_too_long, DROP, "fragment of a packet longer than allowed") \
	X(drop_frag_tiny, DROP, "fragment that splits the TCP header") \
	X(drop_frag_many, DROP, "fragments of a packet with too many fragments") \
	X(drop_frag_ecn, DROP, "fragments of a packet whose ECN marks contradict (RFC 3168 5.3)") \
	X(drop_frag_full, DROP, "fragments evicted by those of newer packets") \
	X(drop_frag_timeout, DROP, "fragments whose packet was not complete in time") \
	X(drop_udp_malformed, DROP, "UDP length or checksum wrong") \
	X(drop_udp_loop, DROP, "request from a port that answers as well: the answers would never end") \
	X(drop_udp_port, DROP, "UDP port without a receiver") \
	X(drop_dhcp_malformed, DROP, "DHCP message or option of a wrong length, or not of the protocol") \
	X(drop_dhcp_hops, DROP, "DHCP request that has passed too many relay agents") \
	X(drop_dhcp_agent, DROP, "DHCP request of a client with a relay agent's option (RFC 3046 2.1.1)") \
	X(drop_dhcp_unwanted, DROP, "DHCP message that nothing waits for, or from the wrong side of the relay") \
	X(drop_dns_malformed, DROP, "DNS answer that is malformed") \
	X(drop_dns_question, DROP, "DNS answer to no pending question of ours, or from another source") \
	X(drop_ntp_malformed, DROP, "NTP packet too short, not a server's answer, or without a timestamp") \
	X(drop_ntp_origin, DROP, "NTP answer to no pending request of ours, or from another source") \
	X(drop_ntp_unsynchronized, DROP, "NTP answer of a server whose clock is not synchronized") \
	X(drop_bfd_malformed, DROP, "BFD version, length, multiplier, discriminator or flag that is invalid") \
	X(drop_bfd_auth, DROP, "BFD packet with authentication, which no session here uses") \
	X(drop_bfd_ttl, DROP, "BFD packet from more hops away than its session allows") \
	X(drop_bfd_session, DROP, "BFD packet of no session") \
	X(drop_bfd_admin, DROP, "BFD packet of a session that is administratively down") \
	X(drop_lldp_order, DROP, "LLDP frame without chassis ID, port ID and time to live in this order, each once") \
	X(drop_lldp_length, DROP, "LLDP frame whose chassis ID, port ID, TTL or end is of invalid length") \
	X(drop_lldp_scope, DROP, "LLDP frame to another group address than that of the nearest bridge") \
	X(drop_lldp_off, DROP, "LLDP frame on a port that does not receive LLDP") \
	X(drop_lldp_room, DROP, "LLDP frame of one neighbour more than a port stores") \
	X(drop_stp_malformed, DROP, "frame to the spanning tree address that is no BPDU, or is too short") \
	X(drop_stp_age, DROP, "STP configuration BPDU whose message age has reached its max age") \
	X(drop_stp_own, DROP, "BPDU that returned to the port that sent it: the link is a loop") \
	X(drop_stp_guard, DROP, "BPDU on a port with BPDU guard") \
	X(drop_bundle, DROP, "frame from a port that its port channel does not use") \
	X(drop_slow_subtype, DROP, "slow protocol (EtherType 0x8809) other than LACP and Marker") \
	X(drop_lacp_malformed, DROP, \
	  "LACPDU or marker that is too short, has a TLV of wrong length, or is from a group address") \
	X(drop_lacp_marker_rate, DROP, "marker beyond ten a second per port, not answered") \
	X(drop_tcp_malformed, DROP, "TCP header, options or checksum wrong, or an invalid combination of flags") \
	X(drop_tcp_port, DROP, "TCP segment without a connection or listener (answered by a reset)") \
	X(drop_tcp_listen, DROP, "TCP segment to a listener that is neither SYN nor the answer to a SYN cookie") \
	X(drop_tcp_full, DROP, "answer to a SYN cookie while no connection was free") \
	X(drop_tcp_elsewhere, DROP, "TCP segment of a connection that moves, or has moved, to another core") \
	X(drop_tcp_seq, DROP, "TCP segment outside the receive window") \
	X(drop_tcp_timestamp, DROP, "TCP timestamp missing, or older than the last (PAWS, RFC 7323)") \
	X(drop_tcp_ack, DROP, "TCP segment without ACK, or with an ACK of data not sent") \
	X(drop_tcp_challenged, DROP, "RST or SYN that RFC 5961 or RFC 1337 does not accept") \
	X(drop_tcp_closed, DROP, "TCP data for a connection that no longer receives") \
	X(drop_tcp_buffers, DROP, "TCP data dropped because few buffers are left") \
	X(drop_tcp_reassembly, DROP, "TCP segment out of order, without room to store it") \
	X(drop_ip4_urpf, DROP, "no route to the source, or one by another interface (ip verify unicast source)") \
	X(drop_ip6_urpf, DROP, "no route to the IPv6 source, or one by another interface (ipv6 verify unicast source)") \
	X(drop_acl_in, DROP, "denied by the access list of the incoming interface") \
	X(drop_acl_out, DROP, "denied by the access list of the outgoing interface") \
	X(drop_acl_undetermined, DROP, \
	  "to be filtered, with ports that cannot be determined: short fragment or too many headers") \
	X(drop_snoop_malformed, DROP, "IGMP or MLD message too short or with a wrong checksum, or MLD not from the link") \
	X(drop_snoop_limit, DROP, "IGMP, MLD or PIM message beyond the rate that snooping allows a port") \
	X(drop_snoop_no_listener, DROP, "multicast to a group without a listener at another port") \
	X(drop_link_limit, DROP, "frame of a link protocol (spanning tree, LACP, LLDP) beyond the port's rate") \
	X(drop_engine_limit, DROP, "frame for the routing engine beyond the rate of its protocol") \
	X(drop_engine_down, DROP, "frame for the routing engine while no link to it is up") \
	X(drop_vxlan_sender, DROP, \
	  "VXLAN packet that is not from the routing engine to our tunnel address, or by another interface") \
	X(drop_vxlan_malformed, DROP, "VXLAN packet without VNI or whole frame, or with a malformed frame") \
	X(drop_vxlan_vni, DROP, "VXLAN network without an interface") \
	X(drop_vxlan_source, DROP, "frame of the routing engine from a MAC address that is not ours") \
	X(drop_vxlan_type, DROP, \
	  "frame of the routing engine that only the router sends: ARP, neighbour discovery, VLAN tag") \
	X(drop_vxlan_too_big, DROP, "frame of the routing engine longer than the interface's MTU") \
	X(drop_vxlan_route, DROP, "packet of the routing engine without a route by a link that is up") \
	X(drop_switch_vlan, DROP, "VLAN that the receiving port does not carry (switchport)") \
	X(drop_switch_blocked, DROP, "received by a port that does not forward: blocked, or only learning") \
	X(drop_switch_reserved, DROP, "to an address that no bridge forwards: 01:80:c2:00:00:00 to 0f") \
	X(drop_switch_same_port, DROP, "destination is at the receiving port") \
	X(drop_switch_no_port, DROP, "no other forwarding port carries the VLAN, or the destination's port does not") \
	X(drop_switch_storm_broadcast, DROP, "broadcast beyond the storm-control level of the receiving port") \
	X(drop_switch_storm_multicast, DROP, "multicast beyond the storm-control level of the receiving port") \
	X(drop_switch_storm_unicast, DROP, "to an unknown station, beyond the storm-control level of the receiving port") \
	X(drop_switch_too_big, DROP, "longer than the MTU of the outgoing port") \
	X(drop_xdp, DROP, "result XDP_DROP of a program") \
	X(drop_xdp_aborted, DROP, "result XDP_ABORTED of a program, or an invalid result") \
	X(drop_xdp_redirect, DROP, \
	  "redirected by a program to an interface that does not exist, is down, or has a smaller MTU") \
	X(drop_neigh_queue, DROP, "displaced from the queue of a neighbour being resolved") \
	X(drop_neigh_unreachable, DROP, "neighbour did not answer") \
	X(drop_neigh_table, DROP, "neighbour table full, or too many new neighbours a second") \
	X(drop_punt_full, DROP, "ring to the control core full") \
	X(drop_steer_full, DROP, "for another data core, whose ring was full (receive-steering)") \
	X(drop_tx_full, DROP, "transmit ring full") \
	X(drop_tx_down, DROP, "outgoing port is down") \
	X(drop_no_buffer, DROP, "no buffer for a packet to be built") \
	X(drop_restart, DROP, "queued or being processed when a core or the ports were restarted") \
	X(xdp_sent, INFO, "of those forwarded, frames sent by a program: XDP_TX, XDP_REDIRECT") \
	X(switch_flooded, INFO, "frames sent to all other ports of their VLAN: to a group or an unknown station") \
	X(switch_copies, INFO, "additional frames sent by flooding") \
	X(switch_mirrored, INFO, "frames of source ports sent by the destination port of their monitor session") \
	X(switch_mirror_lost, INFO, "frames of source ports not mirrored: no buffer, or too long for the destination") \
	X(switch_reports_lost, INFO, "new or moved stations not reported to the control core, whose queue was full") \
	X(switch_learned, INFO, "stations learned") \
	X(switch_moved, INFO, "stations seen at another port than before") \
	X(switch_aged, INFO, "stations forgotten because they sent nothing for the ageing time") \
	X(switch_refused, INFO, "stations not learned because the table or the port's limit was reached") \
	X(snoop_refused, INFO, "reports of groups for which snooping has no room: their VLANs are flooded") \
	X(snoop_tx_query, INFO, "IGMP and MLD queries sent by snooping, by port") \
	X(redirect_needed, INFO, "packets forwarded by the interface that received them") \
	X(redirect_limited, INFO, "redirects of either family withheld by the rate limit") \
	X(fragments_created, INFO, "fragments sent in place of packets too large") \
	X(fragmented, INFO, "packets sent on as fragments") \
	X(reassembled_packets, INFO, "packets reassembled from fragments, including atomic ones") \
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
	X(icmp_err_suppressed, INFO, "ICMP errors not sent because of RFC 1122 3.2.2 or RFC 4443 2.4") \
	X(arp_tx_request, INFO, "ARP requests sent") \
	X(arp_tx_reply, INFO, "ARP replies sent") \
	X(arp_limited, INFO, "neighbours not resolved or not learned because of a rate limit") \
	X(arp_conflict, INFO, "another station claims one of our addresses") \
	X(nd_tx_solicit, INFO, "neighbour solicitations sent") \
	X(nd_tx_advert, INFO, "neighbour advertisements sent") \
	X(nd_tx_router_solicit, INFO, "router solicitations sent") \
	X(nd_tx_router_advert, INFO, "router advertisements sent") \
	X(nd_tx_redirect, INFO, "IPv6 redirects sent") \
	X(nd_limited, INFO, "neighbours not resolved or not learned, or advertisements withheld, because of a rate limit") \
	X(nd_conflict, INFO, "another station claims one of our IPv6 addresses") \
	X(nd_duplicate, INFO, "own IPv6 addresses found in use by another station (DAD)") \
	X(nd_looped, INFO, "own DAD probes that returned (RFC 7527)") \
	X(nd_router_inconsistent, INFO, "other routers' advertisements that contradict ours") \
	X(nd_router_refused, INFO, "values of router advertisements refused, as out of range or for lack of room") \
	X(mld_tx_report, INFO, "MLD reports and leaves sent") \
	X(dns_tx, INFO, "DNS questions sent") \
	X(ntp_tx, INFO, "NTP requests sent") \
	X(udp_tx, INFO, "UDP datagrams sent by the machine itself") \
	X(dhcp_tx, INFO, "DHCP messages sent by the client, and to servers and clients by the relay") \
	X(dhcp_relay_no_room, INFO, "DHCP requests relayed without option 82, for which there was no room") \
	X(bfd_tx, INFO, "BFD packets sent") \
	X(lldp_tx, INFO, "LLDP frames sent") \
	X(lldp_aged, INFO, "LLDP neighbours whose time to live expired") \
	X(stp_tx, INFO, "BPDUs sent") \
	X(lacp_tx, INFO, "LACPDUs sent") \
	X(lacp_marker_tx, INFO, "answers to markers sent") \
	X(tcp_tx, INFO, "TCP segments sent (a TSO frame counts once)") \
	X(tcp_tx_rst, INFO, "of these, resets") \
	X(tcp_connects, INFO, "TCP connections opened here and established") \
	X(tcp_accepts, INFO, "TCP connections opened by peers and established") \
	X(tcp_closes, INFO, "TCP connections closed by both sides") \
	X(tcp_resets, INFO, "TCP connections ended by a received reset") \
	X(tcp_aborts, INFO, "TCP connections reset by the application here") \
	X(tcp_timeouts, INFO, "TCP connections ended because the peer did not answer") \
	X(tcp_full, INFO, "TCP connections not opened because the table was full") \
	X(tcp_moved_out, INFO, "TCP connections moved to another core") \
	X(tcp_moved_in, INFO, "TCP connections moved here from another core") \
	X(tcp_move_refused, INFO, "TCP connections whose move between cores was refused") \
	X(tcp_retransmits, INFO, "TCP segments retransmitted") \
	X(tcp_rto, INFO, "retransmission timeouts") \
	X(tcp_tlp, INFO, "tail loss probes (RFC 8985)") \
	X(tcp_recoveries, INFO, "fast recoveries begun") \
	X(tcp_undone, INFO, "congestion responses undone because nothing had been lost") \
	X(tcp_ecn, INFO, "congestion responses to ECN") \
	X(tcp_reordered, INFO, "connections on which the network was found to reorder") \
	X(tcp_out_of_order, INFO, "TCP segments received out of order") \
	X(tcp_duplicates, INFO, "TCP segments with bytes received before") \
	X(tcp_challenge_acks, INFO, "challenge ACKs sent (RFC 5961)") \
	X(tcp_ack_limited, INFO, "challenge and duplicate ACKs withheld by their limit") \
	X(tcp_cookies_tx, INFO, "SYN cookies sent: too many half-open connections, or no free connection") \
	X(tcp_cookies_good, INFO, "connections opened by a SYN cookie") \
	X(tcp_cookies_bad, INFO, "ACKs without a valid SYN cookie while some were pending") \
	X(tcp_fastopen, INFO, "SYNs whose data was accepted (Fast Open)") \
	X(tcp_fastopen_refused, INFO, "SYNs whose data was refused: invalid cookie, or too many of them") \
	X(tcp_window_probes, INFO, "probes of a closed window") \
	X(tcp_keepalives, INFO, "keep-alive probes sent") \
	X(tcp_keepalives_rx, INFO, "keep-alive probes of peers answered, including Linux' probes of a closed window") \
	X(tcp_time_wait_reused, INFO, "connections that replaced one in TIME-WAIT (RFC 6191)") \
	X(tcp_time_wait_recycled, INFO, "TIME-WAIT states ended early for lack of free connections") \
	X(tcp_pmtu, INFO, "path MTUs lowered by ICMP (RFC 1191)") \
	X(tcp_black_hole, INFO, "path MTUs lowered because full segments were lost repeatedly") \
	X(tcp_no_buffer, INFO, "TCP segments not sent for lack of a buffer") \
	X(web_requests, INFO, "HTTP requests answered by the web application") \
	X(web_client_errors, INFO, "of these, by a status of 400 to 499") \
	X(web_server_errors, INFO, "of these, by a status of 500 to 599") \
	X(web_timeouts, INFO, "connections of the web application closed as too slow") \
	X(web_log_lost, INFO, "requests missing in the access log because the control core's queue was full") \
	X(web_replaced, INFO, "connections of the web application reset because the site was replaced again") \
	X(web_evicted, INFO, "connections of the web application closed because too many had incomplete requests") \
	X(http_misdirected, INFO, "HTTP requests for a host name that this machine does not serve, answered by 421") \
	X(originated_drop_tx, INFO, "own packets not sent: a full ring, a link that is down, no route") \
	X(originated_drop_no_buffer, INFO, "own packets not sent for lack of a buffer") \
	X(punted, INFO, "received frames handed from a data core to the control core") \
	X(punt_taken, INFO, "of these, frames that the control core has taken") \
	X(injected, INFO, "frames handed from the control core to a data core") \
	X(steered, INFO, "received frames passed from a data core to another (receive-steering)") \
	X(steer_taken, INFO, "of these, frames that the other data core has taken") \
	X(steer_refused, INFO, "buffers or frames returned by a data core that did not have them, or malformed") \
	X(cores_gathered, INFO, "times that flows were gathered on fewer data cores") \
	X(cores_spread, INFO, "times that flows were spread over more data cores") \
	X(buckets_moved, INFO, "buckets of NICs' indirection tables moved to another data core") \
	X(move_held, INFO, "received frames held while their bucket, or another of that port, was moved") \
	X(moves_undone, INFO, "moves undone: the new core had no room for all TCP connections of the bucket") \
	X(moved_early, INFO, "moves that ended early: frames may have been reordered, none was lost")

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
