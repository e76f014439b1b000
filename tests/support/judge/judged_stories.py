"""Judge a story: the anomalies that were found, with their counts."""

from __future__ import annotations

from streambed.judge.engine import judge_topic
from streambed.judge.findings import Facts, Finding
from streambed.judge.reading import topic_of
from tests.support.judge.stories import TOPIC, Story


def judge(story: Story, facts: Facts | None = None) -> dict[str, Finding]:
    """What was found of each anomaly, with the facts of the story unless others are given."""
    known = story.facts if facts is None else facts
    return {
        finding.anomaly: finding for finding in judge_topic(topic_of(story.ledger(), TOPIC), known)
    }


def counts(story: Story, facts: Facts | None = None) -> dict[str, int]:
    """The anomalies that were found, and how often."""
    findings = judge(story, facts)
    return {name: finding.count for name, finding in findings.items() if finding.count}


def names(story: Story, finding: Finding) -> list[str]:
    """The offending records by name."""
    topic = topic_of(story.ledger(), TOPIC)
    return [topic.name_of(record) for record in finding.records]
