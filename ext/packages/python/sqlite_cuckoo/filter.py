# SPDX-License-Identifier: MIT
"""Filters as objects, without a connection: the blobs of SQL, byte for byte. What must be fast is in _filter (module.c)."""
import operator
import re
import struct
from numbers import Real
from typing import Any, Dict, Iterable, List, Optional, Union

try:
    from ._filter import Filter as _Filter
except ImportError as _error:
    raise ImportError(
        f"sqlite_cuckoo.Filter: this Python cannot load sqlite_cuckoo._filter ({_error}); it needs CPython 3.8 or later, not "
        "free-threaded, on Linux or macOS. There, with a C compiler: pip install --no-binary sqlite-cuckoo sqlite-cuckoo. "
        "Otherwise use SQL: SELECT cf_contains(?, ?)") from None

_AFFINITIES, _COLLATIONS = ("none", "text", "numeric", "real"), ("binary", "nocase", "rtrim")
_OFF_ON = ("off", "on")
_KEY_TYPES = ("", "number", "text", "number,text", "blob", "number,blob", "text,blob", "any")
# Valid words, or a range, in the order of `options_of` (exports.c), behind capacity and fpr.
_OPTIONS: Dict[str, Any] = {
    "bucket_size": range(1, 9), "fingerprint_bits": range(4, 33), "counter_bits": range(17), "value_bits": range(33),
    "growth": _OFF_ON, "hash": ("auto", "xxh3", "keyed"), "layout": ("auto", "plain", "semisort"), "stash": _OFF_ON,
    "max_kicks": range(256), "stash_size": range(1, 4097), "affinity": (*_AFFINITIES, "integer", "blob"),
    "collation": _COLLATIONS, "seed": range(-2**63, 2**63), "capacity": range(2**40 + 1)}
# What `info` and `info_exact` (exports.c) report, in this order; with the words for numbers that stand for them.
_INFO: Dict[str, Any] = {
    **dict.fromkeys(("items", "occupied", "capacity", "buckets", "bucket_size", "fingerprint_bits", "slot_bits")),
    "layout": ("plain", "semisort"),
    **dict.fromkeys(("level", "split", "bytes", "fpr_now", "fpr_at_capacity", "turnovers")), "hash": ("xxh3", "keyed"),
    "counter_bits": None, "value_bits": None, "affinity": _AFFINITIES, "collation": _COLLATIONS, "key_types": _KEY_TYPES,
    "growth": _OFF_ON, "stash": _OFF_ON,
    **dict.fromkeys(("max_kicks", "stash_size", "stashed", "saturated", "exhausted", "pair_bits", "max_copies", "base_buckets",
                     "format", "epochs", "epoch"))}
_EXACT_INFO: Dict[str, Any] = {
    **dict.fromkeys(("keys", "members", "levels", "listed", "bytes", "fpr_unknown")), "hash": ("xxh3", "keyed"),
    "affinity": _AFFINITIES, "collation": _COLLATIONS, "key_types": _KEY_TYPES, "format": None}


def _value(name, text):
    """The number of an option; ValueError when there is none."""
    valid = _OPTIONS[name]
    if isinstance(valid, tuple):
        return valid.index(text.lower())
    number = int(text) if re.fullmatch("[-+]?[0-9]+", text) else None
    if number is None or number not in valid or (name == "bucket_size" and number & (number - 1)):
        raise ValueError(text)
    return number


def _options(call: str, options: str):
    """{name: number} of "name=value name=value", as in SQL."""
    given = {}
    for one in filter(None, re.split(r"[ ,\t\n\r]+", options)):
        name, equals, text = one.partition("=")
        name = name.lower()
        if not equals or name not in _OPTIONS:
            what = f"unknown option {name}" if equals else f"options must be a list of name=value, got {options!r}"
            raise ValueError(f"sqlite_cuckoo.Filter.{call}: {what}; valid options: {', '.join(_OPTIONS)}")
        if name in given:
            raise ValueError(f"sqlite_cuckoo.Filter.{call}: option {name} is given twice")
        try:
            given[name] = _value(name, text)
        except ValueError:
            valid = _OPTIONS[name]
            valid = " or ".join(valid) if isinstance(valid, tuple) else f"{valid[0]} to {valid[-1]}"
            raise ValueError(f"sqlite_cuckoo.Filter.{call}: bad value in {one}; valid: {valid}") from None
    if ("max_kicks" in given or "stash_size" in given) and not given.get("stash"):
        raise ValueError(f"sqlite_cuckoo.Filter.{call}: max_kicks and stash_size need stash=on: add it, or leave them out")
    return given


def _capacity(given):
    """A number of keys, or None. `in range` would count up to what is no int."""
    try:
        number = int(given) if isinstance(given, float) and given.is_integer() else operator.index(given)
    except TypeError:
        return None
    return number if number in _OPTIONS["capacity"] else None


def _packed(call: str, fpr: Optional[float], options: str, capacity: Optional[int] = None):
    """The options as _build takes them."""
    given = {"growth": 1, "max_kicks": 10, **_options(call, options)}
    if capacity is not None:
        number = _capacity(capacity)
        if number is None:
            raise ValueError(f"sqlite_cuckoo.Filter.{call}: capacity must be a whole number of keys, 0 to 2**40, got {capacity!r}")
        if given.setdefault("capacity", number) != number:
            raise ValueError(f"sqlite_cuckoo.Filter.{call}: capacity is given twice: leave it out of the options")
    if fpr is not None and not (isinstance(fpr, Real) and 0 < fpr < 1):
        raise ValueError(f"sqlite_cuckoo.Filter.{call}: fpr must be a number above 0 and below 1, such as 0.01, got {fpr!r}")
    if fpr is None:
        fpr = 0 if given.get("fingerprint_bits") else 0.01
    mixed = given.get("affinity") == 0
    given["affinity"] = (0, 1, 2, 3, 2, 1)[given.get("affinity", 0)]
    names = [name for name in _OPTIONS if name not in ("seed", "capacity")]
    return struct.pack("=15dq", given.get("capacity", 0), fpr, *(given.get(name, 0) for name in names), mixed, given.get("seed", 0))


def _no_single_key(call: str, keys: Any):
    """A str is an iterable, too, of its letters."""
    iterable = hasattr(keys, "__iter__") or hasattr(keys, "__getitem__")
    if not iterable or isinstance(keys, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"sqlite_cuckoo.Filter.{call}: keys must be an iterable of keys, got {keys!r:.80}; for one key give [key]")


class Filter(_Filter):
    """The filter in the bytes of a blob, which are copied. `key in filter`: False means definitely not, True probably.

    Keys are equal as in SQL: int (bool, numpy.int64), float, str and bytes; None and NaN are no keys. All calls hold the GIL.
    """
    __slots__ = ()

    @classmethod
    def new(cls, capacity: int, fpr: Optional[float] = None, options: str = "") -> "Filter":
        """An empty filter for `capacity` keys, as cf_new: Filter.new(1000, 0.001, 'growth=off')."""
        return cls._build("new", (), _packed("new", fpr, options, capacity))

    @classmethod
    def build(cls, keys: Iterable[Any], fpr: Optional[float] = None, options: str = "") -> "Filter":
        """A filter of the distinct keys, sized for their number, as cf_build."""
        _no_single_key("build", keys)
        packed = _packed("build", fpr, options)
        if _options("build", options).get("value_bits"):
            raise ValueError("sqlite_cuckoo.Filter.build: keys come without values here; use new(), and add(key, value)")
        return cls._build("build", keys, packed)

    def info(self) -> Dict[str, Union[int, float, str]]:
        """The fields of cf_info."""
        *numbers, seed = struct.unpack("=39dq", self._numbers())
        exact = numbers[38] != 0
        found: Dict[str, Any] = {"kind": "exact"} if exact else {}
        for (name, words), number in zip((_EXACT_INFO if exact else _INFO).items(), numbers):
            found[name] = words[int(number)] if words else number if name.startswith("fpr_") else int(number)
        keys = found["keys"] if exact else found["items"] or found["capacity"]
        found.update(seed=seed, bits_per_key=8 * found["bytes"] / keys if keys else 0.0)
        if not exact:
            slots = found["buckets"] * found["bucket_size"]
            found.update(load_factor=found["occupied"] / slots, items_per_slot=found["items"] / slots)
            left_out = ("max_kicks", "stash_size") if found["stash"] == "off" else ()
            for name in (*left_out, *(("epochs", "epoch") if not found["epochs"] else ())):
                del found[name]
        return found

    def contains_many(self, keys: Iterable[Any]) -> List[bool]:
        """True or False for each key, as `key in filter`."""
        _no_single_key("contains_many", keys)
        return super().contains_many(keys)

    def __eq__(self, other):
        return bytes(self) == bytes(other) if isinstance(other, Filter) else NotImplemented

    __hash__ = None  # it changes

    def __conform__(self, protocol):
        """As an argument of a statement it is its blob."""
        return bytes(self)

    def __reduce__(self):
        return type(self), (bytes(self),)

    def __repr__(self):
        return f"<sqlite_cuckoo.Filter: {len(self)} keys, {len(bytes(self))} bytes>"
