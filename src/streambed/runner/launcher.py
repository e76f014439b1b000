"""The launcher: prepares a run's folder, starts the box and waits for its end.

It stays outside all namespaces.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from streambed import artifacts, plan
from streambed.declare.experiment import Experiment
from streambed.errors import WorldError
from streambed.kinds.tables import needs_of
from streambed.net import machine
from streambed.plan import Machine, Plan
from streambed.planner.existing import existing_address, refuse_what_needs_a_box
from streambed.planner.planner import plan_for
from streambed.record import FOLDERS, history, wait_until
from streambed.record.event_log import append_event
from streambed.record.status import BY_USER, begin, conclude, full_disk
from streambed.results.runs import RUNS, Run
from streambed.runner.cgroups import caps, hierarchies
from streambed.runner.own_address import own_address
from streambed.runner.visits.exposure import listen_on_ports

FREE_BYTES_MIN = 64 << 20
LOOK_S = 0.1
END_S = 10.0
VERSIONS = ("streambed", "pyspark", "confluent-kafka", "pyarrow", "polars")


def examine() -> Machine:
    """This machine, what it can emulate, and the Java that runs will use."""
    this_machine = machine.examine(artifacts.cache() / "machine.json")
    java, groups = artifacts.find_java(), hierarchies.find()
    return replace(
        this_machine,
        java=str(java.path),
        java_version=java.version,
        java_build=java.build,
        python=sys.executable,
        python_path=os.environ.get("PYTHONPATH", ""),
        cpu_groups=groups["cpu"],
        memory_groups=groups["memory"],
        notes=(*this_machine.notes, *java.notes),
    )


def prepare(
    experiment: Experiment, *, base: Path, into: Path = RUNS, notes: tuple[str, ...] = ()
) -> Plan:
    """Plan a run without making anything. `notes` on the declaration are added to the plan."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    directory = into.absolute() / experiment.name / stamp
    number = 2
    while directory.exists():
        directory = directory.with_name(f"{stamp}-{number}")
        number += 1
    decided = plan_for(
        experiment,
        examine(),
        base=base,
        directory=directory,
        own_address=_own_address(experiment),
    )
    return replace(decided, notes=(*decided.notes, *notes))


def _own_address(experiment: Experiment) -> str:
    """This machine's address for a run on existing clusters; empty for a run inside a box."""
    cluster = existing_address(experiment)
    if not cluster:
        return ""
    # A user whose experiment needs a box should learn that first, not that a name is unknown.
    refuse_what_needs_a_box(experiment)
    return own_address(cluster)


def launch(
    decided: Plan, *, text: str = "", on_look: Callable[[Run], None] = lambda run: None
) -> Run:
    """Carry out a plan and wait for its end; `on_look` is called ten times a second.

    Ctrl-C stops the run in an orderly way.
    """
    kinds = {component["kind"] for component in decided.declaration["components"].values()}
    for need in needs_of(sorted(kinds)):
        artifacts.demand(need)
    directory = Path(decided.directory)
    with (
        caps.apply_caps(decided) as capped,
        listen_on_ports(capped) as listened,
        _register_active_run(decided.name) as others,
    ):
        _make_folder(directory)
        concurrent = [
            f"another run is active ({other}): they share the CPU, so neither can be compared "
            "with a run alone"
            for other in others
        ]
        notes = (*decided.notes, *concurrent)
        _write_files(directory, replace(listened, notes=notes), text)
        box = _start_box(directory, listened)
        run = Run(directory)
        try:
            _await_end(box, lambda: on_look(run))
        finally:
            _end(box, directory)
            on_look(run)
    if run.state != "running":
        _keep_tables(directory)
    return run


def _keep_tables(directory: Path) -> None:
    recorded = history.keep_as_parquet(directory)
    with contextlib.suppress(OSError):  # The disk is full: the state of the run says so.
        for event in recorded:
            append_event(directory, event)


def _make_folder(directory: Path) -> None:
    try:
        for name in FOLDERS:
            (directory / name).mkdir(parents=True)
    except OSError as error:
        raise WorldError(
            f"the run's folder {directory} cannot be made: {error.strerror}. Give another place "
            "with --into"
        ) from error
    free = shutil.disk_usage(directory).free
    if free < FREE_BYTES_MIN:
        shutil.rmtree(directory)
        raise WorldError(
            f"the disk that holds {directory.parent} is full: {free >> 20} MiB free, a run needs "
            f"{FREE_BYTES_MIN >> 20} MiB at least. "
            "Free some space, or run with --into on another disk"
        )


def _write_files(directory: Path, decided: Plan, text: str) -> None:
    plan.write(decided, directory / "plan.json")
    (directory / "experiment.yaml").write_text(text or json.dumps(decided.declaration, indent=1))
    versions = {name: importlib.metadata.version(name) for name in VERSIONS}
    versions |= {
        "python": sys.version.split()[0],
        "java": decided.machine.java_build,
        "kernel": decided.machine.kernel,
    }
    (directory / "versions.json").write_text(json.dumps(versions, indent=1))
    latest = directory.parent / "latest"
    part = directory.parent / f".latest-{directory.name}"
    part.symlink_to(directory.name)
    os.replace(part, latest)


def _start_box(directory: Path, decided: Plan) -> subprocess.Popen[bytes]:
    """The box ends when the pipe to its stdin closes; in a new session it gets no Ctrl-C."""
    with (directory / "logs" / "box.log").open("wb") as log:
        box = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "streambed.runner.box",
                str(directory / "plan.json"),
                "outside" if decided.outside else "inside",
                *caps.groups_of(decided),
            ],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[exposure.descriptor for exposure in decided.exposures],
        )
    begin(directory, box.pid)
    return box


def _await_end(box: subprocess.Popen[bytes], look: Callable[[], None]) -> None:
    """Wait for the end of the box. A first Ctrl-C asks for an orderly stop, a second kills it."""

    def ended() -> bool:
        look()
        return box.poll() is not None

    try:
        while not wait_until(ended, limit_s=3600, step_s=LOOK_S):
            pass
    except KeyboardInterrupt:
        box.send_signal(signal.SIGTERM)
        wait_until(ended, limit_s=END_S, step_s=LOOK_S)


def _end(box: subprocess.Popen[bytes], directory: Path) -> None:
    assert box.stdin
    box.stdin.close()
    try:
        status = box.wait(END_S)
    except subprocess.TimeoutExpired:
        box.kill()
        status = box.wait()
    # On a full disk the status cannot be written; readers then see that the process is gone.
    with contextlib.suppress(OSError):
        if status == -signal.SIGTERM:  # It had no signal handler yet.
            conclude(directory, *BY_USER)
        else:
            reason = full_disk(directory) or f"the box was killed (status {status})"
            conclude(directory, "broken", reason)


@contextlib.contextmanager
def _register_active_run(name: str) -> Iterator[list[str]]:
    """Hold a lock during the block; yields the names of this user's other active runs."""
    folder = artifacts.cache() / "active"
    folder.mkdir(parents=True, exist_ok=True)
    mine = folder / f"{os.getpid()}-{time.monotonic_ns()}"
    with mine.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(name)
        lock.flush()
        try:
            yield [other for path in folder.iterdir() if path != mine and (other := _holder(path))]
        finally:
            mine.unlink()


def _holder(path: Path) -> str:
    """The run that holds a lock; a file left by a killed launcher is removed."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
    except BlockingIOError:
        return path.read_text() or "another experiment"
    except FileNotFoundError:
        pass
    return ""
