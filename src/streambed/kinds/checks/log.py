"""Log: what was sent, what the log holds and what groups read of it fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from streambed.errors import Problem, suggestion
from streambed.judge import engine, reading
from streambed.judge.anomalies import ANOMALIES, BY_NUMBER, number_of
from streambed.judge.promises import promise
from streambed.kinds.checks.components import ledger_problems
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence import log_facts, log_rows
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.readers import without_ledger
from streambed.record.history import Answer, History, Verdict
from streambed.units import count_of

if TYPE_CHECKING:
    from streambed.judge.findings import Finding
    from streambed.kinds.evidence.log_rows import LogRow

WORDS = tuple(word for anomaly in ANOMALIES for word in (anomaly.number, anomaly.name))


def _numbers(words: tuple[str, ...]) -> tuple[str, ...]:
    numbers = []
    for word in words:
        number = number_of(word)
        if number is None:
            raise ValueError(f"no anomaly is called '{word}'. {suggestion(word, WORDS)}")
        numbers.append(number)
    return tuple(dict.fromkeys(numbers))


Anomalies = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda words: (words,) if isinstance(words, str) else words),
    AfterValidator(_numbers),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(WORDS)},
                {"type": "array", "items": {"type": "string", "enum": list(WORDS)}},
            ]
        }
    ),
]
"""Anomalies by number or name."""


@declared
class Expect:
    """What an experiment must show that is about a danger."""

    found: Annotated[Anomalies, Field(min_length=1)]
    """Anomalies that must be found."""
    may: Anomalies = ()
    """Anomalies that may be found besides them."""


@declared
class Log:
    """Nothing is wrong with the log of `topic`, nor with what its groups read of it: none of the
    anomalies A1 to A23 of docs/judge.md is found.

    A10, A14 and A16 are only counted: Kafka allows them always.
    """

    kind: Literal["log"] = "log"
    topic: str
    allow: Anomalies = ()
    """Anomalies that do not make it fail, by number or name."""
    expect: Expect | None = None
    """It holds if exactly these anomalies are found."""

    @property
    def about(self) -> str:
        """The topic: verdicts are named log:TOPIC."""
        return self.topic

    def problems(self, components: Components) -> list[Problem]:
        """The topic must be declared, on a broker with offsets."""
        brokers = [component.as_broker for component in components.values() if component.as_broker]
        partitions = {
            topic: count for broker in brokers for topic, count in broker.partitions.items()
        }
        if self.topic not in partitions:
            says = f"no topic '{self.topic}'. {suggestion(self.topic, partitions)}"
            return [Problem(key="topic", says=says)]
        if not partitions[self.topic]:
            says = f"the broker of '{self.topic}' has no offsets to judge: use no_loss"
            return [Problem(key="topic", says=says)]
        wrong = ledger_problems(components, self.topic)
        return wrong + self._expect_problems(components)

    def _expect_problems(self, components: Components) -> list[Problem]:
        """What can never be found cannot be expected."""
        problems = []
        for number in self.expect.found if self.expect else ():
            if reason := self._why_never_found(number, components):
                says = f"{number} can never be found here: {reason}"
                problems.append(Problem(key="expect", says=says))
        return problems

    def _why_never_found(self, number: str, components: Components) -> str:
        anomaly = BY_NUMBER[number]
        if anomaly.counted_only:
            return "it is only counted, because Kafka always allows it"
        if any(component.hands_in_ledger for component in components.values()):
            return ""  # A program of the user may do what our own clients do not.
        if anomaly.needs == "transactional reads":
            return "no client here reads inside a transaction"
        writers = [one for one in components.values() if self.topic in one.topics_written]
        if anomaly.needs == "transactions" and not any(one.transactional_ids for one in writers):
            return f"no producer of {self.topic} sends transactions"
        return ""

    def witnessed(self, components: Components) -> tuple[str, ...]:
        """The topic: without a read-back much is unknown."""
        return (self.topic,)

    def judge(self, history: History) -> Verdict:
        """Judge every anomaly; a row of the evidence for each."""
        unknown = self._why_unknown(history)
        if unknown:
            return self._verdict("unknown", unknown, {})
        topic = reading.topic_of(history.ledger, self.topic)
        settings = log_facts.settings_of(history, self.topic)
        rows = []
        for finding in engine.judge_topic(topic, log_facts.facts_of(history, topic)):
            rule = promise(finding.anomaly, settings)
            rows.append(
                log_rows.row_of(history, topic, finding, rule, allowed=self._allows(finding))
            )
        evidence = {
            "records": len(topic.sends),
            "groups": sorted(topic.reads),
            "rows": [row.evidence() for row in rows],
        }
        if self.expect:
            return self._verdict_of_expected(rows, self.expect, evidence)
        return self._verdict_of_rows(rows, len(topic.sends), evidence)

    def _why_unknown(self, history: History) -> str:
        if not load_ended(history):
            return "the run broke before the load ended"
        silent = without_ledger(history, self.topic)
        if silent:
            return f"{', '.join(silent)} kept no ledger of {self.topic}"
        topic = reading.topic_of(history.ledger, self.topic)
        if not len(topic.sends) and not topic.committed:
            return f"nothing is known to be in {self.topic}"
        return ""

    def _allows(self, finding: Finding) -> bool:
        return BY_NUMBER[finding.anomaly].counted_only or finding.anomaly in self.allow

    def _verdict_of_rows(
        self, rows: Sequence[LogRow], records: int, evidence: dict[str, Any]
    ) -> Verdict:
        wrong = [row for row in rows if row.answer == "fails"]
        if wrong:
            return self._verdict("fails", _all_say(wrong), evidence, _brief_of(wrong))
        unsure = [row for row in rows if row.answer == "unknown"]
        if unsure:
            return self._verdict("unknown", _all_say(unsure), evidence)
        counted = [row.short for row in rows if row.count]
        says = f"{count_of(records, 'record')}, nothing wrong"
        if counted:
            says += f"; allowed: {', '.join(counted)}"
        return self._verdict("holds", says, evidence)

    def _verdict_of_expected(
        self, rows: Sequence[LogRow], expect: Expect, evidence: dict[str, Any]
    ) -> Verdict:
        """Holds if exactly what is expected was found; what is unknown was not found."""
        accepted_numbers = {*expect.found, *expect.may, *self.allow}
        accepted = [row for row in rows if row.anomaly.number in accepted_numbers]
        others = [row for row in rows if row.anomaly.number not in accepted_numbers]
        wrong = [row for row in others if row.answer == "fails"]
        if wrong:
            says = f"found besides what was expected: {_all_say(wrong)}"
            return self._verdict("fails", says, evidence, _brief_of(wrong))
        absent = _rows_not_found(rows, expect)
        if any(not row.unsure for row in absent):
            names = ", ".join(row.title for row in absent)
            return self._verdict("fails", f"expected and not found: {names}", evidence)
        unsure = absent + [row for row in others if row.unsure]
        if unsure:
            return self._verdict("unknown", _all_say(unsure), evidence)
        found = [row for row in accepted if row.count]
        return self._verdict("holds", f"found as expected: {_all_say(found)}", evidence)

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any], brief: str = ""
    ) -> Verdict:
        good = "as expected" if self.expect else "in order"
        briefs = {
            "holds": f"log of {self.topic} {good}",
            "fails": f"log of {self.topic}: {brief or says}",
            "unknown": f"log of {self.topic} unknown",
        }
        return Verdict(
            check=self.kind, answer=answer, says=says, evidence=evidence, brief=briefs[answer]
        )


def _rows_not_found(rows: Sequence[LogRow], expect: Expect) -> list[LogRow]:
    """The rows of the anomalies that must be found and were not, in the declared order."""
    by_number = {row.anomaly.number: row for row in rows}
    expected = [by_number[number] for number in expect.found]
    return [row for row in expected if not row.count]


def _all_say(rows: Sequence[LogRow]) -> str:
    return "; ".join(row.says for row in rows)


def _brief_of(rows: Sequence[LogRow]) -> str:
    return ", ".join(f"{row.count:,} {row.plain_name}" for row in rows)
