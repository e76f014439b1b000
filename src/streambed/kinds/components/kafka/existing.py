"""A Kafka cluster that exists already: missing topics are created, existing ones must be empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streambed.errors import ProcessError
from streambed.kinds.components.kafka.cluster import KafkaCluster, TopicSpec

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined]


class ExistingKafka(KafkaCluster):
    """An admin client for a cluster that is known only by its bootstrap servers."""

    def missing(self, *, brokers: int, topics: dict[str, TopicSpec]) -> str:
        """Create missing topics; say what is still missing. ProcessError if a topic is unfit."""
        from confluent_kafka import KafkaException

        view = self._view()
        if view is None:
            return "none of its servers answers"
        if not self._requested:
            self._refuse_unfit(view, topics)
            lacking = {name: spec for name, spec in topics.items() if name not in view.topics}
            try:
                self._create(lacking)
            except KafkaException as error:
                raise ProcessError(
                    f"the topics {', '.join(lacking)} could not be made: {error.args[0].str()}"
                ) from None
            self._requested |= set(topics)
        led = {
            name: sum(part.leader >= 0 for part in topic.partitions.values())
            for name, topic in view.topics.items()
        }
        waiting = [name for name, spec in topics.items() if led.get(name, 0) < spec.partitions]
        return f"no leader yet for {', '.join(waiting)}" if waiting else ""

    def _refuse_unfit(self, view: ClusterMetadata, topics: dict[str, TopicSpec]) -> None:
        """The ledger holds only this run's records, so topics must be empty."""
        there = [name for name in topics if name in view.topics]
        ends = self.end_offsets(there)
        for name in there:
            partitions = len(view.topics[name].partitions)
            if partitions != topics[name].partitions:
                raise ProcessError(
                    f"the topic '{name}' has {partitions} partitions there, not "
                    f"{topics[name].partitions}: delete it first"
                )
            held = sum(end or 0 for end in ends.get(name, {}).values())
            if held:
                raise ProcessError(
                    f"the topic '{name}' has held {held} records already, and a run must know them "
                    "all: delete it first"
                )
