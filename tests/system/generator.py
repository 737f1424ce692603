"""A machine that runs the packet generator, for its tests."""
import contextlib
import json
import os
import re
import signal


def generator(make_router, tmp_path, text, config, *arguments, memory="256M", **more):
    """Boots it with this script. eth0 has the MAC address 52:54:00:48:5a:00, eth1 the next one."""
    path = tmp_path / "lab.gen"
    path.write_text(text)
    return make_router(config, "--script", str(path), "--append", "live=lines", "--mac",
                       "52:54:00:48:5a:00", "--memory", memory, *arguments, app="pktgen", **more)


def start(machine, seconds=30):
    """Runs the script; returns the console's output."""
    return machine.command("start", timeout_s=seconds)


def begin(machine):
    """Starts the script; when this returns, some frames have been sent."""
    machine.skip()
    machine.send("start")
    machine.expect(r"\d\.\d s .*sent [1-9][\d.]*[kMG]?pps .*missing", 30, "a line of the run")


def end(machine, seconds=30):
    """Waits for the end of a run started by begin()."""
    machine.expect(r"pacing error", seconds, "the report")
    machine.wait_prompt()


@contextlib.contextmanager
def paused(pidfile):
    """The machine does nothing while the block runs; its TSC goes on, under TCG and KVM alike."""
    pid = int(pidfile.read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def report(machine):
    """The report of the last run or test, from its JSON."""
    said = machine.command("show report json")
    return json.loads(re.search(r"--- report\.json\n(.*)\n--- end", said, re.S)[1])
