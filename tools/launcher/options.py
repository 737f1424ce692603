"""`hayate run` options -> QEMU's command line. Pure: opens nothing, starts nothing.

The interface can therefore be tested without a guest: `hayate run … --print` shows the result.
"""
import os
import re

from . import ports
from .errors import LauncherError, usage

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
KERNEL = os.path.join(ROOT, "build", "hayate.elf")
ISO = os.path.join(ROOT, "build", "hayate.iso")
DISK = os.path.join(ROOT, "build", "hayate-disk.img")
UPGRADE = os.path.join(ROOT, "build", "hayate.upgrade")
QEMU = "qemu-system-x86_64"

# The applications: the names in `parse_application` (control/config/config_statements.c), each with an entry in
# boot/grub.cfg.
APPS = ("router", "echo", "discard", "switch", "web", "pktgen")
DEFAULT_APP = "router"

# Network cards, the values of --nic: virtio, which is the default; QEMU's models of real cards, with the first
# version of QEMU that has each; nicsim's models, with nicsim's name for each.
DEFAULT_NIC = "virtio"
QEMU_MODELS = {"igb": (8, 0), "vmxnet3": (7, 0)}
NIC_MODELS = {"ixgbe": "82599", "igc": "i226", "mlx5": "mlx5"}
NICS = (DEFAULT_NIC, *QEMU_MODELS, *NIC_MODELS)

DEBUG_EXIT_PORT = 0xF4
DISK_KINDS = ("nvme", "virtio")
# QEMU's devices for --iommu-model.
IOMMUS = {"vtd": "intel-iommu,intremap=on", "vtd-dma": "intel-iommu,intremap=off",
          "vtd-eim": "intel-iommu,intremap=on,eim=on",
          "amdvi": "amd-iommu,intremap=on,dma-remap=on",
          "amdvi-xt": "amd-iommu,intremap=on,dma-remap=on,xtsup=on"}
AMDVI_QEMU = (11, 0)  # the first version whose AMD-Vi has what the two models ask for
MEMORY_MIN_MIB = 64

# UEFI firmware, as installed by Debian, Ubuntu, Fedora and Arch. The single file boots faster than the
# pair of flash images (2.4 s against 3.6 s) and needs no private copy of its variables.
OVMF_FILES = [
    "/usr/share/ovmf/OVMF.fd",
    "/usr/share/qemu/OVMF.fd",
    "/usr/share/edk2/ovmf/OVMF.fd",
    "/usr/share/edk2/x64/OVMF.4m.fd",
]
OVMF_PAIRS = [
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"),
    ("/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"),
    ("/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"),
]
# With Secure Boot on, and only Debian's test key enrolled (PkKek-1-snakeoil.key in /usr/share/ovmf, whose
# passphrase is "snakeoil").
OVMF_SECURE = ("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd")


def memory_mib(text):
    match = re.fullmatch(r"(\d+)([MG]?)(?:i?B)?", text, re.IGNORECASE)
    if not match:
        raise usage("--memory %s: a size such as 256M or 5G" % text)
    mib = int(match.group(1)) * (1024 if match.group(2).upper() == "G" else 1)
    if mib < MEMORY_MIN_MIB:
        raise usage("--memory %s: less than %d MiB" % (text, MEMORY_MIN_MIB))
    return mib


def choose_accel(wanted, kvm="/dev/kvm", cpuinfo="/proc/cpuinfo"):
    """'kvm' or 'tcg' for --accel.

    `auto` chooses KVM only if the CPU has hardware virtualisation (vmx, svm). On some machines /dev/kvm
    emulates the guest's kernel in software, at 1 to 2.5 µs per instruction. They boot slower than with
    TCG, and GRUB does not finish at all. On such machines KVM needs --accel kvm.
    """
    if wanted == "tcg":
        return "tcg"
    try:
        os.close(os.open(kvm, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        if wanted == "kvm":
            raise LauncherError("--accel kvm: %s: %s" % (kvm, error.strerror)) from None
        return "tcg"
    if wanted == "kvm":
        return "kvm"
    with open(cpuinfo, encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return "kvm" if {"vmx", "svm"} & set(line.split()) else "tcg"
    return "tcg"


def modelled(options):
    """True if the cards are nicsim's models instead of QEMU's own."""
    return options.nic in NIC_MODELS


def data_cores(cpus):
    """One core is the control core; a single CPU has both roles."""
    return max(1, cpus - 1)


def port_queues(port, options):
    """Queue pairs of a port: its own option, else --queues, else one per data core on taps."""
    if options.nic != DEFAULT_NIC:
        return 1  # of the tap; the card spreads frames over its own queues
    if port.option("queues") is not None:
        return int(port.option("queues"))
    if options.queues is not None and port.kind in ("tap", "vhost-user"):
        return options.queues
    return data_cores(options.cpus) if port.kind == "tap" else 1


def kernel_options(options):
    """The kernel's command line without app=, which GRUB's entries contain."""
    words = ["debug-exit=%#x" % DEBUG_EXIT_PORT]
    if options.idle:
        words.append("idle=" + options.idle)
    words += config_word(options.config)
    return " ".join(words + [text for text in options.append if text])


def config_word(path):
    """The kernel option with the name of the configuration file, for error messages: a boot module has
    no name if QEMU loads it."""
    if not path:
        return []
    return ["config=" + re.sub(r"[^A-Za-z0-9._+-]", "_", os.path.basename(path))]


def console_arguments(options):
    """QEMU arguments of the guest's COM1. On a terminal, Ctrl-A is QEMU's escape as with -nographic."""
    log = ""
    if options.console_log:
        log = ",logfile=%s,logappend=off" % options.console_log.replace(",", ",,")
    kind, _, where = options.console.partition(":")
    if options.console == "none":
        return ["-chardev", "null,id=console" + log, "-serial", "chardev:console"]
    if options.console == "stdio":
        if options.terminal:
            return ["-chardev", "stdio,id=console,mux=on,signal=off" + log,
                    "-serial", "chardev:console", "-mon", "chardev=console,mode=readline"]
        return ["-chardev", "stdio,id=console,mux=off,signal=off" + log,
                "-serial", "chardev:console"]
    if kind == "unix" and where:
        path, *rest = where.split(",")
        if rest not in ([], ["wait"]):
            raise usage("--console %s: unix:PATH or unix:PATH,wait" % options.console)
        text = "socket,id=console,path=%s,server=on,wait=%s" % (path, "on" if rest else "off")
        return ["-chardev", text + log, "-serial", "chardev:console"]
    match = re.fullmatch(r"(.*):(\d+)(,wait)?", where)
    if kind == "tcp" and match:
        text = "socket,id=console,host=%s,port=%s,server=on,wait=%s" % (
            match.group(1) or "127.0.0.1", match.group(2), "on" if match.group(3) else "off")
        return ["-chardev", text + log, "-serial", "chardev:console"]
    raise usage("--console %s: stdio, none, unix:PATH[,wait] or tcp:[HOST]:PORT[,wait]"
                % options.console)


def flash_arguments(code, variables):
    """QEMU arguments of UEFI's two flash memories."""
    return ["-drive", "if=pflash,format=raw,readonly=on,file=" + code,
            "-drive", "if=pflash,format=raw,file=" + variables]


def firmware_arguments(vars_copy, secure=False):
    """QEMU arguments for UEFI. `vars_copy(path)` returns a private copy of a variable store."""
    if secure:
        for path in OVMF_SECURE:
            if not os.path.exists(path):
                raise LauncherError("--boot secure: %s: no such file (Debian's package ovmf)" % path)
        # Only code in system management mode may write the variables.
        return ["-global", "driver=cfi.pflash01,property=secure,value=on",
                *flash_arguments(OVMF_SECURE[0], vars_copy(OVMF_SECURE[1]))]
    for path in OVMF_FILES:
        if os.path.exists(path):
            return ["-bios", path]
    for code, variables in OVMF_PAIRS:
        if os.path.exists(code) and os.path.exists(variables):
            return flash_arguments(code, vars_copy(variables))
    raise LauncherError("--boot uefi: no OVMF firmware found (tools/deps.sh install run)")


# Disks that keep what the machine writes, by --media.
KEPT = {"virtio": "virtio-blk-pci,drive=boot,bootindex=0", "nvme": "nvme,drive=boot,serial=boot,bootindex=0"}


def media_arguments(media, image):
    """QEMU arguments of the boot image as a USB stick, a disk or a CD-ROM."""
    name = image.replace(",", ",,")
    if media in KEPT:
        return ["-drive", "if=none,id=boot,format=raw,file=" + name, "-device", KEPT[media]]
    if media == "cdrom":
        return ["-drive", "if=none,id=boot,format=raw,media=cdrom,readonly=on,file=" + name,
                "-device", "ide-cd,drive=boot,bootindex=0"]
    drive = ["-drive", "if=none,id=boot,format=raw,readonly=on,file=" + name]
    if media == "usb":
        return drive + ["-device", "qemu-xhci,id=xhci",
                        "-device", "usb-storage,bus=xhci.0,drive=boot,bootindex=0"]
    # IDE disks cannot be read-only; writes go to a temporary file instead.
    drive[1] = "if=none,id=boot,format=raw,snapshot=on,file=" + name
    return drive + ["-device", "ide-hd,drive=boot,bootindex=0"]


def disk_of(text):
    """(file, kind) of --disk FILE[,nvme|virtio]."""
    path, comma, kind = text.rpartition(",")
    if not comma or kind not in DISK_KINDS:
        path, kind = text, DISK_KINDS[0]
    if not path:
        raise usage("--disk %s: no file" % text)
    return path, kind


def disk_arguments(options):
    """QEMU arguments of the disks, raw images. QEMU keeps what the guest has flushed even if it is killed."""
    command = []
    for index, text in enumerate(options.disks):
        path, kind = disk_of(text)
        command += ["-drive", "if=none,id=disk%d,format=raw,file=%s" % (index, path.replace(",", ",,"))]
        if kind == "nvme":
            command += ["-device", "nvme,id=nvme%d,drive=disk%d,serial=hayate-disk%d" % (index, index, index)]
        else:
            command += ["-device", "virtio-blk-pci,id=blk%d,drive=disk%d,serial=hayate-disk%d%s"
                        % (index, index, index, ",iommu_platform=on" if options.iommu else "")]
    return command


def machine_arguments(options, shared):
    """QEMU arguments of memory, CPUs and accelerator. shared: another process maps the guest's memory."""
    accel = choose_accel(options.accel)
    mib = memory_mib(options.memory)
    machine = "q35,smm=on" if options.boot == "secure" else "q35"
    if options.iommu and accel == "kvm":
        machine += ",kernel-irqchip=split"  # KVM's own I/O APIC knows no interrupt remapping
    command = []
    if shared:
        # Preallocated under KVM, because a first touch (5 to 18 µs a page) would otherwise delay packets.
        # An emulated guest touches only a fraction of its memory.
        machine += ",memory-backend=mem"
        command += ["-object", "memory-backend-memfd,id=mem,size=%dM,share=on,prealloc=%s" % (
            mib, "on" if accel == "kvm" else "off")]
    command += ["-machine", machine, "-m", "%dM" % mib, "-smp", str(options.cpus)]
    if accel == "kvm":
        # arch-capabilities: some hosts refuse to set it; migratable=off: keeps the invariant TSC.
        command += ["-accel", "kvm", "-cpu", "host,migratable=off,-arch-capabilities"]
        if not shared:
            command += ["-mem-prealloc"]
    else:
        # with -icount QEMU runs all CPUs in one thread
        threads = "single" if "-icount" in options.qemu_arg else "multi"
        command += ["-accel", "tcg,thread=" + threads, "-cpu", "max"]
    return command


def qemu_command(options, tap_fds=None, boot_image=None, vars_copy=lambda path: path,
                 qmp_fd=None, devices=None):
    """QEMU's whole command line, without the program itself.

    tap_fds: {port index: [fd, …]} as opened by ports.open_tap, or None to name the taps.
    boot_image: the image of --boot bios|uefi|secure. qmp_fd: our own control connection.
    devices: the arguments of the ports if they are not virtio cards.
    """
    # A vhost-user back end, and a model of a card, map the guest's memory.
    shared = devices is not None or any(port.kind == "vhost-user" for port in options.ports)
    command = ["-name", "hayate-" + options.app, "-nodefaults",
               "-no-user-config", "-display", "none"]
    command += machine_arguments(options, shared)
    if options.iommu:
        # Before any other device: QEMU requires this for devices served by other processes.
        command += ["-device", IOMMUS[options.iommu_model] +
                    (",caching-mode=on" if devices and options.iommu_model.startswith("vtd") else "")]
    if options.boot == "kernel":
        command += ["-kernel", options.image or KERNEL,
                    "-append", "app=%s %s" % (options.app, kernel_options(options))]
        # SeaBIOS leaves NVMe disks alone that it is not to boot from. Its driver needs memory at the end of that below
        # 4 GiB, and then calls reserved what QEMU has put the module into.
        command += ["-boot", "strict=on"]
        module = options.module or options.config
        if module:
            command += ["-initrd", module]
    else:
        if options.boot != "bios":
            command += firmware_arguments(vars_copy, options.boot == "secure")
        command += ["-vga", "std"]  # GRUB passes its framebuffer on to the framebuffer console
        command += media_arguments(options.media, boot_image or options.image or ISO)

    command += console_arguments(options)
    if qmp_fd is not None:
        command += ["-chardev", "socket,id=launcher,fd=%d" % qmp_fd,
                    "-mon", "chardev=launcher,mode=control"]
    if options.qmp:
        command += ["-chardev", "socket,id=qmp,path=%s,server=on,wait=off" % options.qmp,
                    "-mon", "chardev=qmp,mode=control"]
    command += ["-device", "isa-debug-exit,iobase=%#x,iosize=4" % DEBUG_EXIT_PORT]

    command += disk_arguments(options)

    if devices is not None:
        return command + devices + options.qemu_arg
    for index, port in enumerate(options.ports):
        queues = port_queues(port, options)
        fds = None if tap_fds is None else tap_fds.get(index)
        command += ports.netdev_arguments(index, port, queues, fds)
        mac = port.option("mac") or ports.mac_of(options.mac, index)
        command += ports.device_arguments(index, port, queues, mac, options.nic, options.iommu)
    return command + options.qemu_arg
