# SPDX-License-Identifier: MIT
"""Where keys and entries lie: src/table/address.h a second time, written from its comment.

A side is (base bucket, bits, length): pair bits lowest, then the remainder bits known.
"""
import support
from support import MASK, field

WHOLE = 64  # the length of a key

# Integers of one pair of buckets of such a filter. They agree in 8 remainder bits, too: splitting does not part them.
AIMED_AT = "capacity=8, seed=0, fingerprint_bits=24"
AIMED = (
    289040, 388391, 422765, 556884, 596644, 725592, 829506, 967039, 1026821, 1072070, 1123713, 1207021, 1233892,
    1278225, 1315832, 1380740, 1623237, 1938873, 1959601, 2129161, 2182290, 2217433, 2220424, 2373115, 2825520,
    2845763, 2951407, 3131449, 3371893, 3459334, 3569279, 3578064, 3656771, 3821292, 3897121, 4255001, 4432188,
    4598131, 5208827, 5284581)


def low(n):
    return (1 << n) - 1


def key_hash(content):
    """Of a blob of 32 to 63 bytes as a key, with seed 0: type byte 4, then the bytes."""
    return support.xxh3_medium(b"\4" + content)


class Shape:
    """What the header of a filter says of places."""

    def __init__(self, blob):
        self.m0, self.level, self.split = (field(blob, name) for name in ("buckets", "level", "split_pointer"))
        self.s, self.f = field(blob, "pair_bits"), field(blob, "fingerprint_bits")
        self.slot_bits = field(blob, "slot_bits")
        prepared = self.split if self.level == 0 and self.slot_bits == self.f else 0
        self.split -= prepared
        self.grown = self.level > 0 or self.split > 0
        self.narrow = self.m0 - prepared if prepared else support.narrow_buckets(self.f, self.m0, self.level, self.split)
        self.widest = support.width_for(self.f, 0) if prepared else self.slot_bits
        self.prepared = prepared
        self.home = {}  # bucket: (base, extension, bits of the extension)
        for base in range(self.m0):
            for extension in range(2 << self.level):
                bits = self.extension_bits(base, extension)
                if extension < 1 << bits:
                    self.home[self.number(base, extension)] = base, extension, bits

    def width(self, bucket):
        """Bits of a slot there: each level adds one at most."""
        if bucket >= self.narrow:
            return self.widest
        return self.f if self.prepared else self.widest - 1

    def extension_bits(self, base, remainder):
        return self.level + ((base << self.level | remainder & low(self.level)) < self.split)

    def number(self, base, extension):
        if extension == 0:
            return base
        t = extension.bit_length() - 1
        return ((self.m0 + base) << t) + extension - (1 << t)

    def mix(self, bits):
        x = ((bits & low(self.s)) * 0xff51afd7ed558ccd) & MASK
        x = ((x ^ x >> 32) * 0xc4ceb9fe1a85ec53) & MASK
        return x ^ x >> 29

    def base_side(self, hash_):
        hash_ |= hash_ & low(self.f) == 0
        return hash_ * self.m0 >> 64, hash_, WHOLE

    def alternate(self, side):
        base, bits, length = side
        mix = self.mix(bits)
        g = mix * self.m0 >> 64 | 1
        return (g - base) % self.m0, bits ^ (mix << self.s & low(self.s + length)), length

    def bucket(self, side):
        """The bucket where a side lies, and how many remainder bits that stands for."""
        base, bits, _ = side
        n = self.extension_bits(base, bits >> self.s)
        return self.number(base, bits >> self.s & low(n)), n
