"""What the machine tells others: syslog (RFC 5424 over UDP), judged by rsyslogd; sFlow v5, judged by sfcapd and nfdump."""
import csv
import json
import re
import signal
import subprocess

import pytest
from conftest import RIGHT_HOST, eventually, router_config

WAIT_S = 60
RSYSLOGD = """\
module(load="imudp")
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
input(type="imudp" port="514" ruleset="file")
ruleset(name="file") { action(type="omfile" file="%s" template="json") }
"""


class Rsyslogd:
    """rsyslogd in a host: what it has understood of each message."""

    def __init__(self, host, work):
        self.file = work / "messages"
        (work / "rsyslog.conf").write_text(RSYSLOGD % self.file)
        host.popen(["rsyslogd", "-n", "-f", str(work / "rsyslog.conf"), "-i", str(work / "pid")])

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
    numbers = [int(re.search(r'sequenceId="(\d+)"', m["data"])[1]) for m in rsyslogd.messages()]
    assert numbers == sorted(set(numbers))  # none twice
    shown = router.command("show logging")
    assert "logging host: 192.0.2.2 port 514, sent" in shown and "%LINK-5-UPDOWN: eth1: link up" in shown


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
    said = subprocess.run(["nfdump", "-R", str(flows), "-o", "csv", "proto icmp and src ip 192.0.2.2"], capture_output=True,
                          text=True, check=True).stdout
    log = (tmp_path / "log").read_text()
    rows = [row for row in csv.DictReader(said.splitlines()) if row["da"] == RIGHT_HOST]
    assert len(rows) == 10, said + log
    assert {(row["ipkt"], row["ibyt"], row["in"], row["out"]) for row in rows} == {("1", "146", "1", "2")}, said
    assert "Sequence Errors: 0, Bad Packets: 0" in log
