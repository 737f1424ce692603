"""The counterpart of machine.py for IPv6; and the two families side by side, for tests of behaviour
common to both. Expected frames are built by scapy from the RFCs, never by our own code."""
from machine import *
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest,
                                ICMPv6MLReport2, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA,
                                ICMPv6ND_RS, ICMPv6ND_Redirect, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrDestOpt,
                                IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting,
                                in6_chksum, in6_getnsma, in6_getnsmac)
from scapy.pton_ntop import inet_ntop, inet_pton
import socket

ALL_NODES, ALL_ROUTERS, MLD_ROUTERS = "ff02::1", "ff02::2", "ff02::16"

# Both families on both ports. Nothing is advertised, so no unsolicited message is sent.
CONFIG6 = """\
hostname r1
arp timeout 60
interface eth0
 ip address 192.0.2.1/24
 ipv6 address 2001:db8:1::1/64
 ipv6 nd ra suppress
interface eth1
 ip address 198.51.100.1/24
 ipv6 address 2001:db8:2::1/64
 ipv6 nd ra suppress
"""


def fixed6(packet):
    """The IPv6 packet as scapy dissects its bytes: with lengths and checksums."""
    return IPv6(bytes(packet))


def hop6(packet):
    """The IPv6 packet as a router forwards it: RFC 8200 3, only the hop limit is decremented."""
    raw = bytearray(bytes(packet))
    raw[7] -= 1
    return IPv6(bytes(raw))


def udp6(src, dst, size=32, **fields):
    """An IPv6/UDP packet; addresses are stations or text."""
    ports = {k: fields.pop(k) for k in ("sport", "dport") if k in fields}
    ports.setdefault("sport", 1024)
    ports.setdefault("dport", 2048)
    return IPv6(src=getattr(src, "ip6", src), dst=getattr(dst, "ip6", dst), **fields) / \
        UDP(**ports) / Raw(bytes(i & 255 for i in range(size)))


def echo6(src, dst, size=56, reply=False, **fields):
    body = (ICMPv6EchoReply if reply else ICMPv6EchoRequest)(
        id=0x1234, seq=7, data=bytes(i * 7 & 255 for i in range(size)))
    return IPv6(src=getattr(src, "ip6", src), dst=getattr(dst, "ip6", dst), **fields) / body


def icmp6_raw(src, dst, body, hlim=64):
    """A packet around an ICMPv6 message whose checksum is filled in (RFC 4443 2.3)."""
    packet = IPv6(src=src, dst=dst, hlim=hlim, nh=58)
    body = body[:2] + b"\0\0" + body[4:]
    body = body[:2] + in6_chksum(58, packet, body).to_bytes(2, "big") + body[4:]
    return packet / Raw(body)


def icmp6_error(router, packet, type_, code, rest=0, src=None):
    """The ICMPv6 error about a packet (RFC 4443 2.4 (c)): it quotes as much as fits 1280 bytes, and
    has the address of the interface that it leaves by (2.2 (d))."""
    quote = bytes(packet)[:1280 - 48]
    return icmp6_raw(src or router.ip6, fixed6(packet).src,
                     bytes([type_, code, 0, 0]) + rest.to_bytes(4, "big") + quote)


def error6_about(router, station, packet, type_, code, rest=0, src=None):
    return ether(router, station) / icmp6_error(router, packet, type_, code, rest, src)


# --- neighbour discovery (RFC 4861 4) ---

def group_of(address):
    """The solicited-node group (RFC 4291 2.7.1)."""
    return inet_ntop(socket.AF_INET6, in6_getnsma(inet_pton(socket.AF_INET6, address)))


def group_mac(group):
    """RFC 2464 7."""
    return "33:33:" + ":".join("%02x" % b for b in inet_pton(socket.AF_INET6, group)[12:])


def solicit(src, target, to=None, source=None, mac=True):
    """A station solicits an address: from its group, or from `to` = (address, MAC) if that is
    known."""
    group = group_of(target)
    dst, dst_mac = to or (group, group_mac(group))
    frame = Ether(src=src.mac, dst=dst_mac) / IPv6(src=source or src.ip6, dst=dst, hlim=255) / \
        ICMPv6ND_NS(tgt=target)
    return frame / ICMPv6NDOptSrcLLAddr(lladdr=src.mac) if mac else frame


def advert(src, dst, target=None, R=0, S=1, O=1, mac=None, dst_ip=None):
    """A station announces its MAC, to another or (dst None) to all nodes."""
    return Ether(src=src.mac, dst=dst.mac if dst else group_mac(ALL_NODES)) / \
        IPv6(src=target or src.ip6, dst=dst_ip or (dst.ip6 if dst else ALL_NODES), hlim=255) / \
        ICMPv6ND_NA(R=R, S=S, O=O, tgt=target or src.ip6) / \
        ICMPv6NDOptDstLLAddr(lladdr=mac or src.mac)


def probe6(router, target):
    """DAD (RFC 4862 5.4.2): from the unspecified address, without link-layer address. The machine
    adds the random nonce of RFC 7527."""
    group = group_of(target)
    return Ether(src=router.mac, dst=group_mac(group)) / IPv6(src="::", dst=group, hlim=255) / \
        ICMPv6ND_NS(tgt=target)


def learn6(m, *stations):
    """The stations ping the router, which solicits their MACs: afterwards they are REACHABLE."""
    for s in stations:
        router = ROUTER[s.port]
        request = echo6(s, router, 8)
        m.send(s.port, ether(s, router) / request)
        m.expect(s.port, solicit(router, s.ip6))
        m.send(s.port, advert(s, router))
        m.expect(s.port, ether(router, s) / echo6(router, s, 8, reply=True))
    m.counted()


# --- the two families ---

class V4:
    """The values in which tests of both families differ."""
    name, drop, tx, hlen = "v4", "drop_ip4_", "icmp_tx_", 20
    config, prefix = CONFIG, "10.1.0.0/16"
    inside, nowhere = "10.1.2.3", "8.8.8.8"
    hop_limit, mtu_min, udp_header = "drop_ip4_ttl", 68, 28
    delivered_echo, tx_echo, ask_counter = "delivered_icmp", "icmp_tx_echo_reply", "arp_tx_request"
    told = "delivered_arp"
    # ICMP errors: type, code, counter
    errors = {"no route": (3, 0, "icmp_tx_unreach_net"), "null0": (3, 1, "icmp_tx_unreach_host"),
              "no answer": (3, 1, "icmp_tx_unreach_host"), "port": (3, 3, "icmp_tx_unreach_port"),
              "time": (11, 0, "icmp_tx_time_exceeded")}

    @staticmethod
    def address(station):
        return station.ip

    @staticmethod
    def packet(src, dst, size=32, hops=64, mark=0, **fields):
        return udp(src, dst, size, ttl=hops, id=mark, **fields)

    @staticmethod
    def echo(src, dst, size=56, reply=False, hops=64):
        return IP(src=src.ip, dst=dst.ip, ttl=hops) / ICMP(
            type=0 if reply else 8, id=0x1234, seq=7) / Raw(bytes(i & 255 for i in range(size)))

    @staticmethod
    def hop(packet):
        return hop(packet)

    @staticmethod
    def learn(m, *stations):
        m.learn(*stations)

    @staticmethod
    def ask(station):
        return arp_request(ROUTER[station.port], station.ip)

    @staticmethod
    def answer(station):
        return arp_reply(station, ROUTER[station.port])

    @classmethod
    def error(cls, router, station, packet, kind):
        type_, code, _ = cls.errors[kind]
        return error_about(router, station, packet, type_, code)

    @staticmethod
    def route_line(prefix, to):
        return "ip route %s %s\n" % (prefix, to)

    @staticmethod
    def static_line(station):
        return "arp %s %s\n" % (station.ip, station.mac)


class V6(V4):
    name, drop, tx, hlen = "v6", "drop_ip6_", "icmp6_tx_", 40
    config, prefix = CONFIG6, "2001:db8:ff00::/40"
    inside, nowhere = "2001:db8:ff01::3", "2a00::8"
    hop_limit, mtu_min, udp_header = "drop_ip6_hop_limit", 1280, 48
    delivered_echo, tx_echo, ask_counter = ("delivered_icmp6", "icmp6_tx_echo_reply",
                                            "nd_tx_solicit")
    told = "delivered_nd"
    errors = {"no route": (1, 0, "icmp6_tx_unreach_no_route"),
              "null0": (1, 6, "icmp6_tx_unreach_reject"),
              "no answer": (1, 3, "icmp6_tx_unreach_address"),
              "port": (1, 4, "icmp6_tx_unreach_port"),
              "time": (3, 0, "icmp6_tx_time_exceeded")}

    @staticmethod
    def address(station):
        return station.ip6

    @staticmethod
    def packet(src, dst, size=32, hops=64, mark=0, **fields):
        return udp6(src, dst, size, hlim=hops, fl=mark, **fields)

    @staticmethod
    def echo(src, dst, size=56, reply=False, hops=64):
        return echo6(src, dst, size, reply, hlim=hops)

    @staticmethod
    def hop(packet):
        return hop6(packet)

    @staticmethod
    def learn(m, *stations):
        learn6(m, *stations)

    @staticmethod
    def ask(station):
        return solicit(ROUTER[station.port], station.ip6)

    @staticmethod
    def answer(station):
        return advert(station, ROUTER[station.port])

    @classmethod
    def error(cls, router, station, packet, kind):
        type_, code, _ = cls.errors[kind]
        return error6_about(router, station, packet, type_, code)

    @staticmethod
    def route_line(prefix, to):
        return "ipv6 route %s %s\n" % (prefix, to)

    @staticmethod
    def static_line(station):
        return "ipv6 neighbor %s eth%d %s\n" % (station.ip6, station.port, station.mac)


FAMILIES = {"v4": V4, "v6": V6}

__all__ = [name for name in dir() if not name.startswith("_")]
