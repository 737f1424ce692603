"""Source address verification between Linux hosts, for both versions of IP: packets with the host's
own address arrive, forged ones do not, and a commit ends that."""
import pytest
from conftest import pings
from family import V4, both, make_lab6, make_lab_of  # noqa: F401

FORGED = """\
import sys
from scapy.all import IP, IPv6, UDP, send
for src in sys.argv[2:]:
    send((IPv6 if ":" in src else IP)(src=src, dst=sys.argv[1]) / UDP(dport=9), count=10,
         verbose=False)
"""


@both
@pytest.mark.parametrize("way", ["rx", "any"])
def test_forged_sources(make_lab_of, family, way):
    ip = "ip" if family is V4 else "ipv6"
    counter = "drop_ip4_urpf" if family is V4 else "drop_ip6_urpf"
    lab = make_lab_of(eth0=" %s verify unicast source reachable-via %s allow-default\n" % (ip, way))
    pings(lab.left, family.right)
    nowhere = "8.8.8.8" if family is V4 else "2001:db8:ffff::1"

    def forge(*sources):
        lab.left.run(["/usr/bin/python3", "-c", FORGED, family.right, *sources], timeout_s=60,
                     check=True)

    forge(nowhere, family.right_router)  # of no host, and the router's own
    assert lab.router.balanced()[counter] == 20
    forge(family.right)                  # of the other side
    assert lab.router.balanced()[counter] == (30 if way == "rx" else 20)
    pings(lab.left, family.right)
    for line in ("configure", "interface eth0", "no %s verify unicast source" % ip, "commit", "end"):
        said = lab.router.command(line)
        assert "restart" not in said, said
    before = lab.router.balanced()["forwarded"]
    forge(nowhere)
    assert lab.router.balanced()["forwarded"] >= before + 10
    pings(lab.left, family.right)
