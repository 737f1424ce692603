"""`hayate rfc2544`: the generator measures the router, as two machines with two cables between them.

The result is a report as for any other device (docs/pktgen.md, Report). It measures router, QEMU's
cards, taps and this host together, not the router on hardware.
"""
import os
import tempfile
from collections import namedtuple

from . import lab, netlab, newqemu, ports, report
from .errors import EXIT_INVALID, usage
from .guest import Guest
from .options import choose_accel, data_cores, modelled

# Addresses reserved for benchmarks (RFC 2544 C.2.2, RFC 5180 8). For each side: the network, and in it
# the router's address and the generator's.
Net = namedtuple("Net", "prefix router generator")
NETS = {
    "4": (Net("198.18.0.0/24", "198.18.0.1", "198.18.0.2"),
          Net("198.19.0.0/24", "198.19.0.1", "198.19.0.2")),
    "6": (Net("2001:2:0:1::/64", "2001:2:0:1::1", "2001:2:0:1::2"),
          Net("2001:2:0:2::/64", "2001:2:0:2::1", "2001:2:0:2::2")),
}
MACS = {"router": ports.MAC_BASE, "generator": "52:54:00:68:79:80"}
PROGRAMS = ("ip",)


def script(options):
    """The generator's script: streams from eth0 to eth1, or both ways, and the tests."""
    nets = NETS[options.family]
    lines = ["catch-up " + options.catch_up]
    for port, net in enumerate(nets):
        lines += ["answer eth%d %s" % (port, net.prefix), "line eth%d %s" % (port, options.line)]
    for port, name in enumerate(("there", "back") if options.both_ways else ("there",)):
        lines += ["stream " + name, " port eth%d to eth%d" % (port, 1 - port),
                  " mac destination " + ports.mac_of(MACS["router"], port),
                  " udp %s %s" % (nets[port].generator, nets[1 - port].generator)]
    lines += ["run", "rfc2544 " + " ".join(options.tests)]
    if not options.full:
        lines += [" sizes " + options.sizes, " trial " + options.trial, " settle " + options.settle,
                  " learn 200ms", " rest 0s",
                  " resolution 1%", " search 1% to 100%", " repeat %d" % options.repeat]
    return "\n".join(lines) + "\n"


def _config(family):
    """The router's configuration."""
    word = {"4": "ip", "6": "ipv6"}[family]
    return "".join("interface eth%d\n %s address %s/%s\n" % (
        port, word, net.router, net.prefix.split("/")[1])
        for port, net in enumerate(NETS[family]))


def _arguments(options, which, directory, files, ends):
    """Arguments of `hayate run`."""
    words = ["router" if which == "router" else "pktgen", "--mac", MACS[which],
             "--accel", choose_accel(options.accel), "--cpus", str(options.cpus),
             "--nic", options.nic]
    for name, text in files.items():
        path = os.path.join(directory, which + "." + name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        words += ["--" + name, path]
    for end in ends:
        words += ["--port", end]
    for name in ("qemu", "image"):
        if getattr(options, name):
            words += ["--" + name, getattr(options, name)]
    return words


def _test(options, steps, stack):
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="hayate-rfc2544-"))
    os.makedirs(options.output, exist_ok=True)
    if modelled(options) and not options.qemu:
        steps.step("a QEMU that knows vfio-user")
        steps.done(newqemu.find().version)
    steps.step("two cables")
    panel = stack.enter_context(netlab.PatchPanel(2, data_cores(options.cpus)))
    steps.done("bridges in a network namespace")
    steps.step("booting the router")
    files = {"config": _config(options.family)}
    router = stack.enter_context(Guest(_arguments(options, "router", directory, files,
                                                  panel.ends[0])))
    steps.done("ready %.1f ms after the kernel began" % router.wait_ready()[2])
    router.wait_prompt()
    steps.step("booting the generator")
    steps.done("its console:\n")
    files = {"script": script(options)}
    arguments = _arguments(options, "generator", directory, files, panel.ends[1])
    valid = report.take(arguments + ["--append", "live=lines"], options.output)
    with open(os.path.join(options.output, "report.txt"), encoding="utf-8") as file:
        print("\n" + file.read())
    _check(router)
    print("page: %s" % os.path.join(options.output, "report.html"))
    if not valid:
        print("exit code %d: not all trials were valid; the report lists the reasons" %
              EXIT_INVALID)
    return 0 if valid else EXIT_INVALID


def _check(router):
    """Checks that the router has accounted for every packet and powers off normally."""
    wrong = router.counters().unbalanced()
    if wrong:
        raise lab.Failure("the router's counters do not add up: " + wrong)
    router.send("poweroff")
    code = router.wait_exit()
    if code != 0:
        raise lab.Failure("the router ended with code %d" % code)


def run(options):
    known = ("throughput", "latency", "frame-loss", "back-to-back")
    for test in options.tests:
        if test not in known:
            raise usage("%s: the tests are %s" % (test, ", ".join(known)))
    options.tests = options.tests or known
    return lab.conduct("rfc2544", PROGRAMS, options, _test)
