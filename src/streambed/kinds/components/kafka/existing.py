"""A Kafka cluster that exists already: topics that are lacking are made, and those that are there
must be empty.
"""

from __future__ import annotations

from confluent_kafka import KafkaException
from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined]

from streambed.errors import ProcessError
from streambed.kinds.components.kafka.cluster import KafkaCluster, Wanted


class ExistingKafka(KafkaCluster):
    """The client's view of it. Nothing is known of its servers but what clients are told."""

    def missing(self, *, brokers: int, topics: dict[str, Wanted]) -> str:
        """Make what topics are lacking; say what is still missing. ProcessError if a topic is not
        fit for a run.
        """
        view = self._view()
        if view is None:
            return "none of its servers answers"
        if not self._asked:
            self._refuse_unfit(view, topics)
            lacking = {name: wanted for name, wanted in topics.items() if name not in view.topics}
            try:
                self._create(lacking)
            except KafkaException as error:
                raise ProcessError(
                    f"the topics {', '.join(lacking)} could not be made: {error.args[0].str()}"
                ) from None
            self._asked |= set(topics)
        led = {
            name: sum(part.leader >= 0 for part in topic.partitions.values())
            for name, topic in view.topics.items()
        }
        waiting = [name for name, wanted in topics.items() if led.get(name, 0) < wanted.partitions]
        return f"no leader yet for {', '.join(waiting)}" if waiting else ""

    def _refuse_unfit(self, view: ClusterMetadata, topics: dict[str, Wanted]) -> None:
        """A ledger knows only the records of its own run, and offsets that it can count from."""
        there = [name for name in topics if name in view.topics]
        ends = self.end_offsets(there)
        for name in there:
            partitions = len(view.topics[name].partitions)
            if partitions != topics[name].partitions:
                raise ProcessError(
                    f"the topic '{name}' has {partitions} partitions there, not "
                    f"{topics[name].partitions}: delete it first"
                )
            if held := sum(end or 0 for end in ends.get(name, {}).values()):
                raise ProcessError(
                    f"the topic '{name}' has held {held} records already, and a run must know them "
                    "all: delete it first"
                )
