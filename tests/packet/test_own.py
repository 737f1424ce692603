"""The machine's own packets in several buffers, some of which their owner also holds (as TCP does):
sent by a port unchanged, or by the control core, in one piece and complete."""
import pytest
from machine import *
from scapy.layers.inet import TCP
from test_offload import pseudo

PIECES = (1, 2, 5, 33)


def headers(packet):
    return 14 + packet.ihl * 4 + (packet[TCP].dataofs * 4 if TCP in packet else 8)


def unfinished(packet):
    """The frame to B with the pseudo header's sum as its checksum."""
    raw, at = bytearray(bytes(packet)), packet.ihl * 4 + (16 if packet.proto == 6 else 6)
    raw[at:at + 2] = pseudo(packet, len(raw) - packet.ihl * 4).to_bytes(2, "big")
    return bytes(ether(ROUTER[1], B))[:12] + b"\x08\0" + bytes(raw)


def offload(packet, mss=None):
    words = "%d %d" % (14 + packet.ihl * 4, 16 if packet.proto == 6 else 6)
    if mss is None:
        return "partial " + words
    return "%s %s %d %d" % ("tso" if packet.proto == 6 else "uso", words, mss, headers(packet))


def own(m, how, packet, pieces, mss=None):
    port = "" if how == "punt" else "1 "
    m.command("own %s %s%s %d %s" % (how, port, unfinished(packet).hex(), pieces,
                                     offload(packet, mss)))


def tcp(size, **fields):
    return fixed(IP(src=ROUTER[1].ip, dst=B.ip, flags="DF", id=65534) /
                 TCP(sport=80, dport=4096, seq=2**32 - 700, **fields) /
                 Raw(bytes(i * 7 & 255 for i in range(size))))


def own_udp(size):
    return fixed(udp(ROUTER[1], B, size, id=7, flags="DF"))


TX_CSUM, TSO, SG, USO = 2, 16, 64, 128  # drivers/nic.h


@pytest.mark.parametrize("cuts", (False, True))
@pytest.mark.parametrize("dead", ([], [1], [0, 1]))
def test_what_all_ports_take(make, cuts, dead):
    """Ports that did not start are ignored; without any port there are no offloads."""
    m = make(cuts=cuts, dead=dead, boot=not dead)
    ((_, features),) = m.command("features")
    want = 0 if len(dead) == 2 else TX_CSUM | SG | (TSO | USO if cuts else 0)
    assert int(features) & (TX_CSUM | SG | TSO | USO) == want
    for outs in m.outs:
        outs.clear()


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("packet", (tcp(1401, flags="PA"), own_udp(777)), ids=("TCP", "UDP"))
def test_one_frame_on_the_wire(m, packet, pieces):
    own(m, "tx", packet, pieces)
    m.expect(1, unfinished(packet), partial=tuple(int(w) for w in offload(packet).split()[1:]))


@pytest.mark.parametrize("pieces", PIECES)
def test_devices_cut(make, pieces):
    m = make(cuts=True)
    packet = tcp(1900, flags="FPAC")
    own(m, "tx", packet, pieces, mss=536)
    m.expect(1, unfinished(packet), partial=(34, 16), cut=("tso", 536, 54))
    packet = own_udp(1900)
    own(m, "tx", packet, pieces, mss=500)
    m.expect(1, unfinished(packet), partial=(34, 6), cut=("uso", 500, 42))


@pytest.mark.parametrize("pieces", PIECES)
def test_waits_for_its_neighbour(fresh, pieces):
    """A message to the control core is one frame: in one piece, with its checksum."""
    packet = tcp(1300, flags="PA")
    own(fresh, "punt", packet, pieces)
    fresh.expect(1, arp_request(ROUTER[1], B.ip))
    fresh.send(1, arp_reply(B, ROUTER[1]))
    fresh.expect(1, ether(ROUTER[1], B) / packet)


def test_too_long_for_a_message(m):
    packet = tcp(4000)
    own(m, "punt", packet, 4)
    m.expect_counters(originated_drop_tx=1)


@pytest.mark.parametrize("packet", (tcp(1300), own_udp(1300)), ids=("TCP", "UDP"))
def test_too_large_to_wait(fresh, packet):
    """A frame for the device to segment cannot be a message; its sender retransmits lost data."""
    own(fresh, "punt", packet, 3, mss=500)
    fresh.expect_nothing()
    fresh.expect_counters(originated_drop_tx=1)


def test_held_and_dropped(m):
    """Shared buffers and fragments that wait at a full ring are released exactly once, sent or not.
    The harness counts references after every command."""
    packet = own_udp(300)
    m.command("room 1 0")
    for i in range(800):
        own(m, "tx", packet, 1 + i % 4)
    m.command("room 1 -1")
    assert len(m.take_all(1)) == 704  # CORE_OUT_HOLD without the places for forwarded packets
    m.expect_counters(originated_drop_tx=96)
