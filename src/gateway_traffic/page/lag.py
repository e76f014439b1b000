"""How far the job is behind: the ends of a topic less the offsets of the last batch that Spark's
checkpoint calls done.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

LIMIT_S = 2.0


def lag_of(bootstrap: str, topic: str, checkpoint: Path) -> Callable[[], int | None]:
    """Asks anew at each call; None if Kafka does not answer or the job has done no batch yet."""
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
            ends = {
                part: consumer.get_watermark_offsets(TopicPartition(topic, part), timeout=LIMIT_S)[
                    1
                ]
                for part in known
            }
        except KafkaException:
            return None
        return sum(max(0, end - done.get(part, 0)) for part, end in ends.items()) if done else None

    return lag


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
    """Spark writes a version, the batch's metadata, and the offsets of each source, a line each."""
    for line in text.splitlines()[2:]:
        found = json.loads(line) if line.startswith("{") else {}
        if topic in found:
            return {int(part): int(offset) for part, offset in found[topic].items()}
    return {}
