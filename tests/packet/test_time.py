"""NTP, DNS names and traceroute of the control core: what is sent and when, which answers count. scapy builds the servers' packets.
The rules of net/ntp and net/dns are in tests/unit/net."""
import re
import struct

import pytest
from ip6 import *
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.ntp import NTPHeader

SERVER = "ntp server 192.0.2.2 iburst"
NAMES = CONFIG + "ip name-server 192.0.2.2 192.0.2.3\nip domain example\n"
UTC = 1795988645  # 2026-11-29T21:44:05Z
EPOCH = 2208988800  # seconds from 1900 to 1970


def taken(m, port=0):
    """The UDP datagrams that left by the port, as scapy packets. ARP requests are answered on the way."""
    found = []
    for frame in m.take_all(port):
        p = Ether(frame)
        if ARP in p and p[ARP].op == 1 and p[ARP].pdst != p[ARP].psrc:
            host = next((s for s in (A, A2, B, B2) if s.ip == p[ARP].pdst and s.port == port), None)
            if host:
                m.send(port, arp_reply(host, ROUTER[port]))
                found += taken(m, port)
        elif UDP in p:
            found.append(p)
    return found


def send(m, request, payload, src=None, sport=None, dport=None):
    """The answer to a datagram of ours."""
    ip = request[IP]
    m.send(0, Ether(src=A.mac, dst=ROUTER[0].mac) / IP(src=src or ip.dst, dst=ip.src) /
           UDP(sport=sport or ip.dport, dport=dport or ip.sport) / payload)


def configure(m, *lines):
    return [m.console(line) for line in ("configure", *lines, "commit", "exit")]


def start(make, *lines):
    """A machine that is about to ask its NTP server."""
    m = make(CONFIG)
    configure(m, *(lines or [SERVER]))
    return m


def stamp(seconds):
    return struct.pack(">Q", int((seconds + EPOCH) * 2**32))


def answer(request, seconds, leap=0, stratum=2, refid=b"GPS\0", origin=None):
    """An NTP packet of a server whose clock shows that (RFC 5905 7.3)."""
    cookie = bytes(request[UDP].payload)[40:48]
    return Raw(struct.pack(">BBbbII4s", leap << 6 | 4 << 3 | 4, stratum, 6, -20, 0, 0, refid) + stamp(UTC) +
               (origin or cookie) + stamp(seconds) + stamp(seconds))


class Clock:
    """The time of the servers, which passes with that of the machine as far as ask() lets it."""
    now = 0.0


def ask(m, seconds=3):
    """Lets time pass until the next request leaves, and returns it in a list."""
    for _ in range(seconds * 100):
        found = [p for p in taken(m) if p[UDP].dport == 123]
        if found:
            return found
        m.time(10 * MS)
        Clock.now += 0.01
    return []


def status(m):
    return dict(line.split(None, 1) for line in m.console("show ntp status").splitlines())


def synchronize(m, rounds=6, wrong=0):
    for _ in range(rounds):
        for request in ask(m):
            send(m, request, answer(request, UTC + Clock.now + wrong))
    m.counted()


def test_requests(make):
    """A request has version 4, client mode, a random transmit timestamp and nothing else, from a random port."""
    m = start(make)
    ports, cookies = set(), set()
    first = ask(m) + ask(m) + ask(m)
    assert len(first) >= 3
    for request in first:
        data = bytes(request[UDP].payload)
        assert NTPHeader(data).version == 4 and NTPHeader(data).mode == 3
        assert data[:1] == b"\x23" and data[1:40] == bytes(39) and data[40:] != bytes(8)
        assert request[IP].dst == A.ip and request[IP].src == ROUTER[0].ip
        ports.add(request[UDP].sport)
        cookies.add(data[40:])
    assert len(ports) == 1 and min(ports) >= 49152 and len(cookies) == len(first)
    m.counted()


def test_synchronizes(make):
    m = start(make)
    assert "not known" in m.console("show clock") and status(m)["state"] == "not synchronized"
    synchronize(m)
    assert status(m)["state"] == "synchronized to 192.0.2.2" and status(m)["stratum"] == "3"
    assert "source  NTP" in m.console("show clock") and "2026-11-29T21:44:" in m.console("show clock")
    line = m.console("show ntp associations").splitlines()[1]
    assert line.startswith("*192.0.2.2") and line.split()[1] == "71.80.83.0", line
    m.counted()


def test_answers_that_do_not_count(make):
    m = start(make)
    synchronize(m, 1)
    request = ask(m)[0]
    good = answer(request, UTC)
    m.counted()
    send(m, request, answer(request, UTC, origin=b"guessing"))
    send(m, request, good, src=A2.ip)
    send(m, request, good, sport=124)
    m.expect_counters(drop_ntp_origin=3)
    send(m, request, Raw(bytes(good)[:47]))
    send(m, request, Raw(b"\x23" + bytes(good)[1:]))
    m.expect_counters(drop_ntp_malformed=2)
    send(m, request, answer(request, UTC, leap=3))
    m.expect_counters(drop_ntp_unsynchronized=1)
    send(m, request, good)  # this one has had its answer
    m.expect_counters(drop_ntp_origin=1)


def test_kiss(make):
    """DENY ends the requests to a server; another configuration of it begins them again."""
    m = start(make)
    request = ask(m)[0]
    send(m, request, answer(request, UTC, leap=3, stratum=0, refid=b"DENY"))
    m.time(3000 * SECOND)
    assert not [p for p in taken(m) if p[UDP].dport == 123]
    line = m.console("show ntp associations").splitlines()[1]
    assert line.startswith("!192.0.2.2") and "DENY" in line and line.endswith("denied"), line
    configure(m, "ntp server 192.0.2.2 prefer iburst")
    assert ask(m)
    m.counted()


def test_a_name(make):
    """A name without a dot gets the domain. Only an answer from the server, to the port and the question, counts; its alias is
    followed; the answer is kept for its time to live. A server that does not answer makes room for the next one."""
    m = make(NAMES)
    m.learn(A, A2)

    def question():
        found = [p for p in taken(m) if p[UDP].dport == 53]
        return found[-1] if found else None

    def reply(q, *records, src=None, dport=None, **fields):
        dns = DNS(bytes(q[UDP].payload))
        answers = None
        for record in reversed(records):
            answers = record / answers if answers else record
        values = dict(id=dns.id, qr=1, ra=1, rd=1, qd=dns.qd, an=answers, ancount=len(records))
        values.update(fields)
        send(m, q, DNS(**values), src=src, dport=dport)
    m.key("ping host count 1\r")
    first = question()
    assert first[IP].dst == A.ip and DNS(bytes(first[UDP].payload)).qd.qname == b"host.example."
    m.time(2100 * MS)
    q = question()
    assert q[IP].dst == A2.ip and q[UDP].sport != first[UDP].sport and q[UDP].sport >= 49152
    alias = DNSRR(rrname="host.example", type="CNAME", ttl=60, rdata="b.example"), \
        DNSRR(rrname="b.example", type="A", ttl=60, rdata=A2.ip)
    m.counted()
    reply(first, *alias)  # too late: its port is closed
    m.expect_counters(drop_udp_port=1, icmp_tx_unreach_port=1)
    m.take_all(0)
    reply(q, *alias, src=A.ip)
    reply(q, *alias, id=DNS(bytes(q[UDP].payload)).id ^ 1)
    reply(q, *alias, qd=DNSQR(qname="other.example"))
    m.expect_counters(drop_dns_question=3)
    send(m, q, Raw(bytes(DNS(id=DNS(bytes(q[UDP].payload)).id, qr=1, qd=DNSQR(qname="host.example"), ancount=2))))
    m.expect_counters(drop_dns_malformed=1)
    reply(q, *alias)
    ping = Ether(m.take_all(0)[-1])
    assert ping[IP].dst == A2.ip and ping[IP].proto == 1
    assert "host is 192.0.2.3" in m.text
    m.time(3 * SECOND)
    assert "192.0.2.3" in m.console("show hosts")
    m.key("ping host count 1\r")
    assert question() is None
    m.time(61 * SECOND)
    m.take_all(0)
    m.learn(A, A2)
    m.key("ping host count 1\r")
    assert question() is not None
    m.key("\x03")
    m.take_all(0)
    m.counted()


def test_names_that_are_not_found(make):
    m = make(NAMES)
    m.learn(A, A2)
    m.key("ping nobody.example\r")
    q = [p for p in taken(m) if p[UDP].dport == 53][-1]
    send(m, q, DNS(id=DNS(bytes(q[UDP].payload)).id, qr=1, rcode=3, qd=DNS(bytes(q[UDP].payload)).qd))
    assert "nobody.example: the name does not exist" in m.text
    m.text = ""
    m.time(29 * SECOND)
    m.key("ping nobody.example\r")  # it is believed for 30 s
    assert "nobody.example: the name does not exist" in m.text
    assert [p for p in taken(m) if p[UDP].dport == 53] == []
    m.time(2 * SECOND)
    m.learn(A, A2)
    m.key("ping nobody.example\r")
    assert len([p for p in taken(m) if p[UDP].dport == 53]) == 1
    m.key("\x03")
    m.key("ping silent.example\r")
    m.time(9 * SECOND)
    assert "silent.example: no name server answers" in m.text
    m.take_all(0)
    for name, fields in (("broken.example", dict(rcode=2)), ("long.example", dict(tc=1))):  # the next server is asked at once
        m.key("ping %s\r" % name)
        first = [p for p in taken(m) if p[UDP].dport == 53][-1]
        dns = DNS(bytes(first[UDP].payload))
        send(m, first, DNS(id=dns.id, qr=1, qd=dns.qd, **fields))
        m.time(10 * MS)
        second = [p for p in taken(m) if p[UDP].dport == 53][-1]
        assert (first[IP].dst, second[IP].dst) == (A.ip, A2.ip)
        m.key("\x03")
        assert name not in m.console("show hosts")
        m.take_all(0)
    assert "not an address, and no name" in m.console("ping a..b")
    assert "there is no name server" in make(CONFIG).console("ping host")
    m.counted()


def test_a_name_without_an_ipv4_address(make):
    """The question for IPv6 goes to all servers, from the first one on, as often as the one for IPv4."""
    m = make(NAMES)
    m.learn(A, A2)
    m.key("ping six.example\r")
    q = [p for p in taken(m) if p[UDP].dport == 53][-1]
    assert q[IP].dst == A.ip and DNS(bytes(q[UDP].payload)).qd.qtype == 1
    send(m, q, DNS(id=DNS(bytes(q[UDP].payload)).id, qr=1, qd=DNS(bytes(q[UDP].payload)).qd))
    m.time(9 * SECOND)
    asked = [p for p in taken(m) if p[UDP].dport == 53]
    assert [p[IP].dst for p in asked] == [A.ip, A2.ip, A.ip, A2.ip]
    assert {DNS(bytes(p[UDP].payload)).qd.qtype for p in asked} == {28}
    assert "six.example: no name server answers" in m.text
    m.take_all(0)
    m.counted()


def test_a_server_that_has_moved(make):
    """The name of an NTP server is looked up again once eight requests in a row had no answer."""
    m = make(NAMES)
    m.learn(A, A2)
    configure(m, "ntp server time.example")
    asked, requests = [], 0
    for _ in range(60):
        for p in taken(m):
            requests += p[UDP].dport == 123
            if p[UDP].dport == 53:
                asked.append(requests)
                dns = DNS(bytes(p[UDP].payload))
                send(m, p, DNS(id=dns.id, qr=1, qd=dns.qd, ancount=1,
                               an=DNSRR(rrname="time.example", type="A", ttl=1, rdata=A2.ip)))
        m.time(15 * SECOND)
    assert asked[0] == 0 and len(asked) > 1 and 8 <= asked[1] <= 9, (asked, requests)
    m.take_all(0)
    m.counted()


def probes(m):
    return [p for p in taken(m) if p[UDP].dport >= 33434]


def tell(m, probe, type_, code, src):
    """An ICMP error about a probe, which quotes its header and 8 octets."""
    m.send(0, Ether(src=A.mac, dst=ROUTER[0].mac) / IP(src=src, dst=ROUTER[0].ip) / ICMP(type=type_, code=code) /
           Raw(bytes(probe[IP])[:28]))


def test_traceroute(make):
    """Three probes with each TTL, to ports of their own; lines in order, whatever order the answers have."""
    m = make(CONFIG + "ip route 203.0.113.0/24 192.0.2.2\n")
    m.learn(A)
    m.key("traceroute 203.0.113.9\r")
    first = probes(m)
    assert [(p[IP].ttl, p[UDP].dport) for p in first] == [(1, 33434), (1, 33435), (1, 33436)]
    assert {p[IP].dst for p in first} == {"203.0.113.9"} and len({p[UDP].sport for p in first}) == 1
    m.time(150 * MS)  # the next hop is not delayed by one that is silent
    second = probes(m)
    assert [(p[IP].ttl, p[UDP].dport) for p in second] == [(2, 33437), (2, 33438), (2, 33439)]
    for p in second:
        tell(m, p, 3, 3, "203.0.113.9")
    assert " 2  " not in m.text
    tell(m, first[0], 11, 0, A.ip)
    tell(m, first[0], 11, 0, A2.ip)        # a second answer to it
    tell(m, first[1], 11, 1, A2.ip)        # in reassembly: not that of a probe
    tell(m, first[1], 11, 0, A2.ip)
    probes(m)
    m.time(3 * SECOND)
    said = m.text[m.text.rindex("hops max"):].replace("\r", "")
    assert re.match(r"hops max\n 1  192\.0\.2\.2  \d+\.\d{3} ms 192\.0\.2\.3  \d+\.\d{3} ms \*\n"
                    r" 2  203\.0\.113\.9(  \d+\.\d{3} ms){3}\n", said), said
    m.take_all(0)
    m.counted()


@pytest.mark.parametrize("way", ["udp", "icmp"])
def test_traceroute6(make, way):
    """By IPv6: errors about UDP probes and echo requests, and the answer of the destination."""
    far = "2001:db8:9::9"
    m = make(CONFIG6 + "ipv6 route 2001:db8:9::/48 %s\n" % A.ip6)
    learn6(m, A)
    m.key("traceroute %s%s\r" % (far, " icmp" if way == "icmp" else ""))

    def sent():
        return [p for p in map(Ether, m.take_all(0)) if IPv6 in p and p[IPv6].dst == far]

    first = sent()
    assert [p[IPv6].hlim for p in first] == [1, 1, 1] and all((UDP if way == "udp" else ICMPv6EchoRequest) in p for p in first)
    m.time(150 * MS)
    second = sent()
    assert [p[IPv6].hlim for p in second] == [2, 2, 2]
    for p in second:
        if way == "udp":
            answer = icmp6_error(A, p[IPv6], 1, 4, src=far)
        else:
            echo = p[ICMPv6EchoRequest]
            answer = IPv6(src=far, dst=p[IPv6].src) / ICMPv6EchoReply(id=echo.id, seq=echo.seq, data=echo.data)
        m.send(0, ether(A, ROUTER[0]) / answer)
    m.send(0, ether(A, ROUTER[0]) / icmp6_error(A, first[0][IPv6], 3, 0))
    m.send(0, ether(A, ROUTER[0]) / icmp6_error(A, first[1][IPv6], 3, 1))  # in reassembly: not that of a probe
    m.send(0, ether(A, ROUTER[0]) / icmp6_error(A, first[2][IPv6], 3, 0))
    m.time(3 * SECOND)
    said = m.text[m.text.rindex("hops max"):].replace("\r", "")
    assert re.match(r"hops max\n 1  %s  \d+\.\d{3} ms \*  \d+\.\d{3} ms\n 2  %s(  \d+\.\d{3} ms){3}\n" % (A.ip6, far), said), said
    m.take_all(0)
    m.counted()


def test_traceroute_to_nowhere(make):
    m = make(CONFIG)
    m.learn(A)
    m.key("traceroute 192.0.2.2 icmp\r")
    echo = [Ether(f) for f in m.take_all(0)]
    assert [(p[IP].ttl, p[ICMP].type) for p in echo] == [(1, 8)] * 3
    tell(m, echo[0], 3, 1, A.ip)
    for p in echo[1:]:
        m.send(0, Ether(src=A.mac, dst=ROUTER[0].mac) / IP(src=A.ip, dst=ROUTER[0].ip) /
               ICMP(type=0, id=p[ICMP].id, seq=p[ICMP].seq) / Raw(bytes(p[ICMP].payload)))
    assert re.search(r" 1  192\.0\.2\.2  \d+\.\d{3} ms !H  \d+\.\d{3} ms  \d+\.\d{3} ms\r?\n", m.text), m.text[-300:]
    assert "no route to that host" in m.console("traceroute 203.0.113.1")
    m.key("traceroute 192.0.2.99 maxttl 2 probes 1 timeout 1\r")
    m.time(6 * SECOND)
    assert re.search(r" 1  \*\r?\n 2  \*\r?\n", m.text), m.text[-300:]
    m.key("traceroute 192.0.2.2\r")
    m.key("\x03")
    assert "busy" not in m.console("traceroute 203.0.113.1")
    m.take_all(0)
    m.counted()
