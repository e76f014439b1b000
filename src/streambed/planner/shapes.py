"""The shape of each direction of a link, with its samples read, and how faults change it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.errors import Problem, UsageError
from streambed.kinds.components.component import missing_file
from streambed.kinds.delay_table import thin_out
from streambed.kinds.direction import Direction, Samples
from streambed.kinds.direction_rules import LONGEST_DELAY_NS, shape_problems
from streambed.plan import Shape
from streambed.units import Duration

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment
    from streambed.declare.link import Link
    from streambed.declare.topology import Topology
    from streambed.kinds.faults.fault import Fault

SAMPLES_BYTES_MAX = 8 << 20
_LIKE_A_DELAY = re.compile(r"-?[0-9]+(\.[0-9]*)? ?[A-Za-zµ]{0,3}")


def shape_of(link: Link, source: str, samples: Samples) -> Shape:
    """What a link does to packets that leave `source`."""
    return Shape(**link.direction(source).changes(samples))


def read_samples(
    experiment: Experiment, base: Path
) -> tuple[dict[str, tuple[int, ...]], list[Problem]]:
    """The delays in every file of samples that an experiment names, relative to `base`, and the
    problems of those that cannot be read.
    """
    samples: dict[str, tuple[int, ...]] = {}
    wrong: list[Problem] = []
    for key, name in _sample_keys(experiment):
        if missing := missing_file(name, base, key):
            wrong += missing
            continue
        try:
            samples[name] = samples.get(name) or samples_in(base / name)
        except UsageError as error:
            wrong.append(Problem(key=key, says=str(error)))
    return samples, wrong


def samples_in(path: Path) -> tuple[int, ...]:
    """The delays in a file, one a line, with a unit or in nanoseconds. Blank lines and # comments
    are skipped.
    """
    delays_ns = []
    with path.open("rb") as file:
        content = file.read(SAMPLES_BYTES_MAX + 1)
    if len(content) > SAMPLES_BYTES_MAX:
        raise UsageError(
            f"{path.name} has more than {SAMPLES_BYTES_MAX >> 20} MiB: keep a part of its lines"
        )
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text:
            delays_ns.append(_delay_ns(text, f"{path.name}, line {number}"))
    if not delays_ns:
        raise UsageError(f"{path.name} holds no delay: write one a line, such as 20ms")
    return thin_out(delays_ns)


def _delay_ns(text: str, line: str) -> int:
    if text.replace(".", "", 1).isdecimal():
        text = f"{text}ns"
    try:
        delay = Duration.parse(text)
    except UsageError as error:
        # It may be the wrong file and hold secrets: quote only what looks like a delay.
        says = error if _LIKE_A_DELAY.fullmatch(text) else "not a delay: write one such as 20ms"
        raise UsageError(f"{line}: {says}") from None
    if delay.ns > LONGEST_DELAY_NS:
        raise UsageError(f"{line}: {delay} is longer than {Duration(LONGEST_DELAY_NS)}")
    return delay.ns


def _sample_keys(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Key and file name of every mention of a file of samples."""
    for at, link in enumerate(experiment.topology.links):
        for key, direction in (("samples", link), ("back.samples", link.back)):
            if direction and direction.samples is not None:
                yield f"topology.links.{at}.{key}", direction.samples
    links = experiment.topology.ends_by_name()
    for at, fault in enumerate(experiment.faults):
        change = fault.changes_of(links)
        if change and change.direction.samples is not None:
            yield f"faults.{at}.samples", change.direction.samples


def sample_files(experiment: Experiment) -> list[str]:
    """The files of samples that faults name."""
    links = experiment.topology.ends_by_name()
    changes = [fault.changes_of(links) for fault in experiment.faults]
    return [change.direction.samples for change in changes if change and change.direction.samples]


def change_problems(experiment: Experiment, samples: Samples) -> list[Problem]:
    """Changes by faults that do not fit the links as declared; one problem for each key."""
    wrong: dict[str, Problem] = {}
    for at, fault in enumerate(experiment.faults):
        for name, source, direction, shape in _changes(experiment, fault, samples):
            for problem in shape_problems(direction, shape):
                key = f"faults.{at}.{problem.key}"
                says = f"{problem.says} (link {name}, packets from {source})"
                wrong.setdefault(key, replace(problem, key=key, says=says))
    return list(wrong.values())


def changed_shapes(experiment: Experiment, samples: Samples) -> dict[tuple[str, str], list[Shape]]:
    """Every shape that a fault gives a link, by the link's name and the node that packets leave."""
    shapes: dict[tuple[str, str], list[Shape]] = {}
    for fault in experiment.faults:
        for name, source, _, shape in _changes(experiment, fault, samples):
            shapes.setdefault((name, source), []).append(shape)
    return shapes


def _changes(
    experiment: Experiment, fault: Fault, samples: Samples
) -> Iterator[tuple[str, str, Direction, Shape]]:
    """Name of the link, source, values and shape of each direction that a fault changes."""
    names = experiment.topology.ends_by_name()
    change = fault.changes_of(names)
    if change is None:
        return
    links = dict(zip(names, experiment.topology.links, strict=True))
    changes = change.direction.changes(samples)
    for name in change.links:
        link = links[name]
        sources = (change.source,) if change.source else link.ends
        for source in sources:
            shape = replace(shape_of(link, source, samples), **changes)
            yield name, source, change.direction, shape


def with_mean_delays(topology: Topology, samples: Samples) -> Topology:
    """The topology whose links with samples have their mean as `delay`: routing needs one."""
    return replace(topology, links=tuple(_with_mean(link, samples) for link in topology.links))


def _with_mean(link: Link, samples: Samples) -> Link:
    back = link.back
    if back and back.samples is not None:
        mean = Duration(back.changes(samples)["delay_ns"])
        link = replace(link, back=replace(back, delay=mean))
    if link.samples is not None:
        mean = Duration(link.changes(samples)["delay_ns"])
        link = replace(link, delay=mean)
    return link
