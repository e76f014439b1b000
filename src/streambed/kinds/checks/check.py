"""What a check is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from streambed.errors import Problem
from streambed.kinds.declared_components import Components
from streambed.record.history import History, Verdict
from streambed.record.ledger.stored_rows import BatchJob, StoreProbe, StoreQuery


class Check(Protocol):
    """A property that must hold. Judging is pure: an old run can be judged again."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds."""

    @property
    def about(self) -> str:
        """The topic, component or command that it judges: the second half of a verdict's name, as
        in latency:reader.
        """

    def problems(self, components: Components) -> list[Problem]:
        """What is wrong with the declaration; keys are relative to the check."""

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topics that the witness must read back after the drain."""

    def judge(self, history: History) -> Verdict:
        """Answer holds, fails or unknown. An empty history never holds."""


@runtime_checkable
class AboutFaults(Protocol):
    """A check that also names faults."""

    def fault_problems(self, kinds: Sequence[str]) -> list[Problem]:
        """What is wrong with it, given the kinds of all declared faults."""


def fault_problems(check: Check, kinds: Sequence[str]) -> list[Problem]:
    """What is wrong with the faults that a check names; nothing if it names none."""
    return check.fault_problems(kinds) if isinstance(check, AboutFaults) else []


@runtime_checkable
class NeedsRows(Protocol):
    """A check that also needs what stores hold after the drain."""

    def store_queries(self, components: Components) -> tuple[StoreQuery, ...]:
        """The queries to run, and to record the results of."""


@runtime_checkable
class NeedsValues(Protocol):
    """A check that also needs the keys and values of topics."""

    def topics_kept(self, components: Components) -> tuple[str, ...]:
        """The topics that the witness must keep with keys and values."""


@runtime_checkable
class NeedsBatchJobs(Protocol):
    """A check that also needs the answer of a batch job over topics."""

    def batch_jobs(self, components: Components) -> tuple[BatchJob, ...]:
        """The jobs to run when a run is first judged."""


def batch_jobs(check: Check, components: Components) -> tuple[BatchJob, ...]:
    """The batch jobs that a check needs; none for most."""
    return check.batch_jobs(components) if isinstance(check, NeedsBatchJobs) else ()


@dataclass(frozen=True, kw_only=True)
class RowsFound:
    """How many rows of a store name a record."""

    store: str
    rows: int


@runtime_checkable
class FindsRows(Protocol):
    """A check that also finds the rows that were made of one record."""

    def rows_of_record(self, history: History, *, producer: str, sequence: int) -> RowsFound | None:
        """The rows of its store that name the record; None if that is unknown."""


def rows_of_record(
    check: Check, history: History, *, producer: str, sequence: int
) -> RowsFound | None:
    """What a check finds of a record in a store; None for most checks."""
    if not isinstance(check, FindsRows):
        return None
    return check.rows_of_record(history, producer=producer, sequence=sequence)


@runtime_checkable
class NeedsProbes(Protocol):
    """A check that also needs stores read under load."""

    def store_probes(self, components: Components) -> tuple[StoreProbe, ...]:
        """What to read, and how often."""


def store_probes(check: Check, components: Components) -> tuple[StoreProbe, ...]:
    """The probes that a check needs; none for most."""
    return check.store_probes(components) if isinstance(check, NeedsProbes) else ()


def store_queries(check: Check, components: Components) -> tuple[StoreQuery, ...]:
    """The queries that a check needs; none for most."""
    return check.store_queries(components) if isinstance(check, NeedsRows) else ()


def topics_kept(check: Check, components: Components) -> tuple[str, ...]:
    """The topics whose values a check needs; none for most."""
    return check.topics_kept(components) if isinstance(check, NeedsValues) else ()
