"""The event log and syslog (RFC 5424 over UDP, RFC 5426). The formats are also in tests/unit/net/test_syslog.c, the log in
tests/unit/control/console/test_log.c."""
import re

import pytest
from machine import *
from scapy.layers.dns import DNS, DNSRR
from scapy.layers.inet import TCP

HOST = "logging host 192.0.2.2"
# neighbours stay known during a test
BASE = CONFIG.replace("arp timeout 60\n", "")
MESSAGE = re.compile(r"<(\d+)>1 (-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) (\S+) hayate - (\S+) "
                     r"(?:\[timeQuality tzKnown=\"1\" isSynced=\"0\"\])?"
                     r"\[meta sequenceId=\"(\d+)\" sysUpTime=\"(\d+)\"\] (.*)")


def told(m, port=0, src="192.0.2.1", dst="192.0.2.2", dport=514):
    """The messages that left by the port: [(priority, MSGID, sequenceId, text)]. Other frames are taken, too."""
    found = []
    for frame in m.take_all(port):
        packet = Ether(frame)
        if UDP not in packet:
            continue
        ip = packet[IP] if IP in packet else packet[IPv6]
        assert (ip.src, ip.dst, packet[UDP].dport) == (src, dst, dport)
        assert packet[UDP].sport >= 49152 and packet[UDP].chksum
        fields = MESSAGE.fullmatch(bytes(packet[UDP].payload).decode("ascii"))
        assert fields and fields[3] == "r1", bytes(packet[UDP].payload)
        found.append((int(fields[1]), fields[4], int(fields[5]), fields[7]))
    return found


def texts(messages):
    return [message[3] for message in messages]


def test_messages(make):
    m = make(BASE + HOST + "\n", ports=2, boot=False)
    m.time(SECOND)
    m.send(0, arp_reply(A, ROUTER[0]))  # it answers the request that the first message has caused
    m.time(2 * SECOND)
    boot = told(m)
    assert (189, "LINK-UPDOWN", boot[0][2], "eth0: link up") in boot  # local7, notice
    assert "ready: 2 ports, 1 data core, 1000.0 ms after boot" in texts(boot)
    assert [message[2] for message in boot] == list(range(1, len(boot) + 1))
    m.link(1, False)
    m.time(SECOND)
    assert told(m) == [(188, "LINK-UPDOWN", len(boot) + 1, "eth1: link down")]
    m.take_all(1)
    assert "logging host: 192.0.2.2 port 514, sent %d, lost 0\n" % (len(boot) + 1) in m.console("show logging")
    m.counted()


def test_level_facility_and_port(make):
    m = make(BASE + HOST + " port 5514 level warnings facility local0\n")
    m.learn(A)
    m.link(1, False)
    m.link(1, True)
    m.time(SECOND)
    assert [(m[0], m[1], m[3]) for m in told(m, dport=5514)] == [(132, "LINK-UPDOWN", "eth1: link down")]
    m.take_all(1)


def test_a_silent_host_costs_nothing(make):
    """While the neighbour does not answer, messages wait, except one now and then that has ARP ask again. Then all come
    that the log still has."""
    m = make(BASE + HOST + "\n", boot=False)
    m.time(SECOND)
    m.take_all(0)
    for _ in range(30):
        m.link(1, False)
        m.link(1, True)
        m.time(SECOND // 10)
    assert told(m) == []
    m.take_all(1)
    m.learn(A)
    m.time(60 * SECOND)
    got = told(m)
    assert len(got) > 50 and got[-1][3] == "eth1: link up"
    numbers = [message[2] for message in got]
    assert numbers == list(range(numbers[0], numbers[0] + len(got)))
    m.take_all(1)


def test_a_host_that_stays_silent(make):
    """One message goes out after 1, 2, 4, 8, 16 and then every 30 s: 14 in 300 s."""
    m = make(BASE + HOST + "\n", boot=False)
    for _ in range(10):
        m.link(1, False)
        m.link(1, True)
    m.time(300 * SECOND)
    assert "192.0.2.2 port 514, sent 14, lost 0\n" in m.console("show logging")
    assert told(m) == []
    m.take_all(1)


def test_source_and_ipv6(make):
    m = make(BASE.replace("eth0\n", "eth0\n ipv6 address 2001:db8:1::1/64\n") +
             "interface lo0\n ip address 203.0.113.9/32\n ipv6 address 2001:db8:99::1/128\n"
             "logging source-interface lo0\nlogging host 2001:db8:1::2\n", boot=False)
    m.time(10 * SECOND)
    asked = [Ether(frame) for frame in m.take_all(0)]
    assert any(ICMPv6ND_NS in packet and packet[ICMPv6ND_NS].tgt == "2001:db8:1::2" for packet in asked)
    m.send(0, Ether(src=A.mac, dst="33:33:ff:00:00:01") / IPv6(src="2001:db8:1::2", dst="ff02::1:ff00:1", hlim=255) /
           ICMPv6ND_NS(tgt="2001:db8:1::1") / Raw(b"\1\1" + bytes.fromhex(A.mac.replace(":", ""))))
    m.link(1, False)
    m.time(60 * SECOND)
    assert "eth1: link down" in texts(told(m, src="2001:db8:99::1", dst="2001:db8:1::2"))
    m.take_all(1)


def test_a_new_host(make):
    """A host of a commit gets what happens from then on; one that is removed, nothing more."""
    m = make(BASE)
    m.learn(A)
    for line in ("configure", HOST, "commit", "exit"):
        m.console(line)
    m.time(SECOND)
    assert told(m) == []
    m.link(1, False)
    m.time(SECOND)
    assert texts(told(m)) == ["eth1: link down"]
    for line in ("configure", "no " + HOST, "commit", "exit"):
        m.console(line)
    m.link(1, True)
    m.time(SECOND)
    assert told(m) == [] or texts(told(m)) == []
    m.take_all(1)


def test_a_name(make):
    """Messages wait until the name server has answered; then they go to the address that it named. Without an answer the log says
    so, and the name is looked up again."""
    m = make(BASE + "ip name-server 192.0.2.2\nlogging host Syslog.example\n", boot=False)
    m.time(SECOND)
    m.send(0, arp_reply(A, ROUTER[0]))
    m.time(20 * SECOND)
    asked = [Ether(frame)[UDP] for frame in m.take_all(0) if UDP in Ether(frame)]
    assert asked and all(q.dport == 53 for q in asked)
    assert "last failure: no name server answers" in m.console("show logging")
    question, seconds = None, 0
    while not question and seconds < 60:
        m.time(SECOND)
        seconds += 1
        question = next((Ether(frame)[UDP] for frame in m.take_all(0) if UDP in Ether(frame)), None)
    dns = DNS(bytes(question.payload))
    assert dns.qd.qname == b"syslog.example."
    answer = DNS(id=dns.id, qr=1, ra=1, rd=1, qd=dns.qd, an=DNSRR(rrname="syslog.example", type="A", ttl=60, rdata="192.0.2.3"), ancount=1)
    m.send(0, ether(A, ROUTER[0]) / IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=53, dport=question.sport) / answer)
    m.time(SECOND)
    m.send(0, ether(A, ROUTER[0]) / ARP(op=2, hwsrc=A.mac, psrc="192.0.2.3", hwdst=ROUTER[0].mac, pdst="192.0.2.1"))
    m.time(40 * SECOND)
    messages = told(m, dst="192.0.2.3")
    assert [message[2] for message in messages] == list(range(1, len(messages) + 1)) and len(messages) == 4
    assert "logging host: syslog.example (192.0.2.3) port 514, sent %d, lost 0\n" % len(messages) in m.console("show logging")
    m.take_all(1)


def test_tls_without_answer(make):
    """A host that is silent: attempts of 20 seconds each, and pauses between them that double to half a minute; the log says it
    once. A host that refuses: the pauses alone."""
    pin = "transport tls fingerprint " + 32 * "ab"
    m = make(BASE + HOST + " " + pin + "\n", boot=False)

    def attempts(seconds, answer=None):
        """How many connections begin in that time."""
        first = set()
        for _ in range(seconds):
            m.time(SECOND)
            for frame in m.take_all(0):
                packet = Ether(frame)
                if TCP in packet and packet[TCP].flags.S and packet[TCP].dport == 6514:
                    first.add(packet[TCP].sport)
                    if answer:
                        m.send(0, ether(A, ROUTER[0]) / IP(src=A.ip, dst="192.0.2.1") /
                               TCP(sport=6514, dport=packet[TCP].sport, flags=answer, seq=0, ack=packet[TCP].seq + 1))
                elif ARP in packet and packet[ARP].op == 1:
                    m.send(0, arp_reply(A, ROUTER[0]))
        return len(first)

    assert 8 <= attempts(400) <= 12
    shown = m.console("show logging")
    assert "TLS: not connected, connections 0, failures" in shown and "last failure: no answer in time" in shown
    assert shown.count("%LOGGING-4-HOST: logging host 192.0.2.2: no answer in time") == 1
    assert 12 <= attempts(400, "RA") <= 14
    assert "last failure: the connection was refused" in m.console("show logging")
    m.take_all(1)


def test_a_restart_of_the_program(make):
    """The next control program has the messages of the one before, sends each once, and those that it had left."""
    def sent():
        return int(re.search(r"logging host: 192.0.2.2 port 514, sent (\d+), lost 0\n", m.console("show logging"))[1])

    m = make(BASE + HOST + "\n", lives=True)
    before = sent()
    assert before > 0
    first = m.console("show logging last 512")
    m.anew()
    m.time(600 * SECOND)  # nobody answers ARP, so messages leave one by one
    messages = m.console("show logging last 512")
    assert messages.startswith(first) and "control program: goes on after" in messages[len(first):]
    assert before + sent() == messages.count("\n")


def test_show_logging(m):
    for up in (False, True):
        m.link(1, up)
    m.time(SECOND)
    shown = m.console("show logging warnings last 1")
    assert re.fullmatch(r"\S+ %LINK-4-UPDOWN: eth1: link down\n", shown.lstrip(" ")), shown
    assert re.fullmatch(r" *\S+ %LINK-5-UPDOWN: eth1: link up\n", m.console("show logging last 1"))
    assert m.console("show logging 0") == ""
    for wrong in ("loud", "last", "last 0", "last 513", "warnings last 1 more", "8"):
        assert m.console("show logging " + wrong).startswith("% show logging [LEVEL] [last N]"), wrong
    head = m.console("show logging").split("\n\n")[0]
    assert re.fullmatch(r"logging console: debugging\nlogging buffered: debugging\n"
                        r"messages: \d+, repeated: 0, suppressed: 0", head)
    m.console("clear logging")
    assert m.console("show logging last 512") == ""
    m.take_all(1)


@pytest.mark.parametrize("level,prints", [("off", False), ("errors", False), ("warnings", True)])
def test_console_level(make, level, prints):
    m = make(BASE + "logging console %s\nlogging buffered %s\n" % (level, level))
    m.text = ""
    m.link(1, False)
    m.time(SECOND)
    assert ("eth1: link down" in m.text) == prints
    assert ("eth1: link down" in m.console("show logging")) == prints
    m.take_all(1)
