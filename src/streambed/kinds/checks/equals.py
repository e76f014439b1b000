"""Equals: a store's answer is what SQL over the input log gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from streambed.errors import Problem, QueryError, suggestion
from streambed.kinds.checks.components import store_problems, topic_problems, topics_among
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Names, declared
from streambed.kinds.evidence.by_batches import batches_of
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.outputs.contents import contents_of
from streambed.kinds.evidence.outputs.deleted import was_deleted
from streambed.kinds.evidence.outputs.lateness import event_time_problem, late_records, timed_log
from streambed.kinds.evidence.outputs.row_comparison import Compared, compare_rows, has_several_rows
from streambed.kinds.evidence.readers import readers_of, witness_of
from streambed.record.history import Answer, History, Verdict
from streambed.record.ledger.stored_rows import BatchJob, StoreQuery
from streambed.stores import log_sql
from streambed.units import Duration, count_of

JOB = re.compile(r".+\.py:[A-Za-z_]\w*")


@declared
class Equals(MayFail):
    """What `query` finds in `store` after the drain equals what `sql` finds in the input log.

    In `sql`, which DuckDB runs, each topic is a table with the columns partition, offset,
    timestamp, key and value. Rows are matched by the columns in `key` and compared column by
    column. Records that a job had not read when the run ended, and those it may have dropped as
    late, need not count: columns in `counts` may lie between the answers without and with them.
    """

    kind: Literal["equals"] = "equals"
    store: str
    """The store."""
    query: str
    """In the store's own language."""
    sql: str = ""
    """The same from the input log, with columns of the same names."""
    job: str = ""
    """In place of `sql`: FILE.py:FUNCTION, a PySpark function. It takes a dictionary with a data
    frame for each topic, and returns a data frame.
    """
    topics: Names = ()
    """The topics that `job` needs."""
    key: Annotated[Names, Field(min_length=1)]
    """The columns that identify a row."""
    counts: Names = ()
    """Columns that are counts, or sums of what is never negative."""
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    """How far numbers may differ."""
    event_time: str = ""
    """For a job that drops late rows: the event time, as in `late_as_declared`."""
    window: Duration = Duration(0)
    """The size of the tumbling windows of that job."""
    late: Literal["allowed", "wrong"] = "allowed"
    """`wrong`: records that a job dropped as late must count like all others."""

    @model_validator(mode="after")
    def _has_one_reference(self) -> Equals:
        if bool(self.sql) == bool(self.job):
            raise ValueError("give sql or job")
        if bool(self.job) != bool(self.topics):
            raise ValueError("topics are needed with job, and with job only")
        if self.job and not JOB.fullmatch(self.job):
            raise ValueError(f"job is '{self.job}': write FILE.py:FUNCTION")
        if self.late == "wrong" and self.event_time:
            raise ValueError("give event_time or `late: wrong`: it tells which may be missing")
        return self

    @property
    def about(self) -> str:
        """The store: verdicts are named equals:STORE."""
        return self.store

    @property
    def store_query(self) -> StoreQuery:
        """The query for the rows to compare, asked after the drain."""
        return StoreQuery(store=self.store, text=self.query)

    def problems(self, components: Components) -> list[Problem]:
        """The store must be declared, and the SQL be right."""
        wrong = store_problems(components, self.store)
        topics = topics_among(components)
        if self.job:
            for topic in self.topics:
                wrong += topic_problems(components, topic, "topics")
            return wrong
        try:
            used = log_sql.check_sql(self.sql, topics)
        except QueryError as error:
            known = f"The topics are tables: {', '.join(topics)}" if topics else ""
            return [*wrong, Problem(key="sql", says=f"{error}. {known}".strip())]
        if self.event_time and (says := self._event_time_problem(used)):
            wrong.append(Problem(key="event_time", says=says))
        if not used:
            says = f"it reads no topic. {suggestion('', topics)}"
            return [*wrong, Problem(key="sql", says=says)]
        return wrong + self._column_problems(log_sql.result_columns(self.sql, topics))

    def _column_problems(self, columns: tuple[str, ...]) -> list[Problem]:
        """`key` and `counts` must be columns of the answer."""
        return [
            Problem(
                key=key,
                says=f"the answer of `sql` has no column '{name}'. {suggestion(name, columns)}",
            )
            for key, names in (("key", self.key), ("counts", self.counts))
            for name in names
            if name not in columns
        ]

    def _event_time_problem(self, topics: tuple[str, ...]) -> str:
        return event_time_problem(self.event_time, topics)

    def _topics(self, components: Components) -> tuple[str, ...]:
        if self.job:
            return self.topics
        return log_sql.check_sql(self.sql, topics_among(components))

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topics that the SQL reads."""
        return self._topics(components)

    def topics_kept(self, components: Components) -> tuple[str, ...]:
        """The topics that the SQL reads."""
        return self._topics(components)

    def store_queries(self, components: Components) -> tuple[StoreQuery, ...]:
        """The query for the rows to compare."""
        return (self.store_query,)

    def batch_jobs(self, components: Components) -> tuple[BatchJob, ...]:
        """The batch job that computes the expected rows, if `job` names one."""
        return (BatchJob(text=self.job, topics=self.topics),) if self.job else ()

    def judge(self, history: History) -> Verdict:
        """Compare the recorded answer of the store with the answer of the log."""
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended")
        stored = history.rows_of(self.store_query)
        if stored.rows is None:
            return self._verdict("unknown", f"{self.store} could not be read: {stored.error}")
        topics = self._topics(history.components)
        reason = _why_log_unknown(history, topics)
        if reason:
            return self._verdict("unknown", reason)
        contents = {topic: contents_of(history, topic) for topic in topics}
        if any(table.is_empty() for table in contents.values()):
            return self._verdict("unknown", "keys and values were not kept")
        if self.job:
            return self._judge_by_job(history, stored.rows, contents)
        return self._judge_by_sql(history, stored.rows, contents)

    def _judge_by_sql(
        self, history: History, rows: pl.DataFrame, may: Mapping[str, pl.DataFrame]
    ) -> Verdict:
        """Compare with the SQL over the records that must and over those that may count."""
        unread = {topic: _unread(history, topic) for topic in may}
        must = {}
        try:
            for topic, table in may.items():
                late = self._late(history, topic, table.height)
                must[topic] = table.filter(~unread[topic] & ~late)
            most = log_sql.run_sql(self.sql, may)
            least = log_sql.run_sql(self.sql, must)
        except QueryError as error:
            return self._verdict("unknown", f"the SQL failed: {error}")
        undecided = sum(may[topic].height - must[topic].height for topic in may)
        late_rows = 0 if self.event_time else self._late_rows(history, tuple(may))
        return self._compare(rows, least, most, undecided, late_rows)

    def _judge_by_job(
        self, history: History, rows: pl.DataFrame, topics: Mapping[str, pl.DataFrame]
    ) -> Verdict:
        """Compare with the answer of the batch job. That is one answer, without an interval."""
        (job,) = self.batch_jobs(history.components)
        expected = history.rows_of(job)
        if expected.rows is None:
            return self._verdict("unknown", f"{self.job} gave no answer: {expected.error}")
        undecided = sum(
            table.filter(_unread(history, topic)).height for topic, table in topics.items()
        )
        late = self._late_rows(history, tuple(topics))
        none = expected.rows.clear() if undecided else expected.rows
        return self._compare(rows, none, expected.rows, undecided, late)

    def _compare(
        self, rows: pl.DataFrame, least: pl.DataFrame, most: pl.DataFrame, undecided: int, late: int
    ) -> Verdict:
        reason = self._why_not_comparable(rows, most)
        if reason:
            return self._verdict("unknown", reason)
        exact = compare_rows(rows, most, most, self.key, (), self.tolerance)
        evidence: dict[str, Any] = {
            "rows": rows.height,
            "expected": most.height,
            "undecided_records": undecided,
            "late_rows": late,
            "different": exact.count,
            "differences": list(exact.shown),
        }
        if not exact.count:
            return self._equal(most, evidence)
        if not undecided and not late:
            return self._differ(exact, evidence)
        if late:
            least = least.clear()  # It is unknown which rows were dropped: any may be missing.
        bounded = compare_rows(rows, least, most, self.key, self.counts, self.tolerance)
        if bounded.sure:
            return self._differ(bounded, evidence)
        return self._within_bounds(bounded, evidence)

    def _why_not_comparable(self, rows: pl.DataFrame, most: pl.DataFrame) -> str:
        """Why rows cannot be matched by key; empty if they can."""
        missing = [name for name in most.columns if name not in rows.columns]
        missing += [name for name in self.key if name not in most.columns]
        if missing:
            says = f"no column {', '.join(missing)}; {self.store} has {', '.join(rows.columns)}"
            return f"{says}, the SQL has {', '.join(most.columns)}"
        if has_several_rows(most, self.key):
            says = f"what {self.store} must equal has several rows for one {', '.join(self.key)}"
            return f"{says}: name more columns in `key`"
        return ""

    def _within_bounds(self, bounded: Compared, evidence: dict[str, Any]) -> Verdict:
        """The verdict if no row is certainly wrong, although some are not exact."""
        differ = count_of(evidence["different"], "row")
        if evidence["late_rows"]:
            dropped = count_of(evidence["late_rows"], "row")
            says = f"{differ} differ, and {dropped} were dropped as late"
            says = f"{says}: give `event_time`, so that it is known which"
            return self._verdict("unknown", says, evidence)
        count = count_of(evidence["undecided_records"], "record")
        if bounded.count:
            says = f"{differ} differ, which {count} that need not count may explain"
            return self._verdict("unknown", says, evidence)
        says = f"{count_of(evidence['rows'], 'row')} within the bounds; {count} need not count"
        return self._verdict("holds", says, evidence)

    def _late(self, history: History, topic: str, height: int) -> pl.Series:
        """Whether each record of a topic may have been dropped as late by any job."""
        late = np.zeros(height, dtype=bool)
        if self.event_time:
            log = timed_log(history, topic, self.event_time, self.window.ns)
            for job in _jobs_on(history, (topic,)):
                late |= late_records(history, job, topic, log)
        return pl.Series(late)

    def _late_rows(self, history: History, topics: tuple[str, ...]) -> int:
        """How many rows may be missing because the jobs on these topics dropped them as late."""
        if self.late == "wrong":
            return 0
        jobs = _jobs_on(history, topics)
        return sum(batch.late_rows or 0 for job in jobs for batch in batches_of(history, job))

    def _equal(self, expected: pl.DataFrame, evidence: dict[str, Any]) -> Verdict:
        if expected.is_empty():
            return self._verdict("unknown", "both answers are empty", evidence)
        says = f"{count_of(expected.height, 'row')} of {self.store} equal the answer of the log"
        return self._verdict("holds", says, evidence)

    def _differ(self, compared: Compared, evidence: dict[str, Any]) -> Verdict:
        count = count_of(compared.sure or compared.count, "row")
        says = f"{count} of {self.store} differ from the log: {'; '.join(compared.shown)}"
        return self._verdict("fails", says, evidence)

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any] | None = None
    ) -> Verdict:
        words = {"holds": "equals", "fails": "differs from", "unknown": "may differ from"}
        brief = f"{self.store} {words[answer]} the log"
        return Verdict(
            check=self.kind, answer=answer, says=says, evidence=evidence or {}, brief=brief
        )


def _why_log_unknown(history: History, topics: tuple[str, ...]) -> str:
    """Why the contents of these topics are not known in full; empty if they are."""
    absent = [topic for topic in topics if not witness_of(history, topic)]
    if absent:
        return f"{', '.join(absent)} was not read back, or holds nothing"
    deleted = [topic for topic in topics if was_deleted(history, topic)]
    if deleted:
        return f"records of {', '.join(deleted)} were deleted before they were read back"
    return ""


def _unread(history: History, topic: str) -> pl.Expr:
    """Whether a job or sink may not have read a record."""
    rows = [
        reader.unread(history, topic).rows()
        for reader in readers_of(history, topic)
        if reader.evidence or _writes_store(history, reader.components)
    ]
    return pl.any_horizontal(pl.lit(False), *rows)


def _writes_store(history: History, members: tuple[str, ...]) -> bool:
    components = [history.components.get(member) for member in members]
    return any(component and component.stores_used for component in components)


def _jobs_on(history: History, topics: tuple[str, ...]) -> list[str]:
    return [
        name
        for name, component in history.components.items()
        if component.as_engine and set(component.as_engine.reads) & set(topics)
    ]
