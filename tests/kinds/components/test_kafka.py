import socket
import struct
from collections import Counter

import pytest

from streambed import Kafka
from streambed.errors import WorldError
from streambed.kinds.components.kafka import protocol
from streambed.kinds.components.kafka.properties import advertised_name, properties
from streambed.kinds.components.kafka.protocol import (
    Partition,
    coordinating_partition,
    quorum_leader,
    view,
)
from streambed.kinds.components.kafka.topic import Topic, topic_specs
from streambed.kinds.components.roles import Role
from tests.support.fakes import FakeWorld

KAFKA = Kafka(
    name="kafka",
    nodes=("b1", "b2", "b3"),
    topics={"lines": {"partitions": 2, "replicas": 2, "leaders": ["b3", "b1"]}},
)
LEADER = Role(kind="leader", of="lines", partition=1)


def text(words: str) -> bytes:
    return struct.pack("!h", len(words)) + words.encode()


def metadata(**of_partition_1: int) -> bytes:
    """An answer of Kafka's about partitions 0 and 1 of lines."""
    broker = struct.pack("!i", 1) + text("b1") + struct.pack("!i", 9092) + struct.pack("!h", -1)
    head = (
        struct.pack("!iii", 0, 0, 1)
        + broker
        + text("cluster")
        + struct.pack("!ii", 3, 1)
        + struct.pack("!h", 0)
        + text("lines")
        + b"\0"
    )
    lists = struct.pack("!iii", 2, 1, 2) + struct.pack("!ii", 1, 1) + struct.pack("!i", 0)
    parts = [(0, 1, 4), (1, of_partition_1["leader"], of_partition_1["epoch"])]
    return (
        head
        + struct.pack("!i", 2)
        + b"".join(struct.pack("!hiii", 0, *part) + lists for part in parts)
    )


def test_a_broker_tells_leaders_with_their_epochs_replicas_and_who_is_in_sync():
    assert view(metadata(leader=2, epoch=7)) == {
        "lines": {0: Partition(4, 1, (1, 2), (1,)), 1: Partition(7, 2, (1, 2), (1,))}
    }


def test_only_the_controller_that_leads_answers_who_leads():
    led = (
        struct.pack("!iBh", 0, 0, 0)
        + b"\2"
        + b"\x13__cluster_metadata"
        + b"\2"
        + struct.pack("!ihii", 0, 0, 3, 12)
    )

    assert quorum_leader(led) == (12, 3)
    assert quorum_leader(struct.pack("!iBh", 0, 0, 6)) is None


@pytest.mark.parametrize(
    ("group", "partition"),
    [("hello", 22), ("Hello World!", 47), ("", 0), ("polygenelubricants", 0)],
)
def test_a_group_belongs_to_the_partition_that_java_says(group, partition):
    assert coordinating_partition(group, 50) == partition


def answering(monkeypatch: pytest.MonkeyPatch, *answers: bytes) -> None:
    monkeypatch.setattr(protocol, "answers", lambda connections, request: answers)


def test_a_broker_that_was_cut_off_and_names_the_leader_of_old_is_not_believed(monkeypatch):
    answering(
        monkeypatch,
        metadata(leader=1, epoch=3),
        metadata(leader=2, epoch=5),
        metadata(leader=1, epoch=3),
    )

    assert KAFKA.role_holder(LEADER, FakeWorld()) == "kafka/b2"


def test_a_partition_without_a_leader_is_led_by_nobody(monkeypatch):
    answering(monkeypatch, metadata(leader=1, epoch=3), metadata(leader=-1, epoch=4))

    with pytest.raises(WorldError, match="no broker of kafka is leader of lines/1 at this moment"):
        KAFKA.role_holder(LEADER, FakeWorld())


def test_where_no_broker_answers_nobody_holds_a_role(monkeypatch):
    answering(monkeypatch)

    with pytest.raises(
        WorldError, match="no broker of kafka tells who is controller at this moment"
    ):
        KAFKA.role_holder(Role(kind="controller"), FakeWorld())


def assignment(brokers, **topics):
    return [
        partition
        for topic in topic_specs(
            {name: Topic(**keys) for name, keys in topics.items()}, brokers
        ).values()
        for partition in topic.assignment
    ]


def test_leaders_are_placed_in_turn_and_replicas_follow_in_the_order_of_nodes():
    assert assignment(
        KAFKA.nodes, lines={"partitions": 2, "replicas": 2, "leaders": ["b3", "b1"]}
    ) == [
        [3, 1],
        [1, 2],
    ]


def test_without_a_word_kafka_places_partitions():
    assert assignment(["b1"], lines={}) == []


def test_given_nodes_become_the_numbers_of_brokers():
    assert assignment(["b1", "b2", "b3"], lines={"replicas": 2, "placement": [["b3", "b1"]]}) == [
        [3, 1]
    ]


def test_balanced_placement_evens_out_leaders_and_replicas_over_all_topics():
    brokers = [f"b{number}" for number in range(20)]
    dealt = assignment(
        brokers, **{f"t{number}": {"replicas": 3, "placement": "balanced"} for number in range(100)}
    )

    assert all(len(set(partition)) == 3 for partition in dealt)
    assert {Counter(partition[0] for partition in dealt)[number] for number in range(1, 21)} == {5}
    assert {
        Counter(broker for partition in dealt for broker in partition)[number]
        for number in range(1, 21)
    } == {15}


def test_a_cluster_may_be_balanced_as_a_whole_and_a_topic_may_differ():
    topics = {
        "a": Topic(),
        "b": Topic(placement="kafka"),
        "c": Topic(leaders=("b3",)),
        "d": Topic(),
    }
    specs = topic_specs(topics, ["b1", "b2", "b3"], "balanced")

    assert [specs[name].assignment for name in topics] == [[[1]], [], [[3]], [[2]]]


def test_brokers_with_short_names_are_advertised_by_longer_ones():
    assert [advertised_name(node) for node in ("h1", "broker", "broker1")] == [
        "h1.streambed",
        "broker.streambed",
        "broker1",
    ]


def test_controllers_may_have_their_own_hosts():
    kafka = Kafka(name="kafka", nodes=("b1", "b2"), controllers=("c1", "b2", "c2"))

    assert [(member.number, member.node, member.roles) for member in kafka.members] == [
        (1, "b1", "broker"),
        (2, "b2", "broker,controller"),
        (3, "c1", "controller"),
        (4, "c2", "controller"),
    ]
    assert kafka.places == {
        "nodes.0": "b1",
        "nodes.1": "b2",
        "controllers.0": "c1",
        "controllers.2": "c2",
    }


def test_an_impossible_quorum_and_unknown_nodes_are_problems(tmp_path):
    kafka = Kafka(
        name="kafka",
        nodes=("b1",),
        controllers=("b1", "b2"),
        racks={"b3": "east"},
        settings_of={"b1": {}, "x": {}},
    )

    assert [(problem.key, problem.says) for problem in kafka.problems({}, tmp_path)] == [
        (
            "controllers",
            "2 controllers are not allowed: use 1, 3 or 5, so that there is a majority",
        ),
        ("settings_of.x", "'x' is no node of this cluster. Known: b1, b2."),
        ("racks.b3", "'b3' is no node of this cluster. Known: b1, b2."),
    ]


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (
            {"placement": [["b1"], ["b2"]]},
            ("placement", "there are nodes for 2 partitions, but the topic has 1"),
        ),
        (
            {"placement": [["b1", "b1"]], "replicas": 2},
            ("placement.0", "these are 1 different nodes, but each partition has 2 replicas"),
        ),
        (
            {"placement": [["b9"]]},
            ("placement.0.0", "'b9' is no broker of this cluster. Known: b1, b2."),
        ),
        (
            {"placement": "balanced", "leaders": ["b1"]},
            ("placement", "the leaders are given as well: give one of the two"),
        ),
    ],
)
def test_an_impossible_placement_is_a_problem(keys, found):
    assert next(Topic(**keys).problems(["b1", "b2"])) == found


def properties_of(kafka, node, tmp_path):
    member = next(member for member in kafka.members if member.node == node)
    return properties(
        member, kafka.members, log="log", stock=kafka.stock, settings=kafka.settings
    ).splitlines()


def test_stock_leaves_kafka_its_own_defaults(tmp_path):
    names = {
        line.split("=")[0]
        for line in properties_of(Kafka(name="kafka", nodes=("b1",), stock=True), "b1", tmp_path)
    }

    assert "num.io.threads" not in names


def test_a_controller_alone_has_no_door_for_clients(tmp_path):
    lines = properties_of(Kafka(name="kafka", nodes=("b1",), controllers=("c1",)), "c1", tmp_path)

    assert "process.roles=controller" in lines
    assert "listeners=CONTROLLER://c1:9093" in lines
    assert not [line for line in lines if line.startswith("advertised")]


def test_a_leader_elsewhere_or_too_many_is_a_problem(tmp_path):
    kafka = Kafka(name="kafka", nodes=("b1", "b2"), topics={"lines": {"leaders": ["b1", "b3"]}})

    assert [(problem.key, problem.says) for problem in kafka.problems({}, tmp_path)] == [
        ("topics.lines.leaders", "there are 2, but the topic has 1 partitions: one leads each"),
        ("topics.lines.leaders.1", "'b3' is no broker of this cluster. Known: b1, b2."),
    ]


def test_timers_are_as_declared_or_as_kafka_has_them():
    kafka = Kafka(
        name="kafka",
        nodes=("b1",),
        topics={"lines": {"config": {"min.insync.replicas": 2}}},
        settings={"broker.session.timeout.ms": 3000},
    )

    timers = kafka.timers()

    assert timers["broker.session.timeout.ms"] == (3000, True)
    assert timers["replica.lag.time.max.ms"] == (30000, False)
    assert timers["min.insync.replicas of lines"] == (2, True)


def test_of_those_who_are_asked_only_whole_answers_count():
    pairs = [socket.socketpair() for _ in range(4)]
    whole, half, gone, _silent = (there for _, there in pairs)
    whole.sendall(struct.pack("!i", 3) + b"yes")
    half.sendall(struct.pack("!i", 9) + b"ye")
    half.close()
    gone.close()

    assert list(protocol.answers((here for here, _ in pairs), b"?", limit_s=0.05)) == [b"yes"]
    assert whole.recv(9) == b"?"
    for _, there in pairs:
        there.close()


def test_the_error_of_an_election_is_that_of_its_partition_or_of_the_request():
    head, topic = struct.pack("!ii", 0, 0), struct.pack("!h5s", 5, b"lines")
    of_partition = struct.pack("!hi", 0, 1) + topic + struct.pack("!iihh", 1, 0, 84, -1)

    assert protocol.election_error(head + of_partition) == 84
    assert protocol.election_error(head + struct.pack("!hi", 41, 0)) == 41


def test_an_election_is_asked_for_one_partition_and_one_kind():
    request = protocol.election_request("lines", 2, unclean=True)

    api_key, version = struct.unpack_from("!hh", request, 4)
    body = struct.pack("!bi", 1, 1) + struct.pack("!h5s", 5, b"lines") + struct.pack("!ii", 1, 2)
    assert (api_key, version) == (43, 1)
    assert body in request
