"""Hayate with a routing engine that has neighbours. Packets from the left host go by the engine's routes
to the right host, which is connected to two of Hayate's ports.

    left --- eth0  Hayate  eth1 --- right
                           eth2 --- right
                           eth3 --- engine --- peers

The engine has an interface in the subnets of eth1 and eth2. Their other ends are the peers', who have
the right host's addresses there. So the engine's neighbours are where Hayate has the right host, and
Hayate's next hops are those that a protocol has by itself. BGP runs over a link of its own, and the
peers name the right host as next hop."""
import contextlib
import select
import socket
import struct
import threading

import pytest
from conftest import LEFT_HOST, LEFT_ROUTER, eventually, netlab
from flows import Flows
from frr import Engine, Peers, link

from launcher.errors import LauncherError

ENGINE_ROUTER, ENGINE_HOST = "203.0.113.1", "203.0.113.2"
AS, AS_ONE, AS_TWO = 65000, 65001, 65002
BGP_ENGINE, BGP_ONE, BGP_TWO, BGP_SAME = ("172.31.0.%d" % n for n in (1, 2, 3, 4))
BGP_ENGINE_TWO = "172.31.0.5"  # BIRD has one session with an address
BGP6_ENGINE, BGP6_ONE = "fd31::1", "fd31::2"
ONE, TWO, ONE6, TWO6 = "198.51.100.2", "198.51.102.2", "2001:db8:2::2", "2001:db8:3::2"
INDEX_ONE, INDEX_TWO = 77, 78
LINK_LOCAL = "fe80::2"  # of the right host and of the peers
PREFIXES, PREFIXES6 = 3000, 1000

CONFIG = """\
hostname r1
interface eth0
 ip address %s/24
 ipv6 address 2001:db8:1::1/64
interface eth1
 ip address 198.51.100.1/24
 ipv6 address 2001:db8:2::1/64
 routing engine index %d
interface eth2
 ip address 198.51.102.1/24
 ipv6 address 2001:db8:3::1/64
 routing engine index %d
interface eth3
 ip address %s/24
routing engine %s
routing engine settle-time 40
""" % (LEFT_ROUTER, INDEX_ONE, INDEX_TWO, ENGINE_ROUTER, ENGINE_HOST)

# From the peers. A target is an address of the right host.
BGP, BGP_FAR = "10.128.0.0/24", "10.128.0.1"          # the first of PREFIXES
BGP6, BGP6_FAR = "2001:db8:8000::/48", "2001:db8:8000::1"  # of PREFIXES6
ECMP, ECMP_FAR = "10.9.0.0/16", "10.9.0.1"
STATIC, STATIC_FAR = "10.74.0.0/16", "10.74.0.1"
TARGETS = (BGP_FAR, BGP6_FAR, ECMP_FAR, STATIC_FAR)


def many():
    """The prefixes of one peer."""
    return ["10.%d.%d.0/24" % (128 + n // 256, n % 256) for n in range(PREFIXES)]


def many6():
    return ["2001:db8:%x::/48" % (0x8000 + n) for n in range(PREFIXES6)]


def statics(name, family, prefixes, table):
    """A source of routes in one of BIRD's tables."""
    return "protocol static %s { %s { table %s; }; %s }\n" % (
        name, family, table, " ".join("route %s blackhole;" % prefix for prefix in prefixes))


def bird_bgp(name, own, asn, neighbour, family, table, source, hop, bandwidth=None):
    """BIRD's session with the engine, for the routes of one of its sources. bandwidth: of their links,
    octets a second, which bgpd makes a weight of."""
    word = ("bgp_ext_community.add((generic, 0x0004%04x, 0x%08x));"
            % (asn, *struct.unpack(">I", struct.pack(">f", bandwidth)))) if bandwidth else ""
    return """\
protocol bgp %s {
  local %s as %d; neighbor %s as %d; multihop 2;
  connect delay time 1; connect retry time 1; error wait time 1, 2; startup hold time 60;
  %s { table %s; import all; next hop address %s; export filter { if proto != "%s" then reject; %s accept; }; };
}
""" % (name, own, asn, neighbour, AS, family, table, hop, source, word)


def bird(weighted=False):
    """BIRD as two neighbours of the engine, of different numbers and next hops. weighted: the second one
    gets three times as many flows as the first."""
    one, two = (1e8, 3e8) if weighted else (None, None)
    return ("router id %s;\nprotocol device { }\nipv4 table other4;\n" % BGP_ONE +
            statics("many", "ipv4", [ECMP] + many(), "master4") +
            statics("many6", "ipv6", many6(), "master6") +
            statics("few", "ipv4", [ECMP], "other4") +  # the same prefix: a table exports only its best route
            bird_bgp("one", BGP_ONE, AS_ONE, BGP_ENGINE, "ipv4", "master4", "many", ONE, one) +
            bird_bgp("one6", BGP6_ONE, AS_ONE, BGP6_ENGINE, "ipv6", "master6", "many6", ONE6) +
            bird_bgp("two", BGP_TWO, AS_TWO, BGP_ENGINE_TWO, "ipv4", "other4", "few", TWO, two))


def bgpd(*more):
    """The engine's bgpd, with these lines of its own."""
    neighbours = ((BGP_ONE, AS_ONE), (BGP6_ONE, AS_ONE), (BGP_TWO, AS_TWO), (BGP_SAME, AS))
    lines = ["router bgp %d" % AS, "bgp router-id " + BGP_ENGINE, "no bgp ebgp-requires-policy",
             "no bgp default ipv4-unicast", "bgp bestpath as-path multipath-relax", *more]
    for address, asn in neighbours:
        # only they connect: of two connections at the same time, both might be closed
        lines += ["neighbor %s %s" % (address, words) for words in
                  ("remote-as %d" % asn, "passive", "advertisement-interval 0")]
        if asn != AS:
            lines.append("neighbor %s ebgp-multihop 2" % address)
    lines += ["neighbor %s update-source %s" % (BGP_TWO, BGP_ENGINE_TWO),
              "address-family ipv4 unicast", "maximum-paths 4"]
    lines += ["neighbor %s activate" % address for address, _ in neighbours if ":" not in address]
    lines += ["exit-address-family", "address-family ipv6 unicast", "neighbor %s activate" % BGP6_ONE,
              "exit-address-family"]
    return "\n".join(lines) + "\n"


class Lab:
    """All of them. The engine's daemons are not started yet, and nor are the peers'."""

    def __init__(self, stack, make_router, frr, groups=False, more="", arguments=()):
        self.left = stack.enter_context(netlab.Host("left"))
        self.right = stack.enter_context(netlab.Host("right"))
        self.engine = stack.enter_context(Engine(frr, ENGINE_ROUTER, ENGINE_HOST, groups))
        self.peers = stack.enter_context(Peers(frr))
        if groups and not self.engine.has_nexthop_objects():
            pytest.skip("this kernel has no next-hop objects")
        self._hosts()
        self._links()
        ports = [self.left.port, self.right.port, self.right.port.replace("eth0", "eth1"), self.engine.port]
        # of 512 MiB, the table for IPv6 would not take PREFIXES6
        self.router = make_router(CONFIG + more, "--memory", "1G", *arguments, cpus=2, ports=ports,
                                  wait=False)

    def _hosts(self):
        self.left.configure(LEFT_HOST + "/24", LEFT_ROUTER)
        self.left.configure6("2001:db8:1::2/64", "2001:db8:1::1")
        right = self.right
        for name in ("all", "default", "eth0"):
            right.sysctl("net.ipv4.conf.%s.rp_filter" % name, 0)  # a flow may come by either
        right.ip("tuntap", "add", "dev", "eth1", "mode", "tap")
        right.configure(ONE + "/24", "198.51.100.1")
        right.configure6(ONE6 + "/64", "2001:db8:2::1")
        right.ip("address", "add", TWO + "/24", "dev", "eth1")
        right.ip("link", "set", "eth1", "up")
        right.sysctl("net.ipv6.conf.eth1.disable_ipv6", 0)
        right.ip("-6", "address", "add", TWO6 + "/64", "dev", "eth1", "nodad")
        right.ip("-6", "address", "add", LINK_LOCAL + "/64", "dev", "eth0", "nodad")

    def _links(self):
        link(self.engine, self.peers, "eth1", INDEX_ONE, ("198.51.100.9/24", ONE + "/24"),
             (("fe80::9/64", "2001:db8:2::9/64"), (LINK_LOCAL + "/64", ONE6 + "/64")))
        link(self.engine, self.peers, "eth2", INDEX_TWO, ("198.51.102.9/24", TWO + "/24"),
             (("fe80::9/64", "2001:db8:3::9/64"), (LINK_LOCAL + "/64", TWO6 + "/64")))
        link(self.engine, self.peers, "bgp", 90, (BGP_ENGINE + "/24", BGP_ONE + "/24"),
             ((BGP6_ENGINE + "/64", "fe80::1/64"), (BGP6_ONE + "/64", "fe80::2/64")))
        self.engine.ip("address", "add", BGP_ENGINE_TWO + "/24", "dev", "bgp")
        for address in (BGP_TWO, BGP_SAME):
            self.peers.ip("address", "add", address + "/24", "dev", "bgp")

    def target(self, *addresses):
        """The right host gets these addresses."""
        for address in addresses:
            self.right.add_loopback(address)

    def wait_up(self):
        self.router.wait_up()
        for host in (self.left, self.right, self.engine):
            host.wait_for_link()

    def route(self, prefix):
        """What Hayate says about it."""
        return self.router.command("show %s route %s" % ("ipv6" if ":" in prefix else "ip", prefix))

    def wait_route(self, prefix, *texts, timeout_s=40):
        """Waits until all the texts are in that."""
        said = []

        def there():
            said[:] = [self.route(prefix)]
            return all(text in said[0] for text in texts)
        try:
            eventually(there, timeout_s, every_s=0.3)
        finally:
            if not there():
                print(said[0], self.router.command("show routing engine"))

    def stated(self):
        """(prefixes, stale ones) of the engine."""
        return tuple(int(word.split()[1]) for word in
                     self.router.command("show routing engine").splitlines()[1].split(", ")[:2])

    def wait_stated(self, count, timeout_s=40):
        """Waits until there are so many, and none is stale."""
        eventually(lambda: self.stated() == (count, 0), timeout_s, "%d routes" % count, every_s=0.3)

    @contextlib.contextmanager
    def explained(self):
        """If the block fails, prints what the parties have to say."""
        try:
            yield
        except BaseException:
            print(self.router.command("show routing engine"))
            for host in (self.engine, self.peers):
                for path in sorted(host.work.glob("*.log")):
                    print("--- %s: %s\n%s" % (host.name, path.name, path.read_text()[-2000:]))
            for line in ("show fpm counters", "show zebra client summary", "show ip route summary"):
                with contextlib.suppress(LauncherError):
                    print(self.engine.ask("zebra", line))
            raise

    def connected(self):
        return " connected since " in self.router.command("show routing engine")

    def flows(self, *targets, count=4):
        return Flows(self.left, self.right, targets, count)

    def device(self, flow):
        """The interface of the right host by which the last packet of a flow came."""
        with netlab.process.inside_netns(self.right.netns):
            return socket.if_indextoname(flow.device)


class Event:
    """`with Event("zebra is killed", flows):`: all flows run while the block runs, and lose no packet, except
    those to addresses in may_lose. Afterwards `lost` has the packets that each address lost, and
    `silent_s` the longest time without any."""

    def __init__(self, what, flows, may_lose=()):
        self.what, self.flows, self.may_lose = what, flows, may_lose
        self.addresses = list(dict.fromkeys(flow.to[0] for flow in flows.list))

    def __enter__(self):
        self.flows.give_up()
        self.before = self._lost()
        self.flows.begin()
        self.running = self.flows.sending()
        self.running.__enter__()
        return self

    def __exit__(self, *failure):
        self.running.__exit__(*failure)
        if failure[0]:
            return False
        self.flows.run(0.3)
        keep = [flow for flow in self.flows.list if flow.to[0] not in self.may_lose]
        self.flows.settle(whose=keep)
        self.flows.settle(0.2)
        self.lost = {address: self._lost()[address] - self.before[address] for address in self.addresses}
        self.silent_s = {address: max(flow.outage_s for flow in self.flows.to(address))
                         for address in self.addresses}
        print("%s: %s" % (self.what, ", ".join(
            "%s lost %d, silent %.2f s" % (address, self.lost[address], self.silent_s[address])
            for address in self.addresses)))
        wrong = {address: lost for address, lost in self.lost.items()
                 if lost and address not in self.may_lose}
        assert not wrong, "%s: packets were lost: %s" % (self.what, wrong)
        return False

    def _lost(self):
        return {address: sum(len(flow.lost) + len(flow.missing) for flow in self.flows.to(address))
                for address in self.addresses}


class Cutter:
    """Passes the engine's FPM stream on to Hayate, and cuts it inside of a frame: of each connection in
    turn, after as many whole frames of `cuts` as its first number says, and as many octets of the next
    one as its second says. The connections after these stay, until cut_next(). A context manager."""

    PORT = 2621

    def __init__(self, engine, cuts):
        self.engine, self.cuts = engine, list(cuts)
        self.whole = []  # frames that each connection has passed on whole
        self.next = False
        self.listener = engine.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.PORT))
        self.listener.listen(1)
        self.done, self.wake = socket.socketpair()
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.wake.close()
        self.thread.join()
        self.done.close()
        self.listener.close()
        return False

    def cut_next(self):
        """Cuts the connection inside of the last message of the next frame."""
        self.next = True

    def _work(self):
        while self.listener in select.select([self.listener, self.done], [], [])[0]:
            with self.listener.accept()[0] as zebra, \
                    self.engine.socket(socket.AF_INET, socket.SOCK_STREAM) as hayate:
                with contextlib.suppress(OSError):
                    hayate.connect((ENGINE_ROUTER, 2620))
                    self.whole.append(0)
                    self._pass(zebra, hayate)

    def _pass(self, zebra, hayate):
        cut = self.cuts.pop(0) if self.cuts else None
        waiting = b""
        while True:
            ready = select.select([zebra, hayate, self.done], [], [])[0]
            if self.done in ready:
                return
            if hayate in ready:
                data = hayate.recv(65536)
                if not data:
                    return
                zebra.sendall(data)
            if zebra not in ready:
                continue
            data = zebra.recv(65536)
            if not data:
                return
            waiting += data
            while len(waiting) >= 4 and len(waiting) >= struct.unpack_from("!H", waiting, 2)[0]:
                length = struct.unpack_from("!H", waiting, 2)[0]
                frame, waiting = waiting[:length], waiting[length:]
                if self.next or cut and self.whole[-1] == cut[0]:
                    hayate.sendall(frame[:inside_last(frame) if self.next else min(cut[1], length - 1)])
                    self.next = False
                    return
                hayate.sendall(frame)
                self.whole[-1] += 1


def inside_last(frame):
    """The offset of the middle of the last netlink message."""
    at = 4
    while at + (length := struct.unpack_from("=I", frame, at)[0]) < len(frame):
        at += length
    return at + length // 2
