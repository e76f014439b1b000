"""Files of servers and jobs, named by what they are: `segment of lines/0 at its leader`."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from streambed.errors import Problem, WorldError, suggestion
from streambed.kinds.components.broker import broker_of, unknown_topics
from streambed.kinds.declared_components import Components
from streambed.world import World

FORMS = (
    "segment of TOPIC/PARTITION at its leader",
    "segment of TOPIC/PARTITION at NODE",
    "newest commit of JOB's checkpoint",
    "newest offsets of JOB's checkpoint",
    "checkpoint of JOB",
)
_SEGMENT = re.compile(r"segment of (\S+)/(\d+) at (?:its (leader)|(\S+))")
_ENTRY = re.compile(r"newest (commit|offsets) of (\S+)'s checkpoint")
_CHECKPOINT = re.compile(r"checkpoint of (\S+)")
_LOGS = {"commit": "commits", "offsets": "offsets"}


@dataclass(frozen=True, kw_only=True)
class Segment:
    """The newest segment of a topic partition that holds records, at its leader or at a node."""

    topic: str
    partition: int
    node: str = ""

    @property
    def role(self) -> str:
        """The role that names its owner, if no node does."""
        return "" if self.node else f"leader of {self.topic}/{self.partition}"

    def problems(self, components: Components) -> list[Problem]:
        """The topic, the partition and the node must exist, and be kept on a disk."""
        if problems := unknown_topics((self.topic,), components, "file"):
            return problems
        broker = broker_of((self.topic,), components)
        assert broker
        if self.partition >= broker.partitions[self.topic]:
            count = broker.partitions[self.topic]
            says = f"'{self.topic}' has no partition {self.partition}: it has {count}, from 0 on"
            return [Problem(key="file", says=says)]
        nodes = [node for node in broker.nodes if node in components[broker.name].disks]
        if not nodes:
            says = f"{broker.name} keeps no segments on a disk of this run"
            return [Problem(key="file", says=says)]
        if self.node and self.node not in nodes:
            says = f"'{self.node}' is no broker of {broker.name}. {suggestion(self.node, nodes)}"
            return [Problem(key="file", says=says)]
        return []

    def component(self, components: Components) -> str:
        """The name of the broker component that owns it."""
        broker = broker_of((self.topic,), components)
        return broker.name if broker else ""

    def owner(self, world: World) -> str:
        """The process that keeps it now; WorldError if none does."""
        if not self.node:
            return world.holder(self.role)
        for spec in world.plan.processes:
            if spec.node == self.node and spec.disk and self._folder(Path(spec.disk)).is_dir():
                return spec.name
        raise WorldError(f"{self.node} has no replica of {self.topic}/{self.partition}")

    def _folder(self, disk: Path) -> Path:
        return disk / f"{self.topic}-{self.partition}"

    def path(self, disk: Path) -> Path:
        """Where it is; WorldError if no record was written yet."""
        folder = self._folder(disk)
        segments = [path for path in sorted(folder.glob("*.log")) if path.stat().st_size]
        if not segments:
            raise WorldError(f"{self.topic}/{self.partition} has no segment with records there")
        return segments[-1]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The checkpoint of a job, or the newest entry of one of its logs."""

    job: str
    log: str = ""
    """The folder of the log: commits or offsets; empty for the whole checkpoint."""

    @property
    def role(self) -> str:
        """Empty: its owner is named, not looked up by a role."""
        return ""

    def problems(self, components: Components) -> list[Problem]:
        """The job must exist and have its checkpoint on its own disk."""
        return checkpoint_problems(self.job, components, "file")

    def component(self, components: Components) -> str:
        """The name of the job."""
        return self.job

    def owner(self, world: World) -> str:
        """The driver of the job."""
        return self.job

    def path(self, disk: Path) -> Path:
        """Where it is; WorldError if it is not there yet."""
        if not self.log:
            if not disk.exists():
                raise WorldError(f"{self.job} has no checkpoint yet")
            return disk
        entries = [entry for log in disk.rglob(self.log) for entry in entries_of(log).values()]
        if not entries:
            raise WorldError(f"the checkpoint of {self.job} has no {self.log} yet")
        return max(entries, key=lambda entry: entry.stat().st_mtime_ns)


NamedFile = Segment | Checkpoint


def named_file(text: str) -> NamedFile | None:
    """The file that a text names; None if it has none of the FORMS."""
    if match := _SEGMENT.fullmatch(text):
        return Segment(topic=match[1], partition=int(match[2]), node=match[4] or "")
    if match := _ENTRY.fullmatch(text):
        return Checkpoint(job=match[2], log=_LOGS[match[1]])
    if match := _CHECKPOINT.fullmatch(text):
        return Checkpoint(job=match[1])
    return None


def file_problems(text: str, components: Components) -> list[Problem]:
    """What is wrong with the name of a file."""
    file = named_file(text)
    if file is None:
        says = f"'{text}' names no file: write {', '.join(FORMS[:-1])} or {FORMS[-1]}"
        return [Problem(key="file", says=says)]
    return file.problems(components)


def checkpoint_problems(job: str, components: Components, key: str) -> list[Problem]:
    """A job must have a checkpoint on its own disk."""
    jobs = [name for name, component in components.items() if component.as_engine]
    if job not in jobs:
        says = f"there is no job '{job}'. {suggestion(job, jobs)}"
        return [Problem(key=key, says=says, about=frozenset({job}))]
    if not components[job].disks:
        place = components[job].state_places.get("checkpoint", "")
        where = f"is in {place}" if place else "is not on a disk of this run"
        says = f"the checkpoint of '{job}' {where}, where its files are not known by name"
        return [Problem(key=key, says=says)]
    return []


def entries_of(log: Path) -> dict[int, Path]:
    """The entries of a log of a checkpoint by batch."""
    return {int(path.name): path for path in log.iterdir() if path.name.isdigit()}


def checksum_of(entry: Path) -> Path:
    """Where Hadoop keeps the checksum of a file."""
    return entry.with_name(f".{entry.name}.crc")


def disk_of(process: str, world: World) -> Path:
    """The folder of a process with the files that it recovers from."""
    (disk,) = [spec.disk for spec in world.plan.processes if spec.name == process]
    return Path(disk)


def owners(file: NamedFile | None, components: Components) -> Collection[str]:
    """The component whose process is killed for a change of a file."""
    return (file.component(components),) if file else ()
