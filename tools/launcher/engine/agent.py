"""`hayate engine`: makes the router's interfaces in a namespace, follows the router's page, and runs
FRRouting there.

1. One agent has a run directory, by a lock that ends with the agent.
2. The daemons end with the agent, even by SIGKILL. The namespace then stays, so that the next agent
   with the same name continues with it; a namespace without name ends too.
3. While the router does not answer, everything stays as it is.
4. On SIGTERM, SIGINT, SIGHUP first the FPM connection ends, and the router keeps its routes for
   `routing engine hold-time`; then the daemons, and then the devices and the namespace.
"""
import fcntl
import os
import select
import shutil
import signal
import socket
import time

from .. import process
from ..errors import LauncherError, usage
from ..machine import Signals
from . import frr, page, relay
from .links import OVERHEAD, Links, StepFailed, ip, name_exists, underlay_mtu
from .plan import PlanError, changes

ANONYMOUS = "none"
REPAIR_S = 10.0  # how often the devices are compared with the page although it has not changed


def say(text):
    print("hayate engine: " + text, flush=True)


def own_address(router):
    """The address with which this machine reaches the router."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((router, 9))
        except OSError as error:
            raise LauncherError("%s: %s; give this machine a route to the router" % (router, error.strerror)) \
                from None
        return probe.getsockname()[0]


class RunDirectory:
    """Sockets, logs and process ids; held by one agent at a time."""

    def __init__(self, path):
        self.path = path
        os.makedirs(path, mode=0o755, exist_ok=True)
        self.lock = open(os.path.join(path, "agent.pid"), "a+", encoding="ascii")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.lock.seek(0)
            raise LauncherError("%s: an agent runs already, process %s" % (path, self.lock.read().strip())) \
                from None
        self.lock.truncate(0)
        self.lock.write("%d\n" % os.getpid())
        self.lock.flush()

    def file(self, name):
        return os.path.join(self.path, name)

    def close(self):
        """Leaves the logs."""
        os.unlink(self.file("agent.pid"))
        self.lock.close()


class Namespace:
    """The namespace with that name, made if it does not exist. A file in the run directory says that an
    agent has made it: others are not touched."""

    def __init__(self, name, run):
        self.name = name
        self.mark = run.file("netns")
        if name_exists(name):
            if not os.path.exists(self.mark):
                raise LauncherError("there is a network namespace %s that no agent has made; choose another name "
                                    "by --netns, or remove it: ip netns delete %s" % (name, name))
        else:
            with open(self.mark, "w", encoding="ascii") as file:
                file.write(name + "\n")
            ip(["netns", "add", name])
        self.fd = process.open_netns(name)

    def delete(self):
        ip(["netns", "delete", self.name])
        os.unlink(self.mark)


class Agent:
    """One run of `hayate engine`."""

    def __init__(self, options, run):
        self.options, self.run = options, run
        self.local = options.local or own_address(options.router)
        self.reader = page.Reader(options.router, options.http_port, self.local)
        self.page = self.complaint = None
        self.relays = {}  # name: (process id, router's port)
        self.frr = None
        self.repair = 0.0
        self.namespace = self.container = self.links = None

    # The namespace.

    def open(self):
        if self.options.netns != ANONYMOUS:
            self.namespace = Namespace(self.options.netns, self.run)
        if not self.options.once:
            self.container = process.Container(self.namespace and os.dup(self.namespace.fd))
        netns = self.namespace.fd if self.namespace else self.container.netns
        name = self.options.netns if self.namespace else str(self.container.init.pid)
        self.links = Links(netns, name, self.local)
        if not self.options.once:
            with process.inside_netns(netns):
                self.listener = relay.listen()

    def close(self):
        self.reader.close()
        for name in list(self.relays):
            self.end_relay(name)
        if self.frr:
            self.frr.stop()
        if self.options.once:
            return
        if self.container:
            self.container.close()
        if self.links and self.namespace:
            self.links.remove_all()
        if self.namespace:
            self.namespace.delete()

    # The page.

    def complain(self, text):
        """Says it once, until something else is the matter."""
        if text != self.complaint:
            say(text)
            self.complaint = text

    def look(self):
        """Reads the page and makes the interfaces accordingly. Whether it succeeded."""
        try:
            wanted = page.parse(self.reader.read())
        except page.Unavailable as error:
            self.complain("the router at %s does not answer: %s%s" % (
                self.options.router, error, "; the interfaces stay as they are" if self.page else ""))
            return False
        except page.PageError as error:
            self.complain("the router's page is not understood: %s" % error)
            return False
        if wanted == self.page and time.monotonic() < self.repair:
            return True
        try:
            self.links.settle()
            steps = self.links.follow(wanted)
        except (PlanError, StepFailed) as error:
            self.complain("the interfaces are not those of the router: %s" % error)
            self.repair = 0.0  # try again
            return False
        if self.complaint:
            say("the router answers again" if self.page else "the router answers")
            self.complaint = None
        self.tell(wanted, steps)
        self.page, self.repair = wanted, time.monotonic() + REPAIR_S
        return True

    def tell(self, wanted, steps):
        lines = list(changes(self.page, wanted))
        for line in lines:
            say(line)
        if steps and not lines and self.page:
            say("the interfaces were not those of the router, and are again")
        if wanted != self.page:
            self.warn(wanted)

    def warn(self, wanted):
        if wanted.address is None:
            say("the router has no routing engine in its configuration: add `routing engine %s`" % self.local)
            return
        if wanted.address != self.local:
            say("the router expects its routing engine at %s, and this is %s: change `routing engine` there, or "
                "use --local" % (wanted.address, self.local))
        if not wanted.interfaces:
            say("no interface of the router has a `routing engine vni`")
            return
        self.warn_of_mtu(wanted)

    def warn_of_mtu(self, wanted):
        needed = max(each.mtu for each in wanted.interfaces) + OVERHEAD
        try:
            mtu, device = underlay_mtu(wanted.source, self.local)
        except StepFailed as error:
            say("no route to the router's address %s: %s" % (wanted.source, error))
            return
        if mtu < needed:
            say("the MTU of %s is %d; full packets need %d: ip link set dev %s mtu %d, and the same on the "
                "router's port" % (device, mtu, needed, device, max(needed, 1600)))

    # The connections of zebra and bfdd.

    def follow_relays(self):
        """Starts the relays that the page asks for, and ends others."""
        wanted = {}
        if self.page and self.page.address:
            wanted["FPM"] = self.page.fpm_port
            if self.page.bfd_port:
                wanted["BFD"] = self.page.bfd_port
        for name, (pid, port) in list(self.relays.items()):
            if wanted.get(name) != port:
                self.end_relay(name)
            elif os.waitpid(pid, os.WNOHANG)[0] != 0:
                del self.relays[name]  # it has ended, which it does not by itself
        for name, port in wanted.items():
            if name not in self.relays:
                self.relays[name] = (process.fork(self.relay(name, port)), port)

    def relay(self, name, port):
        """The function of a relay's process."""
        outer = relay.Outer(name, self.page.source or self.options.router, port, self.local, say)

        def run():
            self.run.lock.close()  # or the lock would outlive the agent
            if name == "FPM":
                relay.serve(self.listener, outer)
            else:
                relay.couple(self.links.netns, outer)
        return run

    def end_relay(self, name):
        pid, _ = self.relays.pop(name)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    # The loop.

    def start_frr(self, text):
        self.frr = frr.Frr(self.container, self.run.path, self.options.frr_config, text, say)
        self.frr.distribute_bfd(bool(self.page.bfd_port))
        self.frr.start()

    def follow(self, signals, text):
        """Until a signal."""
        while True:
            good = self.look()
            self.follow_relays()
            if good and text and not self.frr:
                self.start_frr(text)
            elif self.frr:
                self.frr.distribute_bfd(bool(self.page.bfd_port))
            due = self.frr.watch() if self.frr else None
            wait_s = self.options.poll
            if due is not None:
                wait_s = max(0.0, min(wait_s, due - time.monotonic()))
            select.select([signals.reader], [], [], wait_s)
            stopped = signals.received()
            if stopped:
                say("stopping")
                return


def check(options):
    if options.netns == ANONYMOUS and options.once:
        raise usage("--once: the namespace needs a name, or it would end with this command")
    if options.netns == ANONYMOUS and not options.run:
        raise usage("--netns none: say where sockets and logs go, by --run DIR")
    if os.geteuid() != 0:
        raise LauncherError("this needs root: sudo tools/hayate engine %s" % options.router)
    if not shutil.which("ip"):
        raise LauncherError("ip: no such program (apt-get install iproute2)")
    if options.once or options.no_frr:
        return None
    if not shutil.which("vtysh"):
        raise LauncherError("vtysh: no such program; FRRouting is not installed (apt-get install frr), or "
                            "use --no-frr")
    frr.folder()
    return frr.read_config(options.frr_config)


def run(options):
    text = check(options)
    run_directory = RunDirectory(options.run or "/run/" + options.netns)
    agent = Agent(options, run_directory)
    try:
        with Signals() as signals:
            try:
                agent.open()
                if options.once:
                    if not agent.look():
                        return 1
                    return 0
                agent.follow(signals, text)
            finally:
                agent.close()
    except StepFailed as error:
        raise LauncherError(str(error)) from None
    finally:
        run_directory.close()
    return 0
