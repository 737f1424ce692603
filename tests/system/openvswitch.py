"""Open vSwitch in a host's namespace, in user space (datapath netdev), with a bridge br0. A peer for RSTP, and, with a
bond of the host's taps, for link aggregation on kernels without Linux' bonding."""
import os
import re
import subprocess

from layer import eventually
from launcher import process

DAEMON = "/usr/sbin/ovs-vswitchd"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
READY_S = 60


class OpenVSwitch:
    def __init__(self, stack, host, work):
        """work: a new directory for all its files. stack: ends the daemons."""
        os.makedirs(work)
        self.host, self.work = host, str(work)
        self.env = dict(os.environ, OVS_RUNDIR=self.work, OVS_LOGDIR=self.work, OVS_DBDIR=self.work)
        self.database = "unix:%s/db.sock" % self.work
        path = os.path.join(self.work, "conf.db")
        self._run("ovsdb-tool", "create", path, SCHEMA)
        self._daemon(stack, ["ovsdb-server", "--remote=p" + self.database, path])
        eventually(lambda: os.path.exists(self.database[5:]), READY_S, "Open vSwitch: its database")
        self._daemon(stack, [DAEMON, self.database, "--unixctl=" + self._control(), "--disable-system"])
        eventually(lambda: os.path.exists(self._control()), READY_S, "Open vSwitch: its daemon")
        self.set("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")

    def _control(self):
        return os.path.join(self.work, "vswitchd.ctl")

    def _daemon(self, stack, words):
        child = self.host.popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)
        stack.callback(process.stop, child, 5)

    def _run(self, *words):
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=READY_S, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def set(self, *words):
        self._run("ovs-vsctl", "--db=" + self.database, "--timeout=%d" % READY_S, *words)

    def bond(self, devices, lacp="active", fast=True):
        for device in devices:  # the kernel sees the frames too, and would answer ARP with the device's own address
            self.host.ip("link", "set", device, "arp", "off")
        self.set("add-bond", "br0", "bond0", *devices, "bond_mode=balance-tcp" if lacp != "off" else
                 "bond_mode=balance-slb", "lacp=" + lacp, "--", "set", "port", "bond0",
                 "other_config:lacp-time=" + ("fast" if fast else "slow"))

    def address(self, address):
        self.host.ip("address", "replace", address, "dev", "br0")
        self.host.ip("link", "set", "br0", "up")

    def lacp(self):
        """{device: words} of `lacp/show`, such as "current attached"."""
        said = self._run("ovs-appctl", "-t", self._control(), "lacp/show", "bond0")
        return dict(re.findall(r"^(?:slave|member): (\S+): (.*)$", said, re.MULTILINE))
