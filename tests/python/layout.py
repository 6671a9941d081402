# SPDX-License-Identifier: MIT
"""How buckets and spilled entries are written down: src/table/semisort.h and src/entry/spill.h a second time, from their comments."""
from itertools import combinations_with_replacement
from typing import NamedTuple

from address import Shape, low
from support import HEADER, SEMISORTED, SPILLED_ENTRY as ENTRY, VALUES, field, has_sticky_bits, patched

NIBBLES = sorted(combinations_with_replacement(range(16), 4), key=lambda four: four[::-1])  # by code


STICKY_AT = 47  # bit of the tag field


class Spilled(NamedTuple):
    """A line of the spill list. They are sorted in this order: the sticky bit stands above the value."""
    bucket: int
    tag: int
    sticky: int
    payload: int


class Table(Shape):
    """The buckets and the spill list of a blob."""

    def __init__(self, blob):
        super().__init__(blob)
        self.buckets = len(self.home)
        self.b, self.payload_bits = field(blob, "bucket_size"), field(blob, "payload_bits")
        flags = field(blob, "flags")
        self.semisorted, self.counts = flags & SEMISORTED != 0, self.payload_bits > 0 and flags & VALUES == 0
        self.sticky_bits = has_sticky_bits(self.payload_bits, flags, self.level, self.split)
        self.marks = has_sticky_bits(self.payload_bits, flags, 0, 1) if self.prepared else self.sticky_bits
        self.bound, self.spilled = field(blob, "spill_bound"), field(blob, "spilled")
        self.record_bits = self.record_bits_of(self.buckets)
        self.table_bits = self.record_at(self.buckets - 1) + self.record_bits_of(self.buckets - 1)
        self.list_at = len(blob) - ENTRY * self.bound
        self.bits = int.from_bytes(blob[HEADER:self.list_at], "little")
        self.list = [self.entry_of(blob[self.list_at + ENTRY * i:][:ENTRY]) for i in range(self.spilled)]

    @staticmethod
    def entry_of(row):
        bucket, tag, payload = (int.from_bytes(part, "little") for part in (row[:6], row[6:12], row[12:]))
        return Spilled(bucket, tag & low(STICKY_AT), tag >> STICKY_AT, payload)

    # ---- buckets ----

    def tag_bits(self, bucket):
        return self.b * self.width(bucket) - 4 * self.semisorted

    def record_bits_of(self, bucket):
        return self.tag_bits(bucket) + (self.bound > 0) + self.b * self.payload_width(bucket)

    def payload_width(self, bucket):
        return self.payload_bits + (self.marks if bucket >= self.narrow or not self.prepared else 0)

    def record_at(self, bucket):
        return bucket * self.record_bits_of(bucket)

    def load(self, bucket, at, n):
        return self.bits >> (self.record_at(bucket) + at) & low(n)

    def tags(self, bucket):
        if not self.semisorted:
            width = self.width(bucket)
            return [self.load(bucket, i * width, width) for i in range(self.b)]
        top = self.width(bucket) - 4
        code = self.load(bucket, 0, 12)
        return [self.load(bucket, 12 + i * top, top) << 4 | NIBBLES[code][i] for i in range(4)]

    def overflow(self, bucket):
        return self.load(bucket, self.tag_bits(bucket), 1) if self.bound else 0

    def payload(self, bucket, slot):
        """The counter or the value, without the sticky bit."""
        return self.load(bucket, self.payload_at(bucket, slot), self.payload_bits)

    def payload_at(self, bucket, slot):
        return self.tag_bits(bucket) + (self.bound > 0) + slot * self.payload_width(bucket)

    def copies(self, bucket, slot, cap):
        """What an entry stands for; 0 where there is none."""
        if self.tags(bucket)[slot] == 0:
            return 0
        if self.counts:
            return self.payload(bucket, slot) + 1
        sticky = self.sticky_bits and self.load(bucket, self.payload_at(bucket, slot) + self.payload_bits, 1)
        return cap if sticky else 1

    # ---- entries ----

    def side(self, bucket, tag):
        """What an entry says, seen from where it lies; a tag without terminator knows nothing beyond its bucket."""
        base, extension, known = self.home[bucket]
        if not self.grown:
            return base, tag & low(self.f), self.f - self.s
        behind = max(tag.bit_length() - 1, self.s) - self.s
        remainder = (tag >> self.s & low(behind)) << known | extension
        return base, tag & low(self.s) | remainder << self.s, known + behind

    def looks(self, bucket, tag):
        """The buckets where keys look that an entry may match: its own and its other one, or both children of that
        when it knows too little to tell which."""
        base, bits, length = other = self.alternate(self.side(bucket, tag))
        there, needed = self.bucket(other)
        found = {bucket, there}
        if needed > length:
            found.add(self.bucket((base, bits | 1 << (self.s + length), length))[0])
        return found

    def overflowing(self):
        """The buckets that the spilled entries name."""
        return set().union(*(self.looks(entry.bucket, entry.tag) for entry in self.list))


def with_list(blob, entries, **fields):
    """The blob with this spill list, whatever it says, and a header that knows how long it is; with other fields, too."""
    start = len(blob) - ENTRY * field(blob, "spill_bound")
    rows = b"".join(bucket.to_bytes(6, "little") + (tag | sticky << STICKY_AT).to_bytes(6, "little")
                    + payload.to_bytes(4, "little") for bucket, tag, sticky, payload in entries)
    changed = blob[:start] + rows + bytes(len(blob) - start - len(rows))
    return patched(changed, **{"spilled": len(entries), **fields})


def with_overflow(blob, bucket, on):
    """The blob with the overflow bit of one bucket set to this."""
    table = Table(blob)
    at = 8 * HEADER + table.record_at(bucket) + table.tag_bits(bucket)
    changed = bytearray(blob)
    changed[at // 8] = changed[at // 8] & ~(1 << at % 8) | on << at % 8
    return bytes(changed)
