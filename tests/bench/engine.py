"""Routes of the routing engine: a feeder states them by FPM over TCP, as zebra does, to the image with a
core for data. The feeder's clock runs until the router's TCP has acknowledged all: it stops to do so
while complete frames wait, so what then remains is less than its input buffer.

Beside it: Linux takes the same routes into its own table, by `ip -batch`.
"""
import contextlib
import os
import re
import statistics
import subprocess
import time

from load import TOOLS, BenchError, make, progress
from launcher import netlab
from launcher.guest import Guest

ROUTES = {4: 1000000, 6: 200000}
ROUTER, ENGINE = "192.0.2.1", "192.0.2.2"
RIGHT_ROUTER, RIGHT = "198.51.100.1", "198.51.100.254"
RIGHT_ROUTER6, RIGHT6 = "2001:db8:1::1", "2001:db8:1::fe"
STEPS = ("stated", "changed", "withdrawn", "objects", "by_objects", "changed_objects", "withdrawn")
WAIT_S = 120

CONFIGURATION = """\
hostname bench
interface eth0
 ip address %s/24
interface eth1
 ip address %s/24
 ipv6 address %s/64
 routing engine index 102
routing engine %s
""" % (ROUTER, RIGHT_ROUTER, RIGHT_ROUTER6, ENGINE)

# Sends the file that each line names, of frames of one size at so many frames a second if the line says a
# rate; prints the seconds until all is acknowledged (SIOCOUTQ).
FEEDER = """\
import fcntl, socket, struct, sys, time
TICK_S = 0.005
sock = socket.create_connection((sys.argv[1], 2620), timeout=30)
sock.settimeout(None)
print("connected", flush=True)
for line in sys.stdin:
    path, *rate = line.split()
    data = open(path, "rb").read()
    step = struct.unpack_from("!H", data, 2)[0] * round(int(rate[0]) * TICK_S) if rate else len(data)
    began = due = time.monotonic()
    for at in range(0, len(data), step):
        time.sleep(max(0, due - time.monotonic()))
        sock.sendall(data[at:at + step])
        due += TICK_S
    while struct.unpack("i", fcntl.ioctl(sock, 0x5411, bytes(4)))[0]:
        time.sleep(0.0005)
    print(time.monotonic() - began, flush=True)
"""


def frames(work):
    """The folder with the files of frames."""
    made = make("build/bench/engine_bench")
    if made.returncode == 0:
        made = subprocess.run([os.path.join(TOOLS, "engine_bench"), "-w", work, str(ROUTES[4]), str(ROUTES[6])],
                              env=dict({"SEED": "1"}, **os.environ), capture_output=True, text=True,
                              check=False)
    if made.returncode != 0:
        raise BenchError("no frames: " + made.stderr.strip()[-300:])
    return work


def lines_of(work, family):
    with open(os.path.join(work, "prefixes.%d" % family), encoding="ascii") as file:
        return [line.split() for line in file]


def in_linux(work, family):
    """Routes a second that Linux takes and gives back."""
    routes = lines_of(work, family)
    hop = "198.51.100.%d" if family == 4 else "2001:db8:1::%x"
    batch = os.path.join(work, "batch")
    taken = []
    with netlab.Host("linux") as host:
        host.configure(RIGHT + "/24", RIGHT_ROUTER)
        if family == 6:
            host.configure6(RIGHT6 + "/64", RIGHT_ROUTER6)
        for command in ("add", "del"):
            with open(batch, "w", encoding="ascii") as file:
                for prefix, number in routes:
                    file.write("route %s %s via %s dev eth0\n" % (command, prefix, hop % (2 + int(number))))
            began = time.monotonic()
            said = host.run(["ip", "-%d" % family, "-batch", batch], timeout_s=WAIT_S)
            if said.returncode != 0:
                raise BenchError("ip -batch: " + said.stderr[-200:])
            taken.append(len(routes) / (time.monotonic() - began))
    return taken


class Feeder:
    def __init__(self, stack, host, router=ROUTER):
        self.child = host.popen(["python3", "-c", FEEDER, router], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        stack.callback(self.child.kill)
        self.answer()

    def answer(self):
        said = self.child.stdout.readline()
        if not said:
            raise BenchError("the feeder has ended")
        return said

    def begin(self, path, rate=None):
        """Sends a file; answer() is its seconds. rate: frames a second."""
        self.child.stdin.write("%s %s\n" % (path, rate or ""))
        self.child.stdin.flush()

    def send(self, path):
        self.begin(path)
        return float(self.answer())


def prefixes(router):
    return int(re.search(r"prefixes (\d+)", router.command("show routing engine"))[1])


def settled(router, number):
    deadline = time.monotonic() + WAIT_S
    while prefixes(router) != number:
        if time.monotonic() > deadline:
            raise BenchError("not %d prefixes:\n%s" % (number, router.command("show routing engine")))
        time.sleep(0.1)
    if "table_full" in router.command("show routing engine"):
        raise BenchError("routes were refused:\n" + router.command("show routing engine"))


def by_fpm(work, accel, family, rounds):
    """{step: [routes a second]}"""
    number = len(lines_of(work, family))
    measured = {step: [] for step in STEPS}
    config = os.path.join(work, "engine.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(CONFIGURATION)
    with contextlib.ExitStack() as stack:
        left, right = (stack.enter_context(netlab.Host(name)) for name in ("feeder", "right"))
        left.configure(ENGINE + "/24", ROUTER)
        right.configure(RIGHT + "/24", RIGHT_ROUTER)
        words = ["router", "--config", config, "--accel", accel, "--memory", "4G", "--cpus", "2",
                 "--port", left.port, "--port", right.port]
        router = stack.enter_context(Guest(words, log=os.path.join(work, "console.log")))
        router.wait_ready(120)
        router.wait_prompt()
        for host in (left, right):
            host.wait_for_link()
        feeder = Feeder(stack, left)
        for _ in range(rounds):
            for step in STEPS:
                seconds = feeder.send(os.path.join(work, "%s.%d" % (step, family)))
                settled(router, 0 if step in ("withdrawn", "objects") else number)
                if step != "changed_objects":
                    measured[step].append(number / seconds)
        memory = router.command("show memory")
    return measured, memory


def engine_fpm(results, work, accel, rounds):
    folder = frames(work)
    for family in (4, 6):
        linux = in_linux(folder, family)
        measured, memory = by_fpm(folder, accel, family, rounds)
        for step in ("stated", "changed", "by_objects", "withdrawn"):
            peer = linux[step == "withdrawn"]
            results.add("engine.ip%d.%s" % (family, step), measured[step], "routes/s", "higher", accel,
                        "Linux, ip -batch", [peer])
            progress("engine, IPv%d, %s: %.0f routes a second; Linux %.0f" %
                     (family, step, statistics.median(measured[step]), peer))
        results.note("engine, IPv%d: %s" % (family, "; ".join(
            " ".join(line.split()) for line in memory.splitlines() if "tables" in line or "routes" in line)))
