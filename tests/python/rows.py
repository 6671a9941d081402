# SPDX-License-Identifier: MIT
"""Rows of the shadow tables as ext/pages/pages.h and ext/pages/shadow.h describe them, a second time: what a hostile writer can make."""
import struct

MASK = 2**64 - 1
HEADER_ROW = 125  # bytes, and the checksum
FIELDS = {"length": (64, "<Q"), "page_bytes": (72, "<I"), "adds": (76, "<Q"), "adds_digest": (84, "<Q"), "unmatched": (92, "<I"),
          "doubts": (96, "<I"), "checksums": (100, "<Q"), "random": (108, "<Q"), "log": (116, "<Q"), "flags": (124, "<B")}

# XXH3's default secret.
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
PRIMES = (0xC2B2AE3D, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x85EBCA77, 0x27D4EB2F165667C5,
          0x9E3779B1)


def word(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def fold(a, b):
    product = a * b
    return (product & MASK) ^ (product >> 64)


def avalanche(h):
    h = ((h ^ h >> 37) * 0x165667919E3779F9) & MASK
    return h ^ h >> 32


def hash_medium(data):
    """17 to 128 bytes."""
    def mix(at, secret_at):
        return fold(word(data, at) ^ word(SECRET, secret_at), word(data, at + 8) ^ word(SECRET, secret_at + 8))
    n = len(data)
    total = n * PRIMES[1]
    for i in range((n - 1) // 32 + 1):
        total += mix(16 * i, 32 * i) + mix(n - 16 * (i + 1), 32 * i + 16)
    return avalanche(total & MASK)


def hash_long(data):
    """241 to 1024 bytes."""
    n = len(data)
    acc = list(PRIMES)
    stripes = [(64 * i, 8 * i) for i in range((n - 1) // 64)] + [(n - 64, len(SECRET) - 64 - 7)]
    for at, secret_at in stripes:
        for i in range(8):
            value = word(data, at + 8 * i)
            key = value ^ word(SECRET, secret_at + 8 * i)
            acc[i ^ 1] = (acc[i ^ 1] + value) & MASK
            acc[i] = (acc[i] + (key & 0xFFFFFFFF) * (key >> 32)) & MASK
    total = n * PRIMES[1]
    for i in range(4):
        total += fold(acc[2 * i] ^ word(SECRET, 11 + 16 * i), acc[2 * i + 1] ^ word(SECRET, 19 + 16 * i))
    return avalanche(total & MASK)


def hash_words(first, second, seed):
    """The 16 bytes of two integers."""
    low = first ^ ((word(SECRET, 24) ^ word(SECRET, 32)) + seed & MASK)
    high = second ^ ((word(SECRET, 40) ^ word(SECRET, 48)) - seed & MASK)
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return avalanche((16 + swapped + high + fold(low, high)) & MASK)


def sealed_row(no, row, seed=0):
    """The row, whose last 8 bytes may be anything, with its checksum."""
    body = row[:-8]
    hashed = hash_medium(body) if len(body) <= 128 else hash_long(body)
    return body + hash_words(hashed, no & MASK, seed & MASK if no > 0 else 0).to_bytes(8, "little")


def numbers(header):
    return {name: struct.unpack_from(form, header, at)[0] for name, (at, form) in FIELDS.items()}


def patched_header(header, filter_header=None, **values):
    """The header row with other numbers, another header of the filter, and a right checksum."""
    row = bytearray(header)
    row[:64] = filter_header or header[:64]
    for name, value in values.items():
        struct.pack_into(FIELDS[name][1], row, FIELDS[name][0], value)
    return sealed_row(0, bytes(row))


def ages(header):
    """What the header row of a table that ages says of the numbers of its epochs."""
    keep, began, *rest = struct.unpack_from("<19Q2H", header, HEADER_ROW)
    return {"keep": keep, "began": began, "last": rest[:16], "swept": rest[16], "clean": rest[17], "dead": rest[18]}


def aged_header(header, **values):
    """That row with other values, and a right checksum."""
    said = {**ages(header), **values}
    row = bytearray(header)
    struct.pack_into("<19Q2H", row, HEADER_ROW, said["keep"], said["began"], *said["last"], said["swept"], said["clean"], said["dead"])
    return sealed_row(0, bytes(row))
