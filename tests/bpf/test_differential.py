"""Random programs in Linux, compiled and interpreted (differential.c). Where this kernel lets us load no
programs, Debian's does, in QEMU."""
import os
import re
import subprocess
import time

from conftest import ROOT
from linux import LinuxGuest

PROGRAM = os.path.join(ROOT, "build", "bpf-differential")
NOT_ALLOWED = 2
HOST_S, GUEST_S = 600, 900
SEED = int(os.environ.get("SEED") or time.time_ns() // 1000)
PROGRAMS = int(os.environ.get("PROGRAMS") or 1500)


def on_this_kernel(options):
    if os.environ.get("HAYATE_BPF_GUEST"):
        return None
    done = subprocess.run([PROGRAM] + options, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=HOST_S, check=False, text=True)
    return None if done.returncode == NOT_ALLOWED else (done.returncode, done.stdout)


def in_a_guest(options):
    with LinuxGuest(programs=[PROGRAM]) as guest:
        # Its interpreter is the oracle. Code of the JIT compiler of Linux 6.1, which QEMU translates,
        # computes other results than that interpreter for a third of the programs.
        guest.run("echo 0 > /proc/sys/net/core/bpf_jit_enable")
        done = guest.run(" ".join(["bpf-differential"] + options), GUEST_S, check=False)
        return done.status, "Linux %s in QEMU\n%s" % (guest.release, done.output)


def run(options):
    options = ["--seed", str(SEED), "--programs", str(PROGRAMS)] + options
    status, text = on_this_kernel(options) or in_a_guest(options)
    print(text)
    assert status == 0, text[-4000:]
    return text


def test_results_packets_and_maps_are_equal():
    text = run([])
    ran = int(re.search(r"(\d+) of them run", text).group(1))
    # A generator whose programs are refused would prove nothing.
    assert ran > PROGRAMS // 2, text


def test_what_the_verifier_accepts_of_mutated_programs_is_safe():
    text = run(["--mutate"])
    refused = int(re.search(r"by both (\d+)", text).group(1))
    assert refused > PROGRAMS // 2, text
