"""Disks with a partition for the store, for tests."""
import struct
import uuid
import zlib

STORE_TYPE = "82bb5a04-dd95-4e7e-890e-6e0d966dae53"  # GPT_TYPE_STORE (disk/layout.h)


def disk_make(path, stores=1, bytes_=4 << 20, room=2 << 20):
    """A disk of `bytes_` with a GUID partition table (UEFI Specification 2.10, 5.3), an EFI system partition full of
    ones, and partitions for a store. Returns the first bytes of those."""
    sectors = bytes_ // 512
    kinds = [("c12a7328-f81f-11d2-ba4b-00a0c93ec93b", 64)] + [(STORE_TYPE, room // 512 // max(stores, 1))] * stores
    entries, at, places = b"", 64, []
    for kind, length in kinds:
        entries += uuid.UUID(kind).bytes_le + uuid.uuid4().bytes_le + struct.pack("<QQQ", at, at + length - 1, 0) + bytes(72)
        places.append(at * 512)
        at += length
    assert at <= sectors - 34
    entries = entries.ljust(128 * 128, b"\0")
    guid = uuid.uuid4().bytes_le

    def header(here, other, table):
        text = struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, 0, 0, here, other, 34, sectors - 34, guid, table, 128,
                           128, zlib.crc32(entries))
        return (text[:16] + struct.pack("<I", zlib.crc32(text)) + text[20:]).ljust(512, b"\0")

    with open(path, "wb") as file:
        file.truncate(bytes_)
        file.seek(512)
        file.write(header(1, sectors - 1, 2) + entries)
        file.seek((sectors - 33) * 512)
        file.write(entries + header(sectors - 1, 1, sectors - 33))
        file.seek(64 * 512)
        file.write(b"\xff" * 64 * 512)
    return places[1:]
