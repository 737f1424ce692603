"""The router that benchmarks load: its configuration, its start, and what it says of itself."""
import contextlib
import os

from load import BenchError, pin_guest
from peers import NEXT_HOP_MAC
from launcher.guest import Guest

ROUTES = (1, 16384)


def name_of(prefixes):
    return "1route" if prefixes == 1 else "%dkroutes" % (prefixes >> 10)


def routes(prefixes):
    for number in range(prefixes):
        yield "10.%d.%d.0/24" % (number >> 8, number & 255)


def configuration(prefixes, destinations=routes):
    return ("hostname bench\ninterface eth0\n ip address 192.0.2.1/24\n"
            "interface eth1\n ip address 198.51.100.1/24\n"
            "arp 198.51.100.2 %s\n" % NEXT_HOP_MAC +
            "".join("ip route %s 198.51.100.2\n" % prefix for prefix in destinations(prefixes)))


def configuration6(prefixes):
    return ("hostname bench\ninterface eth0\n ipv6 address 2001:db8:1::1/64\n"
            "interface eth1\n ipv6 address 2001:db8:2::1/64\n"
            "ipv6 neighbor 2001:db8:2::2 eth1 %s\n" % NEXT_HOP_MAC +
            "".join("ipv6 route 2a10:0:%x::/48 2001:db8:2::2\n" % n for n in range(prefixes)))


@contextlib.contextmanager
def router_under_load(work, accel, generator, text, more_ports=()):
    config = os.path.join(work, "bench.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(text)
    pidfile, qmp_path = os.path.join(work, "pid"), os.path.join(work, "qmp")
    words = ["router", "--config", config, "--accel", accel, "--idle", "auto", "--pidfile",
             pidfile, "--qmp", qmp_path, "--memory", "512M"]
    for port in ["vhost-user:" + path for path in generator.sockets] + list(more_ports):
        words += ["--port", port]
    with Guest(words, log=os.path.join(work, "console.log")) as router:
        router.wait_ready(120)
        router.wait_prompt()
        generator.partners = pin_guest(pidfile, qmp_path)
        generator.wait_link()
        yield router


def data_core(router):
    """The line of `show cores` of the data core: rx_pkts, busy_cycles, pkts_turn, ..."""
    for row in router.cores():
        if row.get("core") == 1 and "busy_cycles" in row and "rx_pkts" in row:
            return row
    raise BenchError("`show cores` has no line for core 1, or no busy cycles or packets in it")


def drops_of(router):
    return {name: value for name, value in router.counters().items() if name.startswith("drop_")}
