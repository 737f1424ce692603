"""An image that boots like the kernel's, after code that takes back all that firmware assigned on PCI."""
import os
import struct
import subprocess

BASE = 0x6000000  # nothing of the loader's is there, in a machine of 128 MiB or more
SOURCE = os.path.splitext(os.path.realpath(__file__))[0] + ".asm"
PHDR = struct.Struct("<IIQQQQQQ")  # ELF-64: type, flags, offset, virtual, physical, file bytes, bytes, alignment
PT_LOAD, PT_NOTE = 1, 4
XEN_PHYS32_ENTRY = struct.pack("<III4s", 4, 8, 18, b"Xen")


def make(kernel, path, keep_windows=False):
    """Writes to `path` the ELF file `kernel` with the code as another segment, and as the PVH entry. keep_windows: bridges
    keep their windows."""
    with open(kernel, "rb") as file:
        elf = bytearray(file.read())
    offset, = struct.unpack_from("<Q", elf, 0x20)
    size, count = struct.unpack_from("<HH", elf, 0x36)
    assert size == PHDR.size
    headers = [PHDR.unpack_from(elf, offset + size * n) for n in range(count)]
    note = next(h for h in headers if h[0] == PT_NOTE)
    at = elf.index(XEN_PHYS32_ENTRY, note[2], note[2] + note[5]) + len(XEN_PHYS32_ENTRY)
    entry, = struct.unpack_from("<Q", elf, at)
    struct.pack_into("<Q", elf, at, BASE)

    code = path + ".bin"
    subprocess.run(["nasm", "-f", "bin", "-Werror", "-dBASE=%d" % BASE, "-dENTRY=%d" % entry,
                    "-dKEEP_WINDOWS=%d" % keep_windows, "-o", code, SOURCE], check=True)
    elf += bytes(-len(elf) % 4096)
    with open(code, "rb") as file:
        text = file.read()
    headers.append((PT_LOAD, 7, len(elf), BASE, BASE, len(text), len(text), 4096))
    elf += text + bytes(-len(text) % 8)
    struct.pack_into("<Q", elf, 0x20, len(elf))
    struct.pack_into("<H", elf, 0x38, len(headers))
    elf += b"".join(PHDR.pack(*h) for h in headers)
    with open(path, "wb") as file:
        file.write(elf)
