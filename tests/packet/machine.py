"""A machine as an object: frames in, frames out, time, counters.

It drives tests/host/harness.c, whose file comment is the reference of the protocol. A test must
take each frame that the machine sends, by `expect` (or `take`), in order per port; `nothing_left`
at the end of a test finds any others. Expected frames are built by scapy from the RFCs, never by
our own code.
"""
import collections
import os
import socket
import struct
import subprocess
import tempfile

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6MLReport2, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from scapy.utils import checksum

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
HARNESS = os.environ.get("HARNESS") or os.path.join(ROOT, "build", "packet", "harness")

# The machine allocates nothing, so no leak is to be found; to look for one takes 25 ms, as long as a short test.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}

MS = 1000000
SECOND = 1000 * MS
BROADCAST = "ff:ff:ff:ff:ff:ff"
ZERO = "00:00:00:00:00:00"
BRIDGES = "01:80:c2:00:00:00"  # BPDUs (802.1D-2004 7.12.6)

# Counters of the transport of frames, not of their fate: omitted where a test lists the counters.
TRANSPORT = {"punted", "punt_taken", "injected"}

# Over all machines of the run, for conftest's final checks.
reached = collections.Counter()
known = {}  # counter -> fate, drop or info
notes = []  # lines for the end of the run


class HarnessError(Exception):
    """The machine's process ended or broke an invariant."""


class Out(collections.namedtuple("Out", "frame partial cut")):
    """A frame sent. partial: (csum_start, csum_offset) of a PKT_CSUM_PARTIAL frame, or None. cut:
    ("tso" or "uso", mss, header bytes) of a frame that the device is to segment, or None."""


class Station:
    """A host on a port. Its IPv6 addresses follow from the other two: ip6 ends in the same number,
    in the /64 of its port; link_local has the identifier derived from the MAC (RFC 4291 appendix
    A)."""

    def __init__(self, port, ip, mac, ip6=None):
        self.port, self.ip, self.mac = port, ip, mac
        self.ip6 = ip6 or "2001:db8:%d::%x" % (port + 1, int(ip.rsplit(".", 1)[-1]))
        m = bytes.fromhex(mac.replace(":", ""))
        self.link_local = socket.inet_ntop(socket.AF_INET6, b"\xfe\x80" + bytes(6) + bytes(
            [m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]]))


A = Station(0, "192.0.2.2", "02:aa:00:00:00:02")
A2 = Station(0, "192.0.2.3", "02:aa:00:00:00:03")
B = Station(1, "198.51.100.2", "02:bb:00:00:00:02")
B2 = Station(1, "198.51.100.3", "02:bb:00:00:00:03")
ROUTER = [Station(0, "192.0.2.1", "02:48:59:00:00:00"),
          Station(1, "198.51.100.1", "02:48:59:00:00:01"),
          Station(2, "203.0.113.1", "02:48:59:00:00:02")]

CONFIG = """\
hostname r1
arp timeout 60
interface eth0
 ip address 192.0.2.1/24
interface eth1
 ip address 198.51.100.1/24
"""
# the HTTP server, for everybody
WEB = "http server\nhttp access 0.0.0.0/0\nhttp access ::/0\n"


def padded(frame):
    """The frame with Ethernet's padding: at least 60 bytes, with zeros at the end."""
    return bytes(frame).ljust(60, b"\0")


def ether(src, dst):
    return Ether(src=getattr(src, "mac", src), dst=getattr(dst, "mac", dst))


def arp_request(src, target, **fields):
    """An ARP request of a station (RFC 826)."""
    values = dict(op=1, hwsrc=src.mac, psrc=src.ip, hwdst=ZERO, pdst=target)
    values.update(fields)
    return Ether(src=src.mac, dst=BROADCAST) / ARP(**values)


def arp_reply(src, dst, **fields):
    values = dict(op=2, hwsrc=src.mac, psrc=src.ip, hwdst=dst.mac, pdst=dst.ip)
    values.update(fields)
    return Ether(src=src.mac, dst=dst.mac) / ARP(**values)


def fixed(packet):
    """The IP packet as scapy dissects its bytes: with lengths and checksums."""
    return IP(bytes(packet))


def hop(packet):
    """The IP packet as a router forwards it: RFC 1812 5.3.1, TTL decremented, header checksum
    updated."""
    p = fixed(packet)
    p.ttl -= 1
    del p.chksum
    return fixed(p)


def icmp_error(router, packet, type_, code, rest=0):
    """The ICMP error that RFC 1812 4.3.2 requires about an IP packet. It quotes as much as fits 576
    bytes in all (4.3.2.3), has precedence 6 (4.3.2.5), and the address of the interface it leaves
    by (4.3.2.4). DF and identification 0: RFC 6864 4.1."""
    quote = bytes(packet)[:576 - 28]
    head = bytes([type_, code, 0, 0]) + rest.to_bytes(4, "big") + quote
    head = head[:2] + checksum(head).to_bytes(2, "big") + head[4:]
    return IP(src=router.ip, dst=fixed(packet).src, tos=0xc0, id=0, flags="DF", ttl=64,
              proto=1) / Raw(head)


def udp(src, dst, size=32, **fields):
    """An IP/UDP packet; addresses are stations or text."""
    ports = {k: fields.pop(k) for k in ("sport", "dport", "chksum") if k in fields}
    ports.setdefault("sport", 1024)
    ports.setdefault("dport", 2048)
    return IP(src=getattr(src, "ip", src), dst=getattr(dst, "ip", dst), **fields) / \
        UDP(**ports) / Raw(bytes(i & 255 for i in range(size)))


# Of frames without a VLAN tag and without IP options: the places of the checksums that cover an
# address, by EtherType and protocol.
CHECKSUMS = {(0x0800, 17): (24, 40), (0x0800, 1): (24,), (0x86dd, 17): (60,), (0x86dd, 58): (56,)}


def alike(build, stations):
    """The frames build(station), as bytes. Scapy takes a millisecond for a frame, so it builds the
    first and the last only. The others are copies of the first that have their own station's MAC and
    addresses, and checksums updated for them (RFC 1624 3). The last equals its copy."""
    first = bytes(build(stations[0]))
    kind = int.from_bytes(first[12:14], "big")
    protocol = first[20 if kind == 0x86dd else 23]
    sums = () if kind == 0x0806 else CHECKSUMS[kind, protocol]

    def names(station):
        return (bytes.fromhex(station.mac.replace(":", "")), socket.inet_aton(station.ip),
                socket.inet_pton(socket.AF_INET6, station.ip6))

    def words(name):
        return struct.unpack(">%dH" % (len(name) // 2), name)

    places = []  # (offset, which of the names)
    for which, name in enumerate(names(stations[0])):
        at = first.find(name)
        while at >= 0:
            assert at % 2 == 0
            places.append((at, which))
            at = first.find(name, at + len(name))
    old = names(stations[0])
    base = sum(word ^ 0xffff for at, which in places if at >= 14 for word in words(old[which]))
    frames = []
    for station in stations:
        own, frame, total = names(station), bytearray(first), base
        for at, which in places:
            frame[at:at + len(own[which])] = own[which]
            if at >= 14:
                total += sum(words(own[which]))
        for at in sums:
            value = total + (int.from_bytes(first[at:at + 2], "big") ^ 0xffff)
            while value >> 16:
                value = (value & 0xffff) + (value >> 16)
            value ^= 0xffff
            if protocol == 17 and at != 24:
                value = value or 0xffff  # UDP: zero means none (RFC 768)
            frame[at:at + 2] = value.to_bytes(2, "big")
        frames.append(bytes(frame))
    assert frames[-1] == bytes(build(stations[-1]))
    return frames


class Machine:
    """config: text or None. ports: number of ports. boot=False: the test handles the output of the
    first seconds (settle). dead: ports whose devices do not start. memory: KiB for data-plane state and
    forwarding table. cuts: the devices have TSO and USO. refuse: "N", the N-th request for memory
    is refused, "N+": all later ones too. lives: only the control program, which can be
    restarted. tables: MiB of the control core's tables; 28 without. disk: its file (disk_make)."""

    def __init__(self, config=CONFIG, ports=2, app=None, options="", mtu_max=None, boot=True,
                 dead=(), memory=None, cuts=False, refuse=None, lives=False,
                 tables=None, disk=None, read_only=False):
        self.outs = [collections.deque() for _ in range(ports)]
        self.text = ""
        self.errors = tempfile.TemporaryFile()
        self.config = None
        arguments = [HARNESS, "-p", str(ports)]
        if config is not None:
            self.config = tempfile.NamedTemporaryFile(suffix=".conf")
            self.config.write(config if isinstance(config, bytes) else config.encode())
            self.config.flush()
            arguments += ["-c", self.config.name]
        if app:
            options = (options + " app=" + app).strip()
        if options:
            arguments += ["-o", options]
        for port in dead:
            arguments += ["-d", str(port)]
        if mtu_max:
            arguments += ["-m", str(mtu_max)]
        if memory:
            arguments += ["-s", str(memory)]
        if tables:
            arguments += ["-T", str(tables)]
        if cuts:
            arguments += ["-t"]
        if refuse:
            arguments += ["-r", refuse]
        if lives:
            arguments += ["-l"]
        if disk:
            arguments += ["-R" if read_only else "-D", disk]
        self.child = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.errors, bufsize=1 << 20, env=ENVIRONMENT)
        self._answer()
        if boot:
            self.settle(10 if self.config and "ipv6" in str(config) else 3)
        self.seen = self.counters()

    def settle(self, seconds=10, asked=()):
        """Waits until the announcements of a new link are over: two ARP announcements (RFC 5227
        2.3), the probes of DAD (RFC 4862 5.4), advertisements of new addresses (RFC 4861 7.2.6),
        reports of groups (RFC 3810 6.1), the BPDUs of a switch, whose ports then forward. Discards
        them, and requests for the addresses in `asked`."""
        self.time(seconds * SECOND)
        for outs in self.outs:
            while outs:
                frame = Ether(outs.popleft().frame)
                if frame.dst == BRIDGES:
                    continue
                if ARP in frame:
                    assert frame[ARP].op == 1 and frame[ARP].pdst in (frame[ARP].psrc, *asked)
                else:
                    assert ICMPv6ND_NS in frame and frame[ICMPv6ND_NS].tgt in asked or \
                        frame[IPv6].src == "::" and ICMPv6ND_NS in frame or \
                        frame[IPv6].dst == "ff02::1" and ICMPv6ND_NA in frame or \
                        ICMPv6MLReport2 in frame or ICMPv6ND_RA in frame, frame.summary()

    # --- the protocol ---

    def _died(self):
        self.child.wait()
        self.errors.seek(0)
        raise HarnessError("the harness ended (%d):\n%s" % (
            self.child.returncode, self.errors.read().decode("utf-8", "replace")[-6000:]))

    def _answer(self):
        """Reads up to `done`; returns the lines that are neither frames nor text."""
        lines = []
        for raw in self.child.stdout:
            word, _, rest = raw.decode().rstrip("\n").partition(" ")
            if word == "done":
                return lines
            if word == "out":
                words = rest.split(" ")
                partial = (int(words[3]), int(words[4])) if len(words) > 2 else None
                cut = (words[5], int(words[6]), int(words[7])) if len(words) > 5 else None
                self.outs[int(words[0])].append(Out(bytes.fromhex(words[1]), partial, cut))
            elif word == "text":
                self.text += bytes.fromhex(rest).decode("latin-1")
            else:
                lines.append((word, rest))
        self._died()

    def command(self, line):
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            self._died()
        return self._answer()

    def queue(self, port, frame, flags=""):
        """Queues a frame that arrives in the next turn; several frames form a vector."""
        frame = bytes(frame)
        try:
            self.child.stdin.write(b"in %d %s %s\n" % (port, frame.hex().encode() or b"-",
                                                       flags.encode()))
        except OSError:
            self._died()

    # --- stimuli ---

    def send(self, port, *frames, flags=""):
        """Frames arrive together, padded to 60 bytes."""
        for frame in frames:
            self.queue(port, padded(frame), flags)
        self.command("run")

    def send_raw(self, port, frame, flags=""):
        """One frame arrives unpadded, however short."""
        self.queue(port, frame, flags)
        self.command("run")

    def time(self, ns):
        self.command("time %d" % ns)

    def link(self, port, up):
        """Plugs in or pulls a cable. The machine notices after 10 ms."""
        self.command("link %d %s" % (port, "up" if up else "down"))

    def speed(self, port, mbps):
        """The card reports this speed from now on, without an event. The machine looks after 10 ms."""
        self.command("speed %d %d" % (port, mbps))

    def key(self, text):
        """Types text. The machine reads it after 10 ms."""
        self.command("key " + text.encode().hex())

    def console(self, line):
        """Types a command; returns its output."""
        start = len(self.text)
        self.key(line + "\r")
        said = self.text[start:].replace("\r", "")
        assert said.startswith(line + "\n"), said
        said = said[len(line) + 1:]
        return said[:said.rindex("\n") + 1] if "\n" in said else ""

    def refuse(self, what, n, on=False):
        """Refuses the n-th request from now on for `memory` or `buffers`; on: all later ones too;
        0: none."""
        self.command("refuse %s %d%s" % (what, n, " on" if on else ""))

    def asked(self):
        """{"memory": (requests, refused requests), "buffers": ..., "private": bytes in use}"""
        said = {}
        for word, rest in self.command("asked"):
            what, *numbers = rest.split(" ")
            said.update({what: tuple(map(int, numbers))} if word == "asked" else {word: int(what)})
        return said

    def anew(self, refuse="0", amid_driver=False):
        """The control program fails and restarts; refuse: as for a new machine."""
        self.command("anew %s%s" % (refuse, " driver" if amid_driver else ""))

    # --- expectations ---

    def take(self, port):
        """The next frame sent by the port."""
        assert self.outs[port], "eth%d sent nothing (more)" % port
        return self.outs[port].popleft()

    def take_all(self, port):
        frames = [out.frame for out in self.outs[port]]
        self.outs[port].clear()
        return frames

    def expect(self, port, frame, partial=None, cut=None):
        """The port's next frame has exactly these bytes."""
        out = self.take(port)
        want = padded(frame)
        assert out.frame == want, "eth%d sent\n  %s\nwanted\n  %s\n%s" % (
            port, out.frame.hex(), want.hex(), Ether(out.frame).summary())
        assert out.partial == partial and out.cut == cut

    def expect_nothing(self):
        for port, outs in enumerate(self.outs):
            assert not outs, "eth%d sent %d more: %s" % (
                port, len(outs), "; ".join(Ether(o.frame).summary() for o in list(outs)[:5]))

    def all_counters(self):
        """(counters, received, waiting)"""
        counters, rest = {}, {}
        for word, text in self.command("counters"):
            if word == "counter":
                name, kind, value = text.split(" ")
                counters[name] = int(value)
                known[name] = kind
            else:
                rest[word] = int(text)
        return counters, rest["received"], rest["waiting"]

    def counters(self):
        return self.all_counters()[0]

    def waiting(self):
        return self.all_counters()[2]

    def counted(self):
        """The counters' changes since the last call, without the transport between cores."""
        now = self.counters()
        delta = {name: now[name] - self.seen.get(name, 0) for name in now
                 if now[name] != self.seen.get(name, 0)}
        self.seen = now
        for name, n in delta.items():
            reached[name] += n
        return {name: n for name, n in delta.items() if name not in TRANSPORT}

    def expect_counters(self, **want):
        """Exactly these counters have changed since the last call, by these amounts."""
        assert self.counted() == want

    # --- common steps ---

    def learn(self, *stations):
        """The stations send ARP requests for the router, and so become known."""
        for s in stations:
            router = ROUTER[s.port]
            self.send(s.port, arp_request(s, router.ip))
            self.expect(s.port, arp_reply(router, s))
        self.counted()

    def route(self, packet, src=A, dst=B, flags="", partial=None):
        """A packet goes from src's port to dst, rewritten exactly as RFC 1812 requires."""
        self.send(src.port, ether(src, ROUTER[src.port]) / packet, flags=flags)
        self.expect(dst.port, ether(ROUTER[dst.port], dst) / hop(packet), partial)
        self.expect_nothing()

    def close(self):
        """Ends the machine; it must have run without errors."""
        if self.child.poll() is None:
            self.counted()
            self.child.stdin.close()
            code = self.child.wait(20)
            if code != 0:
                self._died()
        self.abandon()

    def abandon(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.child.stdin = None
        self.child.stdout.close()
        self.errors.close()
        if self.config:
            self.config.close()


def error_about(router, station, packet, type_, code, rest=0):
    """The frame that carries an ICMP error to a neighbour."""
    return ether(router, station) / icmp_error(router, packet, type_, code, rest)


__all__ = [name for name in dir() if not name.startswith("_")] + ["ICMP", "IP", "UDP", "ARP"]
