# SPDX-License-Identifier: MIT
"""XXH3, 64 bits, of the lengths that headers and rows have: independent of the library that the extension uses."""
MASK = 2**64 - 1
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d"
    "8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc"
    "8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
PRIMES = (0xC2B2AE3D, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x85EBCA77,
          0x27D4EB2F165667C5, 0x9E3779B1)


def word(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def fold(a, b):
    product = a * b
    return (product & MASK) ^ (product >> 64)


def avalanche(h):
    h = ((h ^ h >> 37) * 0x165667919E3779F9) & MASK
    return h ^ h >> 32


def of_medium(data):
    """17 to 128 bytes."""
    def mix(at, secret_at):
        return fold(word(data, at) ^ word(SECRET, secret_at), word(data, at + 8) ^ word(SECRET, secret_at + 8))
    n = len(data)
    assert 17 <= n <= 128
    total = n * PRIMES[1]
    for i in range((n - 1) // 32 + 1):
        total += mix(16 * i, 32 * i) + mix(n - 16 * (i + 1), 32 * i + 16)
    return avalanche(total & MASK)
