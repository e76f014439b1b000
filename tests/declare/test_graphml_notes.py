"""What is ignored or changed in a file of stream2gym is noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare import reading
from tests.support.declare.graphs import read, told, write, wrong


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        (
            {"nodes": {"h1": {"weight": "3"}}},
            "the attribute 'weight' is not known and is ignored (h1)",
        ),
        (
            {"nodes": {"h1": {"brokerTpe": "kafka"}}},
            "the attribute 'brokerTpe' is not known and is ignored. Did you mean 'brokerType'? "
            "(h1)",
        ),
        ({"nodes": {"s1": {"zookeeper": "1"}}}, "zookeeper has no effect on a switch (s1)"),
        (
            {"nodes": {"h1": {"streamProcType": "Spark"}}},
            "streamProcType without streamProcConfig has no effect (h1)",
        ),
        (
            {"nodes": {"h1": {"storeType": "RocksDB"}}},
            "storeType RocksDB: RocksDB runs on the host itself, inside the network; "
            "{h1-store.path} is where (h1)",
        ),
        (
            {"files": {"cfg/cons.yaml": "topicName: lines\nconsumerInstance: 2"}},
            "cfg/cons.yaml: the key 'consumerInstance' is not known and is ignored. Did you mean "
            "'consumerInstances'? (h4)",
        ),
        (
            {"files": {"cfg/cons.yaml": "topicName: lines\nconsumerPath: x.py"}},
            "cfg/cons.yaml: consumerPath has no effect here (h4)",
        ),
        (
            {"files": {"cfg/cons.yaml": "topicName: lines\n---\ntopicName: x"}},
            "cfg/cons.yaml: only the first document counts (h4)",
        ),
        (
            {"files": {"cfg/cons.yaml": "topicName: lines\nconsumerInstances: 0"}},
            "consumerInstances is 0: nothing runs (h4)",
        ),
    ],
)
def test_what_is_ignored_is_noted(tmp_path: Path, changes: dict[str, object], note: str) -> None:
    declared = read(tmp_path, **changes)

    assert [said.replace(f"{tmp_path}/", "") for said in told(declared)] == [note]


def test_a_mysql_store_becomes_mariadb_with_a_sink_for_each_topic_without_its_password(
    tmp_path: Path,
) -> None:
    declared = read(
        tmp_path,
        nodes={"h4": {"storeType": "MySQL", "storeConfig": "s.properties"}},
        files={"s.properties": "name=a\n#b=c\nconnection.password=secret\ntopics.regex=li.*"},
    )

    components = declared.experiment.components
    store, sink = components["h4-store"], components["h4-sink-1"]
    assert (store.kind, store.node) == ("mariadb", "h4")
    assert (sink.reads, sink.store, sink.table, sink.node) == (
        ("lines",),
        "h4-store",
        "lines",
        "h4",
    )
    assert told(declared) == [
        "storeType MySQL: MariaDB, in MySQL's protocol, runs on the host itself, inside the "
        "network; {h4-store.address} is where (h4)",
        "storeConfig s.properties: name, connection.password have no effect: the store is the "
        "host's own (h4)",
        "a sink writes each record as a row: topic, partition, offset, timestamp, key and value, "
        "which is not taken apart (h4)",
    ]
    assert "secret" not in declared.text


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"storeType": "Oracle"}, "h4: storeType: there is no store 'Oracle'."),
        (
            {"storeType": "MySQL", "storeConfig": "gone.properties"},
            "h4: storeConfig: there is no file 'gone.properties'",
        ),
        (
            {"storeConfig": "s.properties"},
            "h4: storeConfig: topics: there is no topic 'lime'. Did you mean 'lines'?",
        ),
    ],
)
def test_an_impossible_store_is_refused(
    tmp_path: Path, attributes: dict[str, str], problem: str
) -> None:
    (note,) = wrong(tmp_path, nodes={"h4": attributes}, files={"s.properties": "topics=lime"})

    assert problem in note


def test_a_note_is_given_once_for_all_its_nodes(tmp_path: Path) -> None:
    declared = read(tmp_path, nodes={"h1": {"colour": "red"}, "h4": {"colour": "blue"}})

    assert "the attribute 'colour' is not known and is ignored (h1, h4)" in declared.notes


def test_without_brokers_kafka_does_not_run(tmp_path: Path) -> None:
    declared = read(tmp_path, nodes={"h1": {}, "h2": {"zookeeper": "1"}, "h4": {}})

    assert declared.experiment.components == {}
    assert told(declared) == [
        "no host is a broker, so Kafka does not run and topicConfig has no effect",
        "zookeeper has no effect: no host is a broker (h2)",
    ]


def test_other_parts_of_graphml_are_noted(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(
        path.read_text().replace('<node id="s1">', '<node id="s1"><port name="x"/>') + ""
    )

    assert "ignored: <port> in <node> s1" in reading.read(path).notes
