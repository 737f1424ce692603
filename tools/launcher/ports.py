"""--port: its grammar, and the tap file descriptors passed to QEMU.

    PORT  = KIND [":" ARGUMENT] { "," KEY "=" VALUE }
    KIND  = tap | user | vhost-user | none | wire

The text after wire: is passed to nicsim unchanged (docs/nicsim.md). Parsing opens nothing. This module
opens a tap's queues, and not QEMU, so that the tap may be in another network namespace and errors can
name the cause.
"""
import errno
import fcntl
import os
import re
import struct

from .errors import LauncherError, usage
from .process import inside_netns, open_netns

MAC_BASE = "52:54:00:68:79:00"  # QEMU's prefix, then "hy", then the port's number

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_MULTI_QUEUE = 0x0100
IFF_VNET_HDR = 0x4000
IFNAMSIZ = 16

_KEYS = {
    "tap": {"mac", "vhost", "queues", "in_order"},
    "user": {"mac", "hostfwd", "guestfwd", "net", "host", "dhcpstart", "dns", "restrict"},
    "vhost-user": {"mac", "server", "packed", "queues", "in_order"},
    "none": {"mac"},
    "wire": set(),
}
_ONOFF = {"vhost", "server", "packed", "in_order", "restrict"}


class Port:
    """One --port. `options` holds the KEY=VALUE pairs in order (hostfwd may repeat)."""

    def __init__(self, text):
        head, *pairs = [text] if text.startswith("wire:") else text.split(",")
        self.kind, _, self.argument = head.partition(":")
        self.text = text
        self.options = []
        if self.kind not in _KEYS:
            raise usage("--port %s: unknown kind '%s' (tap, user, vhost-user, none, wire)"
                        % (text, self.kind))
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if key not in _KEYS[self.kind] or not equals:
                raise usage("--port %s: '%s' is no option of %s (%s)"
                            % (text, pair, self.kind, ", ".join(sorted(_KEYS[self.kind]))))
            if key in _ONOFF and value not in ("on", "off"):
                raise usage("--port %s: %s is on or off" % (text, key))
            self.options.append((key, value))
        missing = {"tap": "say which tap: tap:NAME", "wire": "say which wire: wire:sink",
                   "vhost-user": "say which socket: vhost-user:SOCKET"}
        if self.kind in missing and not self.argument:
            raise usage("--port %s: %s" % (text, missing[self.kind]))
        if self.kind in ("user", "none") and self.argument:
            raise usage("--port %s: options follow a comma, as in %s,mac=…" % (text, self.kind))
        self.netns, self.name = None, self.argument
        if self.kind == "tap" and "/" in self.argument:
            self.netns, self.name = self.argument.split("/", 1)
        if self.kind == "tap" and not re.fullmatch(r"[^/\s]{1,15}", self.name):
            raise usage("--port %s: '%s' is no interface name" % (text, self.name))
        if self.option("mac") is not None:
            parse_mac(self.option("mac"))
        queues = self.option("queues")
        if queues is not None and not (queues.isdigit() and 1 <= int(queues) <= 64):
            raise usage("--port %s: queues is a number from 1 to 64" % text)

    def option(self, key, default=None):
        values = [value for name, value in self.options if name == key]
        return values[-1] if values else default


def parse_mac(text):
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        raise usage("%s: not a MAC address (aa:bb:cc:dd:ee:ff)" % text)
    octets = bytes.fromhex(text.replace(":", ""))
    if octets[0] & 1 or octets == bytes(6):
        raise usage("%s: not a station's address (multicast or zero)" % text)
    return octets


def mac_of(base, index):
    """Port `index`'s address: base + index, the same at every start."""
    number = int.from_bytes(parse_mac(base), "big") + index
    return ":".join("%02x" % octet for octet in number.to_bytes(6, "big"))


def open_tap(port, queues, header=IFF_VNET_HDR):
    """Opens `queues` queues of a tap; creates the tap if it does not exist. Returns the fds.

    header: IFF_VNET_HDR for a virtio header before each frame, or 0 for bare frames.
    """
    netns = None
    fds = []
    if port.netns is not None:
        netns = open_netns(port.netns)
    try:
        with inside_netns(netns):
            # An existing tap keeps the mode it was made with, so ours must be the same.
            modes = [header | IFF_MULTI_QUEUE] if queues > 1 else [header, header | IFF_MULTI_QUEUE]
            fds.append(_open_queue(port, modes, queues))
            for _ in range(queues - 1):
                fds.append(_open_queue(port, modes, queues))
        return fds
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise
    finally:
        if netns is not None:
            os.close(netns)


def _open_queue(port, modes, queues):
    try:
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise LauncherError("--port %s: /dev/net/tun: %s" % (port.text, error.strerror)) from None
    reason = None
    for mode in modes:
        request = struct.pack("%dsH22x" % IFNAMSIZ, port.name.encode(),
                              IFF_TAP | IFF_NO_PI | mode)
        try:
            fcntl.ioctl(fd, TUNSETIFF, request)
            return fd
        except OSError as error:
            reason = error
    os.close(fd)
    if reason.errno == errno.EINVAL and queues > 1:
        why = ("the tap has one queue and %d are wanted: make it with "
               "`ip tuntap add dev %s mode tap multi_queue`, or give --queues 1"
               % (queues, port.name))
    elif reason.errno == errno.EBUSY:
        why = "in use by another program"
    elif reason.errno == errno.EPERM:
        why = ("not allowed: run as root, or make a tap of your own: "
               "`sudo ip tuntap add dev %s mode tap user %d`" % (port.name, os.getuid()))
    elif reason.errno == errno.EINVAL:
        why = "an interface of that name exists and is no tap"
    else:
        why = reason.strerror
    raise LauncherError("--port %s: %s" % (port.text, why))


def netdev_arguments(index, port, queues, fds):
    """QEMU arguments of the back end of port `index`; its netdev id is eth<index>.

    `fds` are descriptors of open tap queues, or None to name the tap instead (for --print).
    """
    ident = "eth%d" % index
    if port.kind == "tap":
        text = "tap,id=%s" % ident
        if fds is None:
            text += ",ifname=%s,script=no,downscript=no" % port.name
            text += ",queues=%d" % queues if queues > 1 else ""
        elif len(fds) == 1:
            text += ",fd=%d" % fds[0]
        else:
            text += ",fds=" + ":".join(str(fd) for fd in fds)
        return ["-netdev", text + ",vhost=" + port.option("vhost", "off")]
    if port.kind == "user":
        text = "user,id=%s" % ident
        for key, value in port.options:
            if key != "mac":
                text += ",%s=%s" % (key, value)
        return ["-netdev", text]
    if port.kind == "vhost-user":
        text = "socket,id=vhost%d,path=%s" % (index, port.argument.replace(",", ",,"))
        if port.option("server") == "on":
            text += ",server=on"
        back = "vhost-user,id=%s,chardev=vhost%d" % (ident, index)
        back += ",queues=%d" % queues if queues > 1 else ""
        return ["-chardev", text, "-netdev", back]
    return ["-netdev", "hubport,id=%s,hubid=%d" % (ident, index)]


def device_arguments(index, port, queues, mac, nic="virtio", iommu=False):
    """QEMU arguments of the card of port `index`, one of QEMU's own."""
    if nic != "virtio":
        # A bus of its own: QEMU gives the virtual functions of an igb fixed places on the card's bus.
        return ["-device", "pcie-root-port,id=slot%d,chassis=%d" % (index, index + 1),
                "-device", "%s,id=nic%d,bus=slot%d,netdev=eth%d,mac=%s,romfile="
                % (nic, index, index, index, mac)]
    # QEMU allows a transmit ring above 256 only with a vhost-user back end. No boot ROM: nothing boots
    # from these ports, and firmware would spend time on it.
    tx_size = 1024 if port.kind == "vhost-user" else 256
    text = ("virtio-net-pci,id=nic%d,netdev=eth%d,mac=%s,disable-legacy=on,"
            "rx_queue_size=1024,tx_queue_size=%d,romfile=" % (index, index, mac, tx_size))
    if iommu:
        text += ",iommu_platform=on"
    for feature in ("packed", "in_order"):
        if port.option(feature) == "on":
            text += ",%s=on" % feature
    if queues > 1:
        text += ",mq=on,vectors=%d" % (2 * queues + 2)  # one per queue, control, configuration
    return ["-device", text]
