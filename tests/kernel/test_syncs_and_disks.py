"""Syncs that take longer, fail, or never came; a disk without space: measured in the process."""

from __future__ import annotations

import statistics
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streambed.plan import ProcessSpec, Shape
from streambed.record import wait_until
from streambed.runner.process import LiveProcess
from tests.support import held_up
from tests.support.bare_world import FakeHost
from tests.support.kernel.boxes import Measure
from tests.support.small_plans import MS, star

pytestmark = pytest.mark.kernel

WRITER = """
import mmap, os, time
appended = os.open("disk/appended", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
reserved = os.open("disk/reserved", os.O_CREAT | os.O_WRONLY)
os.pwrite(reserved, bytes(1 << 16), 0)
index = open("disk/index", "wb+")
index.truncate(4096)
mapped = mmap.mmap(index.fileno(), 4096)
mapped.flush()
open("disk/never", "w").write("never synced")
while True:
    os.write(appended, b"record\\n")
    os.write(reserved, b"edit\\n")
    start = time.monotonic_ns()
    try:
        os.fsync(appended)
        os.fdatasync(reserved)
        error = 0
    except OSError as failure:
        error = failure.errno
    print(error, (time.monotonic_ns() - start) / 2e6, flush=True)
    if os.path.exists("tail"):
        os.write(appended, b"a tail")
        os.write(reserved, b"a tail")
        os.mkdir("written")
        time.sleep(60)
    time.sleep(0.005)
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[LiveProcess]:
    """A process that syncs all the time, and prints the error and the milliseconds of each sync."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "planned").write_text("written before it started")
    spec = ProcessSpec(
        name="writer",
        component="writer",
        node="here",
        argv=(sys.executable, "-c", WRITER),
        cwd=str(tmp_path),
        disk=str(tmp_path / "disk"),
        reports_syncs=True,
    )
    live = LiveProcess(spec, FakeHost(), tmp_path, lambda event, **fields: None)  # type: ignore[arg-type]
    live.start()
    assert wait_until(lambda: len(syncs(live)) > 3, limit_s=5)
    yield live
    live.kill_and_reap()


def syncs(process: LiveProcess) -> list[tuple[int, float]]:
    """The error and the milliseconds of each sync so far."""
    lines = process.log.read_text().split("\n")[:-1]
    return [(int(error), float(took_ms)) for error, took_ms in map(str.split, lines)]


def next_syncs(process: LiveProcess, count: int = 5) -> list[tuple[int, float]]:
    """The next syncs but one, which may have begun already."""
    before = len(syncs(process))
    assert wait_until(lambda: len(syncs(process)) > before + count, limit_s=20)
    return syncs(process)[before + 1 :]


def test_each_sync_takes_longer_until_it_is_healed(writer: LiveProcess) -> None:
    def measure() -> None:
        heal = writer.syncs.slow(100_000_000)
        slow_ms = [took_ms for _, took_ms in next_syncs(writer, 3)]
        heal()
        healed_ms = [took_ms for _, took_ms in next_syncs(writer)]
        assert min(slow_ms) >= 100 and statistics.median(slow_ms) < 130
        assert statistics.median(healed_ms) < 30

    held_up.measure_in_calm(measure)


def test_waiting_syncs_continue_when_the_fault_is_healed(writer: LiveProcess) -> None:
    heal = writer.syncs.slow(60 * 10**9)
    wait_until(lambda: False, limit_s=0.1)
    before = len(syncs(writer))
    heal()

    assert wait_until(lambda: len(syncs(writer)) > before, limit_s=5)


def test_each_sync_fails_with_eio_until_it_is_healed(writer: LiveProcess) -> None:
    heal = writer.syncs.fail()

    assert {error for error, _ in next_syncs(writer)} == {5}
    heal()
    assert {error for error, _ in next_syncs(writer)} == {0}


def supervisors() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "syncs"]


def test_the_supervisor_of_syncs_ends_with_the_process(writer: LiveProcess) -> None:
    assert len(supervisors()) == 1
    writer.kill_and_reap()

    assert wait_until(lambda: not supervisors(), limit_s=5)


def lose_tail(process: LiveProcess, folder: Path, kept_of: Callable[[int], int]) -> dict[str, int]:
    """The sizes of the files after a power failure in which two of them had an unsynced tail."""
    (folder / "tail").touch()
    assert wait_until((folder / "written").exists, limit_s=5)
    process.kill_and_reap()
    lost = process.syncs.files.lose_unsynced(kept_of)
    assert (lost.removed_files, lost.cut_files) == (1, 2)
    return {file.name: file.stat().st_size for file in (folder / "disk").iterdir()}


def test_a_power_failure_cuts_files_to_what_was_synced_and_removes_those_that_never_were(
    writer: LiveProcess, tmp_path: Path
) -> None:
    sizes = lose_tail(writer, tmp_path, lambda tail: 0)

    rounds = len(syncs(writer))
    assert sizes == {
        "planned": len("written before it started"),
        "appended": rounds * len("record\n"),
        "reserved": rounds * len("edit\n"),
        "index": 4096,
    }


def test_a_torn_tail_keeps_a_part_of_what_was_not_synced(
    writer: LiveProcess, tmp_path: Path
) -> None:
    sizes = lose_tail(writer, tmp_path, lambda tail: min(tail, 3))

    assert sizes["appended"] == len(syncs(writer)) * len("record\n") + 3


def test_what_an_earlier_life_did_not_sync_is_lost_later_too(
    writer: LiveProcess, tmp_path: Path
) -> None:
    earlier = tmp_path / "disk" / "earlier"
    earlier.write_text("written by nobody who synced it")
    writer.kill()()
    assert wait_until(lambda: len(syncs(writer)) > 3, limit_s=5)
    writer.kill_and_reap()
    writer.syncs.files.lose_unsynced(lambda tail: 0)

    assert not earlier.exists()


def test_a_full_disk_refuses_a_write_at_once_and_takes_it_again_when_it_is_healed(
    measure: Measure, tmp_path: Path
) -> None:
    found = measure(star(Shape(delay_ns=MS)), "filled_disk")

    assert {when: write["ended"] for when, write in found.items()} == {
        "before": "written",
        "during": "No space left on device",
        "healed once": "No space left on device",
        "after": "written",
    }
    assert found["during"]["took_ms"] < 10
    kept = {file.name: file.stat().st_size for file in (tmp_path / "disk").iterdir()}
    assert kept == {"first": 8192, "third": 8192}, "the files are there after the run"
