"""The traffic on the wire between a card and a host: reads, makes and checks frames.

The wire is the host's tap. A frame read from it is what the card has sent, bit by bit, except that
Linux keeps a VLAN tag beside the frame (PACKET_AUXDATA); this file restores the tag.
"""
import select
import socket
import struct
import time

ETH_P_ALL = 3
PACKET_OUTGOING = 4
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID = 1 << 4

IP, IP6, ARP, VLAN = 0x0800, 0x86DD, 0x0806, 0x8100
ICMP, TCP, UDP, FRAGMENT = 1, 6, 17, 44
MORE = 1 << 13  # more fragments, in the word of the IPv4 header


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    """RFC 1071."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(destination, source, kind, payload, vlan=None):
    tag = struct.pack(">HH", VLAN, vlan) if vlan is not None else b""
    frame = destination + source + tag + struct.pack(">H", kind) + payload
    return frame + bytes(max(0, 60 - len(frame)))


def address(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def ipv4(source, destination, protocol, payload, number=0, fragment=0):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), number, fragment, 64, protocol,
                       0, address(source), address(destination))
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ipv6(source, destination, protocol, payload):
    return struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) + address(
        source) + address(destination) + payload


def ipv4_fragments(source, destination, protocol, payload, size, number):
    """RFC 791 fragments of `size` bytes, a multiple of 8."""
    return [ipv4(source, destination, protocol, payload[at:at + size], number,
                 at // 8 | (MORE if at + size < len(payload) else 0))
            for at in range(0, len(payload), size)]


def ipv6_fragments(source, destination, protocol, payload, size, number):
    """Fragments of RFC 8200, 4.5."""
    return [ipv6(source, destination, FRAGMENT, struct.pack(
        ">BBHI", protocol, 0, at | (at + size < len(payload)), number) + payload[at:at + size])
            for at in range(0, len(payload), size)]


def pseudo(source, destination, protocol, length):
    if ":" in source:
        return address(source) + address(destination) + struct.pack(">II", length, protocol)
    return address(source) + address(destination) + struct.pack(">HH", protocol, length)


def udp(source, destination, sport, dport, data, spoil=0):
    """A datagram; `spoil` is XORed into its checksum."""
    head = struct.pack(">HHHH", sport, dport, 8 + len(data), 0)
    value = (checksum(pseudo(source, destination, UDP, 8 + len(data)) + head + data)
             or 0xFFFF) ^ spoil
    return head[:6] + struct.pack(">H", value) + data


def tcp(source, destination, sport, dport, data, spoil=0):
    """A segment without a connection (ACK, answered by RST); `spoil` as above."""
    head = struct.pack(">HHIIBBHHH", sport, dport, 1, 1, 5 << 4, 0x10, 8192, 0, 0)
    value = checksum(pseudo(source, destination, TCP, len(head) + len(data)) + head + data) ^ spoil
    return head[:16] + struct.pack(">H", value) + head[18:] + data


def echo_request(number, data=b"witness"):
    head = struct.pack(">BBHHH", 8, 0, 0, 0x7777, number)
    return head[:2] + struct.pack(">H", checksum(head + data)) + head[4:] + data


class Packet:
    """A frame, parsed as far as the tests need."""

    def __init__(self, frame):
        self.frame = frame
        self.vlan = None
        self.kind, = struct.unpack_from(">H", frame, 12)
        at = 14
        if self.kind == VLAN:
            self.vlan, self.kind = struct.unpack_from(">HH", frame, 14)
            at = 18
        self.protocol = self.ip = None
        if self.kind == IP and len(frame) >= at + 20:
            length, = struct.unpack_from(">H", frame, at + 2)
            self.ip = frame[at:at + length]
            self.protocol = self.ip[9]
            self.segment = self.ip[(self.ip[0] & 15) * 4:]

    def wrong(self):
        """'' if the checksums of IP and above are right, else the name of the wrong one."""
        head = self.ip[:(self.ip[0] & 15) * 4]
        if checksum(head):
            return "IP header checksum"
        pseudo = self.ip[12:20] + struct.pack(">HH", self.protocol, len(self.segment))
        if self.protocol == TCP and checksum(pseudo + self.segment):
            return "TCP checksum"
        # RFC 768: 0 means no checksum.
        if self.protocol == UDP and self.segment[6:8] != b"\0\0":
            if checksum(pseudo + self.segment):
                return "UDP checksum"
        if self.protocol == ICMP and checksum(self.segment):
            return "ICMP checksum"
        return ""


class Wire:
    """A tap of a Host, seen from the host's side."""

    def __init__(self, host, name="eth0"):
        self.sock = host.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 20)
        self.sock.bind((name, ETH_P_ALL))
        self.sock.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()
        return False

    def send(self, frame):
        self.sock.send(frame)

    def received(self):
        """The Packets sent by the card and not yet returned by a call."""
        packets = []
        while True:
            try:
                frame, extra, _, address = self.sock.recvmsg(1 << 16, 256)
            except BlockingIOError:
                return packets
            if address[2] == PACKET_OUTGOING or len(frame) < 14:
                continue
            for level, kind, data in extra:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", data[:20])
                    if status & TP_STATUS_VLAN_VALID:
                        frame = frame[:12] + struct.pack(">HH", tpid or VLAN, tci) + frame[12:]
            packets.append(Packet(frame))

    def expect(self, condition, timeout_s=5.0):
        """The first Packet that satisfies condition, or None after timeout_s."""
        deadline = time.monotonic() + timeout_s
        while True:
            for packet in self.received():
                if condition(packet):
                    return packet
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                return None
