"""The launcher: prepares a run's folder, starts the box and waits for its end.

It stays outside all namespaces.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from streambed import artifacts, plan
from streambed.artifacts import Need
from streambed.declare.experiment import Experiment
from streambed.errors import UsageError, WorldError
from streambed.kinds.components.broker import Broker, brokers_among, file_tables
from streambed.kinds.declared_parts import components_of
from streambed.kinds.tables import needs_of
from streambed.net import machine
from streambed.plan import Machine, Plan
from streambed.planner.existing import existing_address, refuse_what_needs_a_box
from streambed.planner.planner import plan_for
from streambed.record import FOLDERS, RUNS, history, wait_until
from streambed.record.event_log import append_event
from streambed.record.events import Event, Note
from streambed.record.secrets import is_secret
from streambed.record.status import BY_USER, begin, conclude, full_disk
from streambed.results import runs
from streambed.runner.cgroups import caps, hierarchies
from streambed.runner.own_address import own_address
from streambed.runner.visits.exposure import listen_on_ports

PRIVATE = 0o700
"""A run's folder may hold secrets of the declaration and of what programs wrote."""
FREE_BYTES_MIN = 64 << 20
LOOK_S = 0.1
END_S = 10.0
PASS = "STREAMBED_PASS"
PASSED = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_.*|TZ|TZDIR|XDG_CACHE_HOME|VIRTUAL_ENV"
    "|CONDA_PREFIX|LD_LIBRARY_PATH|(_?JAVA|JDK|PYTHON|PYSPARK|SPARK|HADOOP|KAFKA|STREAMBED)_?.*"
    "|(OMP|OPENBLAS|MKL|MALLOC|COVERAGE|COV_CORE)_.*"
)
"""Variables that programs may need to run at all."""
VERSIONS = ("streambed", "pyspark", "confluent-kafka", "pyarrow", "polars")


def examine() -> Machine:
    """This machine, what it can emulate, and the Java that runs will use."""
    this_machine = machine.examine(artifacts.make_cache() / "machine.json")
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
    while os.path.lexists(directory):  # False for a folder that may not be read: see _make_folder.
        directory = directory.with_name(f"{stamp}-{number}")
        number += 1
    decided = plan_for(
        experiment,
        replace(examine(), pysparks=_pysparks(experiment, base)),
        base=base,
        directory=directory,
        own_address=_own_address(experiment),
    )
    return replace(decided, notes=(*decided.notes, *notes))


def _pysparks(experiment: Experiment, base: Path) -> dict[str, str]:
    """The version of pyspark in each interpreter that a component brings, by its path."""
    interpreters = [component.own_python for component in experiment.components.values()]
    paths = [str(base / interpreter) for interpreter in interpreters if interpreter]
    return {path: artifacts.pyspark_version(path) for path in dict.fromkeys(paths)}


def _own_address(experiment: Experiment) -> str:
    """This machine's address for a run on existing clusters; empty for a run inside a box."""
    cluster = existing_address(experiment)
    if not cluster:
        return ""
    # A user whose experiment needs a box should learn that first, not that a name is unknown.
    refuse_what_needs_a_box(experiment)
    return own_address(cluster)


def launch(
    decided: Plan, *, text: str = "", on_look: Callable[[runs.Run], None] = lambda run: None
) -> runs.Run:
    """Carry out a plan and wait for its end; `on_look` is called ten times a second.

    Ctrl-C stops the run in an orderly way.
    """
    for need in _needs(decided):
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
        run = runs.Run(directory)
        try:
            _await_end(box, lambda: on_look(run))
        finally:
            _end(box, directory)
            on_look(run)
    if run.state != "running":
        _keep_tables(directory, brokers_among(components_of(decided.declaration)))
    return run


def _keep_tables(directory: Path, brokers: Mapping[str, Broker]) -> None:
    recorded = [*history.keep_as_parquet(directory), *_keep_broker_files(directory, brokers)]
    with contextlib.suppress(OSError):  # The disk is full: the state of the run says so.
        for event in recorded:
            append_event(directory, event)


def _keep_broker_files(directory: Path, brokers: Mapping[str, Broker]) -> list[Event]:
    """Keep what the brokers' own files tell; they stay where they are."""
    # A plan needs no tables: data frames are slow to load.
    from streambed.record.ledger import broker_files

    try:
        tables = {
            name: file_tables(broker, directory / "data" / name) for name, broker in brokers.items()
        }
        broker_files.keep(directory, tables)
    except (OSError, ValueError) as error:
        says = f"the files of the brokers could not be read, so they explain nothing: {error}"
        return [Note(says=says)]
    return []


def _make_folder(directory: Path) -> None:
    latest = directory.parent / "latest"
    if os.path.isdir(latest) and not os.path.islink(latest):
        raise UsageError(
            f"{latest} is a folder, but it should be the link to the newest run: move it away, or "
            "give another place with --into"
        )
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(PRIVATE)
        for name in FOLDERS:
            (directory / name).mkdir()
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
    (directory / "versions.json").write_text(json.dumps(versions_of(decided), indent=1))
    latest = directory.parent / "latest"
    part = directory.parent / f".latest-{directory.name}"
    part.symlink_to(directory.name)
    os.replace(part, latest)


def _needs(decided: Plan) -> list[Need]:
    """The artifacts that the components need."""
    components = decided.declaration.get("components", {})
    return needs_of(sorted({component["kind"] for component in components.values()}))


def versions_of(decided: Plan) -> dict[str, str]:
    """The versions of all software that the run uses."""
    versions = {name: importlib.metadata.version(name) for name in VERSIONS}
    for need in _needs(decided):
        version = artifacts.version_of(need)
        if version:
            versions[artifacts.name_of(need)] = version
    versions["python"] = sys.version.split()[0]
    versions["java"] = decided.machine.java_build
    versions["kernel"] = decided.machine.kernel
    return versions


def passed_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of the shell that programs of a run see.

    Others, and those that look like a secret, are passed on only if STREAMBED_PASS names them.
    """
    wanted = variables.get(PASS, "").replace(",", " ").split()
    return {
        name: value
        for name, value in variables.items()
        if name in wanted or (PASSED.fullmatch(name) and not is_secret(name))
    }


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
            env=passed_environment(os.environ),
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
    # On a full disk the status cannot be written; readers then notice that the process is gone.
    with contextlib.suppress(OSError):
        if status == -signal.SIGTERM:  # It had no signal handler yet.
            conclude(directory, *BY_USER)
        else:
            reason = full_disk(directory) or f"the box was killed (status {status})"
            conclude(directory, "broken", reason)


@contextlib.contextmanager
def _register_active_run(name: str) -> Iterator[list[str]]:
    """Hold a lock during the block; yields the names of this user's other active runs."""
    folder = artifacts.make_cache() / "active"
    folder.mkdir(exist_ok=True)
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
