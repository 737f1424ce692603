"""A stock Debian kernel and a root file system in memory, made from Debian's packages.

Nothing is patched or compiled: the kernel, its modules and the programs are files of packages,
verified by apt (tools/launcher/debs.py). Our only file is agent.sh, which is appended at start, so
that a change to it needs no new image.

A file system is a concatenation of cpio archives ("newc", Documentation/driver-api/early-userspace
/buffer-format.rst of Linux): the base, perhaps DPDK, and the agent. Each is built once into the
cache, under a name that changes with its recipe.
"""
import glob
import hashlib
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
from collections import namedtuple

from launcher import debs
from launcher.errors import LauncherError

SUITE = "bookworm"
HERE = os.path.dirname(os.path.realpath(__file__))

# packages: installed with all dependencies. programs: taken from these, with their libraries.
# plugins: libraries loaded by name, as patterns. modules: of the kernel, with their dependencies.
Recipe = namedtuple("Recipe", "name packages programs plugins modules files")

BASE = Recipe(
    "linux",
    ["linux-image-amd64", "busybox-static", "dash", "kmod", "ethtool", "pciutils", "iproute2",
     "iperf3", "tcpdump"],
    ["busybox", "dash", "kmod", "ethtool", "lspci", "setpci", "ip", "tc", "iperf3", "tcpdump"],
    [],
    ["virtio_pci", "virtio_console", "virtio_net", "e1000e", "igb", "igc", "ixgbe", "mlx5_core",
     "8021q", "veth", "tun", "uio_pci_generic"],
    ["usr/share/misc/pci.ids"])

DPDK = Recipe(
    "dpdk",
    ["dpdk-dev", "librte-net-ixgbe23", "librte-net-mlx5-23", "librte-net-virtio23",
     "librte-net-e1000-23", "librte-mempool-ring23", "librte-bus-pci23", "librte-bus-vdev23"],
    ["dpdk-testpmd"],
    ["dpdk/pmds-*/librte_%s.so.*" % name for name in
     ("net_ixgbe", "net_mlx5", "common_mlx5", "net_virtio", "net_e1000", "mempool_ring", "bus_pci",
      "bus_vdev", "bus_auxiliary")] + ["libgcc_s.so.*"],  # libc needs the latter to end a thread
    [], [])

PTP = Recipe("ptp", ["linuxptp"], ["ptp4l", "phc_ctl"], [], [], [])

PROGRAM_DIRECTORIES = ["bin", "sbin", "usr/bin", "usr/sbin"]
KMOD_NAMES = ["modprobe", "rmmod", "insmod", "lsmod", "modinfo", "depmod"]
TOOL_S = 120


def get(recipe):
    """Directory with `archive` (a cpio) and, when the recipe has modules, `vmlinux`."""
    with open(os.path.realpath(__file__), encoding="utf-8") as file:
        text = repr(recipe) + file.read()
    name = "%s-%s" % (recipe.name, hashlib.sha256(text.encode()).hexdigest()[:12])
    path = os.path.join(debs.cache_directory(), name)
    return debs.once(recipe.name, lambda: path if os.path.isdir(path) else None,
                     lambda work: _make(recipe, work, name))


def _make(recipe, work, name):
    root = os.path.join(work, "root")
    os.mkdir(root)
    with debs.shown("fetching " + recipe.name) as progress:
        with debs.Debs([SUITE], progress) as packages:
            packages.update()
            packages.unpack(recipe.packages, root)
    tree = debs.Tree(root)
    files = Files()
    for program in recipe.programs:
        _add_program(tree, files, program)
    for pattern in recipe.plugins:
        _add_plugins(tree, files, pattern)
    for path in recipe.files:
        files.add(path, tree.path(path))
    if recipe.modules:
        _add_kernel(tree, files, recipe.modules, work)
        _add_skeleton(files)
    with open(os.path.join(work, "archive"), "wb") as archive:
        files.write(archive)
    shutil.rmtree(root)
    return name


class Files:
    """The contents of an archive: {path: (mode, contents or the source file)}."""

    def __init__(self):
        self.entries = {}
        self.known = {}  # source file -> its path in the archive

    def _parents(self, path):
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self._parents(parent)
            self.entries[parent] = (stat.S_IFDIR | 0o755, b"")

    def directory(self, path):
        self._parents(path + "/.")

    def add(self, path, source):
        """Adds the file that `source` leads to. If it was added before, adds a link to the first
        path: ld.so would load a copy again, beside the original."""
        source = os.path.realpath(source)
        first = self.known.setdefault(source, path)
        if first != path:
            self.link(path, "/" + first)
            return
        self._parents(path)
        mode = 0o755 if os.access(source, os.X_OK) else 0o644
        self.entries[path] = (stat.S_IFREG | mode, source)

    def add_text(self, path, data, mode=0o644):
        self._parents(path)
        self.entries[path] = (stat.S_IFREG | mode, data)

    def link(self, path, target):
        self._parents(path)
        self.entries[path] = (stat.S_IFLNK | 0o777, target.encode())

    def node(self, path, major, minor):
        self._parents(path)
        self.entries[path] = (stat.S_IFCHR | 0o600, (major, minor))

    def write(self, out):
        for number, (path, (mode, data)) in enumerate(self.entries.items(), 1):
            device = (0, 0)
            if isinstance(data, tuple):
                device, data = data, b""
            elif isinstance(data, str):
                with open(data, "rb") as file:
                    data = file.read()
            _write_entry(out, number, path, mode, data, device)
        _write_entry(out, 0, "TRAILER!!!", 0, b"", (0, 0))


def _write_entry(out, number, path, mode, data, device):
    name = path.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0]
    out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
    out.write(bytes(-(110 + len(name)) % 4))  # name and data are padded to four bytes
    out.write(data + bytes(-len(data) % 4))


def _find_program(tree, program):
    for directory in PROGRAM_DIRECTORIES:
        path = os.path.join(directory, program)
        # Links into other packages are absolute: they lead out of the tree.
        if os.path.isfile(tree.path(path)) and not os.path.islink(tree.path(path)):
            return path
    raise LauncherError("%s: no such program in Debian's packages" % program)


def _merged(path):
    """Debian's usr-merge: /bin, /sbin and /lib are in /usr."""
    return path if path.startswith("usr/") else "usr/" + path


def _add_program(tree, files, program):
    path = _find_program(tree, program)
    files.add(_merged(path), tree.path(path))
    _add_libraries(tree, files, path)


def _add_plugins(tree, files, pattern):
    found = [path for directory in tree.libraries()
             for path in glob.glob(os.path.join(directory, pattern))]
    if not found:
        raise LauncherError("%s: no such library in Debian's packages" % pattern)
    for full in found:
        path = os.path.relpath(full, tree.root)
        files.add(_merged(path), full)
        _add_libraries(tree, files, path)


def _add_libraries(tree, files, path):
    """The shared libraries that `path` needs, as its own ld.so finds them."""
    start = tree.start(path)
    said = subprocess.run([start[0], "--list", *start[1:]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TOOL_S,
                          check=False, text=True).stdout
    if "not found" in said:
        raise LauncherError("%s: a library is missing:\n%s" % (path, said))
    for full in re.findall(r"(%s/\S+) \(0x" % re.escape(tree.root), said):
        files.add(_merged(os.path.relpath(full, tree.root)), full)
        if "/ld-linux" in full:
            files.link("usr/lib64/" + os.path.basename(full),
                       "/" + _merged(os.path.relpath(full, tree.root)))


def _unpacked(image):
    """The kernel in a bzImage (Documentation/x86/boot.rst of Linux: setup_sects, payload_offset,
    payload_length). QEMU starts it at its PVH entry. Under TCG, the kernel's own decompression took
    as many CPU seconds as the rest of the boot."""
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (image[0x1f1] + 1) * 512 + offset
    return lzma.LZMADecompressor().decompress(image[start:start + length])


def _add_kernel(tree, files, wanted, work):
    """Writes vmlinux beside the archive; adds the modules, and depmod's index of them, to it."""
    modules, = glob.glob(tree.path("lib/modules/*"))
    release = os.path.basename(modules)
    with open(tree.path("boot/vmlinuz-" + release), "rb") as image, \
            open(os.path.join(work, "vmlinux"), "wb") as kernel:
        kernel.write(_unpacked(image.read()))
    index = {}
    for directory, _, names in os.walk(os.path.join(modules, "kernel")):
        for name in names:
            if name.endswith(".ko"):
                index[name[:-3].replace("-", "_")] = os.path.join(directory, name)
    chosen, todo = {}, [name.replace("-", "_") for name in wanted]
    while todo:
        name = todo.pop()
        if name in chosen:
            continue
        if name not in index:
            raise LauncherError("%s: no such module in Linux %s" % (name, release))
        chosen[name] = index[name]
        todo += _depends(index[name])
    small = os.path.join(work, "modules")
    for path in chosen.values():
        copy = os.path.join(small, os.path.relpath(path, tree.root))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(path, copy)
    for path in glob.glob(os.path.join(modules, "modules.*")):
        shutil.copy(path, os.path.join(small, os.path.relpath(modules, tree.root)))
    depmod = tree.start("bin/kmod", "depmod")
    if subprocess.run([*depmod, "-b", small, release], timeout=TOOL_S, check=False).returncode != 0:
        raise LauncherError("depmod failed on the modules of Linux " + release)
    for directory, _, names in os.walk(small):
        for name in names:
            full = os.path.join(directory, name)
            path = _merged(os.path.relpath(full, small))
            with open(full, "rb") as file:  # read now: `small` is deleted below
                files.add_text(path, file.read())
    shutil.rmtree(small)


def _depends(path):
    """Names of the modules that this one needs: `depends=` in its section .modinfo."""
    with open(path, "rb") as file:
        match = re.search(rb"\0depends=([^\0]*)\0", file.read())
    names = match.group(1).decode().split(",") if match else []
    return [name.replace("-", "_") for name in names if name]


def _add_skeleton(files):
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "etc", "usr/lib64", "usr/lib/busybox"):
        files.directory(name)
    for name in ("bin", "sbin", "lib", "lib64"):
        files.link(name, "usr/" + name)
    files.link("var/run", "/run")
    files.node("dev/console", 5, 1)
    files.link("usr/bin/sh", "dash")  # busybox's sh would prefer its own ip, modprobe, lspci
    for name in KMOD_NAMES:
        files.link("usr/sbin/" + name, "../bin/kmod")
    files.add_text("etc/hosts", b"127.0.0.1 localhost\n")
    files.add_text("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    files.add_text("etc/group", b"root:x:0:\n")


def write(path, *recipes, programs=()):
    """Writes a root file system of these recipes, the agent and static programs of our own, in /bin,
    to the file `path`; returns the path of the kernel."""
    agent = Files()
    for program in programs:
        agent.add("usr/bin/" + os.path.basename(program), program)
    agent.add("init", os.path.join(HERE, "agent.sh"))
    agent.entries["init"] = (stat.S_IFREG | 0o755, agent.entries["init"][1])
    kernel = None
    with open(path, "wb") as out:
        for recipe in recipes:
            made = get(recipe)
            if recipe.modules:
                kernel = os.path.join(made, "vmlinux")
            with open(os.path.join(made, "archive"), "rb") as archive:
                shutil.copyfileobj(archive, out, 1 << 20)
        agent.write(out)
    return kernel
