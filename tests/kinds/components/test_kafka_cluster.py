from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from streambed.kinds.components.kafka.cluster import KafkaCluster


class Client:
    """An admin client of a cluster with partitions that have a leader or not, and those whose
    leader does not answer.
    """

    def __init__(self, leaders, silent=()):
        self.leaders, self.silent = leaders, silent
        self.asked = []

    def list_topics(self, timeout):
        parts = {number: SimpleNamespace(leader=leader) for number, leader in self.leaders.items()}
        return SimpleNamespace(topics={"lines": SimpleNamespace(partitions=parts)})

    def list_offsets(self, asked, isolation_level, request_timeout):
        self.asked = [part.partition for part in asked]
        return {part: self._answer(part.partition) for part in asked}

    def _answer(self, partition):
        future = Future()
        if partition in self.silent:
            future.set_exception(KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE)))
        else:
            future.set_result(SimpleNamespace(offset=10 + partition))
        return future


@pytest.fixture
def cluster():
    made = KafkaCluster("nowhere:9092")

    def with_client(client):
        made._client = client
        return made

    return with_client


def test_a_partition_without_a_leader_has_no_end_and_is_not_asked(cluster):
    client = Client({0: 1, 1: -1, 2: 3})

    assert cluster(client).end_offsets(["lines", "words"]) == {"lines": {0: 10, 1: None, 2: 12}}
    assert client.asked == [0, 2]


def test_a_partition_whose_leader_does_not_answer_hides_no_other(cluster):
    assert cluster(Client({0: 1, 1: 2}, silent=(0,))).end_offsets(["lines"]) == {
        "lines": {0: None, 1: 11}
    }


class Describing:
    """An admin client that knows the settings of `lines`, and fails for all other topics."""

    def describe_configs(self, resources, request_timeout):
        return {resource: self._answer(resource.name) for resource in resources}

    def _answer(self, topic):
        future = Future()
        if topic == "lines":
            entries = {"retention.ms": SimpleNamespace(value="1000"), "other": None}
            future.set_result(entries)
        else:
            future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        return future


def test_settings_that_cannot_be_read_are_noted_and_hide_no_other(cluster):
    note, settings = cluster(Describing())._settings("kafka", ["words", "lines"])

    assert note.says.startswith("the settings of words could not be read, so the declared ones")
    assert (settings.topic, settings.settings) == ("lines", {"retention.ms": "1000"})
