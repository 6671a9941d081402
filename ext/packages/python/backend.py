# SPDX-License-Identifier: MIT
"""Makes the wheel of sqlite-cuckoo. In the source distribution pip calls it (PEP 517): there it compiles cuckoo.c and module.c
by CC, or by the compiler of this Python, and needs nothing else. dist.py calls it for what is compiled already.

The same files give the same bytes: dates are SOURCE_DATE_EPOCH, or the first of January 1980."""
import base64
import gzip
import hashlib
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800)  # zip files know nothing earlier
MODULE = "_filter.abi3.so"  # for every CPython from 3.8 on; of sqlite_cuckoo.Filter
SUFFIX = {"win32": ".dll", "cygwin": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
HARDENED = ("-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now", "-s")
# What a 32-bit Python runs on may have a 64-bit kernel.
NARROW = {"linux_x86_64": "linux_i686", "linux_aarch64": "linux_armv7l"}


# ---- archives: {name: bytes or text}; a compiled file gets mode 755 ----

def mode_of(name):
    return 0o755 if name.endswith((".so", ".dylib", ".dll")) else 0o644


def encoded(files):
    return {name: content.encode() if isinstance(content, str) else content for name, content in files.items()}


def write_tar(path, files):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(encoded(files).items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), mode_of(name), EPOCH
            tar.addfile(info, io.BytesIO(content))
    with open(path, "wb") as out, gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
        packed.write(plain.getvalue())
    return path


def write_zip(path, files):
    """The files in the order given: a wheel ends with its RECORD."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in encoded(files).items():
            info = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            info.external_attr = (0o100000 | mode_of(name)) << 16
            archive.writestr(info, content)
    return path


# ---- the wheel, and the source distribution ----

def record(files, name):
    """RECORD: the hash and the length of each file, without its own."""
    lines = []
    for path, content in encoded(files).items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{name},,\n"


def stem(metadata):
    name, version = (re.search(f"^{field}: (.*)$", metadata, re.M)[1] for field in ("Name", "Version"))
    return f"{name.replace('-', '_')}-{version}"


def write_wheel(folder, tag, metadata, licence, package, manual, extension, suffix=SUFFIX):
    """`package`: the other files of the folder sqlite_cuckoo. `manual`: the page of the command. `extension`: the bytes of
    what SQLite loads."""
    info = stem(metadata) + ".dist-info"
    files = {
        **package, "sqlite_cuckoo/cuckoo" + suffix: extension,
        f"{stem(metadata)}.data/data/share/man/man1/sqlite-cuckoo.1": manual,
        f"{info}/licenses/LICENSE": licence, f"{info}/METADATA": metadata,
        f"{info}/entry_points.txt": "[console_scripts]\nsqlite-cuckoo = sqlite_cuckoo.__main__:main\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: sqlite-cuckoo\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"}
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    return write_zip(folder / f"{stem(metadata)}-py3-none-{tag}.whl", files)


def write_sdist(folder, files):
    name = stem(files["PKG-INFO"])
    return write_tar(folder / f"{name}.tar.gz", {f"{name}/{path}": content for path, content in files.items()})


# ---- what pip calls, in the folder of the source distribution ----

def compilers(to, source, *options):
    """The command that compiles a file; a second one for compilers that know less."""
    given = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    own = shlex.split(os.environ.get("CFLAGS", "")), shlex.split(os.environ.get("LDFLAGS", ""))
    if sys.platform == "win32" and "CC" not in os.environ and shutil.which("cl"):
        return [["cl", "/nologo", "/O2", "/std:c11", "/LD", f"/I{HERE / 'sqlite'}", str(HERE / source), f"/Fe:{to}"]]
    plain = [*own[0], "-shared", *(() if SUFFIX == ".dll" else ("-fPIC",)), "-I", str(HERE / "sqlite"), *options,
             str(HERE / source), "-o", str(to), *own[1], "-lm"]
    others = [] if "CC" in os.environ else [["cc", "-O2", *plain]]
    return [[*given, "-O2", *(HARDENED if SUFFIX == ".so" else ()), *plain], [*given, "-O2", *plain], *others]


def compiled(name, source, *options):
    """The bytes of the compiled file, and what the compiler said; None: it failed."""
    with tempfile.TemporaryDirectory() as folder:
        to, said = Path(folder) / name, []
        for command in compilers(to, source, *options):
            try:
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                return to.read_bytes(), ""
            except OSError as error:
                said.append(f"{command[0]}: {error.strerror}")
            except subprocess.CalledProcessError as error:
                said.append(f"{shlex.join(command)}\n{error.stdout.decode(errors='replace')}")
    return None, "\n".join(said)


def extension():
    content, said = compiled("cuckoo" + SUFFIX, "cuckoo.c")
    if content is None:
        raise SystemExit(f"sqlite-cuckoo: the C compiler failed:\n{said}\nInstall one with the headers of C (on "
                         "Debian: gcc libc6-dev; on macOS: xcode-select --install), name it by CC, or take a wheel")
    return content


def module():
    """{name: bytes} of what sqlite_cuckoo.Filter needs; nothing where it cannot be made: the rest works without it."""
    if SUFFIX == ".dll" or sys.implementation.name != "cpython":
        return {}
    later = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()  # Python has the rest
    content, said = compiled(MODULE, "module.c", "-DNDEBUG", "-DCUCKOO_PYTHON", "-fvisibility=hidden", *later)
    if content is None:
        print(f"left out: sqlite_cuckoo.Filter, which the compiler does not make:\n{said}", file=sys.stderr)
    return {f"sqlite_cuckoo/{MODULE}": content} if content else {}


def tag():
    name = re.sub("universal2$", platform.machine(), sysconfig.get_platform())
    name = re.sub(r"[-.]", "_", name)
    return NARROW.get(name, name) if sys.maxsize < 2**32 else name


def text(name):
    return (HERE / name).read_text(encoding="utf-8")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    names = sorted(path.relative_to(HERE).as_posix() for path in HERE.glob("sqlite_cuckoo/**/*.*") if path.suffix != ".pyc")
    built, package = extension(), {**{name: text(name) for name in names}, **module()}
    return write_wheel(Path(wheel_directory), tag(), text("PKG-INFO"), text("LICENSE"), package, text("sqlite-cuckoo.1"), built).name


def build_sdist(sdist_directory, config_settings=None):
    files = {path.relative_to(HERE).as_posix(): path.read_bytes() for path in HERE.rglob("*")
             if path.is_file() and path.suffix != ".pyc"}
    return write_sdist(Path(sdist_directory), {**files, "PKG-INFO": text("PKG-INFO")}).name
