"""Tests of BPF programs on the host: bpf-run, and the differential test against Linux.

    /usr/bin/python3 -m pytest -c tests/bpf/pytest.ini tests/bpf
    SEED=N              the seed of the differential test (printed)
    PROGRAMS=N          how many programs
    HAYATE_BPF_GUEST=1  against Debian's kernel in QEMU even where this kernel allows bpf(2)
"""
import os
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests"),
                os.path.join(ROOT, "tests", "witness")]

pytest_plugins = ["layer"]
