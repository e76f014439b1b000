"""A host: a network namespace, and a thread inside it with separate mount and UTS namespaces.

The network is made at once, by any thread. The host's thread starts when something is first called
inside: of a thousand hosts most may run nothing.
"""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from streambed.errors import MachineError, WorldError
from streambed.net import confinement, syscalls
from streambed.net.netlink.netlink import Channel, Request
from streambed.net.syscalls import CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWUTS

Result = TypeVar("Result")

TMP = Path("/tmp")
TMP_LIMIT = "size=2g"
VISITORS_MAX = 64
DESCRIPTORS_PER_NODE, DESCRIPTORS_PER_LINK = 4, 2
"""Open files: of a node its namespace, channel, counters and perhaps a process to watch; of a link
the sockets that calibrate it.
"""
DESCRIPTORS_SPARE = 512
_COUNTERS_BYTES = 1 << 20
_NAMES = Path("/etc/hosts")
_NET_SETTINGS = {
    # Links have no addresses: a packet may arrive by another link than its answer takes.
    "ipv4/conf/all/rp_filter": b"0",
    "ipv4/conf/default/rp_filter": b"0",
    # The default of 6 MB would limit a long fast link.
    "ipv4/tcp_rmem": b"4096 131072 67108864",
    "ipv4/tcp_wmem": b"4096 16384 67108864",
}
_SWITCH_SETTINGS = {"ipv4/ip_forward": b"1"}
_OPTIONAL_SETTINGS = {
    "ipv6/conf/all/disable_ipv6": b"1",  # A kernel without IPv6 has nothing to switch off.
    # Connections are spread over several routes, not pairs of hosts.
    "ipv4/fib_multipath_hash_policy": b"1",
}


@dataclass(frozen=True, kw_only=True)
class HostFiles:
    """The files that all hosts of a network see."""

    names: Path
    """Seen as /etc/hosts."""
    scratch: Path | None = None
    """A folder with one folder per host, seen as its /tmp; None for one in memory."""
    visible: tuple[Path, ...] = ()
    """Entries of the machine's /tmp that stay visible."""
    writable: tuple[Path, ...] | None = None
    """Folders that programs may write to besides their /tmp, if root runs them; None: all that the
    user may.
    """
    group_files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    """By host, the files by which its processes join control groups."""


class Host:
    """A separate network until `close`."""

    def __init__(
        self, name: str, *, switch: bool = False, host_files: HostFiles | None = None
    ) -> None:
        """Make it. The calling thread is in its network afterwards."""
        self.name = name
        self._host_files = host_files
        self._closed = False
        self._moving_in = threading.Lock()
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        syscalls.unshare(CLONE_NEWNET)
        _write_settings(_NET_SETTINGS | (_SWITCH_SETTINGS if switch else {}) | _present())
        # /proc/self would be the whole process.
        self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._counters = os.open("/proc/thread-self/net/dev", os.O_RDONLY | os.O_CLOEXEC)
        self._channel = Channel()

    def ask(self, requests: list[Request]) -> None:
        """Change the host's interfaces, addresses, routes or queueing disciplines; may be called
        from any thread.
        """
        self._channel.send(requests)

    def call(self, function: Callable[[], Result]) -> Result:
        """Call `function` inside the host; return or raise what it does. Calls wait for each other:
        keep them short.

        Threads and processes that it starts live inside too.
        """
        if threading.current_thread() is self._thread:
            return function()
        return self.begin(function).result()

    def start(self, begin: Callable[[], Result], *, enters_networks: bool = False) -> Result:
        """Start a program inside the host, without rights over the machine."""
        if self._host_files is None or self._host_files.writable is None:
            return self.call(begin)
        return self.call(lambda: confinement.start_confined(begin, enters_networks=enters_networks))

    def begin(self, function: Callable[[], Result]) -> Future[Result]:
        """Call `function` inside the host without waiting for it."""
        if self._closed:
            raise WorldError(f"the host {self.name} is closed")
        with self._moving_in:
            if not self._thread:
                self._thread = threading.Thread(
                    target=self._live, name=f"host {self.name}", daemon=True
                )
                self._thread.start()
        future: Future[Result] = Future()
        self._work.put((future, function))
        return future

    def counters(self) -> bytes:
        """What every interface has carried, as /proc/net/dev shows it: a page at a time. May be
        called from any thread.
        """
        text = b""
        while page := os.pread(self._counters, _COUNTERS_BYTES, len(text)):
            text += page
        return text

    def close(self) -> None:
        """End the thread; the kernel removes the network once no process uses it."""
        if self._closed:
            return
        self._closed = True
        if self._thread:
            self._work.put(None)
            self._thread.join()
        self._channel.close()
        os.close(self.namespace)
        os.close(self._counters)

    def _live(self) -> None:
        moved_in: Future[None] = Future()
        _fulfil(moved_in, lambda: move_in(self.namespace, self.name, self._host_files))
        while work := self._work.get():
            future, function = work
            if trouble := moved_in.exception():
                future.set_exception(trouble)
            else:
                _fulfil(future, function)


def move_in(namespace: int, name: str, host_files: HostFiles | None) -> None:
    """Let the calling thread live where that network is, with its own name and, if furnished, its
    own file system.
    """
    syscalls.setns(namespace, CLONE_NEWNET)
    syscalls.unshare(CLONE_NEWNS | CLONE_NEWUTS)
    socket.sethostname(name)
    if host_files:
        syscalls.bind(str(host_files.names), _NAMES)
        _own_tmp(host_files, name)
        if host_files.writable is not None:
            confinement.protect_machine(host_files.writable, host_files.group_files.get(name, ()))


def make_room(*, nodes: int, links: int) -> None:
    """Raise the limit of open files for a network of this size; MachineError if not allowed.

    Child processes inherit the limit.
    """
    needed = nodes * DESCRIPTORS_PER_NODE + links * DESCRIPTORS_PER_LINK + DESCRIPTORS_SPARE
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and needed > most:
        raise MachineError(
            f"{nodes} nodes take about {needed} open files, and a process of yours may have {most} "
            "at most (ulimit -Hn): "
            f"raise `nofile` in /etc/security/limits.conf to {needed} or more"
        )
    if now != resource.RLIM_INFINITY and needed > now:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def look_afresh() -> None:
    """Give the calling thread a fresh /proc mount.

    The kernel finds the settings of a network among those of all networks that were seen through
    the same mount, one by one: the thousandth would take ten times as long as the hundredth.
    """
    syscalls.unshare(CLONE_NEWNS)
    syscalls.mount(
        "proc",
        Path("/proc"),
        kind="proc",
        flags=syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC,
    )


def visit(errands: Mapping[Host, Callable[[], Result]]) -> list[Result]:
    """Call a function in the network of each host, all at once; what they return, or the first
    error.

    It is for slow changes in the kernel, such as packet rules. No host's
    thread is needed for it.
    """

    def enter_and_do(host: Host, errand: Callable[[], Result]) -> Result:
        syscalls.setns(host.namespace, CLONE_NEWNET)
        return errand()

    with ThreadPoolExecutor(min(VISITORS_MAX, len(errands) or 1)) as visitors:
        return list(visitors.map(enter_and_do, errands.keys(), errands.values()))


def _fulfil(future: Future[Result], function: Callable[[], Result]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # Any error belongs to the caller, not to this thread.
        future.set_exception(error)


@cache
def _present() -> dict[str, bytes]:
    return {
        setting: value
        for setting, value in _OPTIONAL_SETTINGS.items()
        if os.path.exists(f"/proc/sys/net/{setting}")
    }


def _write_settings(settings: Mapping[str, bytes]) -> None:
    """Plain system calls: file and path objects would take longer than everything else that makes a
    network.
    """
    for setting, value in settings.items():
        descriptor = os.open(f"/proc/sys/net/{setting}", os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, value)
        os.close(descriptor)


def _own_tmp(host_files: HostFiles, name: str) -> None:
    """Mount a separate /tmp over the machine's. Entries that stay visible are opened first, because
    the mount hides them.
    """
    held = [
        (path, os.open(path, os.O_PATH | os.O_CLOEXEC), path.is_dir())
        for path in host_files.visible
    ]
    if host_files.scratch:
        folder = host_files.scratch / name
        folder.mkdir(parents=True, exist_ok=True)
        syscalls.bind(str(folder), TMP)
    else:
        syscalls.mount(
            "tmpfs",
            TMP,
            kind="tmpfs",
            flags=syscalls.MS_NOSUID | syscalls.MS_NODEV,
            options=f"mode=1777,{TMP_LIMIT}",
        )
    for path, descriptor, is_folder in held:
        path.mkdir() if is_folder else path.touch()
        syscalls.bind(f"/proc/thread-self/fd/{descriptor}", path)
        os.close(descriptor)
