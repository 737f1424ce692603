"""The image starts with every loader, number of CPUs and memory size, and forwards afterwards."""
import os
import re
import select
import shlex
import struct
import subprocess

import pytest
from conftest import (IMAGE, LEFT_HOST, LEFT_ROUTER, RIGHT_HOST, ROOT, WEB, eventually, options, pings,
                      router_config)
from siphash import siphash24
from launcher import image
from launcher.guest import READY


@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_cpus(make_lab, cpus):
    lab = make_lab(cpus=cpus)
    pings(lab.left, RIGHT_HOST, count=5)
    pings(lab.right, LEFT_HOST, count=5)
    cores = lab.router.command("show cores")
    assert len([line for line in cores.splitlines() if line.split()[:1] in
                [[str(n)] for n in range(cpus)]]) == cpus, cores


@pytest.mark.parametrize("memory", ["128M", "5G"])
def test_memory(make_lab, memory):
    lab = make_lab(None, "--memory", memory)
    pings(lab.left, RIGHT_HOST)


def test_tebibyte(make_lab):
    """QEMU gives the guest what it touches. All above the first gigabytes lies behind the hole of PCI."""
    words = ["-machine", "memory-backend=all", "-cpu", "max,phys-bits=46",
             "-object", "memory-backend-ram,id=all,size=1T,reserve=off"]
    lab = make_lab(None, "--memory", "1024G", *("--qemu-arg=" + word for word in words))
    assert "memory 1048574 MiB" in lab.router.command("show version")
    pings(lab.left, RIGHT_HOST)


def test_build_id(make_lab):
    """The image identifies its build: in its file, at boot, on request, and in a report. The build
    does not depend on its folder."""
    notes = subprocess.run(["readelf", "-n", IMAGE], capture_output=True, text=True, check=True).stdout
    (build,) = re.findall(r"Build ID: ([0-9a-f]{40})$", notes, re.MULTILINE)
    with open(os.path.join(ROOT, "build", "build-id"), encoding="ascii") as f:
        assert f.read() == build + "\n"
    with open(IMAGE, "rb") as f:
        assert ROOT.encode() not in f.read()
    lab = make_lab(None, "--append", "test=1")
    assert "hayate: build %s\r\n" % build in lab.router.text
    assert "\nbuild %s\n" % build in lab.router.command("show version")
    lab.router.faults_expected = True
    lab.router.send("test fault null core 1")
    lab.router.expect(r"no page is there\r\n  build %s\r\n" % build, 10, "the report")
    lab.router.wait_back()


def test_configuration_hash(make_lab):
    """The hash of a configuration that takes a while to read: the machine forwards meanwhile, and
    shows the hash on request and in a report. It is the hash of the running configuration, and the
    HTTP server shows it too."""
    routes = "".join("ip route 10.%d.%d.0/24 null0\n" % (n >> 8, n & 255) for n in range(20000))
    lab = make_lab(router_config(extra=routes + WEB), "--append", "test=1")
    router = lab.router
    pings(lab.left, RIGHT_HOST)
    said = eventually(lambda: re.search(r"^configuration ([0-9a-f]{16})$",
                                        router.command("show version"), re.MULTILINE), 20, "the hash")
    text = lab.left.run(["curl", "-sS", "--max-time", "20", "http://%s/config" % LEFT_ROUTER]).stdout
    assert "ip route 10.78.31.0/24 null0\n" in text
    assert said.group(1) == "%016x" % siphash24(text.encode())
    router.faults_expected = True
    router.send("test fault null core 1")
    router.expect(r"  build [0-9a-f]{40}\r\n  configuration %s\r\n" % said.group(1), 10, "the report")
    router.wait_back()


def test_many_cores(make_router):
    """Each core has little memory, and there is no port."""
    machine = make_router("application pktgen\n", "--memory", "512M", app="pktgen", ports=(), cpus=16)
    assert re.search(r"^15 +stand-by", machine.command("show cores"), re.M)
    assert "no run yet" in machine.command("show run")


def test_memory_too_small_for_its_cores(make_router):
    machine = make_router(None, "--memory", "64M", cpus=8, wait=False)
    machine.judge = False
    machine.expect(r"not enough memory: .* use fewer cores \(cores=N\)", 60, "why")
    assert machine.wait_exit() == 1


def a_million_routes():
    """Returns 34 MiB of text."""
    head = "hostname large\ninterface eth0\n ip address 192.0.2.1/24\n"
    return head + "".join("ip route 10.%d.%d.%d/32 192.0.2.%d\n" %
                          (n >> 16, n >> 8 & 255, n & 255, 2 + n % 200) for n in range(1000000))


@pytest.mark.parametrize("memory,said", [
    ("64M", r":1: its \d+ KiB are too much for this machine of 62 MiB"),
    # the size of the programs decides which is too small first: the text's memory or the tables'
    ("96M", r"not enough memory for the tables \([a-z]+\): nothing is forwarded|"
            r":1: its \d+ KiB are too much for this machine of 94 MiB"),
    ("128M", r"\d+ routes do not fit into the forwarding table and were refused")])
def test_text_too_large_for_the_memory(make_router, memory, said):
    """The console comes up even if memory is too small for the rest, and says what is missing."""
    machine = make_router(a_million_routes(), "--memory", memory)
    assert re.search(said, machine.text), machine.text
    assert "MiB used" in machine.command("show version")
    rows = [(what, int(kib)) for kib, what in
            re.findall(r"^[a-z ]+? +(\d+)  (.*?)\r?$", machine.command("show memory"), re.M)]
    parts = [kib for what, kib in rows if what != "all"]
    assert rows[0][0] == "all" and sum(parts) <= rows[0][1] <= sum(parts) + len(parts), rows


def test_memory_too_small_for_its_programs(make_router):
    """The boot is refused before memory is divided, with the names of the programs."""
    machine = make_router(None, "--memory", "64M", cpus=40, wait=False)
    machine.judge = False
    machine.expect(r"not enough memory: no \d+ KiB in one piece for .*; of 62 MiB the boot module has "
                   r"0 and \d+ are in use", 60, "why")
    assert machine.wait_exit() == 1


GRUB = [("bios", "disk"), ("bios", "usb"), ("bios", "cdrom"), ("uefi", "usb"), ("uefi", "cdrom")]


@pytest.fixture(scope="module")
def grub_image(tmp_path_factory):
    """The image with a configuration inside, built once."""
    work = tmp_path_factory.mktemp("image")
    config = work / "lab.conf"
    config.write_text(router_config())
    path = str(work / "hayate.iso")
    image.build(path, kernel=IMAGE, config=str(config), arguments="debug-exit=0xf4", timeout_s=0)
    return path


@pytest.mark.parametrize("firmware,media", GRUB, ids=["-".join(pair) for pair in GRUB])
def test_grub_image(make_router, make_hosts, grub_image, firmware, media):
    left, right = make_hosts()
    router = make_router(None, "--boot", firmware, "--media", media, "--image", grub_image,
                         "--accel", "tcg", ports=(left.port, right.port), timeout_s=90)
    assert "GRUB" in router.command("show version"), "the loader is not named"
    pings(left, RIGHT_HOST)
    assert not router.verdict()
    router.judge = False
    router.send("poweroff 7")
    assert router.wait_exit() == 7


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
def test_framebuffer_console(make_router, grub_image, tmp_path, firmware):
    """The screen shows the console too: light text on a dark background (kernel/fbcon.c)."""
    router = make_router(None, "--boot", firmware, "--image", grub_image, "--accel", "tcg",
                         timeout_s=90)
    picture = tmp_path / "screen.ppm"
    router.qmp("screendump", filename=str(picture))
    magic, size, _, pixels = picture.read_bytes().split(b"\n", 3)
    assert magic == b"P6"
    width, height = map(int, size.split())
    red = pixels[::3]
    assert len(red) == width * height
    ink, paper = red.count(0xc8), red.count(0x10)
    assert ink > 500 and paper > 10 * ink, "%d ink, %d paper of %d" % (ink, paper, len(red))


def test_image_built_by_run(make_router, make_hosts):
    """`hayate run --boot bios --config F` puts the configuration into a temporary image."""
    if os.path.realpath(IMAGE) != os.path.realpath(options.KERNEL):
        pytest.skip("another kernel is under test")
    left, right = make_hosts()
    make_router(router_config(), "--boot", "bios", "--accel", "tcg",
                ports=(left.port, right.port), timeout_s=90)
    pings(left, RIGHT_HOST)


def test_image_command(tmp_path):
    """`hayate image` writes a file with a BIOS boot sector, a partition table and a UEFI loader."""
    path = str(tmp_path / "h.iso")
    image.build(path, kernel=IMAGE)
    with open(path, "rb") as file:
        head = file.read(512)
    assert head[510:] == b"\x55\xaa"
    assert any(head[446 + 16 * n + 4] == 0xEF for n in range(4)) or any(
        head[446 + 16 * n + 4] == 0xEE for n in range(4)), "no EFI partition"
    assert os.path.getsize(path) < 32 << 20


def test_ready_line(lab):
    """The ready line states two ports, and a plausible time for the kernel's start."""
    ports, cores, ms = READY.search(lab.router.text).groups()
    assert (ports, cores) == ("2", "1") and 0 < float(ms) < 30000


def test_port_order(make_router, make_hosts):
    """Ports become eth0, eth1, … in the order given, with the addresses the launcher states."""
    left, right = make_hosts()
    router = make_router(router_config(), "--mac", "52:54:00:aa:00:10",
                         ports=(right.port, "none", left.port, "none"))
    text = router.command("show interfaces").lower()
    at = [text.find("52:54:00:aa:00:1%d" % n) for n in range(4)]
    assert -1 not in at and at == sorted(at), text
    # The right host is connected to eth0, which has the left address: renumbered, it must answer.
    right.ip("address", "add", LEFT_HOST + "/24", "dev", "eth0")
    pings(right, LEFT_ROUTER)


UNDEFINED = b"\x0f\x0b"  # ud2


def patched(path, function, code=UNDEFINED):
    """A copy of the kernel in which `function` begins with other code."""
    nm = subprocess.run(["nm", IMAGE], capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"^([0-9a-f]+) . %s$" % function, nm, re.MULTILINE).group(1), 16)
    with open(IMAGE, "rb") as file:
        elf = bytearray(file.read())
    offset, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for n in range(count):
        kind, _, start, virtual, _, bytes_ = struct.unpack_from("<IIQQQQ", elf, offset + n * size)
        if kind == 1 and virtual <= address < virtual + bytes_:
            at = start + address - virtual
            elf[at:at + len(code)] = code
    path.write_bytes(elf)
    return str(path)


@pytest.mark.parametrize("function", ["vm_init", "acpi_init", "tsc_init"])
def test_early_fault_is_reported(make_router, tmp_path, function):
    """The kernel faults while it starts, with the loader's tables, its own, or its own stack."""
    router = make_router(None, "--image", patched(tmp_path / "kernel.elf", function), wait=False)
    router.judge = False
    router.expect(r"^\*\*\* invalid opcode", 30)
    router.expect(r"^ +(?:rip )?[0-9a-f]{16} +%s\+0x0\b" % function, 10, "where it happened")
    assert router.wait_exit() == 1
    assert re.search(r" cr2 [0-9a-f]{16}", router.text), router.text


def test_clock_of_an_interrupted_guest(make_router, tmp_path):
    """The host takes the CPU away while the TSC is measured. A measurement may be too high, which
    other rounds correct, but never too low, because the lowest one counts."""
    # rdtsc; lea ecx, [rax + 2^25]; 1: rdtsc; sub eax, ecx; js 1b; ret: simulates a host that is
    # away for longer than a round of the measurement
    pause = bytes.fromhex("0f31 8d8800000002 0f31 29c8 78fa c3")
    slow = patched(tmp_path / "kernel.elf", "apic_timer_measure_start", pause)
    router = make_router(None, "--image", slow, wait=False)
    router.judge = False
    assert int(router.expect(r"TSC (\d+) MHz", 30).group(1)) > 500, "no CPU is that slow"


def test_all_cores_break_at_once(make_router, tmp_path):
    """The kernel faults on all cores at almost the same time. The first core stops the others, so
    there is one uninterrupted report, and the machine ends. Eight times, because it is a race."""
    broken = patched(tmp_path / "kernel.elf", "program_run")
    for _ in range(8):
        router = make_router(None, "--image", broken, cpus=4, wait=False)
        router.judge = False
        router.expect(r"^\*\*\* invalid opcode on core \d in the kernel", 30)
        assert router.wait_exit() == 1
        assert router.text.count("***") == 1, router.tail()
        assert "program_run+0x0" in router.text, router.tail()


def qemu_words(*words):
    """The launcher's QEMU command line, for tests that change it."""
    shown = subprocess.run([os.path.join(ROOT, "tools", "hayate"), "run", "router", "--accel",
                            "tcg", "--image", IMAGE, "--port", "none", "--print", *words],
                           capture_output=True, text=True, check=True).stdout
    assert "app=router" in shown
    return shown


@pytest.mark.parametrize("lacking", ["lm", "nx"])
def test_processor_is_too_old(lacking):
    """The kernel reports a processor that is too old (boot/entry.asm) rather than hanging."""
    words = shlex.split(qemu_words()) + ["-cpu", "qemu64,-" + lacking]
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    try:
        assert select.select([child.stdout], [], [], 30)[0], "nothing is said"
        line = child.stdout.readline()
    finally:
        child.kill()
        child.wait()
    assert line == b"hayate: this processor has no 64-bit mode with no-execute\r\n"


@pytest.mark.parametrize("option", ["app=ruoter", "app=", "app=" + "x" * 100])
def test_unknown_application_is_named(tmp_path, option):
    """An unknown application is reported, with the list of known ones and without hiding the
    configuration's choice. The launcher writes app= itself, so the test starts QEMU with a changed
    command line."""
    (tmp_path / "echo.conf").write_text("application echo\n")
    shown = qemu_words("--config", str(tmp_path / "echo.conf"))
    child = subprocess.Popen(shlex.split(shown.replace("app=router", option)),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    try:
        child.stdin.write(b"show version\npoweroff\n")
        child.stdin.flush()
        text = child.communicate(timeout=60)[0].decode(errors="replace")
    finally:
        child.kill()
        child.wait()
    assert re.search(r"app=.*router, echo, discard", text), text
    assert "application echo" in text, text
