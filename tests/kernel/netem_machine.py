"""A small machine whose kernel has netem: an emulated processor, a kernel from the cache, and an archive of files as its disk.

    this Python, streambed, box.py, measures.py, plans ──▶ archive ──▶ qemu: netem_init.py ──▶ serial port: one JSON line each

Everything is measured in one boot. Its clock runs evenly but its processor is slow: good for what is done, not for how fast.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic
from pydantic import TypeAdapter

import streambed
from streambed import artifacts
from streambed.plan import Plan

QEMU = "qemu-system-x86_64"
BOOT_LIMIT_S = 240
MEMORY_MIB = 1024
MODULES = ("sch_netem", "sch_tbf", "veth")
PACKAGES = ("annotated_types", "pydantic", "pydantic_core", "typing_extensions.py", "typing_inspection")
_NOT_NEEDED = re.compile(
    r"test|site-packages|dist-packages|idlelib|tkinter|turtledemo|ensurepip|lib2to3|pydoc_data|config-.*|.*\.opt-\d\.pyc|.*\.a"
)
_HERE = Path(__file__).parent
_HOME = "/machine"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One plan, and what is measured of it, by root or by an ordinary user."""

    plan: Plan
    measure: str
    user: int = 0


def kernel() -> Path:
    """The folder in which scripts/setup keeps the kernel and its modules."""
    return artifacts.cache() / "netem_machine"


def lacks() -> str:
    """Why there can be no such machine; empty if there can."""
    if os.uname().machine != "x86_64":
        return "the machine with netem is for x86_64 alone"
    if not shutil.which(QEMU):
        return f"no {QEMU}: run scripts/setup --with-browser as root, or install qemu-system-x86"
    return "" if list(kernel().glob("vmlinuz-*")) else f"no kernel with netem in {kernel()}: run scripts/setup --with-browser"


def measure(measurements: dict[str, Measurement], folder: Path) -> dict[str, Any]:
    """Boot, take all measurements, and give what was found by name; "machine" is what the machine says of itself."""
    image, console, told = folder / "archive", folder / "console", folder / "told"
    with image.open("wb") as file:
        file.writelines(_archive(_contents(measurements)))
    argv = [QEMU, "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", str(MEMORY_MIB), "-nodefaults", "-display", "none", "-no-reboot"]
    argv += [
        "-serial",
        f"file:{console}",
        "-serial",
        f"file:{told}",
        "-initrd",
        str(image),
        "-kernel",
        str(next(kernel().glob("vmlinuz-*"))),
    ]
    argv += [
        "-append",
        f"console=ttyS0 quiet panic=-1 PYTHONPATH={_HOME}:{_HOME}/packages rdinit={_interpreter()} -- {_HOME}/netem_init.py",
    ]
    try:
        subprocess.run(argv, check=True, timeout=BOOT_LIMIT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        pass  # What was told until then is worth more; the console says the rest.
    found = {line["name"]: line["found"] for line in map(json.loads, told.read_text().splitlines())}
    missing = {"machine", *measurements} - set(found)
    assert not missing, f"the machine with netem did not tell of {', '.join(sorted(missing))}: {console.read_text()[-2000:]}"
    return found


def _interpreter() -> Path:
    return Path(sys.executable).resolve()


def _contents(measurements: dict[str, Measurement]) -> Iterator[tuple[str, int, bytes]]:
    """Path, time of change and content of every file."""
    standard = Path(sysconfig.get_path("stdlib"))
    packages = Path(pydantic.__file__).parents[1]
    files = {str(path): path for path in (_interpreter(), *_files(standard))}
    files |= {f"{_HOME}/packages/{path.relative_to(packages)}": path for name in PACKAGES for path in _files(packages / name)}
    source = Path(streambed.__file__).parents[1]
    files |= {f"{_HOME}/{path.relative_to(source)}": path for path in _files(source / "streambed")}
    files |= {f"{_HOME}/{name}": _HERE / name for name in ("netem_init.py", "box.py", "measures.py")}
    files |= {str(library): library for library in _libraries([path for path in files.values() if ".so" in path.name])}
    for name, path in files.items():
        yield name, int(path.stat().st_mtime), path.read_bytes()
    for number, name in enumerate(MODULES):
        yield f"{_HOME}/modules/{number}-{name}.ko", 0, _module(name)
    for name, one in measurements.items():
        yield f"{_HOME}/measurements/{name}.json", 0, TypeAdapter(Measurement).dump_json(one)
    yield "/etc/hosts", 0, b""


def _files(path: Path) -> Iterator[Path]:
    """The file itself, or all files below a folder."""
    if path.is_file():
        yield path
        return
    for child in path.iterdir():
        if not _NOT_NEEDED.fullmatch(child.name):
            yield from _files(child)


def _libraries(binaries: list[Path]) -> set[Path]:
    """The shared libraries that these need."""
    said = subprocess.run(["ldd", _interpreter(), *binaries], capture_output=True, text=True).stdout
    return {Path(found) for found in re.findall(r"(?:=> |^\s+)(/\S+) \(", said, re.MULTILINE)}


def _module(name: str) -> bytes:
    path = next(kernel().glob(f"{name}.ko*"))
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def _archive(files: Iterator[tuple[str, int, bytes]]) -> Iterator[bytes]:
    """The format that the kernel unpacks at boot ("newc"): a folder comes before what is in it."""
    made: set[Path] = set()
    for name, changed, content in files:
        for folder in reversed(Path(name).parents):
            if folder not in made:
                made.add(folder)
                yield _entry(str(folder), stat.S_IFDIR, 0, b"")
        yield _entry(name, stat.S_IFREG, changed, content)
    yield _entry("TRAILER!!!", 0, 0, b"")


def _entry(name: str, kind: int, changed: int, content: bytes) -> bytes:
    encoded = name.lstrip("/").encode() + b"\0"
    numbers = (0, kind | 0o755, 0, 0, 1, changed, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % number for number in numbers) + encoded
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)
