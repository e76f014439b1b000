"""A host: a thread that moved into namespaces of its own. What it calls, opens or starts is inside."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from streambed.errors import WorldError
from streambed.net import syscalls
from streambed.net.syscalls import CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWUTS

Answer = TypeVar("Answer")
Counters = tuple[str, int, int, int, int]
"""Interface, bytes received, bytes sent, packets received, packets sent."""

TMP = Path("/tmp")
TMP_LIMIT = "size=2g"
_NAMES = Path("/etc/hosts")
_NET_SETTINGS = {
    "ipv4/conf/all/rp_filter": "0",  # Links have no numbers: a packet may well come by another way than the answer goes.
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/fib_multipath_hash_policy": "1",  # Connections are spread over several routes, not pairs of hosts.
    "ipv4/tcp_rmem": "4096 131072 67108864",  # The usual 6 MB would be the limit of a long fast link.
    "ipv4/tcp_wmem": "4096 16384 67108864",
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
}
_SWITCH_SETTINGS = {"ipv4/ip_forward": "1"}
_OPTIONAL = {"ipv6", "fib_multipath_hash_policy"}
"""A kernel without IPv6 has nothing to switch off, and one without routes by several ways refuses them itself."""


@dataclass(frozen=True, kw_only=True)
class Furniture:
    """What the hosts of a network find in their file system."""

    names: Path
    """Seen as /etc/hosts."""
    scratch: Path | None = None
    """A folder with one folder per host, seen as its /tmp; None for one in memory."""
    kept: tuple[Path, ...] = ()
    """Entries of the machine's /tmp that stay visible."""


class Host:
    """A network, mount and name namespace, and the thread that lives there until `close`."""

    def __init__(self, name: str, *, switch: bool = False, furniture: Furniture | None = None) -> None:
        self.name = name
        self._switch = switch
        self._furniture = furniture
        self._closed = False
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._live, name=f"host {name}", daemon=True)
        self._thread.start()
        self.namespace, self._counters = self.call(self._settle)

    def call(self, function: Callable[[], Answer]) -> Answer:
        """Call `function` inside the host; return or raise what it does. Calls wait for each other: keep them short.

        Threads and processes that it starts live inside too.
        """
        if threading.current_thread() is self._thread:
            return function()
        return self.begin(function).result()

    def begin(self, function: Callable[[], Answer]) -> Future[Answer]:
        """Call `function` inside the host without waiting for it."""
        if self._closed:
            raise WorldError(f"the host {self.name} is closed")
        future: Future[Answer] = Future()
        self._work.put(lambda: _fulfil(future, function))
        return future

    def counters(self) -> list[Counters]:
        """What every interface but the loopback has carried; may be called from any thread."""
        return parse_counters(os.pread(self._counters, 1 << 20, 0).decode())

    def close(self) -> None:
        """Leave: the kernel removes the host's network once no process lives in it."""
        if not self._closed:
            self._closed = True
            self._work.put(None)
            self._thread.join()
            os.close(self.namespace)
            os.close(self._counters)

    def _live(self) -> None:
        while work := self._work.get():
            work()

    def _settle(self) -> tuple[int, int]:
        """Runs in the thread. /proc/self would be the whole process, so it is /proc/thread-self throughout."""
        syscalls.unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS)
        socket.sethostname(self.name)
        for setting, value in (_NET_SETTINGS | (_SWITCH_SETTINGS if self._switch else {})).items():
            _set(Path("/proc/sys/net", setting), value)
        if self._furniture:
            syscalls.bind(str(self._furniture.names), _NAMES)
            _own_tmp(self._furniture, self.name)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC), os.open(
            "/proc/thread-self/net/dev", os.O_RDONLY | os.O_CLOEXEC
        )


def parse_counters(text: str) -> list[Counters]:
    """The lines of /proc/net/dev without its two headings and the loopback."""
    rows = [line.replace(":", " ").split() for line in text.splitlines()[2:]]
    return [(row[0], int(row[1]), int(row[9]), int(row[2]), int(row[10])) for row in rows if row[0] != "lo"]


def _fulfil(future: Future[Answer], function: Callable[[], Answer]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # Whatever it is, it belongs to the caller, not to this thread.
        future.set_exception(error)


def _set(path: Path, value: str) -> None:
    if path.exists() or not _OPTIONAL & set(path.parts):
        path.write_text(value)


def _own_tmp(furniture: Furniture, name: str) -> None:
    """A /tmp of its own over the machine's; what is kept is taken hold of first, because it vanishes from sight."""
    held = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC), path.is_dir()) for path in furniture.kept]
    if furniture.scratch:
        folder = furniture.scratch / name
        folder.mkdir(parents=True, exist_ok=True)
        syscalls.bind(str(folder), TMP)
    else:
        syscalls.mount("tmpfs", TMP, kind="tmpfs", flags=syscalls.MS_NOSUID | syscalls.MS_NODEV, options=f"mode=1777,{TMP_LIMIT}")
    for path, descriptor, is_folder in held:
        path.mkdir() if is_folder else path.touch()
        syscalls.bind(f"/proc/thread-self/fd/{descriptor}", path)
        os.close(descriptor)
