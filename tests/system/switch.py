"""A switch for VLANs, in user space, for kernels without 802.1Q.

    switch.py TRUNK VID:TAP [VID:TAP ...]

Makes the taps in its network namespace, and prints `ready`. From then on every frame from a tap
leaves by TRUNK, an existing interface, with the tag of its VLAN. Every frame with such a tag that
TRUNK receives goes into the VLAN's tap without the tag. Frames without a tag are left to the
namespace, which still owns TRUNK. A tap may be moved to another namespace, which is then a host on
an access port.

The kernel strips the tag of a frame before a packet socket sees it, and passes the tag separately
(PACKET_AUXDATA, packet(7)). It gives the offset of a checksum to be completed relative to the
stripped frame. So virtio's header (PACKET_VNET_HDR, IFF_VNET_HDR) can go to the tap unchanged. In
the other direction a tap without offloads gives plain frames, which need an empty header.
"""
import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 2, 0x1000, 0x4000
SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR = 263, 8, 15
ETH_P_ALL, ETH_P_8021Q = 3, 0x8100
AUXDATA = struct.Struct("=IIIHHHH")  # status, len, snaplen, mac, net, tci, tpid
TP_STATUS_VLAN_VALID = 0x10
VNET = 10              # bytes of virtio's header
ADDRESSES = VNET + 12  # including the two MAC addresses after it
ROOM = 1 << 17


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF,
                struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    return tap


def open_trunk(name):
    trunk = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    trunk.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    trunk.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    trunk.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    trunk.bind((name, ETH_P_ALL))
    trunk.setblocking(False)
    return trunk


def vlan_of(ancillary):
    """The VLAN of a received frame; None if it had no tag."""
    for level, kind, data in ancillary:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = AUXDATA.unpack(data[:AUXDATA.size])
            if status & TP_STATUS_VLAN_VALID and tpid == ETH_P_8021Q:
                return tci & 0xFFF
    return None


def from_trunk(trunk, taps):
    frame, ancillary, _, address = trunk.recvmsg(ROOM, socket.CMSG_SPACE(AUXDATA.size))
    tap = taps.get(vlan_of(ancillary))
    if tap is not None and address[2] != socket.PACKET_OUTGOING:
        os.write(tap, frame)


def from_tap(trunk, tap, vid):
    frame = os.read(tap, ROOM)
    trunk.send(bytes(VNET) + frame[VNET:ADDRESSES] + struct.pack("!HH", ETH_P_8021Q, vid) +
               frame[ADDRESSES:])


def main(arguments):
    trunk = open_trunk(arguments[0])
    pairs = [word.split(":") for word in arguments[1:]]
    taps = {int(vid): open_tap(name) for vid, name in pairs}
    vids = {tap: vid for vid, tap in taps.items()}
    print("ready", flush=True)
    while True:
        for ready in select.select([trunk, *vids], [], [])[0]:
            try:
                if ready is trunk:
                    from_trunk(trunk, taps)
                else:
                    from_tap(trunk, ready, vids[ready])
            except OSError:
                pass  # the other end is down, or full: a switch loses such frames


if __name__ == "__main__":
    main(sys.argv[1:])
