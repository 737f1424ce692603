"""`hayate demo --app switch`: hosts in two VLANs at the ports of one switch, and what it has learned."""
import tempfile

from . import lab, netlab
from .demo import iperf_tcp, ping
from .lab import Failure
from .options import data_cores

SWITCH = "192.0.2.254"
HOSTS = (("red-1", "192.0.2.1", 10), ("red-2", "192.0.2.2", 10), ("blue", "192.0.2.3", 20))
PROGRAMS = ("ip", "ping", "iperf3")
PICTURE = """
                       Hayate, the switch
  red-1  192.0.2.1 --- eth0  VLAN 10
  red-2  192.0.2.2 --- eth1  VLAN 10  192.0.2.254 of the switch itself
  blue   192.0.2.3 --- eth2  VLAN 20
"""
SHOWN = ("show vlan", "show switchport", "show mac address-table")


def run(options):
    return lab.conduct("demo --app switch", PROGRAMS, options, _demo)


def _config():
    blocks = "".join("interface eth%d\n description %s\n switchport access vlan %d\n spanning-tree portfast\n" % (number, name, vlan)
                     for number, (name, _, vlan) in enumerate(HOSTS))
    return "hostname hayate\n%sinterface vlan10\n ip address %s/24\n" % (blocks, SWITCH)


def _demo(options, steps, stack):
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-demo-"))
    print(PICTURE)
    steps.step("making three hosts")
    hosts = []
    for name, address, _ in HOSTS:
        host = stack.enter_context(netlab.Host(name, data_cores(options.cpus)))
        host.address = address
        host.configure(address + "/24", SWITCH)
        hosts.append(host)
    steps.done("network namespaces, a tap each")
    switch = lab.boot(options, steps, stack, work, "switch", _config(), [host.port for host in hosts])
    for host in hosts:
        host.wait_for_link()
    _traffic(options, steps, *hosts)

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
