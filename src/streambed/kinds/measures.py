"""Measures: what is taken from the history of a run as a number, with the observations behind it.
Pure, so it can be taken again.

Each function gives observations: values and when each belongs. A statistic makes one number of
them; a comparison draws from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import model_validator

from streambed.errors import Problem, suggestion
from streambed.kinds.checks import Latency, NoLoss
from streambed.kinds.checks.no_loss import acked_records
from streambed.kinds.declared_components import Components
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
    statistic: Literal["mean", "p50", "p90", "p95", "p99", "p999", "max"] = "mean"
    """Of the latencies of all records, or of the throughput or the use of each second."""

    @model_validator(mode="after")
    def _one(self) -> Measure:
        quantities = [kind for kind in TAKING if getattr(self, kind)]
        if len(quantities) != 1:
            rejected = f", not {' and '.join(quantities)}" if quantities else ""
            raise ValueError(f"give one of {', '.join(TAKING)}{rejected}")
        if self.statistic != "mean" and self.quantity in ("lost", "ready"):
            raise ValueError(f"'{self.quantity}' is one number already: leave out 'statistic'")
        return self

    @property
    def quantity(self) -> str:
        """The key that says what is measured."""
        return next(kind for kind in TAKING if getattr(self, kind))

    @property
    def of(self) -> str:
        """The component or topic that is measured."""
        return str(getattr(self, self.quantity))

    def problems(self, components: Components) -> list[Problem]:
        """What is wrong with it, given the components of an experiment."""
        problems = _problems(self.quantity, self.of, components)
        return [Problem(key=self.quantity, says=problem.says) for problem in problems]

    def take(self, history: History, warm_up: Duration = NONE) -> float:
        """The number; NotTaken if the history has none."""
        observed = self.observe(history, warm_up)
        return statistic_of(observed.statistic, observed.values)

    def observe(self, history: History, warm_up: Duration = NONE) -> Observed:
        """All that the number is made of. What was due, or happened, during the warm-up is left out
        where time matters: that of the caller or of the experiment, whichever is longer.
        """
        taking = TAKING[self.quantity]
        longest = max(warm_up, history.warm_up)
        times, values = taking.observe(history, self.of, longest.ns)
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


NAMES_BESIDE: dict[str, tuple[str, ...]] = {"ready": ("all",), "cpu": OURS}
"""What a quantity can be measured of, besides components."""


def _problems(quantity: str, of: str, components: Components) -> list[Problem]:
    if quantity == "latency":
        return Latency(of=of, max=Duration(1)).problems(components)
    if quantity == "lost":
        return NoLoss(topic=of).problems(components)
    noun = "component"
    names = list(components)
    if quantity == "throughput":
        noun = "consumer, sink, Spark job or producer"
        names = [name for name, component in components.items() if passes_records(component)]
    known = [*names, *NAMES_BESIDE.get(quantity, ())]
    name = of.partition("/")[0] if quantity == "cpu" else of
    if name in known:
        return []
    return [Problem(key=quantity, says=f"no {noun} is called '{of}'. {suggestion(of, known)}")]


def passes_records(component: Any) -> bool:
    """Whether records pass a component, so that it has a throughput."""
    return bool(component.readers or component.topics_written or component.as_engine)


def load_span(history: History, warm_up_ns: int = 0) -> tuple[int, int]:
    """When the load began, its warm-up left out, and when it ended."""
    ends = [event.time for event in history.of(Phase) if event.phase in ("heal", "drain")]
    if history.load_ns is None or not ends:
        raise NotTaken("the run ended before its load did")
    start, end = history.load_ns + warm_up_ns, ends[0]
    if end <= start:
        lasted_s = (end - history.load_ns) / 1e9
        raise NotTaken(f"the load lasted {lasted_s:.1f} s, no longer than the warm-up")
    return start, end


def latencies(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """When each record that was seen was due, and how long it took until it was first seen, at the
    latest if only bounds are known.
    """
    start, _ = load_span(history, warm_up_ns)
    made = journeys(history, of).with_columns(seen=pl.coalesce("seen", "latest"))
    seen = made.drop_nulls("seen").filter(pl.col("due") >= start)
    if seen.is_empty():
        which = "record due after the warm-up" if warm_up_ns else "record"
        raise NotTaken(f"no {which} was seen by way of {of}")
    latencies_s = (seen["seen"] - seen["due"]) / 1e9
    return _since_load(history, seen["due"]), latencies_s.to_numpy()


def throughputs(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """Records in a second, for each second of the load."""
    start, end = load_span(history, warm_up_ns)
    times, records = _records_over_time(history, of)
    blocks = max(1, round((end - start) / BLOCK_NS))
    block_s = (end - start) / 1e9 / blocks
    counts, edges = np.histogram(times, bins=blocks, range=(start, end), weights=records)
    return edges[:-1] - (history.load_ns or 0), counts / block_s


def _records_over_time(history: History, of: str) -> tuple[Numbers, Numbers]:
    """When records passed a consumer, a job or a producer, and how many each time."""
    component = history.components.get(of)
    is_job = bool(component and component.as_engine)
    batches = [batch for batch in history.of(Batch) if batch.component == of]
    if is_job and batches:
        ends = np.array([batch.end for batch in batches], dtype=np.float64)
        return ends, np.array([batch.rows for batch in batches], dtype=np.float64)
    if component and component.topics_written and not is_job:
        times = history.ledger.sent.filter(of_component("producer", of))["acked"].drop_nulls()
    else:
        times = history.ledger.seen.filter(of_component("consumer", of))["seen"]
    return times.cast(pl.Float64).to_numpy(), np.ones(times.len())


def losses(history: History, topic: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """For each acked record when it was due and 1 if it was lost. The warm-up counts: records that
    were acked then must not be lost either.
    """
    delivery = NoLoss(topic=topic).delivery(history)
    if delivery.unknown and delivery.lost.is_empty():
        raise NotTaken(delivery.unknown)
    lost = delivery.lost.with_columns(lost=1.0)
    marked = acked_records(history, topic).join(lost, on=IDENTITY, how="left")
    return _since_load(history, marked["due"]), marked["lost"].fill_null(0.0).to_numpy()


def readiness(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """How long the run took until a component was ready, or until the load began."""
    if of == "all":
        time = history.load_ns
        reason = "the load never began"
    else:
        ready = {event.component: event.time for event in history.of(Ready)}
        time = ready.get(of)
        reason = f"{of} was never ready"
    if time is None:
        raise NotTaken(reason)
    return np.zeros(1), np.array([history.seconds(time)])


def cores(history: History, of: str, warm_up_ns: int) -> tuple[Numbers, Numbers]:
    """Processor cores in use between two samples, of all processes of a component together."""
    start, end = load_span(history, warm_up_ns)
    steps = _cpu_steps(history, of)
    # A counter that went down restarted with a new process: skip that step.
    counts_up = pl.col("used_s") >= 0
    under_load = pl.col("time").is_between(start, end)
    cores_in_use = (pl.col("used_s") / pl.col("passed_s")).sum().alias("cores")
    used = steps.filter(counts_up & under_load).group_by("time").agg(cores_in_use).sort("time")
    if used.is_empty():
        raise NotTaken(f"{of} ran under load for less than 2 s")
    return _since_load(history, used["time"]), used["cores"].to_numpy()


def _cpu_steps(history: History, of: str) -> pl.DataFrame:
    """CPU seconds used, and seconds passed, between two samples of each process of a component."""
    is_cpu = pl.col("metric") == "process_cpu_s"
    is_component = (pl.col("of") == of) | pl.col("of").str.starts_with(f"{of}/")
    samples = history.samples.filter(is_cpu & is_component).sort("of", "time")
    return samples.with_columns(
        used_s=pl.col("value").diff().over("of"),
        passed_s=pl.col("time").diff().over("of") / 1e9,
    )


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
