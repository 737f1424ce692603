"""How much of a flow through the router survives a flood, on another port, of frames that cost a
router most.

nicsim sends a flow at a fiftieth of the router's capacity into port 0 and checks it at port 1, and
sends frames of one kind of flood into port 2 as fast as the card takes them. Packets of the flow
are lost in the card, because its ring was not emptied in time, or in the router, which counts them
by name. Control core and nicsim share a CPU here, so the control core handles only as much of a
flood as nicsim leaves time for.
"""
import os
import random
import re

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.utils import wrpcap

from load import SLICE_S, WARM_UP_S, BenchError, progress
from models import router_on_models
from overload import lost_by
from router import drops_of
from table import SMALL

FRAMES = 4096
PORT = 2
ROUTER, ROUTER6 = "172.16.0.1", "2001:db8:3::1"
HOST, HOST6, HOST_MAC = "172.16.0.2", "2001:db8:3::2", "02:00:00:00:00:03"
ELSEWHERE = "10.0.0.9"  # beyond the router, the flow's destination too
SHARE = 50  # the flow has 1/SHARE of the capacity: 2 ms of it, nicsim's backlog, fit a ring
INTERFACE = "interface eth%d\n ip address %s/16\n ipv6 address %s/64\n" % (PORT, ROUTER, ROUTER6)


def neighbour(n):
    return "172.16.%d.%d" % (16 + n // 250, 1 + n % 250)


def bad(packet):
    packet.chksum = 1
    return packet


KINDS = {
    "nothing": None,
    "echo requests to it": lambda n: IP(src=HOST, dst=ROUTER, id=n) / ICMP(seq=n),
    "closed ports of it": lambda n: IP(src=HOST, dst=ROUTER, id=n) / UDP(sport=1024 + n, dport=9999),
    "SYN to it": lambda n: IP(src=HOST, dst=ROUTER, id=n) / TCP(sport=1024 + n, dport=80, seq=n),
    "fragments to it": lambda n: IP(src=HOST, dst=ROUTER, id=n, flags="MF") / UDP() / (b"x" * 16),
    "TTL 1": lambda n: IP(src=HOST, dst=ELSEWHERE, ttl=1, id=n) / UDP(),
    "no route": lambda n: IP(src=HOST, dst="203.0.113.9", id=n) / UDP(),
    "ever new hosts": lambda n: IP(src=HOST, dst=neighbour(n), id=n) / UDP(),
    "ever new hosts, IPv6": lambda n: IPv6(src=HOST6, dst="2001:db8:3::%x" % (0x1000 + n)) / UDP(),
    "ARP in ever new names": lambda n: ARP(op=1, hwsrc=HOST_MAC, psrc=neighbour(n), pdst=ROUTER),
    "discovery in ever new names": lambda n: IPv6(src="2001:db8:3::%x" % (0x1000 + n),
                                                  dst="ff02::1:ff00:1", hlim=255)
    / ICMPv6ND_NS(tgt=ROUTER6) / ICMPv6NDOptSrcLLAddr(lladdr=HOST_MAC),
    "IPv4 options": lambda n: IP(src=HOST, dst=ELSEWHERE, id=n, options=b"\x01" * 4) / UDP(),
    "bad checksums": lambda n: bad(IP(src=HOST, dst=ELSEWHERE, id=n)) / UDP(),
    "noise": lambda n: random.Random(n).randbytes(60),
}


def frame(make, n, mac):
    """A frame of this kind; noise is sent to the router too, with the EtherType of IPv4."""
    packet = make(n)
    if isinstance(packet, bytes):
        return Ether(dst=mac, src=HOST_MAC, type=0x800) / packet
    to = "ff:ff:ff:ff:ff:ff" if ARP in packet else "33:33:ff:00:00:01" if packet.dst[:2] == "ff" else mac
    return Ether(dst=to, src=HOST_MAC) / packet


class Flooded:
    """The flow's table, and one more port."""
    memory, wire = SMALL[0].memory, SMALL[0].wire

    @staticmethod
    def configuration():
        return SMALL[0].configuration() + INTERFACE + \
            "http server\nhttp access 0.0.0.0/0\nhttp access ::/0\n"


def trial(models, rate):
    """Returns (packets of the flow sent, lost, frames of the flood that the card took a second)."""
    models.ask("port %d reset-stats" % PORT)
    run, after = models.send("%d" % rate, SLICE_S)
    flood = after["ports"][PORT]["rx_frames"] if PORT < len(after["ports"]) else 0
    return run["sent"], after["streams"][0]["lost"], flood * 1e9 / run["ns"]


def measure(results, work, accel, nic, runs, kind, rate):
    """Measures one flood, on a new machine; returns the flow's rate."""
    name = re.sub(r"[^a-z0-9]+", "-", kind.lower())
    work = os.path.join(work, "floods", nic, name)
    os.makedirs(work, exist_ok=True)
    wire = "wire:sink"
    if KINDS[kind]:
        path = os.path.join(work, "flood.pcap")
        wrpcap(path, [frame(KINDS[kind], n, "52:54:00:68:79:%02x" % PORT) for n in range(FRAMES)])
        wire = "wire:pcap:%s;speed=flat;loop=forever" % path
    with router_on_models(work, accel, nic, Flooded, idle="poll", more_ports=[wire]) as (router, models):
        models.partners = []  # no real-time priority, so that the control core runs too
        models.run(WARM_UP_S)
        if not rate:
            rate = int(models.run(SLICE_S).mpps() * 1e6 / SHARE)
        before = drops_of(router)
        found = [trial(models, rate) for _ in range(runs)]
        text = lost_by(router, before)
    if not all(sent for sent, _, _ in found):
        raise BenchError("%s: the flow did not go" % kind)
    kept = [1 - lost / sent for sent, lost, _ in found]
    results.add("router.%s.flood.%s.kept" % (nic, name), kept, "of the flow", "higher", accel)
    results.note("%s, %s: the flow, %.2f Mpps, keeps %s; the flood %.2f Mpps; the router: %s" % (
        nic, kind, rate / 1e6, "/".join("%.4f" % x for x in kept),
        max(flood for _, _, flood in found) / 1e6, text))
    progress("%s: kept %s" % (kind, "/".join("%.4f" % x for x in kept)))
    return rate


def floods(results, work, accel, nics, runs):
    for nic in nics:
        rate = 0
        for kind in KINDS:
            rate = measure(results, work, accel, nic, runs, kind, rate)
