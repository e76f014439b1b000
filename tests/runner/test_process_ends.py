"""What happens to a process that ends unexpectedly."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from streambed.plan import OnExit, PlannedFile, ProcessSpec
from streambed.record.events import Event
from streambed.runner.process import LiveProcess, _write_file
from tests.support.bare_world import FakeHost


def process(folder: Path, on_exit: OnExit) -> LiveProcess:
    (folder / "logs").mkdir()
    spec = ProcessSpec(name="job", component="job", node="a", argv=("sleep", "60"), on_exit=on_exit)
    recorded: list[Event] = []
    return LiveProcess(spec, FakeHost(), folder, recorded.append)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("on_exit", "before", "after"),
    [
        ("auto", False, True),
        ("fail", False, False),
        ("record", False, False),
        ("restart", True, True),
    ],
)
def test_by_default_a_process_restarts_only_after_a_fault_killed_it(
    tmp_path: Path, on_exit: OnExit, before: bool, after: bool
) -> None:
    job = process(tmp_path, on_exit)
    job.start()
    assert job.restarts is before

    heal = job.kill()
    heal()
    try:
        assert job.restarts is after
    finally:
        job.kill_and_reap()


def test_a_process_that_keeps_ending_is_not_restarted_for_ever(tmp_path: Path) -> None:
    job = process(tmp_path, "restart")
    job.incarnation = 11

    assert not job.restarts


def test_a_folder_is_copied_without_the_socket_that_a_killed_server_left(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "table").write_text("rows")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(source / "server.socket"))

    _write_file(PlannedFile(path=str(tmp_path / "copy"), source=str(source)))

    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["table"]
