"""Arguments, help text and exit codes of `hayate`."""
import argparse
import importlib
import ipaddress
import os
import re
import shlex
import sys
import tempfile

from . import addr, disk, errors, image, machine, options, password, ports, report, script, secure_boot
from .errors import LauncherError, usage

DESCRIPTION = """\
Builds, boots and demonstrates Hayate, a networking operating system for x86-64."""

EXIT_CODES = """\
exit codes:
  0          the guest switched itself off (`poweroff`), or QEMU was quit (Ctrl-A x)
  1          the guest's kernel panicked
  2          the guest's control core kept faulting
  3 to 63    what the guest's operator chose: `poweroff CODE` (takes 0 to 63)
  120        --report, --capture: the run or a trial was invalid, or there was no test
  121        demo: something it shows did not work
  122        wrong usage
  123        this machine lacks a file, a program or a permission
  124        --timeout ran out
  125        QEMU did not start, or crashed
  128 + N    the launcher was ended by signal N

Errors are one line on standard error, starting with `hayate:`.
"""

RUN_EPILOG = """\
ports, in the order given, become eth0, eth1, …:
  tap:NAME[,vhost=on][,queues=N]
      a tap device of this machine; made when it does not exist (root)
  tap:NETNS/NAME
      the same inside a network namespace: a name of `ip netns`, or the process id of a
      process in it
  user[,hostfwd=udp:127.0.0.1:5555-10.0.2.15:7]...[,net=10.0.2.0/24][,restrict=on]
      QEMU's built-in network, without privileges; other keys of QEMU's `-netdev user`:
      host, dhcpstart, dns, guestfwd
  vhost-user:SOCKET[,server=on][,packed=on][,queues=N]
      another program's data path, DPDK's for example; QEMU connects, or listens with server=on
      tap, vhost-user: in_order=on offers VIRTIO_F_IN_ORDER, with QEMU 10.1 or newer
  none
      a network card that is connected to nothing
  wire:WIRE
      with --nic ixgbe, igc or mlx5: any wire of nicsim, such as wire:pcap:IN or wire:gen:…
      (docs/nicsim.md); all text after wire: is passed to nicsim, so mac= cannot follow
  All other kinds take mac=ADDRESS; without it eth0 has the address of --mac, eth1 the next, …

terminal:
  Ctrl-A x quits, Ctrl-A c switches to QEMU's monitor and back, Ctrl-A h helps.
  When standard input is no terminal, every byte goes to the guest unchanged.

examples:
  hayate run router --port user --port none
  hayate run router --config lab.conf --port tap:tap0 --port tap:tap1 --cpus 4
  hayate run echo --config echo.conf --port user,hostfwd=tcp:127.0.0.1:7777-10.0.2.15:7
  hayate run pktgen --config lab.conf --script voice.gen --port tap:tap0 --port tap:tap1
  hayate run pktgen --script rfc2544.gen --report results --port tap:tap0 --port tap:tap1
  hayate run router --boot uefi --media usb --config lab.conf --port tap:blue/tap0
  hayate run router --boot bios --media nvme --image lab.img --port tap:tap0
  printf 'show version\\npoweroff\\n' | hayate run router

"""

IMAGE_EPILOG = """\
The image is a hybrid: burn it, write it to a USB stick (dd if=… of=/dev/sdX), or hand it to a
virtual machine; it starts from BIOS and from UEFI. The menu is on the serial line (115200 baud)
and on the screen.

examples:
  hayate image
  hayate image -o lab.iso --config lab.conf --append idle=poll
  hayate image --netboot /srv/tftp --config lab.conf
  hayate image --disk -o lab.img --size 8G --config lab.conf
  hayate image --upgrade -o new.upgrade
  hayate image --installer -o installer.iso --config lab.conf
  hayate image -o lab.iso --config lab.conf --sign-key db.key --sign-cert db.pem

"""

DEMOS = {"router": "demo", "switch": "demo_switch", "web": "demo_web"}  # the modules
DEMO_EPILOG = """\
router: makes two hosts (network namespaces), boots the router between them, and pushes real traffic
through it: ping, traceroute, iperf3 TCP and UDP. Then it prints what the router counted.
switch: makes hosts in two VLANs and a loop of cables, boots the switch between them: who reaches whom,
iperf3 TCP, how the spanning tree cuts the loop, and what the switch has learned.
web: makes a host and a folder of files, boots the web server, fetches the files with curl, and replaces
them by another site during a download.
Each leaves nothing behind, however it ends. Needs root, or a kernel that lets users make namespaces.

"""


DEMO_BGP_EPILOG = """\
Boots two routers, each with FRRouting as its routing engine (`hayate engine`) in a namespace beside
it. A third autonomous system, of BIRD, announces some thousand prefixes to both. Traffic goes from
host to host while the cable that carries it is pulled out. It leaves nothing behind, however it
ends. Needs root, and the packages frr and bird2 (tools/deps.sh install run-bgp).

"""

RFC2544_EPILOG = """\
Boots two machines of one image, a router and a generator, in QEMU, with two bridges of a network
namespace as cables between them, and runs the tests (docs/pktgen.md, RFC 2544). The results are
those of router, QEMU's cards, taps and this host together, all on the same CPUs. A trial in which
the generator got too little CPU time is invalid and is repeated.

Exit code 0: all trials valid; 120: not all.

examples:
  hayate rfc2544
  hayate rfc2544 throughput latency --sizes 64/1518 --line 1Gbps --accel kvm -o results

"""

ENGINE_EPILOG = """\
Runs on the Linux machine beside the router that its `routing engine` statement names. It makes a
network namespace with the router's interfaces, by the router's page /api/v1/engine.json, follows
their changes, and runs FRRouting's daemons in it (docs/routing-engine.md). On SIGTERM it ends the
daemons, removes the namespace, and ends with exit code 0. Needs root.

examples:
  hayate engine 192.0.2.1
  hayate engine 192.0.2.1 --frr-config /etc/hayate/r1/frr.conf --netns r1
  hayate engine 192.0.2.1 --once

"""

PASSWORD_EPILOG = """\
The line belongs with `console server` and `console access` (docs/configuration.md). The password is
read from the terminal, or as the first line of standard input.

With --user the line is a user's (`username NAME role ROLE password HASH`).

examples:
  hayate password >> lab.conf
  hayate password --user alice --role operate >> lab.conf

"""

TOKEN_EPILOG = """\
The statement on standard output has only the token's hash. The token itself is printed once, on standard error:
scripts send it as `Authorization: Bearer TOKEN` (docs/http.md). The user's role is stated by another line.

examples:
  hayate token ansible >> lab.conf

"""


ADDR_EPILOG = """\
FILE is the output of `show crash` or /crash, or a log of the serial line that contains reports. It
is printed with the source lines of each address in a backtrace, the innermost inlined function
first. The build must be the one that failed; this is checked by the build id and the names in the
report.

examples:
  curl -s http://192.0.2.1/crash | hayate addr -
  hayate addr console.log

"""


def _prefixes(text):
    number = _positive(text)
    if number > 1000000:
        raise argparse.ArgumentTypeError("%d: more than 1000000" % number)
    return number


def _positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("%s: a number from 1 on" % text)
    return int(text)


def _port(text):
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError("%s: a number from 1 to 65535" % text)
    return int(text)


def _ipv4(text):
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise argparse.ArgumentTypeError("%s: an IPv4 address" % text) from None


def _netns(text):
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", text):
        raise argparse.ArgumentTypeError("%s: letters, digits, - and _, the first a letter" % text)
    return text


def _seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError("%s: seconds" % text)
    return value


def _cpus(text):
    try:
        return {int(word) for word in text.split(",")}
    except ValueError:
        raise argparse.ArgumentTypeError("%s: CPU numbers, as 0 or 0,2" % text) from None


Formatter = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """argparse with our exit code and one-line error."""

    def error(self, message):
        raise usage("%s (see %s --help)" % (message, self.prog))


def parser():
    top = Parser(prog="hayate", description=DESCRIPTION, formatter_class=Formatter,
                 epilog="`hayate COMMAND --help` tells more.\n\n" + EXIT_CODES)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _run_options(commands.add_parser(
        "run", help="boot an image in QEMU", formatter_class=Formatter,
        description="Boots Hayate in QEMU with its console on the terminal.",
        epilog=RUN_EPILOG + EXIT_CODES, allow_abbrev=False))
    _image_options(commands.add_parser(
        "image", help="make the bootable BIOS and UEFI image", formatter_class=Formatter,
        description="Makes the bootable image.", epilog=IMAGE_EPILOG + EXIT_CODES,
        allow_abbrev=False))
    _demo_options(commands.add_parser(
        "demo", help="show a router at work between two hosts, or another application", formatter_class=Formatter,
        description="Shows an application of Hayate at work.", epilog=DEMO_EPILOG + EXIT_CODES,
        allow_abbrev=False))
    _demo_bgp_options(commands.add_parser(
        "demo-bgp", help="show two routers with BGP, and a cable that is pulled out",
        formatter_class=Formatter, description="Shows Hayate with FRRouting as its routing engine.",
        epilog=DEMO_BGP_EPILOG + EXIT_CODES, allow_abbrev=False))
    _rfc2544_options(commands.add_parser(
        "rfc2544", help="measure the router with the generator (RFC 2544)",
        formatter_class=Formatter, description="Boots the router and the generator, joined by two "
        "cables, and makes the report.", epilog=RFC2544_EPILOG + EXIT_CODES, allow_abbrev=False))
    _engine_options(commands.add_parser(
        "engine", help="be a router's routing engine, with FRRouting", formatter_class=Formatter,
        description="Makes a router's interfaces in a namespace and runs FRRouting there.",
        epilog=ENGINE_EPILOG + EXIT_CODES, allow_abbrev=False))
    _password_options(commands.add_parser(
        "password", help="make the hash of a user's or the console's password", formatter_class=Formatter,
        description="Reads a password and prints the configuration statement with its hash.",
        epilog=PASSWORD_EPILOG + EXIT_CODES, allow_abbrev=False))
    commands.add_parser(
        "token", help="make a token for scripts", formatter_class=Formatter,
        description="Makes a random token and prints the configuration statement with its hash.",
        epilog=TOKEN_EPILOG + EXIT_CODES, allow_abbrev=False).add_argument(
            "user", metavar="USER", help="whose token it is")
    _addr_options(commands.add_parser(
        "addr", help="find the source lines of the addresses in a crash report",
        formatter_class=Formatter, description="Prints a crash report with the source lines of its "
        "addresses.", epilog=ADDR_EPILOG + EXIT_CODES, allow_abbrev=False))
    return top


def _run_options(run):
    run.add_argument("app", choices=options.APPS, help="the program of the data cores")
    run.add_argument("--config", metavar="F", help="configuration file (a boot module)")
    run.add_argument("--script", metavar="F", help="script for pktgen (docs/pktgen.md)")
    run.add_argument("--program", dest="programs", metavar="NAME=F", action="append", default=[],
                     help="XDP programs, an object file of clang, under that name (docs/xdp.md); repeat for "
                          "more")
    run.add_argument("--site", metavar="F", help="what web serves: a tar archive, or a folder")
    run.add_argument("--file", dest="files", metavar="NAME=F", action="append", default=[],
                     help="a file under that name, such as the PEM of `https certificate NAME`; repeat for more")
    run.add_argument("--disk", dest="disks", metavar="F[,KIND]", action="append", default=[],
                     help="a disk, as a raw image; KIND: " + " (default), ".join(options.DISK_KINDS) +
                     "; several times for several (docs/storage.md)")
    run.add_argument("--report", metavar="DIR", help="with pktgen: when the script's run or test "
                     "is over, write report.txt, report.json and report.html to DIR and end; exit "
                     "code 120 if it was invalid")
    run.add_argument("--capture", metavar="FILE", help="with pktgen: when the script's run or test "
                     "is over, write the captured frames to FILE (pcapng, up to 8 MiB) and end")
    run.add_argument("--port", dest="port_texts", metavar="PORT", action="append", default=[],
                     help="a network port; repeat for more, see below")
    _card_options(run)
    run.add_argument("--queues", metavar="N", type=_positive,
                     help="queue pairs per tap or vhost-user port (default: one per data core "
                          "on taps, else 1)")
    run.add_argument("--cpus", metavar="N", type=_positive, default=2,
                     help="CPUs: one control core, the others data cores (default 2)")
    run.add_argument("--memory", metavar="M", default="256M",
                     help="memory, as 256M or 5G (default 256M)")
    run.add_argument("--iommu", action="store_true",
                     help="an IOMMU, which restricts the network cards to packet memory")
    run.add_argument("--iommu-model", choices=list(options.IOMMUS), default="vtd",
                     help="vtd: remaps interrupts too; vtd-dma: memory accesses only; vtd-eim: with "
                          "32-bit APIC IDs, which take QEMU 9.0 or newer; amdvi: AMD's, and amdvi-xt: with "
                          "32-bit APIC IDs, which both take QEMU 11 or newer (default vtd)")
    run.add_argument("--accel", choices=["auto", "tcg", "kvm"], default="auto",
                     help="auto: KVM where the CPU virtualises in hardware, else TCG")
    run.add_argument("--boot", choices=["kernel", "bios", "uefi", "secure"], default="kernel",
                     help="load the kernel directly, or boot the GRUB image; secure: by UEFI with Secure "
                          "Boot, which knows Debian's test key only (default kernel)")
    run.add_argument("--media", choices=["disk", "usb", "cdrom", *options.KEPT], default="disk",
                     help="how the GRUB image is attached; virtio, nvme: as a disk that keeps what the machine "
                          "writes, for --image with one of `hayate image --disk` (default disk)")
    run.add_argument("--idle", choices=["auto", "poll", "sleep"],
                     help="whether an idle core polls or sleeps (default: the guest decides)")
    run.add_argument("--append", metavar="TEXT", action="append", default=[],
                     help="more kernel options, as test=1")
    run.add_argument("--image", metavar="F",
                     help="another kernel; with another --boot an image (default: "
                          "build/hayate.elf, an image of it)")
    _control_options(run)


def _card_options(run):
    """Options of the network cards, and of nicsim if it models them."""
    run.add_argument("--nic", choices=options.NICS, default=options.DEFAULT_NIC,
                     help="network card of every port (default %(default)s)")
    run.add_argument("--nic-mode", choices=["strict", "line-rate"], default="strict",
                     help="strict: the model sees and checks every register access; line-rate: "
                          "doorbells are mapped into the guest (default strict)")
    run.add_argument("--nicsim-option", metavar="[N:]K=V", action="append", default=[],
                     help="one more option for the model of port N, or of all (fault=…, trace=…)")
    run.add_argument("--nicsim-control", metavar="PATH", help="open nicsim's control socket there")
    run.add_argument("--nicsim-stats", metavar="F", help="write nicsim's statistics there")
    run.add_argument("--nicsim-cpus", metavar="LIST", type=_cpus, help="pin nicsim (0 or 0,2)")
    run.add_argument("--mac", metavar="ADDRESS", default=ports.MAC_BASE,
                     help="address of eth0; eth1 has the next (default %(default)s)")


def _control_options(run):
    """Options of the console, of QEMU's control, and of the end of a run."""
    run.add_argument("--console", metavar="C", default="stdio",
                     help="stdio, none, unix:PATH[,wait], tcp:[HOST]:PORT[,wait] (default stdio)")
    run.add_argument("--console-log", metavar="F", help="also write the console to a file")
    run.add_argument("--qmp", metavar="PATH", help="open QEMU's control socket (QMP) there; "
                     "port N is called ethN, its card nicN")
    run.add_argument("--pidfile", metavar="F", help="write QEMU's process id there while it runs")
    run.add_argument("--timeout", metavar="S", type=_seconds, help="stop after S seconds")
    run.add_argument("--qemu", metavar="PATH",
                     help="QEMU to use (default: the system's; one that has the cards of --nic, fetched "
                          "into build/cache, when the system's does not have them)")
    run.add_argument("--qemu-arg", metavar="ARG", action="append", default=[],
                     help="one more argument for QEMU; repeat for more (--qemu-arg=-s)")
    run.add_argument("--print", action="store_true", dest="print_only",
                     help="print QEMU's command line and do nothing")


def _image_options(img):
    img.add_argument("-o", "--output", metavar="F",
                     help="the image to write (default build/hayate.iso, hayate-disk.img or hayate.upgrade)")
    img.add_argument("--disk", action="store_true",
                     help="a raw image of a disk with the images A and B and room for the configuration; it boots from "
                          "BIOS and UEFI (docs/install.md)")
    img.add_argument("--size", metavar="SIZE", help="with --disk: its size, as 8G (default 256M)")
    img.add_argument("--upgrade", action="store_true", help="the file that a running machine takes as its next image")
    img.add_argument("--installer", action="store_true",
                     help="an image from which the console command `install` writes the disk of --disk, with the same "
                          "configuration")
    img.add_argument("--netboot", metavar="DIR",
                     help="instead of an image fill a folder for a TFTP server (network boot, PXE)")
    img.add_argument("--kernel", metavar="F", default=options.KERNEL,
                     help="kernel to put in (default build/hayate.elf)")
    img.add_argument("--config", metavar="F", help="configuration to put in")
    img.add_argument("--script", metavar="F", help="script for pktgen to put in")
    img.add_argument("--program", dest="programs", metavar="NAME=F", action="append", default=[],
                     help="XDP programs to put in, under that name; repeat for more")
    img.add_argument("--site", metavar="F", help="what web serves: a tar archive, or a folder")
    img.add_argument("--file", dest="files", metavar="NAME=F", action="append", default=[],
                     help="a file under that name, such as the PEM of `https certificate NAME`; repeat for more")
    img.add_argument("--app", choices=options.APPS, default=options.DEFAULT_APP,
                     help="the entry that starts by itself (default %(default)s)")
    img.add_argument("--append", metavar="TEXT", action="append", default=[],
                     help="kernel options for every entry")
    img.add_argument("--menu-timeout", metavar="S", type=int, default=1,
                     help="seconds before the default entry starts (default 1)")
    img.add_argument("--sign-key", metavar="F",
                     help="for UEFI Secure Boot: your private key (PEM, no passphrase); needs --sign-cert")
    img.add_argument("--sign-cert", metavar="F",
                     help="its certificate (PEM), which the machine's firmware or shim must know")
    img.add_argument("--sbat", metavar="F", help="SBAT data of GRUB, which shim asks for (docs/guide.md)")


def _demo_options(demo):
    demo.add_argument("--app", choices=sorted(DEMOS), default=options.DEFAULT_APP,
                      help="what is shown (default %(default)s)")
    demo.add_argument("--seconds", metavar="S", type=_positive, default=3,
                      help="router, switch: length of each iperf3 run (default 3)")
    _lab_options(demo)
    demo.add_argument("--verbose", action="store_true", help="router: show its console too")


def _demo_bgp_options(demo):
    demo.add_argument("--prefixes", metavar="N", type=_prefixes, default=4000,
                      help="what BIRD announces, 1 to 1000000 (default %(default)s)")
    _lab_options(demo)
    demo.add_argument("--verbose", action="store_true", help="show the routers' consoles too")


def _lab_options(command):
    """Options of commands that boot machines themselves."""
    command.add_argument("--accel", choices=["auto", "tcg", "kvm"], default="auto",
                         help="as for `hayate run`")
    command.add_argument("--cpus", metavar="N", type=_positive, default=2,
                         help="CPUs of a machine (default 2)")
    command.add_argument("--image", metavar="F", help="kernel to boot (default build/hayate.elf)")
    command.add_argument("--nic", choices=options.NICS, default=options.DEFAULT_NIC,
                         help="network card of all ports (default %(default)s)")
    command.add_argument("--qemu", metavar="PATH", help="QEMU to use, as for `hayate run`")


def _rfc2544_options(test):
    test.add_argument("tests", metavar="TEST", nargs="*",
                      help="throughput, latency, frame-loss, back-to-back (default: all)")
    test.add_argument("-o", "--output", metavar="DIR",
                      default=os.path.join(options.ROOT, "build", "rfc2544"),
                      help="where the report goes (default build/rfc2544)")
    test.add_argument("--line", metavar="RATE", default="100Mbps",
                      help="assumed line rate of the cables, 100%% in the tests "
                           "(default %(default)s)")
    test.add_argument("--catch-up", metavar="TIME", default="100ms",
                      help="how far the generator may fall behind; it sends overdue frames in a "
                           "burst (default %(default)s)")
    test.add_argument("--full", action="store_true", help="use the RFC's sizes, durations, search "
                      "and repetitions, for more than a day; the next four options are ignored")
    test.add_argument("--sizes", metavar="LIST", default="64/512/1518",
                      help="bytes with FCS (default %(default)s)")
    test.add_argument("--trial", metavar="TIME", default="1s",
                      help="duration of sending in a trial (default %(default)s)")
    test.add_argument("--settle", metavar="TIME", default="500ms",
                      help="wait for frames in flight after a trial (default %(default)s)")
    test.add_argument("--repeat", metavar="N", type=_positive, default=3,
                      help="trials of latency and back-to-back (default %(default)s)")
    test.add_argument("--both-ways", action="store_true", help="traffic both ways (section 14)")
    test.add_argument("--family", choices=("4", "6"), default="4", help="IP version (default 4)")
    _lab_options(test)


def _engine_options(command):
    command.add_argument("router", metavar="ROUTER", type=_ipv4, help="its IPv4 address")
    command.add_argument("--http-port", metavar="N", type=_port, default=80,
                         help="port of its HTTP server (default %(default)s)")
    command.add_argument("--local", metavar="A", type=_ipv4, help="this machine's address, as in the router's "
                         "`routing engine` (default: the one that reaches the router)")
    command.add_argument("--netns", metavar="NAME", type=_netns, default="hayate-engine",
                         help="name of the namespace to make (default %(default)s); none: it has no "
                         "name, and ends with this command however that ends")
    command.add_argument("--run", metavar="DIR", help="folder for sockets, logs, process ids (default "
                         "/run/NAME)")
    command.add_argument("--frr-config", metavar="F", default="/etc/hayate-engine/frr.conf",
                         help="FRRouting's configuration (default %(default)s)")
    command.add_argument("--no-frr", action="store_true", help="only make and follow the interfaces")
    command.add_argument("--once", action="store_true", help="make the interfaces once, leave them, "
                         "and end; without FRRouting")
    command.add_argument("--poll", metavar="S", type=_seconds, default=1.0,
                         help="seconds between two looks at the page (default %(default)s)")


def _password_options(command):
    command.add_argument("--iterations", metavar="N", type=_positive, default=password.ITERATIONS,
                         help="of PBKDF2: the cost of a guess, and of each login on the machine "
                              "(default %(default)s)")
    command.add_argument("--user", metavar="NAME", help="make the statement of this user")
    command.add_argument("--role", choices=password.ROLES, default="configure",
                         help="with --user: what the user may do (default %(default)s)")


def _addr_options(command):
    command.add_argument("file", metavar="FILE", help="the report; - is standard input")
    command.add_argument("--kernel", metavar="F", default=addr.KERNEL,
                         help="the kernel with debugging information (default build/hayate-debug.elf)")
    command.add_argument("--program", metavar="F", default=addr.PROGRAM,
                         help="the core program with debugging information (default "
                              "build/program.elf)")


def _run(arguments):
    if arguments.cpus > 256:
        raise usage("--cpus %d: at most 256" % arguments.cpus)
    arguments.module = None
    arguments.ports = [ports.Port(text) for text in arguments.port_texts]
    arguments.terminal = arguments.console == "stdio" and os.isatty(0)
    options.memory_mib(arguments.memory)
    if arguments.print_only:
        machine.check(arguments)
        for words in machine.shown(arguments):
            print(" ".join(shlex.quote(word) for word in words))
        return 0
    if arguments.report is not None or arguments.capture is not None:
        machine.check(arguments)
        return report.run(arguments, arguments.words)
    return machine.run(arguments)


def _image(arguments):
    if arguments.menu_timeout < 0:
        raise usage("--menu-timeout: seconds, 0 or more")
    if bool(arguments.sign_key) != bool(arguments.sign_cert):
        raise usage("--sign-key and --sign-cert: one needs the other")
    if arguments.sbat and not arguments.sign_key:
        raise usage("--sbat: only with --sign-key")
    if arguments.sign_key and (arguments.netboot or arguments.disk or arguments.upgrade or arguments.installer):
        raise usage("--netboot, --disk, --upgrade, --installer: cannot be signed yet; make an image")
    if sum(map(bool, (arguments.netboot, arguments.disk, arguments.upgrade))) > 1:
        raise usage("--netboot, --disk, --upgrade: one of them")
    if arguments.installer and (arguments.disk or arguments.upgrade):
        raise usage("--installer: for an image, or with --netboot")
    if arguments.size and not arguments.disk:
        raise usage("--size: only with --disk")
    size = disk.size_mib(arguments.size or "256M")
    arguments.output = arguments.output or (options.DISK if arguments.disk else
                                            options.UPGRADE if arguments.upgrade else options.ISO)
    signer = None
    if arguments.sign_key:
        signer = secure_boot.Signer(arguments.sign_key, arguments.sign_cert, arguments.sbat)
    directory = arguments.netboot or os.path.dirname(os.path.abspath(arguments.output))
    if not os.path.isdir(directory):
        raise LauncherError("%s: no such directory" % directory)
    for path in (arguments.config, arguments.script):
        if path and not os.path.isfile(path):
            raise LauncherError("%s: no such file" % path)
    words = options.config_word(arguments.config) + arguments.append
    with tempfile.TemporaryDirectory(prefix="hayate-image-") as work:
        # Without app= the configuration names the application.
        on_disk = " ".join(["app=" + arguments.app] * (arguments.app != options.DEFAULT_APP) + words)
        install = None
        if arguments.installer:
            whole, install = os.path.join(work, "disk.img"), os.path.join(work, "install")
            disk.build(whole, disk.LEAST_MIB, arguments.kernel, script.module(arguments, work), on_disk,
                       arguments.menu_timeout)
            disk.install_file(whole, install)
        what = (arguments.kernel, script.module(arguments, work, install), " ".join(words), arguments.app,
                arguments.menu_timeout)
        if arguments.netboot:
            for platform, name in image.netboot(arguments.netboot, *what).items():
                print("%s: boot file for %s: %s" % (arguments.netboot, platform, name))
            return 0
        if arguments.disk:
            disk.build(arguments.output, size, arguments.kernel, what[1], on_disk, arguments.menu_timeout)
        elif arguments.upgrade:
            disk.image_file(arguments.output, arguments.kernel)
        else:
            image.build(arguments.output, *what, signer=signer)
    print("%s: %d bytes" % (arguments.output, os.path.getsize(arguments.output)))
    return 0


def _demo(arguments):
    return importlib.import_module("." + DEMOS[arguments.app], __package__).run(arguments)


def _demo_bgp(arguments):
    from . import demo_bgp  # here, as in the two below: other commands do without
    return demo_bgp.run(arguments)


def _rfc2544(arguments):
    from . import rfc2544
    return rfc2544.run(arguments)


def _engine(arguments):
    from .engine import agent
    return agent.run(arguments)


def _password(arguments):
    return password.run(arguments.iterations, arguments.user, arguments.role)


def _token(arguments):
    return password.run_token(arguments.user)


def _addr(arguments):
    return addr.run(arguments.file, arguments.kernel, arguments.program)


def main(argv):
    try:
        arguments = parser().parse_args(argv)
        arguments.words = argv[argv.index(arguments.command) + 1:]
        return {"run": _run, "image": _image, "demo": _demo, "demo-bgp": _demo_bgp,
                "rfc2544": _rfc2544, "engine": _engine, "password": _password,
                "token": _token, "addr": _addr}[arguments.command](arguments)
    except LauncherError as error:
        print("hayate: %s" % error, file=sys.stderr)
        return error.code
    except BrokenPipeError:
        return errors.EXIT_SIGNAL + 13
    except OSError as error:
        print("hayate: %s" % error, file=sys.stderr)
        return errors.EXIT_MISSING
    except KeyboardInterrupt:
        return errors.EXIT_SIGNAL + 2
