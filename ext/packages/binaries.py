# SPDX-License-Identifier: MIT
"""For which machines is a compiled extension? Read from the file itself: ELF (Linux), Mach-O (macOS) or PE (Windows)."""
import re
import struct
from pathlib import Path
from typing import NamedTuple

MACHINES = {  # of ELF; "ppc64" is told from "ppc64le" by the order of bytes
    3: "i686", 21: "ppc64", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64", 243: "riscv64", 258: "loongarch64"}
MACH_O = {7: "i686", 0x01000007: "x86_64", 0x0100000C: "arm64"}
PE = {0x14C: "i686", 0x8664: "x86_64", 0xAA64: "aarch64"}

# The libraries that any Linux with glibc has (of those that PEP 600 allows).
GLIBC = re.compile(r"(lib(c|m|dl|pthread|rt|gcc_s)\.so\.\d+|ld(64)?(-linux.*)?\.so\.\d+)$")
# The oldest glibc for which pip takes such a tag.
OLDEST = {"x86_64": (2, 5), "i686": (2, 5)}


class Binary(NamedTuple):
    """os: linux, macos, windows. libc: glibc, musl, or nothing. `needs`: the oldest glibc, or macOS, that it runs on.
    `foreign`: what else it needs, which not every such machine has. `hardened`: an overrun of the stack is noticed."""
    path: Path
    os: str
    arch: str
    libc: str = ""
    needs: tuple = ()
    foreign: tuple = ()
    hardened: bool = True

    @property
    def name(self):
        """As in the names of archives: linux-x86_64, linux-musl-aarch64."""
        return "-".join(part for part in (self.os, "musl" if self.libc == "musl" else "", self.arch) if part)

    @property
    def wheel(self):
        """The platform tag of a wheel. manylinux only where all that it needs is a glibc, and from that version on."""
        if self.os == "windows":
            return {"x86_64": "win_amd64", "i686": "win32", "aarch64": "win_arm64"}[self.arch]
        if self.os == "macos":
            return f"macosx_{self.needs[0]}_{self.needs[1] if self.needs[0] < 11 else 0}_{self.arch}"
        if self.foreign:
            return f"linux_{self.arch}"
        if self.libc == "musl":
            return f"musllinux_1_2_{self.arch}"
        return "manylinux_{}_{}_{}".format(*max(self.needs, OLDEST.get(self.arch, (2, 17))), self.arch)

    def platforms(self, system, arch):
        """Names of another kind: one for each machine that it is for."""
        machines = ("x86_64", "arm64") if self.arch == "universal2" else (self.arch,)
        return tuple(f"{system.get(self.os, self.os)}-{arch.get(one, one)}" for one in machines)

    @property
    def node(self):
        """As the npm package looks for it: process.platform, process.arch, and the libc where that matters."""
        names = self.platforms({"macos": "darwin", "windows": "win32"}, {
            "x86_64": "x64", "i686": "ia32", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64"})
        return tuple(name + ("-musl" if self.libc == "musl" else "") for name in names)

    @property
    def sqlpkg(self):
        return self.platforms({"macos": "darwin"}, {"x86_64": "amd64", "i686": "386", "aarch64": "arm64", "armv7l": "arm"})


# ---- ELF ----

def text(data, at):
    return data[at:data.index(b"\0", at)].decode()


class Sections:
    """The sections of an ELF file by type: (offset, size, offset of their strings)."""

    def __init__(self, data):
        self.wide, self.order = data[4] == 2, "<" if data[5] == 1 else ">"
        at = self.read(data, "Q", 0x28)[0] if self.wide else self.read(data, "I", 0x20)[0]
        size, number = self.read(data, "HH", 0x3A if self.wide else 0x2E)
        headers = [self.read(data, "IIQQQQII" if self.wide else "IIIIIIII", at + i * size) for i in range(number)]
        self.of_type = {}
        for _, kind, _, _, offset, length, link, _ in headers:
            self.of_type.setdefault(kind, (offset, length, headers[link][4] if link < number else 0))

    def read(self, data, form, at):
        return struct.unpack_from(self.order + form, data, at)


def needed_libraries(data, sections):
    offset, length, strings = sections.of_type.get(6, (0, 0, 0))  # SHT_DYNAMIC
    form, size = ("QQ", 16) if sections.wide else ("II", 8)
    for at in range(offset, offset + length, size):
        tag, value = sections.read(data, form, at)
        if tag == 1:  # DT_NEEDED
            yield text(data, strings + value)


def needed_versions(data, sections):
    """Names like GLIBC_2.14: the versions of symbols that it needs from libraries."""
    at, length, strings = sections.of_type.get(0x6FFFFFFE, (0, 0, 0))  # SHT_GNU_verneed
    while length:
        _, number, _, first, following = sections.read(data, "HHIII", at)
        entry = at + first
        for _ in range(number):
            _, _, _, name, step = sections.read(data, "IHHII", entry)
            yield text(data, strings + name)
            entry += step
        if following == 0:
            return
        at += following


def glibc_of(version):
    """(2, 14) of "GLIBC_2.14". None: it is not a version of glibc that an old one could be compared with."""
    if version == "GLIBC_ABI_DT_RELR":
        return 2, 36
    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
    return (int(found[1]), int(found[2])) if found else None


def read_elf(path, data):
    sections = Sections(data)
    machine, = sections.read(data, "H", 0x12)
    arch = MACHINES.get(machine, f"machine{machine}") + ("le" if machine == 21 and sections.order == "<" else "")
    libraries, versions = list(needed_libraries(data, sections)), list(needed_versions(data, sections))
    hardened = b"__stack_chk_fail" in data
    musl = [name for name in libraries if name.startswith("libc.musl") or name == "libc.so"]
    if musl:
        return Binary(path, "linux", arch, "musl", (), tuple(set(libraries) - set(musl)), hardened)
    old = {version: glibc_of(version) for version in versions if version.startswith("GLIBC")}
    foreign = [name for name in libraries if not GLIBC.match(name)] + [name for name in old if old[name] is None]
    return Binary(path, "linux", arch, "glibc", max(filter(None, old.values()), default=(2, 5)), tuple(foreign), hardened)


# ---- Mach-O and PE ----

def read_mach_o(path, data):
    if data[:4] == b"\xca\xfe\xba\xbe":  # several in one; the first says which macOS
        first = struct.unpack_from(">I", data, 16)[0]
        return read_mach_o(path, data[first:])._replace(arch="universal2")
    machine, commands = struct.unpack_from("<I", data, 4)[0], struct.unpack_from("<I", data, 16)[0]
    at, needs = 32, (10, 9)
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command in (0x24, 0x32):  # LC_VERSION_MIN_MACOSX, LC_BUILD_VERSION
            version = struct.unpack_from("<I", data, at + (8 if command == 0x24 else 12))[0]
            needs = (version >> 16, version >> 8 & 255)
        at += size
    return Binary(path, "macos", MACH_O.get(machine, f"machine{machine}"), "", needs)


def read_pe(path, data):
    machine, = struct.unpack_from("<H", data, struct.unpack_from("<I", data, 0x3C)[0] + 4)
    return Binary(path, "windows", PE.get(machine, f"machine{machine}"))


def read(path):
    """The Binary of a file. ValueError: it is none that SQLite could load."""
    data = Path(path).read_bytes()
    for magic, reader in ((b"\x7fELF", read_elf), (b"MZ", read_pe), (b"\xcf\xfa\xed\xfe", read_mach_o),
                          (b"\xca\xfe\xba\xbe", read_mach_o)):
        if data.startswith(magic):
            return reader(Path(path), data)
    raise ValueError(f"{path} is no shared library of Linux, macOS or Windows")
