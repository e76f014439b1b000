"""Measures: what is taken from the history of a run as a number, with the observations behind it.
Pure, so it can be taken again.

Each function gives observations: values and when each belongs. A statistic makes one number of
them; a comparison draws from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import model_validator

from streambed.errors import Problem, suggestion
from streambed.kinds.checks import Latency, NoLoss
from streambed.kinds.checks.no_loss import acked_records
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import IDENTITY
from streambed.kinds.evidence.journeys import journeys
from streambed.kinds.evidence.readers import of_component
from streambed.record.events import Batch, Phase, Ready
from streambed.record.history import History
from streambed.record.statistics import Numbers, Observations, Statistic, statistic_of
from streambed.units import Duration

BLOCK_NS = 1_000_000_000
"""Observations of one second belong together: records that were due then waited for the same
things.
"""
NONE = Duration(0)
OURS = ("conductor", "delay line")
"""Processes that streambed itself adds to a run."""


class NotTaken(Exception):
    """A history has nothing to take a measure from; the message says why."""


@declared
class Measure:
    """One number of each run. Exactly one of the keys but `statistic` says which."""

    latency: str = ""
    """A consumer, or a Spark job: from when records were due until they were seen, in seconds."""
    throughput: str = ""
    """A consumer, a Spark job or a producer: records seen, taken in or acknowledged in a second of
    the load.
    """
    lost: str = ""
    """A topic: how many of its acknowledged records a reader never saw."""
    ready: str = ""
    """A component, or `all`: seconds until it was ready, or until the load began."""
    cpu: str = ""
    """A component or one of its processes: processor cores in use during the load."""
    statistic: Literal["mean", "p50", "p99", "max"] = "mean"
    """Of the latencies of all records, or of the throughput or the use of each second."""

    @model_validator(mode="after")
    def _one(self) -> Measure:
        given = [kind for kind in TAKING if getattr(self, kind)]
        if len(given) != 1:
            raise ValueError(
                f"give one of {', '.join(TAKING)}"
                + (f", not {' and '.join(given)}" if given else "")
            )
        if self.statistic != "mean" and self.quantity in ("lost", "ready"):
            raise ValueError(f"'{self.quantity}' is one number already: leave out 'statistic'")
        return self

    @property
    def quantity(self) -> str:
        """The key that says what is measured."""
        return next(kind for kind in TAKING if getattr(self, kind))

    @property
    def of(self) -> str:
        """What it is measured of."""
        return str(getattr(self, self.quantity))

    def problems(self, components: Mapping[str, Any]) -> list[Problem]:
        """What is wrong with it beside the components of an experiment."""
        found = _problems(self.quantity, self.of, components)
        return [Problem(key=self.quantity, says=problem.says) for problem in found]

    def take(self, history: History, warm_up: Duration = NONE) -> float:
        """The number; NotTaken if the history has none."""
        observed = self.observe(history, warm_up)
        return statistic_of(observed.statistic, observed.values)

    def observe(self, history: History, warm_up: Duration = NONE) -> Observed:
        """All that the number is made of. What was due, or happened, during the warm-up is left out
        where time matters.
        """
        taking = TAKING[self.quantity]
        times, values = taking.observe(history, self.of, warm_up.ns)
        return Observed(
            times=times,
            values=values,
            unit=taking.unit,
            statistic=taking.statistic or self.statistic,
            of=self.of,
        )


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Values, the time of each in nanoseconds since the load began, and how they become one
    number.
    """

    times: Numbers
    values: Numbers
    unit: str
    statistic: Statistic
    of: str

    @property
    def blocks(self) -> Observations:
        """The values by the second that they belong to."""
        return Observations(values=self.values, blocks=(self.times // BLOCK_NS).astype(np.int64))


def _problems(quantity: str, of: str, components: Mapping[str, Any]) -> list[Problem]:
    if quantity == "latency":
        return Latency(of=of, max=Duration(1)).problems(components)
    if quantity == "lost":
        return NoLoss(topic=of).problems(components)
    names = [
        name
        for name, component in components.items()
        if quantity != "throughput" or passes_records(component)
    ]
    extra = {"ready": ("all",), "cpu": OURS}.get(quantity, ())
    if (of.partition("/")[0] if quantity == "cpu" else of) in (*names, *extra):
        return []
    noun = "consumer, sink, Spark job or producer" if quantity == "throughput" else "component"
    return [
        Problem(
            key=quantity, says=f"no {noun} is called '{of}'. {suggestion(of, [*names, *extra])}"
        )
    ]


def passes_records(component: Any) -> bool:
    """Whether records pass a component, so that it has a throughput."""
    return bool(component.readers or component.topics_written or component.as_engine)


def load_span(history: History, warm_up_ns: int = 0) -> tuple[int, int]:
    """When the load began, its warm-up left out, and when it ended."""
    phases = [(event.phase, event.time) for event in history.of(Phase)]
    end = next((time for phase, time in phases if phase in ("heal", "drain")), None)
    if history.load_ns is None or end is None:
        raise NotTaken("the run ended before its load did")
    if end <= history.load_ns + warm_up_ns:
        raise NotTaken(
            f"the load lasted {(end - history.load_ns) / 1e9:.1f} s, no longer than the warm-up"
        )
    return history.load_ns + warm_up_ns, end


def latencies(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """When each record that was seen was due, and how long it took until it was first seen."""
    start, _ = load_span(history, warm_up_ns)
    seen = journeys(history, of).drop_nulls("seen").filter(pl.col("due") >= start)
    if seen.is_empty():
        raise NotTaken(
            f"no record due after the warm-up was seen by way of {of}"
            if warm_up_ns
            else f"no record was seen by way of {of}"
        )
    return _since_load(history, seen["due"]), ((seen["seen"] - seen["due"]) / 1e9).to_numpy()


def throughputs(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """Records in a second, for each second of the load."""
    start, end = load_span(history, warm_up_ns)
    times, records = _passed(history, of)
    count = max(1, round((end - start) / BLOCK_NS))
    counted, edges = np.histogram(times, bins=count, range=(start, end), weights=records)
    return edges[:-1] - (history.load_ns or 0), counted / ((end - start) / 1e9 / count)


def _passed(history: History, of: str) -> tuple[Numbers, Numbers]:
    """When records passed a consumer, a job or a producer, and how many each time."""
    component = history.components.get(of)
    if (
        component
        and component.as_engine
        and (batches := [batch for batch in history.of(Batch) if batch.component == of])
    ):
        ends = np.array([batch.end for batch in batches], dtype=np.float64)
        return ends, np.array([batch.rows for batch in batches], dtype=np.float64)
    if component and component.topics_written and not component.as_engine:
        times = history.ledger.sent.filter(of_component("producer", of))["acked"].drop_nulls()
    else:
        times = history.ledger.seen.filter(of_component("consumer", of))["seen"]
    return times.cast(pl.Float64).to_numpy(), np.ones(times.len())


def losses(history: History, topic: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """For each acked record when it was due and 1 if it was lost; the warm-up counts, for what was
    acked then must not be lost either.
    """
    verdict = NoLoss(topic=topic).judge(history)
    if verdict.answer == "unknown":
        raise NotTaken(verdict.says)
    lost = (
        pl.DataFrame(verdict.evidence["lost"], schema={"producer": pl.String, "sequence": pl.Int64})
        .unique()
        .with_columns(lost=1.0)
    )
    marked = acked_records(history, topic).join(lost, on=IDENTITY, how="left")
    return _since_load(history, marked["due"]), marked["lost"].fill_null(0.0).to_numpy()


def readiness(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """How long the run took until a component was ready, or until the load began."""
    ready = {event.component: event.time for event in history.of(Ready)}
    time = history.load_ns if of == "all" else ready.get(of)
    if time is None:
        raise NotTaken("the load never began" if of == "all" else f"{of} was never ready")
    return np.zeros(1), np.array([history.seconds(time)])


def cores(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """Processor cores in use between two samples, of all processes of a component together."""
    start, end = load_span(history, warm_up_ns)
    mine = (pl.col("of") == of) | pl.col("of").str.starts_with(f"{of}/")
    found = history.samples.filter((pl.col("metric") == "process_cpu_s") & mine).sort("of", "time")
    steps = found.with_columns(
        grown=pl.col("value").diff().over("of"), passed=pl.col("time").diff().over("of") / 1e9
    )
    # A counter that went down began again with a new process: that step says nothing.
    steps = steps.filter(
        (pl.col("grown") >= 0) & (pl.col("time") >= start) & (pl.col("time") <= end)
    )
    used = (
        steps.group_by("time")
        .agg((pl.col("grown") / pl.col("passed")).sum().alias("cores"))
        .sort("time")
    )
    if used.is_empty():
        raise NotTaken(f"{of} was not sampled twice under load")
    return _since_load(history, used["time"]), used["cores"].to_numpy()


def _since_load(history: History, times: pl.Series) -> Numbers:
    return (times - (history.load_ns or 0)).cast(pl.Float64).to_numpy()


class Taking(NamedTuple):
    """How a kind of measure is taken: its observations, their unit, and their statistic if it is
    always the same.
    """

    observe: Callable[[History, str, int], tuple[Numbers, Numbers]]
    unit: str
    statistic: Statistic | None = None


TAKING = {
    "latency": Taking(latencies, "s"),
    "throughput": Taking(throughputs, "records/s"),
    "lost": Taking(losses, "records", "sum"),
    "ready": Taking(readiness, "s", "mean"),
    "cpu": Taking(cores, "cores"),
}
"""Every kind of measure, by its key."""
