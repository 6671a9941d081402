# SPDX-License-Identifier: MIT
"""Makes the wheel of sqlite-cuckoo. In the source distribution pip calls it (PEP 517): there it compiles cuckoo.c by CC, or
by the compiler of this Python, and needs nothing else. dist.py calls it for what is compiled already.

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

def compilers(to):
    """The command that makes the extension; a second one for compilers that know less."""
    given = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    own = shlex.split(os.environ.get("CFLAGS", "")), shlex.split(os.environ.get("LDFLAGS", ""))
    if sys.platform == "win32" and "CC" not in os.environ and shutil.which("cl"):
        return [["cl", "/nologo", "/O2", "/std:c11", "/LD", f"/I{HERE / 'sqlite'}", str(HERE / "cuckoo.c"), f"/Fe:{to}"]]
    plain = [*own[0], "-shared", *(() if SUFFIX == ".dll" else ("-fPIC",)), "-I", str(HERE / "sqlite"), str(HERE / "cuckoo.c"),
             "-o", str(to), *own[1], "-lm"]
    others = [] if "CC" in os.environ else [["cc", "-O2", *plain]]
    return [[*given, "-O2", *(HARDENED if SUFFIX == ".so" else ()), *plain], [*given, "-O2", *plain], *others]


def compiled():
    with tempfile.TemporaryDirectory() as folder:
        to, said = Path(folder) / ("cuckoo" + SUFFIX), []
        for command in compilers(to):
            try:
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                return to.read_bytes()
            except OSError as error:
                said.append(f"{command[0]}: {error.strerror}")
            except subprocess.CalledProcessError as error:
                said.append(f"{shlex.join(command)}\n{error.stdout.decode(errors='replace')}")
    raise SystemExit("sqlite-cuckoo: the C compiler failed:\n" + "\n".join(said) + "\nInstall one with the headers of C (on "
                     "Debian: gcc libc6-dev; on macOS: xcode-select --install), name it by CC, or take a wheel")


def tag():
    name = re.sub("universal2$", platform.machine(), sysconfig.get_platform())
    name = re.sub(r"[-.]", "_", name)
    return NARROW.get(name, name) if sys.maxsize < 2**32 else name


def text(name):
    return (HERE / name).read_text(encoding="utf-8")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    names = sorted(path.relative_to(HERE).as_posix() for path in HERE.glob("sqlite_cuckoo/**/*.*") if path.suffix != ".pyc")
    package = {name: text(name) for name in names}
    return write_wheel(Path(wheel_directory), tag(), text("PKG-INFO"), text("LICENSE"), package, text("sqlite-cuckoo.1"),
                       compiled()).name


def build_sdist(sdist_directory, config_settings=None):
    files = {path.relative_to(HERE).as_posix(): path.read_bytes() for path in HERE.rglob("*")
             if path.is_file() and path.suffix != ".pyc"}
    return write_sdist(Path(sdist_directory), {**files, "PKG-INFO": text("PKG-INFO")}).name
