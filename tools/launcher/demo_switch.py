"""`hayate demo --app switch`: hosts in two VLANs at the ports of one switch, a loop of cables, and what the
switch has learned."""
import select
import socket
import tempfile
import time

from . import lab, netlab
from .demo import iperf_tcp, ping
from .lab import Failure
from .options import data_cores

SWITCH = "192.0.2.254"
HOSTS = (("red-1", "192.0.2.1", 10), ("red-2", "192.0.2.2", 10), ("blue", "192.0.2.3", 20))
LOOP = (3, 4)
PROGRAMS = ("ip", "ping", "iperf3")
PICTURE = """
                       Hayate, the switch
  red-1  192.0.2.1 --- eth0  VLAN 10
  red-2  192.0.2.2 --- eth1  VLAN 10  192.0.2.254 of the switch itself
  blue   192.0.2.3 --- eth2  VLAN 20
                   +-- eth3  VLAN 10
        a cable    +-- eth4  VLAN 10   a loop, which the spanning tree cuts
"""
SHOWN = ("show vlan", "show spanning-tree", "show mac address-table")
BROADCASTS, PORT = 5, 9
TREE_S = 40  # at most: twice the forward time, if the ports do not agree at once


def run(options):
    return lab.conduct("demo --app switch", PROGRAMS, options, _demo)


def _config():
    blocks = ["interface eth%d\n description %s\n switchport access vlan %d\n spanning-tree portfast\n" % (number, name, vlan)
              for number, (name, _, vlan) in enumerate(HOSTS)]
    blocks += ["interface eth%d\n switchport access vlan 10\n" % number for number in LOOP]
    return "hostname hayate\n%sinterface vlan10\n ip address %s/24\n" % ("".join(blocks), SWITCH)


def _demo(options, steps, stack):
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-demo-"))
    print(PICTURE)
    steps.step("making three hosts and a cable")
    hosts = []
    for name, address, _ in HOSTS:
        host = stack.enter_context(netlab.Host(name, data_cores(options.cpus)))
        host.address = address
        host.configure(address + "/24", SWITCH)
        hosts.append(host)
    cable = stack.enter_context(netlab.PatchPanel(1, data_cores(options.cpus)))
    steps.done("network namespaces, a tap each")
    ports = [host.port for host in hosts] + [end[0] for end in cable.ends]
    switch = lab.boot(options, steps, stack, work, "switch", _config(), ports)
    for host in hosts:
        host.wait_for_link()
    _traffic(options, steps, *hosts)
    _loop(steps, switch, *hosts[:2])

    steps.step("asking the switch")
    said = [(command, switch.command(command)) for command in SHOWN]
    lab.end(switch)
    steps.done("")
    for command, text in said:
        print("\n  %s\n" % command + "".join("    " + line + "\n" for line in text.splitlines()), end="")
    print()


def _traffic(options, steps, red, other, blue):
    ping(steps, red, other.address, "ping red-1 -> red-2")
    ping(steps, other, SWITCH, "ping red-2 -> the switch itself")
    steps.step("ping blue -> red-1, in another VLAN")
    if blue.ping(red.address, wait_s=1)[0]:
        raise Failure("it was answered")
    steps.done("no answer, as it should be")
    iperf_tcp(steps, red, other, other.address, options.seconds)


def _loop(steps, switch, red, other):
    steps.step("the loop: the tree decides")
    began = time.monotonic()
    while True:
        rows = {row[0]: row[1:3] for row in map(str.split, switch.command("show spanning-tree").splitlines()) if len(row) > 3}
        states = sorted(tuple(rows["eth%d" % number]) for number in LOOP)
        if states == [("backup", "discarding"), ("designated", "forwarding")]:
            break
        if time.monotonic() - began > TREE_S:
            raise Failure("the ports of the loop are %s" % states)
        time.sleep(0.2)
    steps.done("one port forwards, one is blocked, after %.1f s" % (time.monotonic() - began))
    steps.step("%d broadcasts of red-1" % BROADCASTS)
    with red.socket() as sender, other.socket() as receiver:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        receiver.bind(("", PORT))
        for _ in range(BROADCASTS):
            sender.sendto(b"to all", ("192.0.2.255", PORT))
        came = 0
        while select.select([receiver], [], [], 1)[0]:
            receiver.recv(64)
            came += 1
    if came != BROADCASTS:
        raise Failure("red-2 received %d" % came)
    steps.done("each came to red-2 once")
