"""The tables of docs/performance.md and README.md, from one run: `make bench-page`.

Each table stands between two comment lines, which name it. A row compares one figure of ours with a peer's of the same
run; `times` is how often ours is as good. PARTS are what a run has to measure.
"""
import os
import re
import subprocess
import time

from load import ROOT

PARTS = ("forwarding", "full-table", "full-table6", "price", "rings", "acl", "tcp-plain", "tcp-bulk", "udp-rtt", "http",
         "web-load", "capture", "xdp", "switch", "pktgen", "boot", "boot-routes", "sizes")
CARDS = ("ixgbe", "mlx5")  # the modelled ones
DOCUMENTS = [os.path.join(ROOT, "docs", "performance.md"), os.path.join(ROOT, "README.md")]
BEGIN, END = "<!-- %s: written by make bench-page -->", "<!-- end -->"
HEAD = "| what | Hayate | peer | times |\n| --- | --- | --- | --- |\n"

MPPS, CYCLES, PER_S, GBIT, US = "%.1f Mpps", "%.1f cycles", "%.0f k/s", "%.1f Gbit/s", "%.2f µs"
L3FWD, FIB, LINUX, NGINX, IIP, TESTPMD = "l3fwd, LPM", "l3fwd, FIB", "Linux", "nginx", "iip", "testpmd"


class Row:
    """label; the name of our entry; the form of a value; what the peer is called (None: there is none); the name of its
    entry (None: its value is in ours); by what values are divided."""

    def __init__(self, label, name, form, peer=None, beside=None, scale=1.0):
        self.label, self.name, self.form, self.peer, self.beside, self.scale = label, name, form, peer, beside, scale

    def markdown(self, entries):
        """The row, or None if it was not measured."""
        ours = entries.get(self.name)
        if ours is None:
            return None
        value, better = ours["value"] / self.scale, ours["better"]
        other = None
        if self.peer:
            other = (entries.get(self.beside) or {}).get("value") if self.beside else ours["peer_value"]
        if other is None:
            return "| %s | %s | | |\n" % (self.label, self.form % value)
        other /= self.scale
        times = value / other if better == "higher" else other / value
        return "| %s | %s | %s: %s | %.2f |\n" % (self.label, self.form % value, self.peer, self.form % other, times)


def forwarding():
    for routes, label, peer in (("1route", "1 route", L3FWD), ("16kroutes", "16,384 routes", L3FWD),
                                ("1Mroutes", "a million routes, four million destinations", FIB)):
        for figure, form in (("mpps", MPPS), ("cycles_per_packet", CYCLES)):
            yield Row("IPv4, 64 B, virtio, " + label, "router.virtio.64B.%s.%s" % (routes, figure), form, peer)
    for figure, form in (("mpps", MPPS), ("cycles_per_packet", CYCLES)):
        yield Row("IPv6, 64 B, virtio, 160,000 routes", "router.virtio.ip6.64B.160kroutes." + figure, form, FIB)
    for nic, card in (("ixgbe", "82599"), ("mlx5", "ConnectX-5")):
        for routes, label in (("16kroutes", "16,384 routes"), ("1Mroutes", "a million")):
            for figure, form in (("mpps", "%.1f Mpps, nicsim's limit"), ("busy_cycles_per_packet", CYCLES)):
                yield Row("two modelled %s, %s" % (card, label), "router.%s.64B.%s.%s" % (nic, routes, figure), form)


def rings():
    for nic, card in (("virtio_net", "virtio"), ("ixgbe", "82599"), ("mlx5", "ConnectX-5")):
        for kind, label in (("tx_burst", "a packet sent"), ("route", "received, routed, sent, 1 route"),
                            ("full", "the same, a million routes"), ("ip6", "the same, IPv6, 160,000 routes")):
            for figure in ("best", "median"):
                yield Row("%s: %s, %s" % (card, label, figure), "rings.%s.%s.%s" % (nic, kind, figure), CYCLES)


PRICES = (("oneport", "out by the port it came in"), ("hops", "1,024 next hops"), ("ecmp", "ECMP of 4 next hops"),
          ("vlan", "a VLAN tag in and out"), ("filter", "a filter of 1,000 rules"), ("urpf", "source checked, strict"),
          ("urpf-any", "source checked, loose"), ("512B", "frames of 512 B"), ("1518B", "frames of 1518 B"),
          ("9018B", "frames of 9018 B"), ("imix", "IMIX"))


def prices():
    for name, label in PRICES:
        yield Row(label, "price.%s.cycles" % name, "%+.1f cycles")
    for ports in (8, 16):
        yield Row("%d ports without a device" % ports, "price.ports%d.busy_cycles_per_packet" % ports, CYCLES,
                  "2 ports")
    yield Row("an XDP program that passes all", "xdp.virtio.64B.hook_and_call", "%+.1f cycles")


def longer():
    for name, label in PRICES[-4:]:
        if name != "9018B":
            yield Row(label, "price.%s.mpps" % name, MPPS, L3FWD)


def filters():
    for rules in (1, 10, 100, 1000, 10000):
        for way, label in (("avx512", "AVX-512"), ("avx2", "AVX2"), ("scalar", "scalar")):
            yield Row("IPv4, %s rule%s, %s" % (format(rules, ","), "s" if rules > 1 else "", label),
                      "acl.ip4.%drules.%s.cycles_per_packet" % (rules, way), CYCLES, "rte_acl")


def tcp():
    for connections in (1, 16, 64, 256):
        name = "tcp.virtio.rr.64B.%dconns.plain." % connections
        label = "64 B requests, %d connection%s" % (connections, "s" if connections > 1 else "")
        yield Row(label, name + "requests_per_second", PER_S, IIP,
                  "peer.iip.rr.64B.%dconns.requests_per_second" % connections, 1e3)
        yield Row(label, name + "requests_per_second", PER_S, LINUX, None, 1e3)
        yield Row(label + ": busy", name + "busy_cycles_per_request", "%.0f cycles")
    for connections in (1, 16):
        for what, label in (("sends", "out"), ("takes", "in")):
            for end, offloads in (("tso", "offloads"), ("plain", "no offloads")):
                yield Row("bulk %s, %d connection%s, %s" % (label, connections, "s" if connections > 1 else "", offloads),
                          "tcp.virtio.bulk.%s.%dconns.%s.rate" % (what, connections, end), GBIT, LINUX)
    for figure, label in (("p50", "median"), ("p99", "99 %"), ("p999", "99.9 %")):
        yield Row("UDP echo, round trip, " + label, "udp.virtio.rtt." + figure, US, TESTPMD)


def http():
    for what, label in (("metrics", "`/metrics`"), ("1KiB", "1 KiB from the control core")):
        for connections in (1, 16, 48):
            yield Row("%s, %d connection%s" % (label, connections, "s" if connections > 1 else ""),
                      "http.ip4.%s.%dconns.requests_per_second" % (what, connections), PER_S, NGINX, None, 1e3)


def content():
    for connections in (1, 64, 256):
        yield Row("1 KiB, %d connection%s" % (connections, "s" if connections > 1 else ""),
                  "content.load.1KiB.%dconns.requests_per_second" % connections, PER_S, NGINX, None, 1e3)
    for size, label in ((4096, "4 KiB"), (65536, "64 KiB"), (1 << 20, "1 MiB")):
        yield Row("%s, 16 connections" % label, "content.load.size.%d.requests_per_second" % size, "%.1f k/s", NGINX,
                  None, 1e3)
    yield Row("connect, 1 KiB, close, 64 connections", "content.load.close.64conns.requests_per_second", PER_S, NGINX,
              None, 1e3)


def generator():
    for kind, label in (("null", "no device"), ("virtio", "virtio"), ("virtio_in_order", "virtio, in order")):
        for stream, said in (("fixed", "the same bytes"), ("stamped", "number and time"),
                             ("random", "a random source address"), ("random_stamped", "both")):
            for figure, form in (("cycles_per_packet", CYCLES), ("mpps", MPPS)):
                yield Row("%s: %s" % (label, said), "pktgen.%s.%s.%s" % (kind, stream, figure), form, TESTPMD)


def xdp():
    for program, label in (("drop", "`drop`"), ("tx", "`tx`: exchange MAC addresses, `XDP_TX`"),
                           ("count", "`count`: a per-CPU array, drop"), ("five_tuple", "`five_tuple`: a hash of 65,536 flows"),
                           ("lpm", "`lpm`: the longest of 100,000 prefixes")):
        yield Row(label + ", virtio", "xdp.virtio.64B.%s.mpps" % program, MPPS, "Linux, veth")
        yield Row(label + ", no device", "xdp.null.64B.%s.busy_cycles_per_packet" % program, CYCLES, "Linux, live frames")
        yield Row(label + ", compiled", "xdp.compiled.%s.cycles" % program, CYCLES, "GCC")
    yield Row("verify and compile 4,069 instructions", "xdp.load.4069_instructions", "%.1f ms")


def switch():
    for stations, label in (("1station", "1 station"), ("16kstations", "16,384 stations, each frame to another"),
                            ("1Mstations", "a million")):
        for figure, form in (("mpps", MPPS), ("cycles_per_packet", CYCLES)):
            yield Row(label, "switch.virtio.64B.%s.%s" % (stations, figure), form, "Open vSwitch with DPDK")


def captures():
    yield Row("through a tap without loss", "capture.tap.60B.lossless", "%.0f k frames/s", "tcpdump", None, 1e3)
    yield Row("through a tap, most written", "capture.tap.60B.written", "%.0f k frames/s", "tcpdump", None, 1e3)
    yield Row("between ports without a device, written", "capture.null.64B.all.written", "%.0f k frames/s", None, None, 1e3)
    yield Row("a router whose capture matches no frame", "capture.null.64B.none.busy_cycles_per_packet", CYCLES,
              "no capture")


def start():
    yield Row("kernel's first instruction to the first packet forwarded", "boot.kernel_to_first_packet", "%.0f ms")
    yield Row("the same to `ready:` with a million lines `ip route`", "boot.kernel_to_ready.1Mroutes", "%.0f ms")
    yield Row("the image", "image.kernel", "%.0f KiB", None, None, 1024)


def readme():
    yield Row("forwards IPv4 with a million routes", "router.virtio.64B.1Mroutes.mpps", MPPS, "DPDK l3fwd")
    yield Row("forwards IPv6 with 160,000 routes", "router.virtio.ip6.64B.160kroutes.mpps", MPPS, "DPDK l3fwd")
    name = "tcp.virtio.rr.64B.256conns.plain.requests_per_second"
    yield Row("answers TCP requests on 256 connections", name, PER_S, "Linux epoll server", None, 1e3)
    yield Row("the same", name, PER_S, "iip on DPDK", "peer.iip.rr.64B.256conns.requests_per_second", 1e3)
    yield Row("runs an XDP program that drops", "xdp.virtio.64B.drop.mpps", MPPS, "Linux, native XDP")
    yield Row("switches to 16,384 stations", "switch.virtio.64B.16kstations.mpps", MPPS, "Open vSwitch with DPDK")
    yield Row("generates frames with a random source", "pktgen.virtio.random.mpps", MPPS, "DPDK testpmd")


TABLES = {"readme": readme, "forwarding": forwarding, "rings": rings, "prices": prices, "longer": longer,
          "filters": filters, "tcp": tcp, "http": http, "content": content, "generator": generator, "xdp": xdp,
          "switch": switch, "captures": captures, "start": start}


def machine(results):
    """The line that says what was measured on."""
    def said(*words):
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        text = file.read()
    name, family, model = (re.search(r"^%s\s*: (.*)$" % word, text, re.M)[1] for word in
                           ("model name", "cpu family", "model"))
    trip = results.get("host.core_round_trip")
    return "Commit %s, %s, %s (family %s, model %s), %d CPUs%s.\n" % (
        said("git", "rev-parse", "--short=8", "HEAD"), time.strftime("%Y-%m-%d"), name, family, model,
        len(os.sched_getaffinity(0)),
        ", a cache line from core to core and back in %.0f ns (median)" % trip["value"] if trip else "")


def write(entries):
    """Writes the tables of these entries, a run's, into the documents."""
    by_name = {entry["name"]: entry for entry in entries}
    tables = {name: HEAD + "".join(filter(None, (row.markdown(by_name) for row in rows())))
              for name, rows in TABLES.items()}
    tables["machine"] = machine(by_name)
    for path in DOCUMENTS:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name, table in tables.items():
            begin = BEGIN % name
            text = re.sub(re.escape(begin) + r"\n.*?" + re.escape(END),
                          lambda _, b=begin, t=table: b + "\n" + t + END, text, flags=re.S)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
