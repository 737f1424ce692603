"""A cable between two interfaces of this namespace: every frame that one receives, the other sends.

    cable.py ONE OTHER

Prints `ready`, then runs until it is stopped. Unlike a bridge of Linux it passes frames to reserved addresses,
such as BPDUs. Frames go as they are: a checksum that a card was to complete stays incomplete.
"""
import select
import socket
import sys

ETH_P_ALL = 3
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23


def main(names):
    ends = []
    for name in names:
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        end.bind((name, 0))
        ends.append(end)
    print("ready", flush=True)
    while True:
        for end in select.select(ends, [], [])[0]:
            other = ends[1] if end is ends[0] else ends[0]
            try:
                other.send(end.recv(65536))
            except OSError:  # its link is down: the frame is lost, as on a cable that is pulled
                pass


main(sys.argv[1:])
