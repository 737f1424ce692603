"""A machine that runs the packet generator, for the tests of it."""
import contextlib
import json
import os
import re
import signal


def generator(make_router, tmp_path, text, config, *arguments, memory="256M", **more):
    """Boots it with this script. eth0 has the MAC address 52:54:00:48:5a:00, eth1 the next."""
    path = tmp_path / "lab.gen"
    path.write_text(text)
    return make_router(config, "--script", str(path), "--append", "live=lines", "--mac",
                       "52:54:00:48:5a:00", "--memory", memory, *arguments, app="pktgen", **more)


def start(machine, seconds=30):
    """Runs the script; what the console says of it."""
    return machine.command("start", timeout_s=seconds)


def begin(machine):
    """Starts the script; some frames have been sent when this returns."""
    machine.skip()
    machine.send("start")
    machine.expect(r"\d\.\d s .*sent [1-9][\d.]*[kMG]?pps .*missing", 30, "a line of the run")


def end(machine, seconds=30):
    """The end of what was begun."""
    machine.expect(r"pacing error", seconds, "the report")
    machine.wait_prompt()


@contextlib.contextmanager
def paused(pidfile):
    """A machine does nothing while the block lasts; its TSC goes on, under TCG and KVM alike."""
    pid = int(pidfile.read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def report(machine):
    """That of the last run or test, as JSON has it."""
    said = machine.command("show report json")
    return json.loads(re.search(r"--- report\.json\n(.*)\n--- end", said, re.S)[1])
