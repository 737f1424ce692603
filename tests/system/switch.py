"""A switch for VLANs, in user space, for kernels without 802.1Q.

    switch.py TRUNK VID:TAP [VID:TAP ...]

Makes the taps, in the network namespace it runs in, and says `ready`. From then on every frame out
of a tap goes out by TRUNK, an interface there is, with the tag of its VLAN; every frame with such a
tag that TRUNK receives goes into its tap without. What comes without a tag is left to the namespace,
whose interface TRUNK still is. A tap may be moved to another namespace: that is then a host on an
access port.

The kernel takes the tag out of a frame before a packet socket sees it, and hands it over beside
(PACKET_AUXDATA, packet(7)); it counts the place of a checksum to be completed from where the frame
then begins. So virtio's header (PACKET_VNET_HDR, IFF_VNET_HDR) can go to the tap as it is. The other
way a tap without offloads gives plain frames, which need an empty one.
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
ADDRESSES = VNET + 12  # and of the two MAC addresses behind it
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
    """The VLAN of a received frame; None when it had no tag."""
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
                pass  # an end that is down, or full: a switch loses such frames


if __name__ == "__main__":
    main(sys.argv[1:])
