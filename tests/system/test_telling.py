"""What the machine tells others: syslog (RFC 5424 over UDP and over TLS), judged by rsyslogd; sFlow v5, judged by sfcapd and nfdump."""
import json
import re
import signal
import subprocess

import pytest
from certificate_authority import Authority
from conftest import LEFT_HOST, RIGHT_HOST, eventually, pings, router_config
from tls_server import TlsServer, leaf

WAIT_S = 60
RSYSLOGD = """\
%s
template(name="json" type="list" option.jsonf="on") {
  property(outname="pri" name="pri" format="jsonf")
  property(outname="time" name="timestamp" dateformat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="app" name="app-name" format="jsonf")
  property(outname="proc" name="procid" format="jsonf")
  property(outname="id" name="msgid" format="jsonf")
  property(outname="version" name="protocol-version" format="jsonf")
  property(outname="data" name="structured-data" format="jsonf")
  property(outname="text" name="msg" format="jsonf")
  property(outname="from" name="fromhost-ip" format="jsonf")
}
%s
ruleset(name="file") { action(type="omfile" file="%s" template="json") }
"""
UDP = 'module(load="imudp")', 'input(type="imudp" port="514" ruleset="file")'
TLS = ('global(DefaultNetstreamDriver="gtls" DefaultNetstreamDriverCAFile="%s" DefaultNetstreamDriverCertFile="%s" '
       'DefaultNetstreamDriverKeyFile="%s")\nmodule(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" '
       'StreamDriver.AuthMode="anon")', 'input(type="imtcp" port="6514" ruleset="file")')


class Rsyslogd:
    """rsyslogd in a host: what it has understood of each message. files: authority, certificate and key for TLS."""

    def __init__(self, host, work, files=None):
        self.file, self.host = work / "messages", host
        module, what = (TLS[0] % files, TLS[1]) if files else UDP
        (work / "rsyslog.conf").write_text(RSYSLOGD % (module, what, self.file))
        self.command = ["rsyslogd", "-n", "-f", str(work / "rsyslog.conf"), "-i", str(work / "pid")]
        self.start()

    def start(self):
        self.child = self.host.popen(self.command)

    def kill(self):
        self.host.children.remove(self.child)
        self.child.kill()
        self.child.wait(WAIT_S)

    def numbers(self):
        return [int(re.search(r'sequenceId="(\d+)"', m["data"])[1]) for m in self.messages()]

    def messages(self):
        text = self.file.read_text() if self.file.exists() else ""
        return [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]

    def wait(self, text):
        """The first message that begins with this text, once it is there."""
        return eventually(lambda: [m for m in self.messages() if m["text"].startswith(text)], WAIT_S,
                          "rsyslogd has: " + text)[0]


@pytest.mark.one_card
def test_syslog(make_router, make_hosts, tmp_path):
    left, right = make_hosts()
    rsyslogd = Rsyslogd(left, tmp_path)
    router = make_router(router_config(extra="logging host 192.0.2.2 facility local3\n"), "--append", "test=1",
                         "--qemu-arg=-rtc", "--qemu-arg=base=2031-02-28T12:00:00,clock=vm", ports=(left.port, right.port))
    router.faults_expected = True
    up = rsyslogd.wait("eth1: link up")
    assert (up["pri"], up["app"], up["proc"], up["id"]) == (str(19 * 8 + 5), "hayate", "-", "LINK-UPDOWN")
    assert (up["version"], up["from"]) == ("1", "192.0.2.1")
    assert re.match(r"2031-02-28T12:0\d:\d\d\.\d{6}\+00:00$|2031-02-28T12:0\d:\d\d\.\d{6}Z$", up["time"]), up
    assert re.fullmatch(r'\[timeQuality tzKnown="1" isSynced="0"\]\[meta sequenceId="\d+" sysUpTime="\d+"\]', up["data"]), up
    ready = re.search(r"^ready: .*$", router.text.replace("\r", ""), re.MULTILINE)[0]
    rsyslogd.wait(ready)

    router.command("configure")
    router.command("hostname changed")
    router.command("commit")
    router.command("end")
    assert rsyslogd.wait("configuration: committed by")["id"] == "CONFIG-COMMIT"

    router.send("test fault null core 1")  # a data core's program fails
    failed = rsyslogd.wait("core 1: its program failed and was started again: report 1 of show crash")
    assert (failed["pri"], failed["id"], failed["host"]) == (str(19 * 8 + 2), "SYSTEM", "changed")
    router.send("test fault null core 0")  # the control program fails
    router.expect(r"control program: goes on after \d+ us", 30)
    router.wait_prompt()
    rsyslogd.wait("control program: goes on after")
    numbers = rsyslogd.numbers()
    assert numbers == sorted(set(numbers))  # none twice
    shown = router.command("show logging")
    assert "logging host: 192.0.2.2 port 514, sent" in shown and "%LINK-5-UPDOWN: eth1: link up" in shown


def metric(host, name):
    page = host.run(["curl", "-sS", "--max-time", "20", "http://192.0.2.1/metrics"], check=True).stdout
    found = re.search("^%s (\\d+)$" % re.escape(name), page, re.M)
    return int(found[1]) if found else None


@pytest.mark.one_card
def test_syslog_tls(make_router, make_hosts, tmp_path):
    """A syslog host by name over TLS: rsyslogd, which ends and begins again; then servers that the machine must not believe.
    Packets are forwarded all the while."""
    left, right = make_hosts()
    authority = Authority(tmp_path)
    good = leaf(authority, "DNS:syslog.example")
    left.popen(["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--user=root",
                "--pid-file=", "--bind-interfaces", "--listen-address=" + LEFT_HOST, "--host-record=syslog.example," + LEFT_HOST])
    rsyslogd = Rsyslogd(left, tmp_path, (authority.path("root.crt"), *good))
    router = make_router(router_config(extra="ip name-server %s\ntrust certificate roots.pem\nhttp server\nhttp access %s/32\n"
                                       "logging host syslog.example transport tls facility local3\n" % (LEFT_HOST, LEFT_HOST)),
                         "--file", "roots.pem=" + authority.path("root.crt"), "--append", "test=1", ports=(left.port, right.port))
    up = rsyslogd.wait("eth1: link up")
    assert (up["pri"], up["app"], up["id"], up["from"]) == (str(19 * 8 + 5), "hayate", "LINK-UPDOWN", "192.0.2.1")
    rsyslogd.wait("ready: ")
    rsyslogd.wait("logging host syslog.example: connected by ")
    shown = router.command("show logging")
    assert re.search(r"logging host: syslog.example \(192.0.2.2\) port 6514, sent \d+, lost 0\s+TLSv1.2, connections 1, ", shown)
    assert metric(left, 'hayate_syslog_connected{host="syslog.example"}') == 1
    pings(left, RIGHT_HOST)

    # another control program has the messages that this one leaves; a restart of the ports ends the connection
    router.faults_expected = True
    router.send("test fault null core 0")
    router.expect(r"control program: goes on after \d+ us", 30)
    router.wait_prompt()
    rsyslogd.wait("control program: goes on after")
    here = router.mark
    for line in "configure", "tcp connections 1000", "commit":
        said = router.command(line)
    assert "restart" in said, said
    router.command("end")
    router.mark = here  # the ports restart 100 ms after the answer to `commit`, perhaps before that to `end`
    router.expect("ports restart: the configuration has changed")
    router.wait_ready()
    router.wait_links()
    eventually(lambda: "TLSv1.2, connections 2," in router.command("show logging"), WAIT_S, "the machine is connected again")
    pings(left, RIGHT_HOST)

    # the receiver dies, messages wait, and come when it is back
    rsyslogd.kill()
    eventually(lambda: "TLS: not connected" in router.command("show logging"), WAIT_S, "the connection is lost")
    for line in "configure", "hostname changed", "commit", "end":
        router.command(line)
    eventually(lambda: "last failure: the connection was refused" in router.command("show logging"), WAIT_S, "another attempt")
    pings(left, RIGHT_HOST)
    rsyslogd.start()
    eventually(lambda: "TLSv1.2, connections" in router.command("show logging"), WAIT_S, "the machine is connected again")
    rsyslogd.wait("logging host syslog.example: the connection was refused")
    rsyslogd.wait("configuration: committed by")
    numbers = rsyslogd.numbers()
    assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))  # none is lost

    # servers that are not who they should be
    rsyslogd.kill()
    for certificate, reason, word in (
            (leaf(authority, "DNS:other.example"), "the certificate is for another name or address", "wrong_name"),
            (leaf(authority, "DNS:syslog.example", end="20260201000000Z"), "the certificate, or its issuer's, has expired", "expired")):
        said = []
        server = TlsServer(left, 6514, certificate, serve=lambda c, said=said: said.append(c.recv(100)))
        eventually(lambda: "last failure: " + reason in router.command("show logging"), 2 * WAIT_S, reason)
        assert not said and metric(left, 'hayate_tls_client_failures_total{reason="%s"}' % word) > 0
        assert metric(left, 'hayate_syslog_connected{host="syslog.example"}') == 0
        server.close()
    pings(left, RIGHT_HOST)


@pytest.mark.one_card
def test_syslog_frames(make_router, make_hosts, tmp_path):
    """The frames of RFC 5425 4.3, byte by byte, to a server that is known by its fingerprint alone, on a machine that does not
    know the time of day. A server by its authority is not believed there."""
    left, right = make_hosts()
    authority = Authority(tmp_path)
    known = leaf(authority, "DNS:any.example", end="20260201000000Z")
    with open(known[0], encoding="ascii") as file:
        fingerprint = Authority.fingerprint(file.read())
    stream = bytearray()

    def serve(connection):
        while piece := connection.recv(65536):
            stream.extend(piece)

    server = TlsServer(left, 1514, known, serve=serve)
    router = make_router(router_config(extra="trust certificate roots.pem\nlogging host 192.0.2.2 transport tls port 1514 "
                                       "fingerprint %s\nlogging host 192.0.2.77 transport tls\n" % fingerprint),
                         "--file", "roots.pem=" + authority.path("root.crt"), "--qemu-arg=-rtc", "--qemu-arg=base=2000-01-01T00:00:00",
                         ports=(left.port, right.port))
    eventually(lambda: b"connected by TLSv1.3" in stream, WAIT_S, "the machine is connected")
    shown = router.command("show logging")
    assert re.search(r"192\.0\.2\.77 port 6514, sent 0, lost 0\s+TLS: not connected, connections 0, failures \d+\s+"
                     r"last failure: the time of day is not known, so that no certificate is valid", shown), shown
    eventually(lambda: b"ready: " in stream, WAIT_S, "messages")
    router.command("show clock")
    messages, rest = [], bytes(stream)
    while rest:
        length, _, rest = rest.partition(b" ")
        assert re.fullmatch(rb"[1-9]\d{0,3}", length) and len(rest) >= int(length), rest[:80]
        messages.append(rest[:int(length)])
        rest = rest[int(length):]
    assert all(re.match(rb"<1\d\d>1 - r1 hayate - [A-Z-]+ \[meta sequenceId=\"\d+\"", m) for m in messages), messages
    numbers = [int(re.search(rb'sequenceId="(\d+)"', m)[1]) for m in messages]
    assert numbers == list(range(1, len(numbers) + 1))
    server.close()


SFLOW = "sflow collector 192.0.2.2\nsflow sampling-rate 1\nsflow polling-interval 1\n"


@pytest.mark.one_card
def test_sflow(make_router, make_hosts, tmp_path):
    """At a rate of 1 nfdump lists each ping with its addresses, sizes and interfaces."""
    left, right = make_hosts()
    config = router_config(extra=SFLOW).replace("interface eth0\n", "interface eth0\n sflow enable\n")
    flows = tmp_path / "flows"
    flows.mkdir()
    sfcapd = left.popen(["sfcapd", "-p", "6343", "-w", str(flows), "-t", "300"],
                        stdout=open(tmp_path / "log", "wb"), stderr=subprocess.STDOUT)
    router = make_router(config, ports=(left.port, right.port))
    for _ in range(10):
        assert left.ping(RIGHT_HOST, "-s", "100")[0]
    def counted(what):
        return int(re.search(what + r" (\d+)", router.command("show sflow"))[1])

    eventually(lambda: counted("samples") >= 10, WAIT_S, "the samples are taken")
    before = counted("counters")  # each second one: a datagram waits half a second at most
    eventually(lambda: counted("counters") >= before + 2, WAIT_S, "the samples, and counters, are sent")
    assert counted("lost") == 0 and counted("unsent") == 0
    sfcapd.send_signal(signal.SIGTERM)  # it writes its file
    sfcapd.wait(WAIT_S)
    left.children.remove(sfcapd)
    said = subprocess.run(["nfdump", "-R", str(flows), "-q", "-o", "fmt:%da %pkt %byt %in %out",
                           "proto icmp and src ip 192.0.2.2"], capture_output=True, text=True, check=True).stdout
    log = (tmp_path / "log").read_text()
    rows = [line.split() for line in said.splitlines() if line.split()[:1] == [RIGHT_HOST]]
    assert len(rows) == 10, said + log
    assert all(row[1:] == ["1", "146", "1", "2"] for row in rows), said
    assert "Sequence Errors: 0, Bad Packets: 0" in log
