"""Start-up of a command: signals end it cleanly, large libraries load on first use."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib.util
import os
import signal
import sys
import threading
from types import FrameType, ModuleType
from typing import Any

STOPS = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP, handled like Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def stop_in_order() -> None:
    """Treat SIGTERM and SIGHUP like Ctrl-C. A signal that is ignored (nohup) stays ignored."""
    for number in STOPS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, _: FrameType | None) -> None:
    if number == signal.SIGHUP:
        _leave_terminal()
    raise Stopped(number)


def _leave_terminal() -> None:
    """Send output to /dev/null: writing to a closed terminal fails and would abort the stop."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            if os.isatty(stream) or not _writable(stream):
                os.dup2(nowhere, stream)
        os.close(nowhere)


def _writable(stream: int) -> bool:
    try:
        os.write(stream, b"")
    except OSError:
        return False
    return True


def end(stop: KeyboardInterrupt) -> int:
    """Say that a command was interrupted; returns its exit status, as shells count it."""
    with contextlib.suppress(OSError):
        print("interrupted", file=sys.stderr)
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


LARGE = (
    "asyncio",
    "concurrent.futures",
    "msgspec",
    "networkx",
    "numpy",
    "polars",
    "pyarrow",
    "streambed.declare.stream2gym.reader",
    "streambed.declare.yaml.writer",
    "streambed.judge.engine",
    "streambed.judge.reading",
    "streambed.kinds.evidence.group_journeys",
    "streambed.kinds.evidence.log_facts",
    "streambed.kinds.evidence.log_rows",
    "streambed.record.handed_in",
    "streambed.record.ledger.broker_files",
    "streambed.record.ledger.schemas",
    "streambed.record.parquet_files",
    "streambed.record.tables",
    "streambed.results.frames",
    "streambed.results.runs",
    "streambed.results.why.journey",
    "tarfile",
    "urllib.request",
    "webbrowser",
)


ALLOCATIONS = 200_000
"""Allocations between garbage collections. Imports free little: collecting often is wasted."""


_loading = threading.RLock()


class LateModule(ModuleType):
    """A module that loads itself on first access to an attribute.

    Python's own LazyLoader also loads on a second `import` of the module.
    """

    def __getattr__(self, name: str) -> Any:
        with _loading:  # Another thread waits until the module is whole.
            if vars(self).setdefault("__late__", True):
                self.__late__ = False
                self._load()
        # Python's own lookup, which also asks a `__getattr__` of the module.
        return ModuleType.__getattribute__(self, name)

    def _load(self) -> None:
        spec = self.__spec__
        assert spec and spec.loader
        # Until now it had no __path__: importing a submodule must load the package first.
        if spec.submodule_search_locations is not None:
            self.__path__ = spec.submodule_search_locations
        spec.loader.exec_module(self)
        self.__class__ = ModuleType  # type: ignore[assignment]


def load_when_used(names: tuple[str, ...] = LARGE) -> None:
    """Put modules in place that load themselves on first access to an attribute.

    A check's keys and its judging are in one module: reading a declaration would import half a
    second of libraries for commands that read no record, and for a run before it begins.
    """
    gc.set_threshold(ALLOCATIONS)
    atexit.register(gc.freeze)  # No last collection: the kernel frees memory faster.
    for name in names:
        spec = None if name in sys.modules else importlib.util.find_spec(name)
        if not spec or not spec.loader:
            continue
        module = LateModule(name)
        module.__spec__ = spec
        module.__loader__ = spec.loader
        module.__file__ = spec.origin
        sys.modules[name] = module
        package, _, child = name.rpartition(".")
        if package:
            setattr(sys.modules[package], child, module)
