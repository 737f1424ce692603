"""The echo application over UDP (RFC 768): the services of RFC 862 to 864, and ping."""
import pytest
from machine import *
from scapy.layers.inet import IPOption_NOP

ECHO = CONFIG + "application echo\n"
TWO = ECHO + "service echo udp port 7 port 4000\n"
ALL = TWO + "service discard udp\nservice chargen udp port 19 port 1900\n"


@pytest.fixture
def e(make):
    machine = make(ECHO)
    machine.learn(A, B)
    return machine


def answer(request, **fields):
    r = fixed(request)
    values = dict(src=r.dst, dst=r.src, id=r.id, tos=r.tos, ttl=64, flags=r.flags)
    values.update(fields)
    return IP(**values) / UDP(sport=r[UDP].dport, dport=r[UDP].sport, chksum=r[UDP].chksum) / \
        Raw(bytes(r[UDP].payload))


def to_router(packet, src=A):
    return ether(src, ROUTER[src.port]) / packet


@pytest.mark.parametrize("size", [0, 1, 2, 18, 19, 100, 1471, 1472])
@pytest.mark.parametrize("src", [A, B], ids=["eth0", "eth1"])
def test_echo(e, size, src):
    request = udp(src, ROUTER[src.port], size, dport=7, id=size)
    e.send(src.port, to_router(request, src))
    e.expect(src.port, ether(ROUTER[src.port], src) / answer(request))
    e.expect_counters(delivered_udp=1, udp_tx=1)


@pytest.mark.parametrize("fields", [dict(ttl=1), dict(tos=0x2c), dict(flags="DF"), dict(sport=0),
                                    dict(sport=65535)], ids=str)
def test_header(e, fields):
    request = udp(A, ROUTER[0], dport=7, **fields)
    e.send(0, to_router(request))
    e.expect(0, ether(ROUTER[0], A) / answer(request))


def test_needs_no_neighbour(make):
    """The answer goes back to the MAC that sent the request."""
    m = make(ECHO)
    request = udp("10.1.2.3", ROUTER[0], dport=7)
    m.send(0, to_router(request))
    m.expect(0, ether(ROUTER[0], A) / answer(request))


def test_several_ports(make):
    m = make(TWO)
    m.learn(A)
    for port in (7, 4000):
        request = udp(A, ROUTER[0], dport=port)
        m.send(0, to_router(request))
        m.expect(0, ether(ROUTER[0], A) / answer(request))
    other = udp(A, ROUTER[0], dport=8)
    m.send(0, to_router(other))
    m.expect(0, error_about(ROUTER[0], A, other, 3, 3))
    m.expect_counters(delivered_udp=2, udp_tx=2, drop_udp_port=1, icmp_tx_unreach_port=1)


@pytest.mark.parametrize("dport", [7, 4000, 19])
@pytest.mark.parametrize("sport", [7, 4000, 19, 1900])
def test_two_servers_do_not_talk_for_ever(make, sport, dport):
    """A datagram from a port that also answers, here or by its RFC, would be answered for ever
    (CERT CA-1996-01)."""
    m = make(ALL)
    m.learn(A)
    m.send(0, to_router(udp(A, ROUTER[0], sport=sport, dport=dport)))
    m.expect_nothing()
    m.expect_counters(drop_udp_loop=1)


@pytest.mark.parametrize("sport", [7, 9, 19])
def test_port_of_a_server_elsewhere(make, sport):
    """The ports of RFC 862 and 864 answer on the other side, even if they are not ours."""
    m = make(ECHO + "service echo udp port 4000\n")
    m.learn(A)
    request = udp(A, ROUTER[0], sport=sport, dport=4000)
    m.send(0, to_router(request))
    if sport == 9:
        m.expect(0, ether(ROUTER[0], A) / answer(request))
    m.expect_nothing()


def pattern(n, line=0):
    """RFC 864's example: 72 characters of a ring of 95; each line begins one character later."""
    text = b""
    while len(text) < n:
        text += bytes(32 + (line + i) % 95 for i in range(72)) + b"\r\n"
        line += 1
    return text[:n]


@pytest.mark.parametrize("size", [0, 1, 73, 74, 511, 512, 513, 1472])
def test_chargen(make, size):
    """RFC 864: 0 to 512 characters, but never more than were sent, so that forging the source gains
    nothing. Each answer begins one line later."""
    m = make(ALL)
    m.learn(A)
    for line in range(2):
        m.send(0, to_router(udp(A, ROUTER[0], size, dport=19, tos=4, id=9, flags="")))
        m.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip, flags="DF", id=0) /
                 UDP(sport=19, dport=1024) / Raw(pattern(min(size, 512), line)))
    m.expect_counters(delivered_udp=2, udp_tx=2)


def test_chargen_offers_no_stale_bytes(make):
    """No byte of the request comes back, with any offload and padding."""
    m = make(ALL)
    m.learn(A)
    request = fixed(IP(src=A.ip, dst=ROUTER[0].ip, options=[IPOption_NOP()] * 8) /
                    UDP(sport=99, dport=1900) / Raw(b"SECRET" * 2))
    for flags in "", "ok":
        m.send(0, to_router(request), flags=flags)
    for line in range(2):
        m.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip, flags="DF", id=0) /
                 UDP(sport=1900, dport=99) / Raw(pattern(12, line)))


def test_chargen_comes_round(make):
    """The ring has 95 lines; an answer can end at any place in it."""
    m = make(ALL)
    m.learn(A)
    said = set()
    for _ in range(200):
        m.send(0, to_router(udp(A, ROUTER[0], 512, dport=19)))
        data = bytes(IP(m.take(0).frame[14:])[UDP].payload)
        assert data == pattern(512, data[0] - 32)
        said.add(data[0])
    assert len(said) > 80


@pytest.mark.parametrize("sport", [1024, 7, 9, 19])
def test_discard(make, sport):
    """RFC 863: no answer to any sender."""
    m = make(ALL)
    m.learn(A)
    m.send(0, to_router(udp(A, ROUTER[0], 100, sport=sport, dport=9)))
    m.expect_nothing()
    m.expect_counters(delivered_udp=1)


def test_services_are_those_stated(make):
    """A configured service disables the unconfigured ones."""
    m = make(ECHO + "service discard udp port 99\n")
    m.learn(A)
    m.send(0, to_router(udp(A, ROUTER[0], dport=99)))
    for port in 7, 9, 19:
        other = udp(A, ROUTER[0], dport=port)
        m.send(0, to_router(other))
        m.expect(0, error_about(ROUTER[0], A, other, 3, 3))
    m.expect_counters(delivered_udp=1, drop_udp_port=3, icmp_tx_unreach_port=3)


def test_no_checksum(e):
    """RFC 768: zero means no checksum; the answer has none either."""
    request = udp(A, ROUTER[0], dport=7, chksum=0)
    e.send(0, to_router(request))
    e.expect(0, ether(ROUTER[0], A) / answer(request))


def test_udp_shorter_than_its_packet(e):
    """Bytes after the datagram but inside the packet come back unchanged."""
    request = fixed(IP(src=A.ip, dst=ROUTER[0].ip) / UDP(sport=9, dport=7, len=12, chksum=0) /
                    Raw(b"datamore"))
    e.send(0, to_router(request))
    e.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip) /
             UDP(sport=7, dport=9, len=12, chksum=0) / Raw(b"datamore"))


def test_options_come_back_as_end_of_list(e):
    """As net/udp.h specifies."""
    request = fixed(IP(src=A.ip, dst=ROUTER[0].ip, options=[IPOption_NOP()] * 8) /
                    UDP(sport=9, dport=7) / Raw(b"data"))
    want = bytearray(bytes(answer(request)))
    head = bytearray(want[:20]) + bytes(8)
    head[0] = 0x47
    head[2:4] = (len(want) + 8).to_bytes(2, "big")
    head[10:12] = b"\0\0"
    head[10:12] = checksum(bytes(head)).to_bytes(2, "big")
    e.send(0, to_router(request))
    e.expect(0, bytes(ether(ROUTER[0], A))[:12] + b"\x08\0" + bytes(head) + bytes(want[20:]))


REFUSED = {
    "checksum": (udp(A, ROUTER[0], dport=7, chksum=0x1111), "drop_udp_malformed"),
    "datagram longer than its packet": (IP(src=A.ip, dst=ROUTER[0].ip) /
                                        UDP(dport=7, len=99, chksum=0), "drop_udp_malformed"),
    "another host": (udp(A, B, dport=7), "drop_ip4_not_ours"),
    "address of the other port": (udp(A, ROUTER[1], dport=7), "drop_ip4_not_ours"),
    "directed broadcast": (udp(A, "192.0.2.255", dport=7), "drop_ip4_not_ours"),
    "source martian": (udp("127.0.0.1", ROUTER[0], dport=7), "drop_ip4_src_martian"),
    "source ourselves (RFC 1812 5.3.8)": (udp(ROUTER[0], ROUTER[0], dport=7),
                                          "drop_ip4_src_local"),
    "source is the subnet's broadcast (RFC 1122 3.2.1.3)": (
        udp("192.0.2.255", ROUTER[0], dport=7), "drop_ip4_src_martian"),
    "IP checksum": (IP(src=A.ip, dst=ROUTER[0].ip, chksum=1) / UDP(dport=7),
                    "drop_ip4_checksum"),
}


@pytest.mark.parametrize("packet,counter", REFUSED.values(), ids=REFUSED.keys())
def test_refused(e, packet, counter):
    e.send(0, to_router(packet))
    e.expect_nothing()
    e.expect_counters(**{counter: 1})


@pytest.mark.parametrize("packet,mac,counter", [
    (udp(A, ROUTER[0], dport=7), BROADCAST, "drop_ip4_link_bcast"),
    (udp(A, "255.255.255.255", dport=7), BROADCAST, "drop_ip4_link_bcast"),
    (udp(A, "224.0.0.1", dport=7), "01:00:5e:00:00:01", "drop_ip4_multicast")],
    ids=["unicast in broadcast", "limited broadcast", "multicast"])
def test_no_echo_to_many(e, packet, mac, counter):
    """RFC 862 would multiply: never answer a packet sent to many (RFC 1122 3.3.6)."""
    e.send(0, ether(A, mac) / packet)
    e.expect_nothing()
    e.expect_counters(**{counter: 1})


def test_ping(e):
    request = IP(src=A.ip, dst=ROUTER[0].ip, id=3) / ICMP(id=1, seq=1) / Raw(b"x" * 33)
    e.send(0, to_router(request))
    e.expect(0, ether(ROUTER[0], A) / IP(src=ROUTER[0].ip, dst=A.ip, id=3, ttl=64) /
             ICMP(type=0, id=1, seq=1) / Raw(b"x" * 33))
    e.expect_counters(delivered_icmp=1, icmp_tx_echo_reply=1)


def test_vector_of_256(e):
    requests = [udp(A, ROUTER[0], i, dport=7, id=i) for i in range(256)]
    e.send(0, *(to_router(r) for r in requests))
    for r in requests:
        e.expect(0, ether(ROUTER[0], A) / answer(r))
    e.expect_counters(delivered_udp=256, udp_tx=256)


def test_slow_port(e):
    """Answers are not queued, so requests wait in the device's ring while there is no room for
    answers: none is lost."""
    e.command("room 0 0")
    requests = [to_router(udp(A, ROUTER[0], id=i, dport=7)) for i in range(2000)]
    e.send(0, *requests)
    e.expect_nothing()
    got = []
    while len(got) < 2000:
        e.command("room 0 50")
        assert e.outs[0]
        got += e.take_all(0)
    assert [IP(frame[14:]).len for frame in got] == [60] * 2000
    e.expect_counters(delivered_udp=2000, udp_tx=2000)
    e.command("room 0 -1")


def test_port_that_stands_still(e):
    """Requests wait for 20 ms, because the other end may be waiting in the same way. Then the
    answers beyond 768 are lost, and counted. The other port is unaffected."""
    e.command("room 0 0")
    e.send(0, *(to_router(udp(A, ROUTER[0], id=i, dport=7)) for i in range(2000)))
    first = e.counted()["delivered_udp"]
    assert first <= 768
    request = udp(B, ROUTER[1], dport=7)
    e.send(1, ether(B, ROUTER[1]) / request)
    assert len(e.take_all(1)) == 1
    e.time(19 * MS)
    e.expect_counters(delivered_udp=1, udp_tx=1)
    e.time(2 * MS)
    e.expect_counters(delivered_udp=2000 - first, udp_tx=2000 - first,
                      originated_drop_tx=2000 - 768)
    e.command("room 0 -1")
    assert len(e.take_all(0)) == 768
    e.send(0, *(to_router(udp(A, ROUTER[0], id=i, dport=7)) for i in range(300)))
    assert len(e.take_all(0)) == 300


def test_sleep_while_questions_wait(e):
    """Requests wait as long as there is no room for their answers: no interrupt is requested."""
    e.command("room 0 0")
    e.send(0, *(to_router(udp(A, ROUTER[0], id=i, dport=7)) for i in range(1000)))
    first = e.counted()["delivered_udp"]
    assert first < 1000
    for _ in range(3):
        assert e.command("sleep") == [("sleep", "100000")]
    eth0, eth1 = e.console("show interfaces").split("eth1")
    assert "irq_arms 0" in eth0 and "irq_arms 3" in eth1
    e.command("room 0 -1")
    e.expect_counters(delivered_udp=1000 - first, udp_tx=1000 - first)
    assert len(e.take_all(0)) == 1000


def test_default_port_needs_no_statement(make):
    """docs/configuration.md: the default is 7, even if only the command line selects echo."""
    m = make(CONFIG, app="echo")
    m.learn(A)
    request = udp(A, ROUTER[0], dport=7)
    m.send(0, to_router(request))
    m.expect(0, ether(ROUTER[0], A) / answer(request))


def test_application_of_the_command_line_wins(make):
    """app=NAME on the kernel command line takes precedence over `application NAME`."""
    m = make(CONFIG + "application echo\n", app="router")
    m.learn(A, B)
    m.route(udp(A, B, dport=7))
