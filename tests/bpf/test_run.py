"""bpf-run as plug-ins of conformance suites are called."""
import os
import subprocess

import pytest

from conftest import ROOT

PROGRAM = os.path.join(ROOT, "build", "bpf-run")
EXIT = "95 00 00 00 00 00 00 00"
R0_42 = "b7 00 00 00 2a 00 00 00 " + EXIT
LOAD_R1 = "71 10 02 00 00 00 00 00 " + EXIT             # r0 = *(u8 *)(r1 + 2)
LENGTH = "bf 20 00 00 00 00 00 00 " + EXIT              # r0 = r2
MINUS_1 = "b7 00 00 00 ff ff ff ff " + EXIT
CALLX = "8d 00 00 00 02 00 00 00 " + EXIT
LOOP = "05 00 ff ff 00 00 00 00 " + EXIT
WAYS = ["--jit", "--interpret"]


def run(program, *options):
    return subprocess.run([PROGRAM, *options], input=program, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, check=False, text=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program, options, result", [
    (R0_42, [], "2a"), (R0_42.replace(" ", ""), [], "2a"), (R0_42.replace(" ", "\n  "), [], "2a"),
    (MINUS_1, [], "ffffffffffffffff"),
    (LOAD_R1, ["--memory", "aabbcc"], "cc"), (LOAD_R1, ["AA BB CC dd"], "cc"),
    (LENGTH, ["00 11 22 "], "3"), (LENGTH, [], "0"),
    ("", ["--program", R0_42], "2a"), ("", ["--program", LENGTH, "0102"], "2")])
def test_prints_r0(way, program, options, result):
    done = run(program, *options, way)
    assert (done.stdout, done.stderr, done.returncode) == (result + "\n", "", 0)


def test_compiles_by_default():
    assert run(R0_42).stdout == "2a\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program, says", [
    ("", "instructions of 8 bytes"), (R0_42[:-3], "instructions of 8 bytes"), ("b7 0", "odd number"),
    ("zz", "no hexadecimal digit"), (CALLX, "instruction 0: unknown")])
def test_refuses(way, program, says):
    done = run(program, way)
    assert done.returncode == 1 and done.stdout == "" and says in done.stderr


def test_the_interpreter_stops_what_the_program_may_not_do():
    done = run(LOAD_R1, "--interpret", "--memory", "aabb")
    assert done.returncode == 1 and "instruction 0: load of 1 bytes" in done.stderr
    done = run(LOOP, "--interpret")
    assert done.returncode == 1 and "takes too long" in done.stderr


def test_a_fault_is_an_error():
    done = run(LOAD_R1, "--jit")  # without memory, R1 is 0
    assert done.returncode == 1 and done.stdout == "" and "caused a fault" in done.stderr


def test_unknown_option():
    done = run(R0_42, "--fast")
    assert done.returncode == 1 and "usage" in done.stderr
