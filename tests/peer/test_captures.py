"""tshark checks all that the other tests captured: nothing malformed, no wrong checksum. Comes last
(conftest.py)."""
import glob
import os
import subprocess

from conftest import ECHO, LOGS
from streams import echo_check

# Expert information of severity Error means a malformed packet or a wrong checksum. Only our own
# frames are checked: Linux's ICMP errors quote parts of segments, and it may send 0xffff for a
# checksum of 0.
BAD = "eth.src == 02:48:79:00:00:01 && (_ws.malformed || tcp.checksum.status == 0 || " \
      "ip.checksum.status == 0 || udp.checksum.status == 0 || icmp.checksum.status == 0 || " \
      "icmpv6.checksum.status == 0 || " \
      "_ws.expert.severity == 8388608)"
OPTIONS = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE",
           "-o", "udp.check_checksum:TRUE", "-o", "tcp.analyze_sequence_numbers:FALSE",
           "-o", "tcp.desegment_tcp_streams:FALSE"]
# Payloads are patterns, not the protocols of their ports. Linux chooses some of the ports: 34980
# would be EtherCAT's.
PLAIN = ["-d", "tcp.port==1-65535,data", "-d", "udp.port==1-65535,data"]


def tshark(paths, *arguments):
    result = subprocess.run(
        ["tshark", "-n", *OPTIONS, *PLAIN, "-r", paths, *arguments], text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_nothing_bad(peer, tmp_path):
    peer.ours("echo")
    with peer.connect(ECHO) as sock:
        echo_check(sock, 100000)
    peer.programs[0].stop()
    captures = sorted(glob.glob(os.path.join(LOGS, "*.pcap")))
    merged = str(tmp_path / "all.pcap")
    subprocess.run(["mergecap", "-a", "-F", "nsecpcap", "-w", merged, *captures], check=True)
    bad = tshark(merged, "-Y", BAD)
    for path in captures if bad else ():  # which capture has it?
        said = tshark(path, "-Y", BAD)
        assert not said, "%s:\n%s" % (os.path.basename(path), said[:5000])
    assert not bad, bad[:5000]
    for path in captures:  # hundreds of megabytes
        os.unlink(path)


def test_it_would_be_seen(peer):
    """A damaged frame (sent to us) is found: the check above can fail."""
    path = os.path.join(LOGS, "damaged")
    ours = peer.ours("echo", "--in", "corrupt=20", "--pcap", path, capture=False)
    with peer.connect(ECHO, timeout_s=60) as sock:
        echo_check(sock, 200000)
    ours.stop()
    assert tshark(path, "-Y", BAD.replace("==", "!=", 1))  # from Linux
