"""Shapes: what each way through a link comes to when its files of samples are read, and what faults
make of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.errors import Problem, UsageError
from streambed.kinds.components.component import missing_file
from streambed.kinds.delay_table import thinned
from streambed.kinds.direction import Samples, Way
from streambed.kinds.direction_rules import LONGEST_DELAY_NS, shape_problems
from streambed.plan import Shape
from streambed.units import Duration

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment
    from streambed.declare.link import Link
    from streambed.declare.topology import Topology
    from streambed.kinds.faults.fault import Fault


def shape_of(link: Link, source: str, samples: Samples) -> Shape:
    """What a link does to packets that leave `source`."""
    return Shape(**link.way(source).changes(samples))


def read_samples(
    experiment: Experiment, base: Path
) -> tuple[dict[str, tuple[int, ...]], list[Problem]]:
    """What the files of samples hold that an experiment names relative to `base`, and what is wrong
    with them.
    """
    found: dict[str, tuple[int, ...]] = {}
    wrong: list[Problem] = []
    for key, name in _named(experiment):
        if missing := missing_file(name, base, key):
            wrong += missing
            continue
        try:
            found[name] = found.get(name) or samples_in(base / name)
        except UsageError as error:
            wrong.append(Problem(key=key, says=str(error)))
    return found, wrong


def samples_in(path: Path) -> tuple[int, ...]:
    """The delays of a file: one a line, with its unit or as plain nanoseconds. Blank lines and #
    comments are passed over.
    """
    found = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text:
            found.append(_delay_ns(text, f"{path.name}, line {number}"))
    if not found:
        raise UsageError(f"{path.name} holds no delay: write one a line, such as 20ms")
    return thinned(found)


def _delay_ns(text: str, place: str) -> int:
    try:
        delay = Duration.parse(f"{text}ns" if text.replace(".", "", 1).isdecimal() else text)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    if delay.ns > LONGEST_DELAY_NS:
        raise UsageError(f"{place}: {delay} is longer than {Duration(LONGEST_DELAY_NS)}")
    return delay.ns


def _named(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Key and name of every file of samples."""
    for at, link in enumerate(experiment.topology.links):
        for key, way in (("samples", link), ("back.samples", link.back)):
            if way and way.samples is not None:
                yield f"topology.links.{at}.{key}", way.samples
    links = experiment.topology.ends_by_name()
    for at, fault in enumerate(experiment.faults):
        change = fault.changes_of(links)
        if change and change.way.samples is not None:
            yield f"faults.{at}.samples", change.way.samples


def sample_files(experiment: Experiment) -> list[str]:
    """The files of samples that faults name."""
    links = experiment.topology.ends_by_name()
    changes = [fault.changes_of(links) for fault in experiment.faults]
    return [change.way.samples for change in changes if change and change.way.samples]


def change_problems(experiment: Experiment, samples: Samples) -> list[Problem]:
    """What faults ask of links that these cannot do as they are declared."""
    found: dict[str, Problem] = {}
    for at, fault in enumerate(experiment.faults):
        for name, source, way, shape in _changed(experiment, fault, samples):
            for problem in shape_problems(way, shape):
                key = f"faults.{at}.{problem.key}"
                says = f"{problem.says} (link {name}, packets from {source})"
                found.setdefault(key, replace(problem, key=key, says=says))
    return list(found.values())


def changed_shapes(experiment: Experiment, samples: Samples) -> dict[tuple[str, str], list[Shape]]:
    """What faults make of links, by the name of the link and the node that packets leave."""
    found: dict[tuple[str, str], list[Shape]] = {}
    for fault in experiment.faults:
        for name, source, _, shape in _changed(experiment, fault, samples):
            found.setdefault((name, source), []).append(shape)
    return found


def _changed(
    experiment: Experiment, fault: Fault, samples: Samples
) -> Iterator[tuple[str, str, Way, Shape]]:
    """Name of the link, source, values and shape of each direction that a fault changes."""
    names = experiment.topology.ends_by_name()
    change = fault.changes_of(names)
    if change is None:
        return
    links = dict(zip(names, experiment.topology.links, strict=True))
    changes = change.way.changes(samples)
    for name in change.links:
        for source in (change.source,) if change.source else links[name].ends:
            yield (
                name,
                source,
                change.way,
                replace(shape_of(links[name], source, samples), **changes),
            )


def with_mean_delays(topology: Topology, samples: Samples) -> Topology:
    """The same, but links that draw from samples say their mean as `delay`: routes are chosen by
    it.
    """
    return replace(topology, links=tuple(_timed(link, samples) for link in topology.links))


def _timed(link: Link, samples: Samples) -> Link:
    back = link.back
    if back and back.samples is not None:
        link = replace(link, back=replace(back, delay=Duration(back.changes(samples)["delay_ns"])))
    return (
        link
        if link.samples is None
        else replace(link, delay=Duration(link.changes(samples)["delay_ns"]))
    )
