"""The disk: a raw image of a disk that boots from BIOS and UEFI, with the images A and B; the image file, which an
upgrade takes; and the install file, from which a running machine writes the same disk. Needs no root and no loop
device: FAT file systems are made by mtools, the rest is written here.

    partition   1   1 MiB    BIOS boot: GRUB's core image
                2   40 MiB   EFI system partition, FAT32: GRUB for UEFI, the menu, the configuration
                3   1 MiB    boot environment: a FAT file system with GRUB's environment block, 1024 bytes
                4   64 MiB   image A: a FAT file system, and a header in the last 4096 bytes
                5   64 MiB   image B
                6   32 MiB   the store

disk/layout.h says the same to the machine, disk/image.h has the header, disk/install.h the install file.
"""
import hashlib
import os
import re
import secrets
import shutil
import struct
import subprocess
import tempfile
import uuid
import zlib

from . import image, process
from .errors import LauncherError, usage
from .options import DEFAULT_APP, KERNEL, ROOT

MENU_TEMPLATE = os.path.join(ROOT, "boot", "disk.cfg")
SLOT_MENU = os.path.join(ROOT, "boot", "slot.cfg")

SECTOR = 512
MIB = 1 << 20
SLOT_BYTES = 64 * MIB
HEADER_BYTES = 4096
# Name, type, MiB.
PARTITIONS = (
    ("BIOS boot", "21686148-6449-6e6f-744e-656564454649", 1),
    ("EFI system", "c12a7328-f81f-11d2-ba4b-00a0c93ec93b", 40),
    ("Hayate boot environment", "efbdd5b0-b804-4e89-8aea-b423a904d0a0", 1),
    ("Hayate image A", "b5d66981-f24a-4cb9-be6a-0b585807fcdb", SLOT_BYTES // MIB),
    ("Hayate image B", "cfbdef83-cf5e-4f19-89a0-5ec104f91533", SLOT_BYTES // MIB),
    ("Hayate store", "82bb5a04-dd95-4e7e-890e-6e0d966dae53", 32),
)
FIRST_MIB = 1  # where partition 1 begins
LEAST_MIB = FIRST_MIB + sum(mib for _, _, mib in PARTITIONS) + 1
ENTRIES, ENTRY_BYTES = 128, 128
ENVIRONMENT_AT = 45 * SECTOR  # of the environment block in its partition

IMAGE_MAGIC = b"Hayate: image\n"
INSTALL_MAGIC = b"Hayate: install\n"
VERSION = 1
PIECE = 32768
ZEROS = 1 << 31  # of a piece's number in an install file: it has no data

# All that GRUB needs is in its core image: no file of a module is on the disk.
MODULES = ["multiboot2", "normal", "part_gpt", "fat", "serial", "terminal", "gfxterm", "all_video", "echo", "test",
           "configfile", "loadenv", "regexp"]
BIOS_MODULES = ["biosdisk"]
PROGRAMS = {"grub-mkimage": "grub-common", "mformat": "mtools", "mcopy": "mtools", "mmd": "mtools"}


def place(number):
    """(first byte, bytes) of a partition, counted from 1."""
    before = FIRST_MIB + sum(mib for _, _, mib in PARTITIONS[:number - 1])
    return before * MIB, PARTITIONS[number - 1][2] * MIB


def check(kernel, config):
    if not os.path.exists(kernel):
        raise LauncherError("%s: no such file (make image)" % kernel)
    if config and not os.path.isfile(config):
        raise LauncherError("%s: no such file" % config)
    for program, package in PROGRAMS.items():
        if not shutil.which(program):
            raise LauncherError("%s: no such program (package %s)" % (program, package))
    for platform, package in image.PLATFORMS.items():
        if not os.path.isdir("/usr/lib/grub/" + platform):
            raise LauncherError("GRUB for %s is not installed (package %s)" % (platform, package))


def _run(*command):
    child = process.popen(list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, errors="replace")
    said, _ = child.communicate()
    if child.returncode != 0:
        last = [line.strip() for line in said.splitlines() if line.strip()][-2:]
        raise LauncherError("%s failed: %s" % (command[0], " / ".join(last) or "no output"))


def _fat(path, size, files, label, *options):
    """A FAT file system of `size` bytes. files: {path in it: path here}."""
    with open(path, "wb") as file:
        file.truncate(size)
    # -h, -s: the geometry, which mformat wants and nobody reads. -m: a hard disk.
    _run("mformat", "-i", path, "-T", str(size // SECTOR), "-h", "64", "-s", "32", "-m", "0xf8", "-N", "48415941",
         "-v", label, *options, "::")
    made = set()
    for inside, source in files.items():
        folder = os.path.dirname(inside)
        parts = folder.split("/") if folder else []
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth])
            if name not in made:
                _run("mmd", "-i", path, "::/" + name)
                made.add(name)
        _run("mcopy", "-i", path, source, "::/" + inside)


def _build_id(kernel):
    """The build id of the kernel's note (NT_GNU_BUILD_ID), in hexadecimal digits."""
    with open(kernel, "rb") as file:
        elf = file.read()
    at = elf.find(struct.pack("<III4s", 4, 20, 3, b"GNU\0"))
    if elf[:4] != b"\x7fELF" or at < 0:
        raise LauncherError("%s: not an image of Hayate (no build id)" % kernel)
    return elf[at + 16:at + 36].hex()


def header(content, build):
    """The header of an image (disk/image.h)."""
    made = struct.pack("<16sIIQ32s48s", IMAGE_MAGIC, VERSION, 0, len(content), hashlib.sha256(content).digest(), build.encode())
    made = made.ljust(HEADER_BYTES - 32, b"\0")
    return made + hashlib.sha256(made).digest()


def slot(kernel, work):
    """The content of an image partition: a FAT file system with the kernel and its menu fragment."""
    path = os.path.join(work, "slot.img")
    # with room for the file system's tables
    size = (os.path.getsize(kernel) + os.path.getsize(SLOT_MENU) + 2 * MIB + PIECE) // PIECE * PIECE
    if size > SLOT_BYTES - HEADER_BYTES:
        raise LauncherError("%s: larger than %d MiB" % (kernel, (SLOT_BYTES >> 20) - 3))
    _fat(path, size, {"boot/hayate.elf": kernel, "boot/slot.cfg": SLOT_MENU}, "HAYATE-IMG")
    with open(path, "rb") as file:
        return file.read()


def image_file(output, kernel=None):
    """Writes the image file, which `upgrade` takes: header, then the content of the partition."""
    kernel = kernel or KERNEL
    check(kernel, None)
    with tempfile.TemporaryDirectory(prefix="hayate-image-") as work:
        content = slot(kernel, work)
    _replace(output, lambda file: file.write(header(content, _build_id(kernel)) + content))


def environment(values):
    """GRUB's environment block (grub-core/lib/envblk.c): 1024 bytes."""
    text = "# GRUB Environment Block\n" + "".join("%s=%s\n" % pair for pair in values.items())
    return text.encode().ljust(1024, b"#")


def boot_environment(block):
    """The start of partition 3: a FAT12 file system with the one file /grubenv, at ENVIRONMENT_AT. GRUB changes a file
    in place only, so the machine needs no code for file systems to change it too. (Microsoft's FAT specification,
    version 1.03.)"""
    sectors, fat_sectors, root_entries = place(3)[1] // SECTOR, 6, 512
    parameters = struct.pack("<3s8sHBHBHHBHHHIIBBBI11s8s", b"\xeb\x3c\x90", b"HAYATE", SECTOR, 1, 1, 2, root_entries,
                             sectors, 0xf8, fat_sectors, 32, 64, place(3)[0] // SECTOR, 0, 0x80, 0, 0x29, 0x48415941,
                             b"HAYATE-ENV ", b"FAT12   ")
    # Clusters 2 and 3, of a sector each, are the file.
    fat = b"\xf8\xff\xff\x03\xf0\xff".ljust(fat_sectors * SECTOR, b"\0")
    root = struct.pack("<11sB14xHI", b"HAYATE-ENV ", 8, 0, 0) + struct.pack("<11sB14xHI", b"GRUBENV    ", 0x20, 2, len(block))
    made = parameters.ljust(510, b"\0") + b"\x55\xaa" + 2 * fat + root.ljust(32 * root_entries, b"\0")
    assert len(made) == ENVIRONMENT_AT
    return made + block


def _core(platform, work, output, modules):
    """GRUB's core image; its prefix is the second partition of the disk that it starts from."""
    path = os.path.join(work, output)
    _run("grub-mkimage", "-O", platform, "-o", path, "-p", "(,gpt2)/boot/grub", *MODULES, *modules)
    return path


def boot_sector(first):
    """GRUB's boot sector, which loads the sector `first` of the disk, before its partition table."""
    with open("/usr/lib/grub/i386-pc/boot.img", "rb") as file:
        made = bytearray(file.read(SECTOR))
    struct.pack_into("<Q", made, 0x5c, first)  # kernel_sector (grub/i386/pc/boot.h)
    made[0x66:0x68] = b"\x90\x90"              # boot_drive_check: no floppy
    made[440:510] = bytes(70)
    return made


def protective(sectors):
    """The partition table of the MBR that a GPT disk has (UEFI Specification 2.10, 5.2.3), bytes 446 to 511."""
    entry = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xee, b"\xff\xff\xff", 1, min(sectors - 1, 0xffffffff))
    return entry + bytes(48) + b"\x55\xaa"


def core_image(path, first):
    """GRUB's core image for BIOS as it lies from sector `first` on: its first sector has the list of the others
    (grub/i386/pc/boot.h, GRUB_BOOT_MACHINE_LIST_SIZE; struct grub_pc_bios_boot_blocklist)."""
    with open(path, "rb") as file:
        made = bytearray(file.read())
    made += bytes(-len(made) % SECTOR)
    struct.pack_into("<QHH", made, SECTOR - 12, first + 1, len(made) // SECTOR - 1, 0x820)
    return made


def _entries():
    """The array of partition entries (5.3.3). Its partitions begin and end at the same place on every disk."""
    made = bytearray(ENTRIES * ENTRY_BYTES)
    for number, (name, kind, _) in enumerate(PARTITIONS, 1):
        at, size = place(number)
        struct.pack_into("<16s16sQQQ72s", made, (number - 1) * ENTRY_BYTES, uuid.UUID(kind).bytes_le, uuid.uuid4().bytes_le,
                         at // SECTOR, (at + size) // SECTOR - 1, 0, name.encode("utf-16-le"))
    return bytes(made)


def _table(entries, sectors, here, other, at, guid):
    """A header of the table (5.3.2)."""
    def pack(crc):
        return struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, crc, 0, here, other, 34, sectors - 34, guid, at,
                           ENTRIES, ENTRY_BYTES, zlib.crc32(entries))
    return pack(zlib.crc32(pack(0)))


def _fill(file, size, kernel, config, arguments, timeout_s, work):
    """Writes the whole disk into `file`, which is all zeros."""
    sectors = size // SECTOR
    entries, guid = _entries(), uuid.uuid4().bytes_le
    first = place(1)[0] // SECTOR
    core = core_image(_core("i386-pc", work, "core.img", BIOS_MODULES), first)
    if len(core) > place(1)[1]:
        raise LauncherError("GRUB's core image is larger than its partition")
    menu, esp = os.path.join(work, "grub.cfg"), os.path.join(work, "esp.img")
    with open(MENU_TEMPLATE, encoding="utf-8") as template, open(menu, "w", encoding="utf-8") as made:
        made.write(image.menu(template.read(), arguments, False, DEFAULT_APP, timeout_s))
    files = {"EFI/BOOT/BOOTX64.EFI": _core("x86_64-efi", work, "grub.efi", []), "boot/grub/grub.cfg": menu}
    if config:
        files["boot/hayate.conf"] = config
    room = place(2)[1] - 4 * MIB - sum(map(os.path.getsize, files.values()))
    if room < 0:
        raise LauncherError("configuration and boot loader need %d KiB more than the EFI system partition has" % (-room >> 10))
    # FAT32 has 65525 clusters or more: one sector each.
    _fat(esp, place(2)[1], files, "HAYATE-EFI", "-F", "-c", "1", "-H", str(place(2)[0] // SECTOR))
    content = slot(kernel, work)

    def put(at, data):
        file.seek(at)
        file.write(data)

    put(0, boot_sector(first)[:446] + protective(sectors))
    put(SECTOR, _table(entries, sectors, 1, sectors - 1, 2, guid))
    put(2 * SECTOR, entries)
    put((sectors - 33) * SECTOR, entries)
    put((sectors - 1) * SECTOR, _table(entries, sectors, sectors - 1, 1, sectors - 33, guid))
    put(place(1)[0], core)
    with open(esp, "rb") as source:
        for at in range(0, place(2)[1], MIB):
            piece = source.read(MIB)
            if piece.strip(b"\0"):
                put(place(2)[0] + at, piece)
    put(place(3)[0], boot_environment(environment({"id": secrets.token_hex(8), "active": "A"})))
    put(place(4)[0], content)
    put(place(4)[0] + SLOT_BYTES - HEADER_BYTES, header(content, _build_id(kernel)))


def _replace(output, write):
    """Writes a file atomically."""
    partial = "%s.%d.part" % (output, os.getpid())
    try:
        with open(partial, "wb") as file:
            write(file)
        os.replace(partial, output)
    except OSError as error:
        raise LauncherError("%s: %s" % (output, error.strerror)) from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def size_mib(text):
    """MiB of --size."""
    match = re.fullmatch(r"(\d{1,9})([MG])", text)
    mib = int(match.group(1)) * (1024 if match.group(2) == "G" else 1) if match else 0
    if mib < LEAST_MIB:
        raise usage("--size %s: a size such as 256M or 8G, %dM or more" % (text, LEAST_MIB))
    return mib


def install_file(source, output):
    """Writes the install file (disk/install.h) of the disk `source`, which build() has made: what is not zero in it, and
    the zeros on which the file systems, the header of image B and the store rely."""
    wanted = set()  # pieces of zeros to write
    for at, size in ((place(2)[0], MIB), (place(4)[0], SLOT_BYTES), (place(5)[0] + SLOT_BYTES - PIECE, PIECE), place(6)):
        wanted.update(range(at // PIECE, (at + size) // PIECE))
    end = sum(place(len(PARTITIONS)))
    index, data = [], []
    with open(source, "rb") as file:
        image_bytes, = struct.unpack_from("<Q", _at(file, place(4)[0] + SLOT_BYTES - HEADER_BYTES, HEADER_BYTES), 24)
        wanted.difference_update(range((place(4)[0] + image_bytes) // PIECE, (place(4)[0] + SLOT_BYTES) // PIECE - 1))
        for number in range(end // PIECE):
            piece = _at(file, number * PIECE, PIECE)
            if piece.count(0) != PIECE:
                index.append(number)
                data.append(piece)
            elif number in wanted:
                index.append(number | ZEROS)
    behind = struct.pack("<%dI" % len(index), *index)
    behind += bytes(-len(behind) % HEADER_BYTES) + b"".join(data)
    made = struct.pack("<16sIIQ32s", INSTALL_MAGIC, VERSION, len(index), end, hashlib.sha256(behind).digest())
    made = made.ljust(HEADER_BYTES - 32, b"\0")
    _replace(output, lambda file: file.write(made + hashlib.sha256(made).digest() + behind))


def _at(file, at, size):
    file.seek(at)
    return file.read(size)


def build(output, size=256, kernel=None, config=None, arguments="", timeout_s=1):
    """Writes a disk of `size` MiB with the image A. Every entry of the menu passes `arguments` to the kernel."""
    kernel = kernel or KERNEL
    check(kernel, config)
    with tempfile.TemporaryDirectory(prefix="hayate-image-") as work:
        def write(file):
            file.truncate(size * MIB)
            _fill(file, size * MIB, kernel, config, arguments, timeout_s, work)
        _replace(output, write)
