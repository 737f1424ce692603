#!/usr/bin/python3
"""The pictures of what the benchmarks measured, drawn from build/bench.json alone: nothing is
measured, and a picture whose figures are not there is not drawn.

    tests/bench/plots.py [--results FILE] [--out FOLDER] [PREFIX...]

FOLDER: build, unless told. PREFIX: only pictures whose names begin so (`tcp udp`).

  tail-writes.png      throughput against packets per tail write
  pktgen-doorbells.png the generator's rate against frames for one doorbell
  tcp-rate.png         request/response: requests/s against connections
  tcp-latency.png      the same: median and 99.9th percentile of a request's time
  tcp-bulk.png         one way and both ways, 1 and 16 connections, with offloads and without
  tcp-connections.png  connections opened, used once and closed
  tcp-memory.png       memory of an idle connection
  udp-rtt.png          round trips of UDP, from the median to the worst
  tail-forward.svg     latency by percentile at 10, 50 and 90 % of the load: forwarding (tail.py)
  tail-udp.svg         the same of UDP echo
  tail-tcp.svg         the same of TCP echo
  tail-disturbed.svg   the same of a router at 50 %, while others disturb it
  web-sizes.png        files over HTTP: answers/s against the size of a file, beside nginx
  fib.png              look-up tables, made up, ours and DPDK's (fib.py)

Who is who has the same colour, marker and hatching in all of them, so that they can be told apart
in black and white too.
"""
import argparse
import json
import os
import re
import sys

sys.dont_write_bytecode = True
from load import ROOT
from models import BURSTS, LINE_RATE_PPS
from results import RESULTS
from times import NAMES

SIZE, DPI = (7, 4.2), 110
# Colours of Okabe and Ito: distinct for the colour-blind, and in grey when printed.
BLUE, ORANGE, GREEN, SKY, YELLOW, GREY = ("#0072b2", "#d55e00", "#009e73", "#56b4e9", "#e69f00",
                                          "#555555")
HAYATE = {"color": BLUE, "marker": "o"}
LINUX = {"color": ORANGE, "marker": "s"}
MODELLED = (  # card, its model's mode, label, style
    ("ixgbe", "line-rate", "82599, doorbells in memory (line-rate mode)",
     {"color": BLUE, "marker": "o"}),
    ("ixgbe", "strict", "82599, every doorbell a message (strict mode)",
     {"color": ORANGE, "marker": "s"}),
    ("mlx5", "line-rate", "ConnectX-5, line-rate mode",
     {"color": SKY, "marker": "D", "linestyle": "--"}),
    ("mlx5", "strict", "ConnectX-5, strict mode",
     {"color": YELLOW, "marker": "v", "linestyle": "--"}))
BARS = {"Hayate": {"color": BLUE}, "Linux": {"color": ORANGE, "hatch": "//"}}
UDP_WHO = (  # name of its figures, label, style
    ("udp.virtio.rtt", "Hayate, idle", {"color": BLUE, "marker": "o"}),
    ("udp.virtio.rtt.shared", "Hayate, the client shares its CPU",
     {"color": SKY, "marker": "o", "linestyle": "--"}),
    ("udp.virtio.rtt.busy", "Hayate, the console busy, the same",
     {"color": SKY, "marker": "v", "linestyle": ":"}),
    ("peer.testpmd.udp.rtt", "DPDK testpmd, 5tswap", {"color": GREEN, "marker": "^"}),
    ("peer.xdp.udp.rtt", "XDP, generic mode behind RPS", {"color": YELLOW, "marker": "D"}),
    ("peer.socket.udp.rtt", "Linux socket, recvmmsg", {"color": ORANGE, "marker": "s"}))

TAIL_WHO = {  # kind: its title, and name of figures, label, style
    "forward": ("64-byte frames forwarded", (
        ("tail.forward.virtio.%s", "Hayate", {"color": BLUE, "marker": "o"}),
        ("peer.l3fwd.tail.forward.%s", "DPDK l3fwd", {"color": GREEN, "marker": "^"}),
        ("peer.testpmd.tail.forward.%s", "DPDK testpmd, mac", {"color": SKY, "marker": "v"}))),
    "udp": ("UDP echo of 16 bytes", (
        ("tail.udp.virtio.%s", "Hayate", {"color": BLUE, "marker": "o"}),
        ("peer.testpmd.tail.udp.%s", "DPDK testpmd, 5tswap", {"color": GREEN, "marker": "^"}),
        ("peer.xdp.tail.udp.%s", "XDP, generic mode", {"color": YELLOW, "marker": "D"}),
        ("peer.socket.tail.udp.%s", "Linux socket", {"color": ORANGE, "marker": "s"}))),
    "tcp": ("TCP echo of 64 bytes, 64 connections", (
        ("tail.tcp.virtio.%s", "Hayate", {"color": BLUE, "marker": "o"}),
        ("peer.epoll.tail.tcp.%s", "Linux epoll", {"color": ORANGE, "marker": "s"})))}
TAIL_NOISE = {"color": GREY, "linestyle": ":", "linewidth": 1}
TAIL_DISTURBED = (  # name, label, style
    ("nothing", "undisturbed", {"color": BLUE, "marker": "o"}),
    ("console", "console prints", {"color": SKY, "marker": "v"}),
    ("scrapes", "/metrics is scraped", {"color": GREEN, "marker": "^"}),
    ("handshakes", "HTTPS handshakes", {"color": GREY, "marker": "P"}),
    ("churn", "routes change", {"color": YELLOW, "marker": "D"}),
    ("flood", "a flood without a route", {"color": ORANGE, "marker": "s"}),
    ("fault", "the control program fails", {"color": "black", "marker": "x", "linestyle": "--"}))


FIB_WAYS = (  # names as bench-fib prints them; IPv6's peers have a 6
    ("Hayate AVX-512", {"color": BLUE}), ("Hayate AVX2", {"color": SKY}),
    ("Hayate scalar", {"color": GREEN}), ("rte_fib6? AVX-512", {"color": ORANGE, "hatch": "//"}),
    ("rte_fib6? scalar", {"color": YELLOW, "hatch": "//"}),
    ("rte_lpm bulk", {"color": GREY, "hatch": ".."}))


class Pictures:
    """matplotlib, the figures by name, and the pictures drawn."""

    def __init__(self, entries, folder, wanted):
        import matplotlib
        matplotlib.use("Agg")
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hayate"})
        from matplotlib import pyplot
        self.pyplot, self.folder, self.made = pyplot, folder, []
        self.wanted = tuple(wanted) or ("",)
        self.entries = {entry["name"]: entry for entry in entries}

    def ours(self, name):
        return self.entries[name]["value"] if name in self.entries else None

    def peers(self, name):
        return self.entries.get(name, {}).get("peer_value")

    def matching(self, pattern):
        """[(match, entry)] of all entries whose full name matches."""
        found = [(re.fullmatch(pattern, name), entry) for name, entry in self.entries.items()]
        return [(match, entry) for match, entry in found if match]

    def curve(self, axes, pattern, label, style):
        """Draws the values of all matching names over the number in the name; none, no curve."""
        points = sorted((int(match[1]), entry["value"]) for match, entry in self.matching(pattern))
        if points:
            axes.plot(*zip(*points), label=label, **style)

    def under(self, prefix):
        """The accelerators of those figures, for the title."""
        used = {entry["accel"] for name, entry in self.entries.items() if name.startswith(prefix)}
        return "/".join(sorted(used - {"host"})).upper()

    def new(self, title, columns=1):
        figure, axes = self.pyplot.subplots(1, columns, figsize=SIZE, dpi=DPI, sharey=columns > 1)
        figure.suptitle(title, fontsize=10)
        return figure, axes

    def finish(self, figure, name, legend=None):
        """`legend`: the axes that get one."""
        if not name.startswith(self.wanted):
            self.pyplot.close(figure)
            return
        for axes in figure.axes:
            axes.set_axisbelow(True)
            axes.grid(True, which="major", alpha=0.3)
        if legend:
            legend.legend(fontsize=8)
        figure.tight_layout()
        self.made.append(os.path.join(self.folder, name))
        figure.savefig(self.made[-1], metadata={"Date": None, "Creator": None} if name.endswith(".svg")
                       else {"Software": None})
        self.pyplot.close(figure)


# --- lines ---

def logarithmic(axes):
    """The vertical axis: labels at 1, 2, 5, 10, ..., or at 1, 10, 100, ... for a large range."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5) if high / low < 5000 else (1,))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_minor_formatter("")


def tail_writes(pictures):
    figure, axes = pictures.new("Hayate on two modelled cards, one data core, %s"
                                % pictures.under("router.ixgbe.64B.1route."))
    for nic, mode, label, style in MODELLED:
        pictures.curve(axes, r"router\.%s\.64B\.1route\.%s\.burst(\d+)\.mpps" % (nic, mode), label,
                       style)
    if not axes.lines:
        return pictures.pyplot.close(figure)
    axes.axhline(LINE_RATE_PPS / 1e6, color=GREY, linestyle="--", linewidth=1)
    axes.text(1, LINE_RATE_PPS / 1e6 * 1.08, "10 GbE, 64-byte frames", color=GREY, fontsize=8)
    axes.set_xscale("log", base=2)
    logarithmic(axes)
    axes.set_ylim(top=LINE_RATE_PPS / 1e6 * 1.6)
    axes.set_xticks(BURSTS, [str(burst) for burst in BURSTS])
    axes.set_xlabel("packets per tail write, at most (burst=)")
    axes.set_ylabel("million packets/s forwarded")
    return pictures.finish(figure, "tail-writes.png", axes)


def doorbells(pictures):
    figure, axes = pictures.new("Hayate as a generator, the same 64-byte frames, one core, %s"
                                % pictures.under("pktgen.virtio.tx_burst."))
    lines = [("virtio", "virtio, vhost-user", {"color": GREEN, "marker": "^"})]
    lines += [(nic + (r"\.strict" if mode == "strict" else ""), label, style)
              for nic, mode, label, style in MODELLED]
    for kind, label, style in lines:
        pictures.curve(axes, r"pktgen\.%s\.tx_burst\.(\d+)\.mpps" % kind, label, style)
    if not axes.lines:
        return pictures.pyplot.close(figure)
    axes.set_xscale("log", base=2)
    logarithmic(axes)
    axes.set_xticks(BURSTS, [str(burst) for burst in BURSTS])
    axes.set_xlabel("frames for one doorbell, at most (tx-burst=)")
    axes.set_ylabel("million frames/s sent")
    return pictures.finish(figure, "pktgen-doorbells.png", axes)


def requests(pictures, name, title, label, scale, lines):
    """One line on each side for each of `lines`: (figure, bytes of a request, label, hollow)."""
    figure, axes = pictures.new("TCP request/response: %s, one server core, %s"
                                % (title, pictures.under("tcp.virtio.rr.")))
    counts = set()
    for column, size, words, hollow in lines:
        points = sorted((int(match[1]), entry) for match, entry in pictures.matching(
            r"tcp\.virtio\.rr\.%dB\.(\d+)conns\.%s" % (size, column)))
        for who, key, style in (("Hayate", "value", HAYATE), ("Linux epoll", "peer_value", LINUX)):
            mine = [(n, entry[key] / scale) for n, entry in points if entry[key]]
            if mine:
                counts.update(n for n, _ in mine)
                axes.plot(*zip(*mine), label="%s, %s" % (who, words), **style,
                          fillstyle="none" if hollow else "full",
                          linestyle="--" if hollow else "-")
    if not counts:
        return pictures.pyplot.close(figure)
    axes.set_xscale("log", base=4)
    axes.minorticks_off()
    axes.set_xticks(sorted(counts), [str(n) for n in sorted(counts)])
    logarithmic(axes)
    axes.set_xlabel("connections, one request outstanding on each")
    axes.set_ylabel(label)
    return pictures.finish(figure, name, axes)


def web_sizes(pictures):
    figure, axes = pictures.new("Files over HTTP/1.1, 16 connections, one server core, %s"
                                % pictures.under("content.load.size."))
    points = sorted((int(match[1]), entry) for match, entry in
                    pictures.matching(r"content\.load\.size\.(\d+)\.requests_per_second"))
    if not points:
        return pictures.pyplot.close(figure)
    for who, key, style in (("Hayate", "value", HAYATE), ("nginx", "peer_value", LINUX)):
        axes.plot(*zip(*[(size, entry[key]) for size, entry in points]), label=who, **style)
    axes.set_xscale("log", base=2)
    axes.minorticks_off()
    axes.set_xticks([size for size, _ in points],
                    ["%g%s" % (size / unit, name) for size, _ in points
                     for unit, name in [(1 << 20, " MiB") if size >= 1 << 20 else (1 << 10, " KiB") if size >= 1 << 10
                                        else (1, " B")]], fontsize=8)
    logarithmic(axes)
    axes.set_xlabel("size of the file")
    axes.set_ylabel("answers/s")
    return pictures.finish(figure, "web-sizes.png", axes)


def udp_rtt(pictures):
    figure, axes = pictures.new("UDP echo of 16 bytes: round trip, one at a time, %s"
                                % pictures.under("udp."))
    times = {"p50": "median", "p99": "99 %", "p999": "99.9 %", "max": "worst"}
    for prefix, label, style in UDP_WHO:
        mine = [pictures.ours("%s.%s" % (prefix, column)) for column in times]
        if None not in mine:
            axes.plot(range(len(times)), mine, label=label, **style)
    if not axes.lines:
        return pictures.pyplot.close(figure)
    axes.set_xticks(range(len(times)), times.values())
    logarithmic(axes)
    axes.set_xlabel("of all round trips, this many were no longer")
    axes.set_ylabel("round trip, µs")
    return pictures.finish(figure, "udp-rtt.png", axes)


def by_percentile(pictures, axes, prefix, label, style):
    """A curve from the median to the worst; none, if a figure is missing, or that many were lost."""
    mine = [pictures.ours("%s.%s" % (prefix, quantile)) for quantile in NAMES]
    while mine and mine[-1] is None:
        mine.pop()
    if mine and None not in mine:
        axes.plot(range(len(mine)), mine, label=label, markersize=4, **style)
    return bool(mine)


def percentiles(axes):
    axes.set_xticks(range(len(NAMES)), [name.replace("median", "50").removesuffix(" %")
                                        for name in NAMES.values()], fontsize=7)
    axes.set_xlabel("percentile", fontsize=8)
    logarithmic(axes)
    axes.set_ylim(bottom=0.2)


def tails(pictures):
    for kind, (title, lines) in TAIL_WHO.items():
        figure, panels = pictures.new("%s, open loop, by percentile, %s"
                                      % (title, pictures.under("tail.%s." % kind)), 3)
        drawn = False
        for axes, share in zip(panels, (10, 50, 90)):
            for prefix, label, style in lines:
                drawn |= by_percentile(pictures, axes, prefix % share, label, style)
            by_percentile(pictures, axes, "host.noise.data", "the host's noise", TAIL_NOISE)
            axes.set_title("%d %% of its own capacity" % share, fontsize=8)
        if not drawn:
            pictures.pyplot.close(figure)
            continue
        for axes in panels:
            percentiles(axes)
        panels[0].set_ylabel("latency from the time a packet was due, µs")
        pictures.finish(figure, "tail-%s.svg" % kind, panels[0])
    figure, axes = pictures.new("A router at 50 %% of its capacity, disturbed, %s"
                                % pictures.under("tail.disturbed."))
    drawn = [by_percentile(pictures, axes, "tail.disturbed.virtio." + kind, label, style)
             for kind, label, style in TAIL_DISTURBED]
    by_percentile(pictures, axes, "host.noise.data", "the host's noise", TAIL_NOISE)
    if not any(drawn):
        return pictures.pyplot.close(figure)
    percentiles(axes)
    axes.set_ylabel("latency from the time a packet was due, µs")
    return pictures.finish(figure, "tail-disturbed.svg", axes)


# --- bars ---

def number(value):
    return "%.1f" % value if value < 10 else "{:,.0f}".format(value)


def bulk(pictures):
    figure, both = pictures.new("TCP bulk, one server core, %s" % pictures.under("tcp.virtio.bulk"),
                                2)
    ways = {"takes": "takes", "sends": "sends", "echoes": "echoes"}
    drawn = False
    for axes, (end, title) in zip(both, (("tso", "checksum and segmentation offload"),
                                         ("plain", "no offloads"))):
        labels = []
        for way in ways:
            for connections in (1, 16):
                name = "tcp.virtio.bulk.%s.%dconns.%s.rate" % (way, connections, end)
                values = {"Hayate": pictures.ours(name), "Linux": pictures.peers(name)}
                for place, (who, value) in enumerate(values.items()):
                    if value is None:
                        continue
                    drawn = True
                    bar = axes.bar(len(labels) + 0.4 * place - 0.2, value, 0.38, **BARS[who],
                                   edgecolor="white", label=who if not labels else None)
                    axes.bar_label(bar, [number(value)], fontsize=6, padding=1)
                labels.append("%s\n%d" % (ways[way], connections))
        axes.set_xticks(range(len(labels)), labels, fontsize=7)
        axes.set_title(title, fontsize=8)
        axes.set_xlabel("what the server does, on how many connections", fontsize=8)
    if not drawn:
        return pictures.pyplot.close(figure)
    both[0].set_ylabel("Gbit/s of data")
    return pictures.finish(figure, "tcp-bulk.png", both[1])


def connections(pictures):
    name = "tcp.virtio.crr.64B.connections_per_second"
    values = {"Hayate": pictures.ours(name), "Linux": pictures.peers(name)}
    if values["Hayate"] is None:
        return
    figure, axes = pictures.new("TCP: connect, 64 bytes there and back, close; 64 at a time, %s"
                                % pictures.under(name))
    for who, value in values.items():
        if value is not None:
            bar = axes.bar(who, value / 1e3, 0.5, edgecolor="white", **BARS[who])
            axes.bar_label(bar, [number(value / 1e3)], padding=2)
    axes.margins(x=0.3, y=0.1)
    axes.set_ylabel("thousand connections/s of one server core")
    pictures.finish(figure, "tcp-connections.png")


def memory(pictures):
    """Bars: the connection's state below, the other memory reserved for it on top."""
    held = pictures.ours("tcp.virtio.idle.connections_in_1GiB")
    opened = pictures.ours("peer.epoll.tcp.idle.connections")
    # the image's tables are the library's
    state = pictures.ours("tcp.library.idle.state_bytes_per_connection")
    rows = [("Hayate, image\n%s in a 1 GiB guest", held, held and (1 << 30) / held, state,
             BARS["Hayate"]),
            ("Hayate, library\n%s, with buffers", 1e6,
             pictures.ours("tcp.library.idle.bytes_per_connection"), state, BARS["Hayate"]),
            ("Linux, epoll\n%s", opened, pictures.ours("peer.epoll.tcp.idle.bytes_per_connection"),
             pictures.ours("peer.epoll.tcp.idle.state_bytes_per_connection"), BARS["Linux"])]
    rows = [row for row in rows if None not in row]
    if not rows:
        return
    figure, axes = pictures.new("TCP: memory for each of many idle connections")
    for label, connections_held, whole, state_bytes, style in rows:
        label %= number(connections_held)
        axes.bar(label, state_bytes, 0.5, edgecolor="white", **style)
        rest = axes.bar(label, whole - state_bytes, 0.5, bottom=state_bytes, color=style["color"],
                        alpha=0.4, edgecolor="white")
        axes.bar_label(rest, ["%s, of it state %s" % (number(whole), number(state_bytes))],
                       fontsize=8, padding=2)
    axes.margins(y=0.1)
    axes.set_ylabel("bytes; pale: all else of the guest or process")
    pictures.finish(figure, "tcp-memory.png")


def tables(pictures):
    figure, both = pictures.new("Look-up tables, one core of this host, vectors of 256, best turn",
                                3)
    drawn = False
    for axes, pattern in zip(both, ("random", "inside", "zipf")):
        sizes = sorted({match.groups() for match, _ in pictures.matching(
            r"fib\.ip([46])\.(\d+)\..*\.%s" % pattern)}, key=lambda s: (s[0], int(s[1])))
        for place, (way, style) in enumerate(FIB_WAYS):
            for column, (family, count) in enumerate(sizes):
                for _, entry in pictures.matching(r"fib\.ip%s\.%s\.%s\.%s"
                                                  % (family, count, way, pattern)):
                    axes.bar(column + 0.14 * place - 0.35, entry["value"], 0.14,
                             edgecolor="white", **style,
                             label=way.replace("6?", "") if column == 0 else None)
                    drawn = True
        axes.set_xticks(range(len(sizes)), ["v%s\n%dk" % (family, round(int(count) / 1000))
                                            for family, count in sizes], fontsize=7)
        axes.set_title({"random": "any address", "inside": "inside a prefix",
                        "zipf": "65,536 of those, Zipf"}[pattern], fontsize=8)
    if not drawn:
        return pictures.pyplot.close(figure)
    both[0].set_ylabel("million look-ups/s")
    return pictures.finish(figure, "fib.png", both[2])


def draw(entries, folder, wanted=()):
    """Draws these entries of bench.json; returns their paths, and why there are none or
    None."""
    try:
        pictures = Pictures(entries, folder, wanted)
    except ImportError:
        return [], "no plots: matplotlib is not installed (tools/deps.sh install bench)"
    tail_writes(pictures)
    doorbells(pictures)
    requests(pictures, "tcp-rate.png", "rate", "thousand requests/s", 1e3,
             (("requests_per_second", 64, "64 B", False), ("requests_per_second", 1, "1 B", True)))
    requests(pictures, "tcp-latency.png", "time of a request of 64 B", "µs", 1,
             (("p999", 64, "99.9 %", False), ("p50", 64, "median", True)))
    bulk(pictures)
    connections(pictures)
    memory(pictures)
    udp_rtt(pictures)
    web_sizes(pictures)
    tails(pictures)
    tables(pictures)
    return pictures.made, None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", default=RESULTS, metavar="FILE")
    parser.add_argument("--out", default=os.path.join(ROOT, "build"), metavar="FOLDER")
    parser.add_argument("wanted", nargs="*", metavar="PREFIX")
    arguments = parser.parse_args()
    try:
        with open(arguments.results, encoding="utf-8") as file:
            entries = json.load(file)
    except (OSError, ValueError) as error:
        print("plots: %s: %s" % (arguments.results, error), file=sys.stderr)
        return 1
    made, missing = draw(entries, arguments.out, arguments.wanted)
    print("\n".join(made) or "plots: %s" % (missing or "nothing to draw"))
    return 0 if made else 1


if __name__ == "__main__":
    sys.exit(main())
