"""A machine that runs the packet generator, for the tests of it."""
import json
import re


def generator(make_router, tmp_path, text, config, memory="256M", **more):
    """Boots it with this script. eth0 has the MAC address 52:54:00:48:5a:00, eth1 the next."""
    path = tmp_path / "lab.gen"
    path.write_text(text)
    return make_router(config, "--script", str(path), "--append", "live=lines", "--mac",
                       "52:54:00:48:5a:00", "--memory", memory, app="pktgen", **more)


def start(machine, seconds=30):
    """Runs the script; what the console says of it."""
    return machine.command("start", timeout_s=seconds)


def report(machine):
    """That of the last run or test, as JSON has it."""
    said = machine.command("show report json")
    return json.loads(re.search(r"--- report\.json\n(.*)\n--- end", said, re.S)[1])
