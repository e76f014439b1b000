"""Compare two runs: their declarations, their measures, and whether a difference may be chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streambed.kinds.components.engine import engines_among
from streambed.kinds.evidence.readers import topics_of
from streambed.kinds.measures import Measure, NotTaken, Observed
from streambed.record.history import History
from streambed.record.statistics import Difference, difference_of

ABSENT = "not given"
CAUTION = (
    "Intervals and chances by drawing whole seconds at random, for records of one second are not "
    "independent. They know how much a run varies within itself, not how much one run differs from "
    "the next: a study with repetitions tells that. Of twenty intervals one misses by chance."
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One measure of two runs."""

    measure: str
    unit: str
    difference: Difference | None = None
    reason: str = ""
    """Why there is no difference."""

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """What a table shows: A, B, their difference, its interval, and how often chance does as
        much.
        """
        found = self.difference
        if found is None:
            return "", "", "", "", ""
        a, b, more = (shown(value, self.unit) for value in (found.a, found.b, found.difference))
        if found.low is None or found.high is None or found.chance is None:
            return a, b, more, "", ""
        return (
            a,
            b,
            more,
            f"{shown(found.low, self.unit)} to {shown(found.high, self.unit)}",
            f"{found.chance:.3f}",
        )

    @property
    def says(self) -> str:
        """One plain sentence."""
        found = self.difference
        if found is None:
            return f"{self.measure}: {self.reason}"
        if not found.difference and not found.clear:
            return f"{self.measure}: the same, {shown(found.b, self.unit)}"
        share = f" ({abs(found.difference / found.a) * 100:.0f} %)" if found.a else ""
        amount = f"{shown(abs(found.difference), self.unit)}{share}"
        direction = "higher" if found.difference > 0 else "lower"
        more = f"B's {self.measure} is {amount} {direction}"
        if found.low is None or found.high is None:
            return f"{more}; there are too few seconds to say how surely"
        if not found.clear:
            interval = f"{shown(found.low, self.unit)} to {shown(found.high, self.unit)}"
            return f"{more}, which can be chance: 95 % interval {interval}"
        near, far = sorted((abs(found.low), abs(found.high)))
        return f"{more}; 95 % interval {shown(near, self.unit)} to {shown(far, self.unit)}"


def shown(value: float, unit: str) -> str:
    """A number as people write it: 12 ms, 3.1 s, 240 records/s."""
    if unit == "s" and abs(value) < 1:
        value, unit = value * 1e3, "ms"
    if unit == "cores":
        return f"{value:.3f} cores"
    text = f"{value:.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"
    return f"{text} {unit}"


def compare(a: History, b: History, *, seed: int = 1) -> list[Compared]:
    """Every measure that both runs could have, in the order of reading."""
    return [_compared(name, measure, a, b, seed) for name, measure in common_measures(a, b)]


def _compared(name: str, measure: Measure, a: History, b: History, seed: int) -> Compared:
    observed: list[Observed] = []
    for letter, history in (("A", a), ("B", b)):
        try:
            observed.append(measure.observe(history))
        except NotTaken as error:
            return Compared(measure=name, unit="", reason=f"{letter}: {error}")
    first, second = observed
    difference = difference_of(first.statistic, first.blocks, second.blocks, seed=seed)
    return Compared(measure=name, unit=first.unit, difference=difference)


def common_measures(a: History, b: History) -> Iterator[tuple[str, Measure]]:
    """What can be measured in both: latency, throughput, losses, readiness and the use of
    processors, by the names both know.
    """
    for of in _both(_readers(a), _readers(b)):
        yield f"median latency of {of}", Measure(latency=of, statistic="p50")
        yield f"p99 latency of {of}", Measure(latency=of, statistic="p99")
    for of in _both(_consumers(a), _consumers(b)):
        yield f"throughput of {of}", Measure(throughput=of)
    for topic in _both(_topics(a), _topics(b)):
        yield f"number of lost records of {topic}", Measure(lost=topic)
    yield "time to the start of the load", Measure(ready="all")
    for process in _both(_processes(a), _processes(b)):
        yield f"use of processors by {process}", Measure(cpu=process)


def _both(a: Any, b: Any) -> list[str]:
    return [name for name in a if name in b]


def _readers(history: History) -> list[str]:
    """Consumers of what producers wrote, and Spark jobs that say what they read and write."""
    written = set(_topics(history))
    consumers = [
        name for name in _consumers(history) if written & set(topics_of(history.components[name]))
    ]
    engines = engines_among(history.components)
    return [
        *consumers,
        *(name for name, engine in engines.items() if engine.reads and engine.writes),
    ]


def _consumers(history: History) -> list[str]:
    """Components with consumer groups."""
    return [
        name
        for name, component in history.components.items()
        if any(reader.group for reader in component.readers)
    ]


def _topics(history: History) -> list[str]:
    """Topics that a producer wrote: only of these is known what was acknowledged."""
    producers = [component for component in history.components.values() if not component.as_engine]
    return list(dict.fromkeys(topic for producer in producers for topic in producer.topics_written))


def _processes(history: History) -> list[str]:
    return sorted(
        history.samples.filter(history.samples["metric"] == "process_cpu_s")["of"].unique()
    )


def differences(a: Any, b: Any) -> list[tuple[str, str, str]]:
    """What two declarations say differently: the key, and what each says."""
    first, second = dict(_flat(a)), dict(_flat(b))
    keys = dict.fromkeys([*first, *second])
    pairs = [(key, first.get(key, ABSENT), second.get(key, ABSENT)) for key in keys]
    return [(key, one, other) for key, one, other in pairs if one != other]


def _flat(found: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every value of a declaration with its dotted key, as text."""
    if isinstance(found, dict | list | tuple) and found:
        pairs = found.items() if isinstance(found, dict) else enumerate(found)
        for name, below in pairs:
            yield from _flat(below, f"{key}.{name}" if key else str(name))
    else:
        yield key, "" if found is None else "[]" if found == () else str(found)
