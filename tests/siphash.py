"""SipHash-2-4 (Aumasson and Bernstein, 2012), for tests: the function of lib/siphash.c, written
independently."""

MASK = (1 << 64) - 1


def rotate(x, bits):
    return (x << bits | x >> 64 - bits) & MASK


def rounds(v, n):
    for _ in range(n):
        v[0] = v[0] + v[1] & MASK
        v[2] = v[2] + v[3] & MASK
        v[1] = rotate(v[1], 13) ^ v[0]
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = rotate(v[0], 32)
        v[2] = v[2] + v[1] & MASK
        v[0] = v[0] + v[3] & MASK
        v[1] = rotate(v[1], 17) ^ v[2]
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = rotate(v[2], 32)


def siphash24(data, k0=0, k1=0):
    """The hash of bytes; the key is two 64-bit words."""
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
         k1 ^ 0x7465646279746573]
    last = len(data) // 8 * 8
    words = [int.from_bytes(data[at:at + 8], "little") for at in range(0, last, 8)]
    words.append(int.from_bytes(data[last:], "little") | (len(data) & 255) << 56)
    for word in words:
        v[3] ^= word
        rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xff
    rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
