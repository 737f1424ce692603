"""The router under load: its start and its own statistics."""
import contextlib
import os
import time

from load import SLICE_S, BenchError, pin_guest, realtime
from launcher.guest import Guest


@contextlib.contextmanager
def router_under_load(work, accel, generator, text, more_ports=(), memory="512M", append=(), idle="auto",
                      app="router", cpus=2):
    config = os.path.join(work, "bench.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(text)
    pidfile, qmp_path = os.path.join(work, "pid"), os.path.join(work, "qmp")
    words = [app, "--config", config, "--accel", accel, "--idle", idle, "--pidfile",
             pidfile, "--qmp", qmp_path, "--memory", memory, "--cpus", str(cpus)]
    for port in ["vhost-user:" + path for path in generator.sockets] + list(more_ports):
        words += ["--port", port]
    for word in append:
        words += ["--append", word]
    with Guest(words, log=os.path.join(work, "console.log")) as router:
        router.wait_ready(120)
        router.wait_prompt()
        if "bench.conf:" in router.text:
            raise BenchError("the configuration is refused: " + router.tail())
        generator.partners = pin_guest(pidfile, qmp_path)
        generator.wait_link()
        yield router


def data_core(router):
    """The data core's line of `show cores`: rx_pkts, busy_cycles, pkts_turn, ..."""
    for row in router.cores():
        if row.get("core") == 1 and "busy_cycles" in row and "rx_pkts" in row:
            return row
    raise BenchError("`show cores` has no line for core 1, or no busy cycles or packets in it")


def cycles_in_a_slice(router, threads):
    """The data core's cycles a packet in one slice of a router that packets reach by themselves (drivers/null).
    threads: the data core's."""
    before = data_core(router)
    with realtime(threads):
        time.sleep(SLICE_S)
    after = data_core(router)
    return (after["busy_cycles"] - before["busy_cycles"]) / (after["rx_pkts"] - before["rx_pkts"])


def drops_of(router):
    return {name: value for name, value in router.counters().items() if name.startswith("drop_")}
