from types import MappingProxyType

from streambed import Elect, Kafka
from tests.support.fakes import FakeWorld

COMPONENTS = {"kafka": Kafka(name="kafka", nodes=("b1", "b2"), topics={"lines": {}})}


class Cluster:
    """A broker that notes which elections were asked for."""

    name = "kafka"
    partitions = MappingProxyType({"lines": 1})

    def __init__(self) -> None:
        self.elections: list[tuple[str, int, bool]] = []

    @property
    def as_broker(self) -> "Cluster":
        return self

    def elect(self, world, *, topic, partition, unclean):
        self.elections.append((topic, partition, unclean))
        return "kafka/b2"


def test_an_election_is_held_and_the_event_names_who_leads():
    world, cluster = FakeWorld(), Cluster()
    world.components = {"kafka": cluster}

    injected = Elect(at="1s", partition="lines/0", unclean=True).inject(world)

    assert cluster.elections == [("lines", 0, True)]
    assert injected.target == "kafka/b2 (unclean leader of lines/0)"


def problems(partition: str) -> list[str]:
    fault = Elect(at="1s", partition=partition)
    return [problem.says for problem in fault.problems([], {}, COMPONENTS)]


def test_an_election_needs_a_partition_that_exists():
    assert problems("lines/0") == problems("lines") == []
    assert problems("lines/1") == ["'lines' has only partition 0, not 1"]
    assert problems("a b") == ["'a b' is not a partition: write one such as lines/0"]
