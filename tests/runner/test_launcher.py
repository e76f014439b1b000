"""The launcher: what it prepares and refuses, and what is written however the box ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from streambed import plan as plans
from streambed.declare import reading
from streambed.errors import WorldError
from streambed.plan import Machine
from streambed.record.event_log import read_events
from streambed.record.events import TableDamaged
from streambed.record.history import read_table
from streambed.record.ledger.schemas import SAMPLES
from streambed.record.status import begin, conclude
from streambed.record.tables import Table
from streambed.runner import launcher
from tests.support.bare_world import small_plan
from tests.support.fake_launcher import SMALL


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(launcher, "LOOK_S", 0.002)


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "examine", lambda: Machine(java="java", python="python"))
    (tmp_path / "small.yaml").write_text(SMALL)
    return reading.read(tmp_path / "small.yaml").experiment


@pytest.fixture
def decided(tmp_path):
    """A plan without components: nothing is needed for it."""
    return small_plan(tmp_path / "runs" / "small" / "20260101-000000")


@pytest.fixture
def box(monkeypatch):
    """Replaces the box: a shell script, which sees its run's folder as $0."""

    def install(script, concluded=None):
        def start(directory, plan):
            command = ["sh", "-c", script, str(directory)]
            started = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
            begin(directory, started.pid)
            if concluded:
                conclude(directory, *concluded)
            return started

        monkeypatch.setattr(launcher, "_start_box", start)

    return install


def test_a_run_gets_a_folder_by_its_experiment_and_time_that_is_not_made_yet(experiment, tmp_path):
    plan = launcher.prepare(experiment, base=tmp_path, into=tmp_path / "runs")

    folder = Path(plan.directory)
    assert folder.parent == tmp_path / "runs" / "small"
    assert not folder.exists()
    assert len(plan.processes) == 2


def test_runs_that_begin_in_the_same_second_get_numbers(experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher.time, "strftime", lambda form: "20260101-000000")
    names = []
    for _ in range(3):
        plan = launcher.prepare(experiment, base=tmp_path, into=tmp_path)
        Path(plan.directory).mkdir(parents=True)
        names.append(Path(plan.directory).name)

    assert names == ["20260101-000000", "20260101-000000-2", "20260101-000000-3"]


def test_notes_on_a_declaration_come_after_those_of_the_planner(experiment, tmp_path):
    before = launcher.prepare(experiment, base=tmp_path, into=tmp_path).notes

    plan = launcher.prepare(experiment, base=tmp_path, into=tmp_path, notes=("converted",))

    assert plan.notes == (*before, "converted")


def test_a_folder_that_cannot_be_made_is_refused_with_another_way(decided, tmp_path):
    (tmp_path / "runs").write_text("a file is in the way")

    with pytest.raises(WorldError, match=r"cannot be made: Not a directory.*--into"):
        launcher.launch(decided)


def test_a_disk_without_room_is_refused_and_no_folder_stays(decided, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5 << 20))

    with pytest.raises(WorldError, match=r"is full: 5 MiB free, a run needs 64 MiB.*--into"):
        launcher.launch(decided)
    assert not Path(decided.directory).exists()


def test_plan_declaration_and_versions_are_written_before_the_box_starts(decided, box, tmp_path):
    box('ls "$0" > "$0/logs/seen"', concluded=("finished", ""))

    run = launcher.launch(decided, text="version: 1\n")

    seen = (run.directory / "logs" / "seen").read_text().split()
    assert {"plan.json", "experiment.yaml", "versions.json", "history", "gates"} <= set(seen)
    assert (run.directory / "experiment.yaml").read_text() == "version: 1\n"
    assert plans.read(run.directory / "plan.json") == decided
    assert json.loads((run.directory / "versions.json").read_text())["streambed"] == "0.1.0"
    assert (tmp_path / "runs" / "small" / "latest").resolve() == run.directory


def test_a_declaration_from_python_is_written_as_it_was_understood(decided, box):
    box("exit 0", concluded=("finished", ""))

    run = launcher.launch(decided)

    assert json.loads((run.directory / "experiment.yaml").read_text()) == decided.declaration


def test_the_newest_run_is_the_latest(decided, box):
    box("exit 0", concluded=("finished", ""))
    launcher.launch(decided)
    newer = Path(decided.directory).with_name("20260101-000001")

    launcher.launch(replace(decided, directory=str(newer)))

    assert os.readlink(newer.parent / "latest") == newer.name
    assert sorted(path.name for path in newer.parent.iterdir()) == [
        "20260101-000000",
        "20260101-000001",
        "latest",
    ]


def test_what_the_box_concluded_stays(decided, box):
    box("exit 3", concluded=("failed", "kafka was not ready"))

    run = launcher.launch(decided)

    assert (run.state, run.reason) == ("failed", "kafka was not ready")


@pytest.mark.parametrize(("script", "status"), [("kill -9 $$", "-9"), ("exit 1", "1")])
def test_a_box_that_dies_silently_leaves_a_broken_run(decided, box, script, status):
    box(script)

    run = launcher.launch(decided)

    assert (run.state, run.reason) == ("broken", f"the box was killed (status {status})")


def test_a_box_that_dies_on_a_full_disk_is_explained_by_it(decided, box, monkeypatch):
    monkeypatch.setattr(launcher, "full_disk", lambda directory: "the disk is full")
    box("exit 1")

    assert launcher.launch(decided).reason == "the disk is full"


def test_a_box_that_is_terminated_before_it_listens_was_interrupted_by_the_user(decided, box):
    box("kill -TERM $$")

    run = launcher.launch(decided)

    assert (run.state, run.reason) == ("interrupted", "interrupted by the user")


def interrupt_once():
    """A look at the run that is cut short by Ctrl-C the first time."""
    looks = []

    def look(run):
        looks.append(run)
        if len(looks) == 1:
            raise KeyboardInterrupt

    return look


def test_ctrl_c_asks_the_box_to_end_in_order(decided, box):
    box("exec sleep 60")

    run = launcher.launch(decided, on_look=interrupt_once())

    assert run.state == "interrupted"


def test_a_box_that_does_not_end_after_ctrl_c_is_killed(decided, box, monkeypatch):
    monkeypatch.setattr(launcher, "END_S", 0.05)
    box("trap '' TERM; touch \"$0/logs/up\"; while :; do sleep 0.01; done")
    up = Path(decided.directory) / "logs" / "up"

    def look(run):
        if up.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launcher.launch(decided, on_look=look)

    assert Path(decided.directory, "status.json").exists()
    state = json.loads(Path(decided.directory, "status.json").read_text())
    assert (state["state"], state["reason"]) == ("broken", "the box was killed (status -9)")
    assert not Path(f"/proc/{state['pid']}").exists()


def test_a_view_that_fails_ends_the_box_too(decided, box):
    box("read line; exit 5")  # As the box does: it ends when its input is closed.

    def look(run):
        raise RuntimeError("the terminal is gone")

    with pytest.raises(RuntimeError, match="the terminal is gone"):
        launcher.launch(decided, on_look=look)

    state = json.loads(Path(decided.directory, "status.json").read_text())
    assert state["reason"] == "the box was killed (status 5)"


def test_the_view_looks_once_more_after_the_end(decided, box):
    box("exit 0", concluded=("finished", ""))
    states = []

    launcher.launch(decided, on_look=lambda run: states.append(run.state))

    assert states[-1] == "finished"
    assert len(states) >= 2


def test_tables_are_kept_as_parquet_after_the_end(decided, box, tmp_path):
    with Table(tmp_path / "samples.arrow", SAMPLES) as table:
        table.append(1, "sent_total", "poet", 3.0)
    box(f'cp {tmp_path}/samples.arrow "$0/history"', concluded=("finished", ""))

    run = launcher.launch(decided)

    assert [path.name for path in (run.directory / "history").glob("samples*")] == [
        "samples.parquet"
    ]
    assert read_table(run.directory, "samples")["value"].to_list() == [3.0]


def test_tables_of_a_broken_run_are_kept_too(decided, box, tmp_path):
    with Table(tmp_path / "samples.arrow", SAMPLES) as table:
        table.append(1, "sent_total", "poet", 3.0)
    box(f'cp {tmp_path}/samples.arrow "$0/history"; kill -9 $$')

    run = launcher.launch(decided)

    assert run.state == "broken"
    assert (run.directory / "history" / "samples.parquet").exists()


def test_a_damaged_table_stays_as_it_is_and_is_an_event_of_the_run(decided, box):
    box('echo nonsense > "$0/history/samples.arrow"', concluded=("finished", ""))

    run = launcher.launch(decided)

    (event,) = read_events(run.directory)
    assert isinstance(event, TableDamaged)
    assert event.file == "history/samples.arrow"
    assert (run.directory / "history" / "samples.arrow").exists()


def test_a_run_during_another_says_so(decided, box):
    box("exit 0", concluded=("finished", ""))

    with launcher._register_active_run("other"):
        run = launcher.launch(decided)

    (note,) = plans.read(run.directory / "plan.json").notes
    assert note.startswith("another run is active (other): they share the CPU")


def test_a_run_that_was_killed_is_no_longer_active(decided, tmp_path):
    with launcher._register_active_run("one") as others:
        assert others == []
    left = tmp_path / "cache" / "active" / "123-456"
    left.write_text("killed")

    with launcher._register_active_run("two") as others:
        assert others == []
    assert not left.exists()


def test_a_signal_other_than_sigterm_is_not_the_users(decided, box):
    box("kill -INT $$; exec sleep 0")

    run = launcher.launch(decided)

    assert run.state == "broken"
    assert f"status {-signal.SIGINT}" in run.reason
