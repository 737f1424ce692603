"""IGMP and MLD snooping of the switch between Linux hosts, which join groups by sockets, with a Linux bridge as the
querier: a host gets packets of the groups that it has joined, and no others."""
import subprocess
import sys

import pytest
from conftest import eventually
from test_switch import SWITCH, make_stations, make_switch

WAIT_S = 60
MACS = {"239.1.1.1": "01005e010101", "ff3e::1234": "333300001234"}
JOIN = """
import socket, struct, sys
index = struct.pack("i", socket.if_nametoindex("eth0"))
if ":" in sys.argv[1]:
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    group = socket.inet_pton(socket.AF_INET6, sys.argv[1])
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group + index)
else:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(sys.argv[1]) + bytes(4) + index)
print("joined", flush=True)
sys.stdin.read()
"""
# counts frames to a MAC address until a broadcast of the sender says that all have been sent
WATCH = """
import socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(("eth0", 0))
s.setsockopt(263, 1, struct.pack("iHH8s", socket.if_nametoindex("eth0"), 1, 0, b""))  # promiscuous
print("ready", flush=True)
n = 0
while True:
    frame = s.recv(2048)
    if frame[:6] == bytes.fromhex(sys.argv[1]):
        n += 1
    if frame[12:14] == b"\\x88\\xb5":
        break
print(n, flush=True)
"""
SEND = """
import socket, struct, sys
index = struct.pack("i", socket.if_nametoindex("eth0"))
if ":" in sys.argv[1]:
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
else:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(8) + index)
for n in range(20):
    s.sendto(b"x" * 100, (sys.argv[1], 5001))
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind(("eth0", 0))
mac = bytes.fromhex(open("/sys/class/net/eth0/address").read(17).replace(":", ""))
raw.send(b"\\xff" * 6 + mac + b"\\x88\\xb5" + bytes(46))
"""


def start(host, program, *arguments):
    """A Python program in the host that has printed its first line."""
    child = host.popen([sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().strip() in ("joined", "ready")
    return child


def delivered(group, sender, *hosts):
    """Of 20 packets to the group, how many each of the hosts got."""
    watches = [start(host, WATCH, MACS[group]) for host in hosts]
    sender.run([sys.executable, "-c", SEND, group], check=True)
    return [int(watch.communicate(timeout=WAIT_S)[0]) for watch in watches]


def become_querier(host):
    """A Linux bridge over the host's port, which asks each 10 s and wants answers within 1 s."""
    host.ip("link", "add", "br0", "type", "bridge", "stp_state", "0", "mcast_snooping", "1", "mcast_querier", "1",
            "mcast_query_use_ifaddr", "1", "mcast_query_interval", "1000", "mcast_query_response_interval", "100",
            "mcast_startup_query_interval", "300", "mcast_mld_version", "2")
    host.ip("address", "flush", "dev", "eth0")
    host.ip("link", "set", "eth0", "master", "br0")
    host.ip("address", "add", host.address + "/24", "dev", "br0")
    host.ip("link", "set", "br0", "up")


def groups(router, command, group):
    return [line.split()[:3] for line in router.command(command + " groups").splitlines() if group in line]


@pytest.mark.parametrize("group,version", [("239.1.1.1", 2), ("239.1.1.1", 3), ("ff3e::1234", 1), ("ff3e::1234", 2)])
def test_only_members_get_a_group(make_switch, group, version):
    router, (querier, listener, stranger, sender) = make_switch(SWITCH, 4)
    command = "show ipv6 mld snooping" if ":" in group else "show ip igmp snooping"
    for host in (querier, listener, sender):
        if ":" in group:
            host.sysctl("net.ipv6.conf.all.disable_ipv6", 0)
            host.sysctl("net.ipv6.conf.eth0.disable_ipv6", 0)
            host.sysctl("net.ipv6.conf.eth0.accept_dad", 0)
            host.ip("address", "replace", "2001:db8::%d/64" % (1 + int(host.address.rsplit(".", 1)[1])), "dev", "eth0", "nodad")
    listener.sysctl("net.ipv6.conf.eth0.force_mld_version" if ":" in group else
                    "net.ipv4.conf.eth0.force_igmp_version", version)
    assert delivered(group, sender, stranger) == [20]  # no querier yet: all is flooded
    become_querier(querier)
    eventually(lambda: "restricts" in router.command(command), WAIT_S, "the switch sees the querier")
    assert delivered(group, sender, listener, stranger) == [0, 0]
    member = start(listener, JOIN, group)
    eventually(lambda: groups(router, command, group) == [["1", group, "eth1"]], WAIT_S, "the switch sees the listener")
    assert delivered(group, sender, listener, stranger) == [20, 0]
    member.communicate(timeout=WAIT_S)  # it leaves; the bridge asks whether others are left
    eventually(lambda: not groups(router, command, group), WAIT_S, "the switch sees the listener leave")
    assert delivered(group, sender, listener, stranger) == [0, 0]
