"""The job's lag: the end offsets of a topic minus those of the last batch in Spark's checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

LIMIT_S = 2.0


def lag_of(bootstrap: str, topic: str, checkpoint: Path) -> Callable[[], int | None]:
    """A function that returns the lag; None if Kafka is silent or no batch is done yet."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "gateway-traffic-page",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)

    def lag() -> int | None:
        done = offsets_done(checkpoint, topic)
        try:
            known = consumer.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions
            ends = {part: _end_offset(consumer, topic, part) for part in known}
        except KafkaException:
            return None
        if not done:
            return None
        return sum(max(0, end - done.get(part, 0)) for part, end in ends.items())

    return lag


def _end_offset(consumer: Consumer, topic: str, part: int) -> int:
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, part), timeout=LIMIT_S)
    return int(end)


def offsets_done(checkpoint: Path, topic: str) -> dict[int, int]:
    """The offsets up to which every query of a checkpoint has finished; the slowest counts."""
    slowest: dict[int, int] = {}
    for commits in checkpoint.glob("**/commits"):
        numbers = [int(path.name) for path in commits.iterdir() if path.name.isdigit()]
        offsets = commits.with_name("offsets") / str(max(numbers, default=-1))
        if not numbers or not offsets.exists():
            continue
        for part, offset in _offsets(offsets.read_text(), topic).items():
            slowest[part] = min(offset, slowest.get(part, offset))
    return slowest


def _offsets(text: str, topic: str) -> dict[int, int]:
    """Spark writes a version, the batch's metadata, then a line of offsets for each source."""
    for line in text.splitlines()[2:]:
        source = json.loads(line) if line.startswith("{") else {}
        if topic in source:
            return {int(part): int(offset) for part, offset in source[topic].items()}
    return {}
