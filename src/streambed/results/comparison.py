"""Compare two runs: first what is exact, then statistics and whether a difference may be chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streambed.kinds.components.engine import engines_among
from streambed.kinds.evidence.readers import topics_of
from streambed.kinds.measures import Measure, NotTaken, Observed
from streambed.record.history import History
from streambed.record.statistics import Difference, difference_of
from streambed.results.declared import Differing, differences
from streambed.results.facts import Fact, count_facts, verdict_facts
from streambed.results.runs import Run

CAUTION = (
    "95 % intervals: block bootstrap (blocks of 1 s). p: permutation test. "
    "Variation between runs is not covered: use a study with repetitions."
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One statistic of two runs."""

    measure: str
    unit: str
    difference: Difference | None = None
    reason: str = ""
    """Why there is no difference."""

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """What a table shows: A, B, their difference, its interval, and p."""
        compared = self.difference
        if compared is None:
            return "", "", "", "", ""
        a = number_text(compared.a, self.unit)
        b = number_text(compared.b, self.unit)
        difference = number_text(compared.difference, self.unit)
        if compared.low is None or compared.high is None or compared.chance is None:
            return a, b, difference, "", ""
        interval = self._interval(compared.low, compared.high)
        return a, b, difference, interval, f"{compared.chance:.3f}"

    def _interval(self, low: float, high: float) -> str:
        return f"{number_text(low, self.unit)} to {number_text(high, self.unit)}"

    @property
    def clear(self) -> bool:
        """Whether the runs clearly differ in it."""
        return self.difference is not None and self.difference.clear

    @property
    def says(self) -> str:
        """The comparison in one sentence."""
        compared = self.difference
        if compared is None:
            return f"{self.measure}: not available ({self.reason})"
        if not compared.difference and not compared.clear:
            return f"{self.measure}: the same, {number_text(compared.b, self.unit)}"
        change = f"B's {self.measure} is {self._change(compared)}"
        low, high = compared.low, compared.high
        if low is None or high is None:
            return f"{change}; too few observations for an interval"
        if not compared.clear:
            interval = self._interval(low, high)
            chance = f"p {compared.chance:.3f}, 95 % interval {interval}"
            return f"{change}, which can be chance: {chance}"
        near, far = sorted((abs(low), abs(high)))
        return f"{change}; 95 % interval {self._interval(near, far)}"

    def _change(self, compared: Difference) -> str:
        """By how much B differs, such as 12 ms (5 %) higher."""
        amount = number_text(abs(compared.difference), self.unit)
        direction = "higher" if compared.difference > 0 else "lower"
        if not compared.a:
            return f"{amount} {direction}"
        share = abs(compared.difference / compared.a)
        return f"{amount} ({share * 100:.0f} %) {direction}"


def number_text(value: float, unit: str) -> str:
    """A number as people write it: 12 ms, 3.1 s, 240 records/s."""
    if unit == "s" and abs(value) < 1:
        value, unit = value * 1e3, "ms"
    if unit == "cores":
        return f"{value:.3f} cores"
    if abs(value) >= 100 or value == round(value):
        return f"{value:.0f} {unit}"
    return f"{value:.3g} {unit}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs side by side."""

    a: Run
    b: Run
    verdicts: list[Fact]
    """One for each check of either run, and one for their fidelity."""
    counts: list[Fact]
    """Records that were acknowledged, lost and duplicated."""
    declared: list[Differing]
    statistics: list[Compared]

    @property
    def differing(self) -> list[str]:
        """What differs, in sentences: facts first, then statistics that clearly differ."""
        facts = [fact.says for fact in (*self.verdicts, *self.counts) if fact.differs]
        return facts + [one.says for one in self.statistics if one.clear]

    @property
    def alike(self) -> list[str]:
        """The statistics that do not clearly differ."""
        return [one.measure for one in self.statistics if one.difference and not one.clear]

    @property
    def unavailable(self) -> list[str]:
        """The statistics that a run cannot give, and why."""
        return [one.says for one in self.statistics if not one.difference]


def compare_runs(a: Run, b: Run) -> Comparison:
    """Compare the verdicts, counts, declarations and statistics of two runs."""
    first, second = a.history(), b.history()
    return Comparison(
        a=a,
        b=b,
        verdicts=verdict_facts(a, b),
        counts=list(count_facts(first, second, _both(_topics(first), _topics(second)))),
        declared=differences(first.declaration, second.declaration),
        statistics=compare(first, second),
    )


def compare(a: History, b: History, *, seed: int = 1) -> list[Compared]:
    """Every statistic that applies to both runs, in the order in which it is shown."""
    return [_compare_measure(name, measure, a, b, seed) for name, measure in common_measures(a, b)]


def _compare_measure(name: str, measure: Measure, a: History, b: History, seed: int) -> Compared:
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
    """What can be measured in both runs, by component: latency, throughput, readiness and CPU.
    Losses are facts, not measures.
    """
    for of in _both(_readers(a), _readers(b)):
        yield f"median latency of {of}", Measure(latency=of, statistic="p50")
        yield f"p99 latency of {of}", Measure(latency=of, statistic="p99")
    for of in _both(_consumers(a), _consumers(b)):
        yield f"throughput of {of}", Measure(throughput=of)
    yield "time to the start of the load", Measure(ready="all")
    for process in _both(_processes(a), _processes(b)):
        yield f"CPU of {process}", Measure(cpu=process)


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
    """Topics that a producer wrote: acknowledgements are recorded only for these."""
    producers = [component for component in history.components.values() if not component.as_engine]
    return list(dict.fromkeys(topic for producer in producers for topic in producer.topics_written))


def _processes(history: History) -> list[str]:
    return sorted(
        history.samples.filter(history.samples["metric"] == "process_cpu_s")["of"].unique()
    )
