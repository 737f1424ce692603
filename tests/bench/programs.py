"""Benchmarks without the image: C programs over the same sources, whose figures are read from what they print.

  rings.NIC.KIND.*       a driver's rings with memory as the device (slots_bench.c), bursts of 256
  acl.ip4.RULESrules.*   an access list beside DPDK's rte_acl, by the same instructions (acl_bench.c)
"""
import os
import re
import subprocess

from load import CPU_DATA, ROOT, TOOLS, BenchError, first_of_all, make, progress

RINGS = {"virtio_net": ("route", "full", "ip6"), "ixgbe": ("tx_burst", "route", "full"),
         "mlx5": ("tx_burst", "route", "full")}
RULES = (1, 10, 100, 1000, 10000)
WAYS = ("scalar", "AVX2", "AVX-512")


def output(program, *words):
    """What the program prints; it runs on the data core's CPU."""
    made = make("build/bench/" + program)
    if made.returncode != 0:
        raise BenchError("%s: %s" % (program, made.stderr.strip()[-200:]))
    done = subprocess.run(["taskset", "-c", str(CPU_DATA), os.path.join(TOOLS, program), *words], cwd=ROOT, text=True,
                          capture_output=True, check=False, env=dict(os.environ, SEED="1"), preexec_fn=first_of_all)
    if done.returncode != 0:
        raise BenchError("%s: %s" % (program, done.stderr.strip()[-300:]))
    return done.stdout


def rings(results, runs):
    """The best and the median of each run's rounds, at 256 packets a doorbell."""
    for nic, kinds in RINGS.items():
        for kind in kinds:
            best, middle = [], []
            for _ in range(runs):
                said = re.sub(r"slots_bench: SEED=\d+\n", "", output("slots_bench", nic, kind))
                sizes = said.splitlines()[0].split(":")[1].split()
                line = [line for line in said.splitlines() if " %s " % kind in line and "mini" not in line][-1]
                figures = re.findall(r"([\d.]+) \( *([\d.]+)\)", line)
                best.append(float(figures[sizes.index("256")][0]))
                middle.append(float(figures[sizes.index("256")][1]))
            results.add("rings.%s.%s.best" % (nic, kind), best, "TSC cycles", "lower", "host")
            results.add("rings.%s.%s.median" % (nic, kind), middle, "TSC cycles", "lower", "host")
            progress("%s, %s: %s" % (nic, kind, " ".join("%.1f" % value for value in best)))


def acl(results, runs):
    cycles = {}
    for _ in range(runs):
        rules = 0
        for line in output("acl_bench", "ip4").splitlines():
            match = re.match(r"random: IPv4, (\d+) rule", line)
            rules = int(match[1]) if match else rules
            match = re.match(r" +(net/acl|rte_acl) (\S+) +[\d.]+ cycles a packet \(median ([\d.]+)\)", line)
            if match:
                cycles.setdefault((rules, match[1], match[2]), []).append(float(match[3]))
    for rules in RULES:
        for way in WAYS:
            results.add("acl.ip4.%drules.%s.cycles_per_packet" % (rules, way.lower().replace("-", "")),
                        cycles[rules, "net/acl", way], "TSC cycles", "lower", "host", "rte_acl, the same instructions",
                        cycles[rules, "rte_acl", way])
