"""BFD with FRRouting: its bfdd, on the routing engine, has Hayate run a session with an ordinary bfdd
behind another port. The messages themselves are tests/packet/test_bfd.py's.

Before FRR 10.3 bfdd closes its connection to a data plane at once (f511530788 mends that). So it listens
here. Hayate connects to it in test_frr; in test_kinds socat connects the two, so Hayate accepts.

The session is of 20 x 50 ms: this machine's host may stand still for some 100 ms."""
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from conftest import LEFT_ROUTER, RIGHT_HOST, RIGHT_ROUTER, eventually, netlab, router_config

DAEMONS = "/usr/lib/frr/"
ENGINE_ROUTER, ENGINE_HOST = "203.0.113.1", "203.0.113.2"
CONFIG = router_config() + """\
interface eth2
 ip address %s/24
routing engine %s
routing engine bfd
""" % (ENGINE_ROUTER, ENGINE_HOST)
INDEX = 77
BFDD = ENGINE_HOST + ":50700"


def session(peer, local, more=""):
    return """\
bfd
 peer %s%s local-address %s%s
  transmit-interval 50
  receive-interval 50
  detect-multiplier 20
""" % (peer, " multihop" if more == "multihop" else "", local, "" if more == "multihop" else more)


class Frr:
    """FRR's zebra and bfdd in a host, with their files in a folder of their own."""

    def __init__(self, host, name):
        self.host, self.work = host, pathlib.Path(tempfile.mkdtemp(prefix="frr-%s-" % name))
        shutil.chown(self.work, "frr", "frr")
        self.names = []

    def start(self, name, config, *arguments):
        (self.work / (name + ".conf")).write_text(config)
        with open(self.work / (name + ".log"), "ab") as log:
            child = self.host.popen(
                [DAEMONS + name, "-f", str(self.work / (name + ".conf")),
                 "-i", str(self.work / (name + ".pid")), "-z", str(self.work / "zserv"),
                 "--vty_socket", str(self.work), "-u", "frr", "-g", "frr", *arguments],
                stdout=log, stderr=-2)
        return child

    def start_zebra(self):
        self.start("zebra", "", "-A", "127.0.0.1")
        eventually((self.work / "zserv").exists, 20)

    def start_bfdd(self, config, *arguments):
        options = subprocess.run([DAEMONS + "bfdd", "--help"], capture_output=True, text=True, timeout=20, check=False)
        control = ["--bfdctl", str(self.work / "bfdd.sock")] if "--bfdctl" in options.stdout else []  # not in 10.3
        return self.start("bfdd", config, *control, *arguments)

    def start_distributed(self, config, connect=False):
        """bfdd with a data plane; connect: and their connection. bfdd states a session without its
        interface if that is not known yet, so first it gets the interfaces from zebra."""
        bfdd = self.start_bfdd(config, "--dplaneaddr", "ipv4:" + BFDD)
        eventually(lambda: "bfd" in self.vtysh("show zebra client summary", "zebra"), 20)
        if connect:
            self.host.popen(["socat", "TCP:%s,retry=100,interval=0.1,nodelay" % BFDD,
                             "TCP:%s:50700,nodelay" % ENGINE_ROUTER])
        return bfdd

    def vtysh(self, command, daemon="bfdd"):
        return self.host.run(["vtysh", "--vty_socket", str(self.work), "-d", daemon, "-c", command]).stdout

    def peers(self, what=""):
        """The only peer, as a dictionary; empty while bfdd does not answer."""
        try:
            return json.loads(self.vtysh("show bfd peers %sjson" % what))[0]
        except (ValueError, IndexError):
            return {}

    def status(self):
        return self.peers().get("status")

    def close(self):
        self.host.end_children()
        shutil.rmtree(self.work, ignore_errors=True)


@contextlib.contextmanager
def frr(host, name):
    daemons = Frr(host, name)
    try:
        yield daemons
    finally:
        daemons.close()


def test_frr(make_router, make_hosts):
    left, right = make_hosts()
    with netlab.Host("engine") as engine, frr(engine, "engine") as ours, frr(right, "peer") as peer:
        engine.configure(ENGINE_HOST + "/24", ENGINE_ROUTER)
        router = make_router(CONFIG.replace("bfd\n", "bfd connect\n"), cpus=2, ports=(left.port, right.port, engine.port))
        for host in (left, right, engine):
            host.wait_for_link()
        for daemons in (peer, ours):
            daemons.start_zebra()
        peer.start_bfdd(session(RIGHT_ROUTER, RIGHT_HOST))
        bfdd = ours.start_distributed(session(RIGHT_HOST, RIGHT_ROUTER))

        def show():
            return router.command("show bfd")

        def both(status):
            return ours.status() == status == peer.status()

        eventually(lambda: both("up"), 60)
        said = show()
        assert "203.0.113.2 port 50700 connected since " in said and "sessions 1, up 1," in said, said
        assert "peer %s local %s up since " % (RIGHT_HOST, RIGHT_ROUTER) in said, said
        eventually(lambda: "  interval 50000 us, detection time 1000000 us\n" in show(), 20)
        for side in (ours, peer):
            eventually(lambda: side.peers().get("remote-transmit-interval") == 50, 20)
            assert side.peers()["remote-detect-multiplier"] == 20
        # bfdd asks Hayate for the counters
        eventually(lambda: ours.peers("counters ").get("control-packet-input", 0) > 20 and
                   ours.peers("counters ")["control-packet-output"] > 20, 30)
        # the cut: nothing is received on either side
        router.set_link(1, False)
        eventually(lambda: both("down"), 30)
        assert "last down" in show() and re.search(r"up \d+, down [1-9]", show()), show()
        router.set_link(1, True)
        eventually(lambda: both("up"), 60)
        # the peer says that it is administratively down
        peer.host.run(["vtysh", "--vty_socket", str(peer.work), "-d", "bfdd", "-c", "configure terminal",
                       "-c", "bfd", "-c", "peer %s local-address %s" % (RIGHT_ROUTER, RIGHT_HOST),
                       "-c", "shutdown"], check=True)
        eventually(lambda: ours.status() == "down", 30)
        peer.host.run(["vtysh", "--vty_socket", str(peer.work), "-d", "bfdd", "-c", "configure terminal",
                       "-c", "bfd", "-c", "peer %s local-address %s" % (RIGHT_ROUTER, RIGHT_HOST),
                       "-c", "no shutdown"], check=True)
        eventually(lambda: both("up"), 60)
        # without bfdd the session runs on
        bfdd.kill()
        bfdd.wait()
        eventually(lambda: "disconnected" in show(), 30)
        assert "sessions 1, up 1," in show() and " stale\n" in show() and peer.status() == "up"
        ours.start_distributed(session(RIGHT_HOST, RIGHT_ROUTER))
        eventually(lambda: " stale\n" not in show() and both("up"), 60)
        assert "sessions 1, up 1," in show()
        peer.close()
        make_hosts.quiet()


@pytest.mark.parametrize("kind", ("link-local", "multihop"))
def test_kinds(make_router, make_hosts, kind):
    """A session with a link-local peer, by the index of the interface on the engine; a multihop session
    from the address of another port."""
    left, right = make_hosts()
    right.configure6("2001:db8:2::2/64", "2001:db8:2::1")
    config = CONFIG.replace("interface eth1\n", "interface eth1\n ipv6 address 2001:db8:2::1/64\n"
                            " routing engine index %d\n" % INDEX)
    with netlab.Host("engine") as engine, frr(engine, "engine") as ours, frr(right, "peer") as peer:
        engine.configure(ENGINE_HOST + "/24", ENGINE_ROUTER)
        engine.ip("link", "add", "eth1", "index", str(INDEX), "type", "veth", "peer", "name", "end")
        engine.ip("link", "set", "end", "up")
        engine.ip("link", "set", "eth1", "up")
        router = make_router(config, cpus=2, ports=(left.port, right.port, engine.port))
        for host in (left, right, engine):
            host.wait_for_link()
        for daemons in (peer, ours):
            daemons.start_zebra()
        if kind == "multihop":
            a, b, to, by = LEFT_ROUTER, RIGHT_HOST, "multihop", "multihop"
            seen = "peer %s local %s multihop up " % (b, a)
        else:
            a, b = (re.search(r"\bfe80:[0-9a-f:]+", text)[0] for text in (
                re.search(r"eth1 .*fe80.*", router.command("show ipv6 interface brief"))[0],
                right.ip("-6", "-o", "address", "show", "dev", "eth0")))
            to, by = " interface eth0", " interface eth1"
            seen = "peer %s local %s eth1 up " % (b, a)
        peer.start_bfdd(session(a, b, to))
        ours.start_distributed(session(b, a, by), connect=True)
        eventually(lambda: ours.status() == "up" == peer.status(), 60)
        assert seen in router.command("show bfd"), router.command("show bfd")
        router.set_link(1, False)
        eventually(lambda: ours.status() == "down" == peer.status(), 30)
        router.set_link(1, True)
        eventually(lambda: ours.status() == "up" == peer.status(), 60)
        peer.close()
        make_hosts.quiet()
