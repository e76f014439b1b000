"""Which faults inside processes this machine allows, found out by trying them on a child."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from streambed.errors import StreambedError
from streambed.net.tampering.clocks import SessionClock
from streambed.net.tampering.syncs import Syncs

HOUR_NS = 3600 * 10**9
NEAR_NS = 10**9
_TELL_TIME = """
import sys, time
for line in sys.stdin:
    print(time.time_ns() - time.monotonic_ns(), flush=True)
"""
_SYNC = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for line in sys.stdin:
    try:
        os.fsync(file)
        print(0, flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""


def clock_refusal() -> str:
    """Why the clock of a child cannot be skewed, or be right again; empty if it can."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _TELL_TIME],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            right_ns = _ask(child)
            heal = SessionClock(lambda: [child.pid]).skew(ahead_ns=HOUR_NS, rate=0.0)
            skewed_ns = _ask(child)
            heal()
            healed_ns = _ask(child)
        except (OSError, ValueError, StreambedError) as error:
            return f"clocks of processes cannot be skewed on this machine: {error}"
        finally:
            child.kill()
    if abs(skewed_ns - right_ns - HOUR_NS) > NEAR_NS or abs(healed_ns - right_ns) > NEAR_NS:
        return "clocks of processes cannot be skewed on this machine: a child saw the true time"
    return ""


def sync_refusal() -> str:
    """Why syncs of a child cannot be failed or resumed; empty if they can."""
    if os.uname().machine != "x86_64":
        return f"syncs are reported on x86-64 only, and this is {os.uname().machine}"
    with tempfile.TemporaryDirectory() as folder:
        syncs = Syncs(Path(folder))
        ours, theirs = socket.socketpair()
        with theirs:
            argv = [sys.executable, "-I", "-S", "-c", _SYNC, f"{folder}/file"]
            child = subprocess.Popen(
                syncs.command(argv, theirs.fileno()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                pass_fds=(theirs.fileno(),),
            )
        syncs.supervise(ours)
        with child:
            try:
                heal = syncs.fail()
                failed = _ask(child)
                heal()
                passed = _ask(child)
            except (OSError, ValueError) as error:
                return f"syncs of processes cannot be reported on this machine: {error}"
            finally:
                child.kill()
    if (failed, passed) != (errno.EIO, 0):
        return "syncs of processes cannot be reported on this machine: a child was not stopped"
    return ""


def _ask(child: subprocess.Popen[str]) -> int:
    """The number that the child answers with."""
    assert child.stdin and child.stdout
    child.stdin.write("?\n")
    child.stdin.flush()
    return int(child.stdout.readline())
