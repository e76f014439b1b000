"""Same as: two jobs over one input write the same, up to the order of independent records."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from streambed.errors import Problem
from streambed.kinds.checks.components import topic_problems
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.outputs.contents import contents_of
from streambed.kinds.evidence.readers import readers_of, witness_of
from streambed.record.history import Answer, History, Verdict
from streambed.units import count_of

CONTENT = ["key", "value"]
SHOWN = 5


@declared
class SameAs(MayFail):
    """`topic` and `other`, which two jobs wrote, hold the same records.

    Each key has the same records in the same order; records of different keys, and records without
    a key, have no order between them.
    """

    kind: Literal["same_as"] = "same_as"
    topic: str
    """What one job writes."""
    other: str
    """What the other one writes."""

    @property
    def about(self) -> str:
        """Both topics: same_as:shouted:whispered."""
        return f"{self.topic}:{self.other}"

    def problems(self, components: Components) -> list[Problem]:
        """Both topics must be declared and written by jobs, and differ."""
        wrong = [
            *topic_problems(components, self.topic),
            *topic_problems(components, self.other, "other"),
        ]
        if wrong:
            return wrong
        if self.topic == self.other:
            return [Problem(key="other", says="it is the same topic: name another one")]
        for key, topic in (("topic", self.topic), ("other", self.other)):
            if not _writers(components, topic):
                says = f"no job is declared to write {topic}: name it in `writes`"
                wrong.append(Problem(key=key, says=says))
        return wrong or _input_problems(components, self.topic, self.other)

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """Both topics must be read back."""
        return (self.topic, self.other)

    def topics_kept(self, components: Components) -> tuple[str, ...]:
        """Keys and values of both topics are compared."""
        return (self.topic, self.other)

    def judge(self, history: History) -> Verdict:
        """Compare the contents of both topics."""
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended")
        for topic in (self.topic, self.other):
            if not witness_of(history, topic):
                return self._verdict("unknown", f"{topic} was not read back, or holds nothing")
        one, other = contents_of(history, self.topic), contents_of(history, self.other)
        if one.is_empty() or other.is_empty():
            return self._verdict("unknown", "keys and values were not kept")
        return self._compare(history, one, other)

    def _compare(self, history: History, one: pl.DataFrame, other: pl.DataFrame) -> Verdict:
        counts = _counts_in_both(one, other)
        more = counts.filter(pl.col("one") > pl.col("other"))
        less = counts.filter(pl.col("one") < pl.col("other"))
        moved = _count_reordered_keys(one, other)
        evidence: dict[str, Any] = {
            "records": one.height,
            "other_records": other.height,
            "only_in_topic": int((more["one"] - more["other"]).sum()),
            "only_in_other": int((less["other"] - less["one"]).sum()),
            "keys_in_another_order": moved,
        }
        wrong = self._differences(more, less, moved)
        same = f"{count_of(one.height, 'record')}, the same in {self.topic} and {self.other}"
        behind = _behind(history, (self.topic, self.other))
        if behind:
            says = f"{', '.join(behind)} may not have read everything; {'; '.join(wrong) or same}"
            return self._verdict("unknown", says, evidence)
        if not wrong:
            return self._verdict("holds", same, evidence)
        return self._verdict("fails", "; ".join(wrong), evidence)

    def _differences(self, more: pl.DataFrame, less: pl.DataFrame, moved: int) -> list[str]:
        """A phrase for each way in which the topics differ; empty if they are the same."""
        phrases = []
        if more.height:
            phrases.append(f"only in {self.topic}: {_rows_text(more)}")
        if less.height:
            phrases.append(f"only in {self.other}: {_rows_text(less)}")
        if not phrases and moved:
            phrases.append(f"{count_of(moved, 'key')} in another order")
        return phrases

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any] | None = None
    ) -> Verdict:
        words = {"holds": "are the same", "fails": "differ", "unknown": "may differ"}
        brief = f"{self.topic} and {self.other} {words[answer]}"
        return Verdict(
            check=self.kind, answer=answer, says=says, evidence=evidence or {}, brief=brief
        )


def _rows_text(rows: pl.DataFrame) -> str:
    shown = ", ".join(_text(row) for row in rows.head(SHOWN).iter_rows())
    rest = f" and {rows.height - SHOWN} more" if rows.height > SHOWN else ""
    return shown + rest


def _writers(components: Components, topic: str) -> list[str]:
    return [
        name
        for name, component in components.items()
        if component.as_engine and topic in component.as_engine.writes
    ]


def _input_problems(components: Components, topic: str, other: str) -> list[Problem]:
    """Both jobs must read the same topics: otherwise their outputs may differ."""
    jobs = [*_writers(components, topic), *_writers(components, other)]
    engines = {job: components[job].as_engine for job in jobs}
    inputs = {job: sorted(engine.reads) for job, engine in engines.items() if engine}
    if len({tuple(reads) for reads in inputs.values()}) == 1:
        return []
    reads = ", ".join(f"{job} reads {', '.join(topics)}" for job, topics in inputs.items())
    says = f"{reads}: only jobs on the same topics can be compared"
    return [Problem(key="other", says=says)]


def _behind(history: History, topics: tuple[str, ...]) -> list[str]:
    """The jobs that write these topics and may not have read all of their input."""
    behind = []
    for job in {name for topic in topics for name in _writers(history.components, topic)}:
        for topic in history.components[job].as_engine.reads:  # type: ignore[union-attr]
            for reader in readers_of(history, topic):
                unread = reader.unread(history, topic)
                if job in reader.components and (unread.everything or unread.partitions):
                    behind.append(job)
    return sorted(set(behind))


def _counts_in_both(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """How often each content is in the one topic and in the other."""
    counts = _counts(one, "one").join(
        _counts(other, "other"), on=CONTENT, how="full", coalesce=True, nulls_equal=True
    )
    return counts.with_columns(pl.col("one", "other").fill_null(0))


def _counts(contents: pl.DataFrame, name: str) -> pl.DataFrame:
    return contents.group_by(CONTENT, maintain_order=True).agg(pl.len().cast(pl.Int64).alias(name))


def _count_reordered_keys(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """How many keys have their values in another order, among those in one partition only."""
    sequences = []
    for contents in (one, other):
        keyed = contents.filter(pl.col("key").is_not_null()).group_by("key")
        grouped = keyed.agg("value", partitions=pl.col("partition").n_unique())
        sequences.append(grouped.filter(pl.col("partitions") == 1).select(*CONTENT))
    both = sequences[0].join(sequences[1], on="key")
    return both.filter(pl.col("value") != pl.col("value_right")).height


def _text(row: tuple[Any, ...]) -> str:
    key, value, one, other = row
    times = abs(one - other)
    content = f"{key}={value}" if key is not None else str(value)
    return content if times == 1 else f"{content} ({times} times)"
