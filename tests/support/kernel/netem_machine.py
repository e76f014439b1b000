"""A small machine whose kernel has netem: an emulated processor, a kernel from the cache, and an
archive of files as its disk.

    this Python, streambed, box.py … ── archive ──▶ qemu: netem_init.py
                      plan, result ◀── serial port, one line each ──▶ ┘

One boot serves all measurements. Its clock is right but its processor slow: good for what is done,
not for how fast.
"""

from __future__ import annotations

import functools
import json
import lzma
import os
import re
import select
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pydantic
from pydantic import TypeAdapter

import streambed
from streambed import artifacts
from streambed.plan import Plan

QEMU = "qemu-system-x86_64"
BOOT_LIMIT_S = 120
ANSWER_LIMIT_S = 90
MEMORY_MIB = 1024
MODULES = ("act_mirred", "cls_matchall", "ifb", "sch_ingress", "sch_netem", "sch_tbf", "veth")
PACKAGES = (
    "annotated_types",
    "msgspec",
    "pydantic",
    "pydantic_core",
    "typing_extensions.py",
    "typing_inspection",
)
_NOT_NEEDED = re.compile(
    r"(test|site-packages|dist-packages|config-|idlelib|tkinter|turtledemo|ensurepip|lib2to3|distutils|pydoc_data"
    r"|_tkinter|_sqlite3|_ssl|_hashlib|_curses|_test|_codecs_).*|.*\.opt-\d\.pyc|.*\.a"
)
_HERE = Path(__file__).parent
_HOME = "/machine"


def kernel() -> Path:
    """The folder in which scripts/setup keeps the kernel and its modules."""
    return artifacts.cache() / "netem_machine"


def lacks() -> str:
    """Why there can be no such machine; empty if there can."""
    if os.uname().machine != "x86_64":
        return "the machine with netem is for x86_64 alone"
    if not shutil.which(QEMU):
        return f"no {QEMU}: install qemu-system-x86, or let scripts/setup do it"
    whole = _vmlinuz().exists() and all(any(kernel().glob(f"{name}.ko*")) for name in MODULES)
    return (
        "" if whole else f"no kernel with netem in {kernel()}: scripts/setup can unpack one there"
    )


class NetemMachine:
    """A machine that boots; the first request waits until it has booted."""

    def __init__(self, process: subprocess.Popen[bytes], console: Path) -> None:
        self._process = process
        self._console = console

    @functools.cached_property
    def examined(self) -> dict[str, Any]:
        """What it says of itself when it has booted."""
        return self._answer(BOOT_LIMIT_S)

    def measure(self, plan: Plan, name: str, *, user: int = 0) -> dict[str, Any]:
        """What a fresh box found there, by netem."""
        assert self.examined
        there = replace(plan, machine=replace(plan.machine, means="netem"))
        self._write(
            json.dumps(
                {
                    "plan": TypeAdapter(Plan).dump_python(there, mode="json"),
                    "measure": name,
                    "user": user,
                }
            )
        )
        measured = self._answer(ANSWER_LIMIT_S)
        assert "error" not in measured, measured["error"]
        return measured

    def _write(self, line: str) -> None:
        assert self._process.stdin
        with suppress(
            BrokenPipeError
        ):  # It is off: waiting for the answer fails with the last output.
            self._process.stdin.write(line.encode() + b"\n")

    def _answer(self, limit_s: float) -> dict[str, Any]:
        assert self._process.stdout
        came, _, _ = select.select([self._process.stdout], [], [], limit_s)
        last_lines = self._console.read_text()[-2000:]
        assert came, f"the machine with netem said nothing for {limit_s} s: {last_lines}"
        line = self._process.stdout.readline()
        if not line:  # No assertion: a busy host is no excuse for that.
            raise RuntimeError(f"the machine with netem is off: {last_lines}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def booted(folder: Path) -> Iterator[NetemMachine]:
    """Begin to boot one, with its files in `folder`; it is off after the block."""
    image, console = folder / "archive", folder / "console"
    with image.open("wb") as file:
        file.writelines(_archive(_contents()))
    argv = [
        QEMU,
        "-accel",
        "tcg",
        "-cpu",
        "max",
        "-smp",
        "1",
        "-m",
        str(MEMORY_MIB),
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
    ]
    argv += [
        "-serial",
        f"file:{console}",
        "-serial",
        "stdio",
        "-initrd",
        str(image),
        "-kernel",
        str(_vmlinuz()),
    ]
    argv += [
        "-append",
        f"console=ttyS0 quiet panic=-1 PYTHONPATH={_HOME}:{_HOME}/packages rdinit={_interpreter()} "
        "-- -m tests.support.kernel.netem_init",
    ]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        try:
            yield NetemMachine(process, console)
        finally:
            process.kill()
            image.unlink()


def _vmlinuz() -> Path:
    return kernel() / "vmlinuz"


def _interpreter() -> Path:
    return Path(sys.executable).resolve()


def _contents() -> Iterator[tuple[str, int, bytes]]:
    """Path, time of change and content of every file."""
    standard = Path(sysconfig.get_path("stdlib"))
    packages = Path(pydantic.__file__).parents[1]
    files = {str(path): path for path in (_interpreter(), *_files(standard))}
    files |= {
        f"{_HOME}/packages/{path.relative_to(packages)}": path
        for name in PACKAGES
        for path in _files(packages / name)
    }
    source = Path(streambed.__file__).parents[1]
    files |= {f"{_HOME}/{path.relative_to(source)}": path for path in _files(source / "streambed")}
    programs = [_HERE / name for name in ("netem_init.py", "box.py", "streams.py")]
    programs += _HERE.glob("*measures.py")
    packages_of_tests = [folder / "__init__.py" for folder in (_HERE, *_HERE.parents[:2])]
    root = _HERE.parents[2]
    files |= {f"{_HOME}/{path.relative_to(root)}": path for path in (*programs, *packages_of_tests)}
    files |= {
        str(library): library
        for library in _libraries([path for path in files.values() if ".so" in path.name])
    }
    for name, path in files.items():
        yield name, int(path.stat().st_mtime), path.read_bytes()
    for number, name in enumerate(MODULES):
        yield f"{_HOME}/modules/{number}-{name}.ko", 0, _module(name)
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
    output = subprocess.run(
        ["ldd", _interpreter(), *binaries], capture_output=True, text=True
    ).stdout
    return {
        Path(measured) for measured in re.findall(r"(?:=> |^\s+)(/\S+) \(", output, re.MULTILINE)
    }


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
