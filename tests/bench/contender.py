"""One of the programs that take turns under the same load: the image, or a peer, with its own generator."""
import os

from load import SLICE_S, WARM_UP_S, Generator, round_trip_ns
from models import router_on_models
from peers import FULL_PEERS, PEERS
from router import data_core, router_under_load
from table import configuration6
from launcher import options

FAMILIES = {"ip4.64B": "vhost_gen", "ip6.64B": "vhost_gen6_64", "ip4.78B": "vhost_gen_78",
            "ip6.78B": "vhost_gen6_78"}  # contender: its generator
ALL_PEERS = {**PEERS, **FULL_PEERS[4], **FULL_PEERS[6]}


def mmio(router):
    blocks = router.interfaces().values()
    return tuple(sum(block.get(name, 0) for block in blocks)
                 for name in ("mmio_reads", "mmio_writes"))


class Contender:
    """Our image or a peer, with its own generator; runs until `stack` ends, measured in turns."""

    def __init__(self, stack, work, huge, accel, what, table):
        self.what = what
        work = os.path.join(work, what)
        os.makedirs(work, exist_ok=True)
        self.router = None
        if what in options.NIC_MODELS:
            self.router, self.generator = stack.enter_context(
                router_on_models(work, accel, what, table))
        else:
            program = FAMILIES.get(what, table.generator)
            self.generator = stack.enter_context(Generator(work, huge, table.load, program))
            self.generator.ask("back %d" % table.back)
        if what in ALL_PEERS:
            stack.enter_context(ALL_PEERS[what][0](work, huge, self.generator, table))
        elif self.router is None:
            text = (configuration6(table.routes) if what.startswith("ip6")
                    else table.configuration())
            self.router = stack.enter_context(
                router_under_load(work, accel, self.generator, text, memory=table.memory))
        table.prepare(self.generator)
        self.generator.run(WARM_UP_S)
        self.before = self.inside()

    def inside(self):
        return (data_core(self.router), mmio(self.router)) if self.router else None

    def turn(self):
        """Measures one slice; returns {figure: value}. The first figures are measured from outside,
        in the same manner for all."""
        trip = round_trip_ns()
        load = self.generator.run(SLICE_S)
        hz = self.generator.tsc_hz
        got = {"trip": max(trip, round_trip_ns()), "mpps": load.mpps(),
               "cycles_per_packet": hz / (load.mpps() * 1e6),
               "offered_per_taken": load.offered / load.taken, "full_share": load.full_share()}
        if self.router:
            (core_before, mmio_before), self.before = self.before, self.inside()
            core, registers = self.before
            packets = max(1, core["rx_pkts"] - core_before["rx_pkts"])
            cycles = core["busy_cycles"] - core_before["busy_cycles"]
            got.update(busy_cycles_per_packet=cycles / packets,
                       busy_share=cycles / packets / got["cycles_per_packet"],
                       packets_per_turn=core.get("pkts_turn", 0),
                       mmio_reads_per_packet=(registers[0] - mmio_before[0]) / packets,
                       mmio_writes_per_packet=(registers[1] - mmio_before[1]) / packets)
        return got


UNITS = {"mpps": ("Mpps", "higher"), "cycles_per_packet": ("TSC cycles", "lower"),
         "busy_cycles_per_packet": ("TSC cycles", "lower"), "busy_share": ("of time", "higher"),
         "packets_per_turn": ("packets", "higher"),
         "mmio_reads_per_packet": ("per packet", "lower"),
         "mmio_writes_per_packet": ("per packet", "lower")}
