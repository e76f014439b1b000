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

    def list_offsets(self, asked, request_timeout):
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
