"""Producers, consumers, jobs and brokers of stream2gym keep their meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed import Command, Consumer, Kafka, Producer, SparkJob
from tests.support.declare.graphs import producer, read, told


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (
            "SFST",
            "filePath: a.txt",
            {
                "file": "a.txt",
                "content": "whole",
                "text": "{record}rrrr {n}",
                "count": 3,
                "rate": None,
            },
        ),
        (
            "MFST",
            "filePath: texts/",
            {
                "file": "texts",
                "content": "folder",
                "text": "{record} Topic: {topic} File: {n}",
                "rounds": 1,
                "rate": None,
            },
        ),
        (
            "ELTT",
            "filePath: a.txt\nmessageRate: 250",
            {"file": "a.txt", "text": "{record}\n", "rounds": 3, "rate": "250/s"},
        ),
        ("STANDARD", "messageRate: 30", {"text": "01{n:6}aaaaaa", "rate": "30/s"}),
    ],
)
def test_a_built_in_producer_keeps_its_meaning(
    tmp_path: Path, kind: str, settings: str, expected: dict[str, object]
) -> None:
    nodes = {"h1": {"producerType": kind, "producerConfig": "cfg/prod.yaml"}}
    files = {"cfg/prod.yaml": f"{settings}\ntopicName: lines\ntotalMessages: 3"}

    declared = read(tmp_path, nodes=nodes, files=files)

    usual = {
        "name": "h1-producer-1",
        "node": "h1",
        "writes": "lines",
        "acks": 1,
        "batch": "16KiB",
        "linger": "0s",
    }
    assert producer(declared) == Producer(**{**usual, **expected})  # type: ignore[arg-type]


def test_settings_of_a_producers_client_are_kept(tmp_path: Path) -> None:
    settings = (
        "acks: 2\ncompression: gzip\nbatchSize: 1000\nlinger: 5000\n"
        "requestTimeout: 100000\nbufferMemory: 16777216"
    )

    component = producer(
        read(
            tmp_path,
            files={
                "cfg/prod.yaml": f"filePath: a.txt\ntopicName: lines\ntotalMessages: 1\n{settings}"
            },
        )
    )

    assert (component.acks, component.compression, component.batch.bytes, component.linger.s) == (
        "all",
        "gzip",
        1000,
        5,
    )
    assert component.settings == {
        "socket.timeout.ms": 100_000,
        "queue.buffering.max.kbytes": 16_384,
    }


def test_settings_of_a_consumers_client_are_kept(tmp_path: Path) -> None:
    settings = "topicName: lines\nfetchMinBytes: 10\nfetchMaxWait: 20\nsessionTimeout: 6000"

    component = read(tmp_path, files={"cfg/cons.yaml": settings}).experiment.components[
        "h4-consumer-1"
    ]

    expected = {"session.timeout.ms": 6000, "fetch.min.bytes": 10, "fetch.wait.max.ms": 20}
    assert component == Consumer(name="h4-consumer-1", node="h4", reads="lines", settings=expected)


def test_instances_are_separate_components(tmp_path: Path) -> None:
    files = {"cfg/cons.yaml": "topicName: lines\nconsumerInstances: 3"}

    names = list(read(tmp_path, files=files).experiment.components)

    assert names[2:] == ["h4-consumer-1", "h4-consumer-2", "h4-consumer-3"]


def test_scripts_run_in_the_working_directory_with_their_host_and_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case").mkdir()
    nodes = {
        "h1": {"producerType": "CUSTOM", "producerConfig": "cfg/custom.yaml"},
        "h4": {"consumerType": "CUSTOM", "consumerConfig": "cfg/custom.yaml"},
    }
    custom = "producerPath: case/p.py\nconsumerPath: p.py\nconsumerInstances: 2"

    components = read(
        tmp_path / "case", nodes=nodes, files={"cfg/custom.yaml": custom}
    ).experiment.components

    usual = {"cwd": "..", "on_exit": "record"}
    python = "{run.python}"
    assert components["h1-producer-1"] == Command(
        name="h1-producer-1",
        node="h1",
        argv=(python, "case/p.py", "h1", "1"),
        starts="load",
        **usual,
    )
    assert components["h4-consumer-2"] == Command(
        name="h4-consumer-2", node="h4", argv=(python, "case/p.py", "h4", "2"), **usual
    )


def test_a_script_that_needs_stream2gyms_folder_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = {"h1": {"producerType": "CUSTOM", "producerConfig": "cfg/custom.yaml"}}

    declared = read(
        tmp_path,
        nodes=nodes,
        files={
            "cfg/custom.yaml": "producerPath: p.py",
            "p.py": "open('logs/output/prod/a.log', 'w')",
        },
    )

    assert (
        "p.py names logs/output, which is not in the working directory: make it if the script "
        "writes there (h1)" in declared.notes
    )


def test_a_spark_job_runs_without_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = {"h3": {"streamProcConfig": "cfg/spe.yaml"}}

    component = read(
        tmp_path, nodes=nodes, files={"cfg/spe.yaml": "---\n  app : job.py\n..."}
    ).experiment.components["h3-spark"]

    assert component == SparkJob(name="h3-spark", node="h3", job="job.py", cwd=".")


def test_a_standalone_cluster_becomes_threads(tmp_path: Path) -> None:
    settings = (
        "app: job.py\ncluster: True\nnSPEWorkerInstances: 3\nnWorkerCores: 2\nworkerMemory: 4g"
    )

    declared = read(
        tmp_path,
        nodes={"h3": {"streamProcType": "spark", "streamProcConfig": "cfg/spe.yaml"}},
        files={"cfg/spe.yaml": settings},
    )

    component = declared.experiment.components["h3-spark"]
    assert isinstance(component, SparkJob)
    assert (component.cores, str(component.memory)) == (6, "4GiB")
    assert told(declared) == [
        "cluster: Spark runs in local mode with 6 threads and 4g of memory in place of a "
        "standalone cluster (h3)"
    ]


def test_several_brokers_are_one_cluster_with_the_hosts_of_zookeeper_first(tmp_path: Path) -> None:
    nodes = {"h1": {"brokerConfig": "cfg/wait.yaml"}, "h4": {"broker": "1"}}
    files = {
        "cfg/wait.yaml": "replicaMaxWait: 5000\nreplicaMinBytes: 200000",
        "cfg/broker.yaml": "replicaMaxWait: 5000\nreplicaMinBytes: 200000",
        "cfg/topics.yaml": "topicName: lines\ntopicBroker: 4\ntopicPartition: 2\ntopicReplica: 3",
    }

    declared = read(tmp_path, nodes=nodes, files=files)

    settings = {"replica.fetch.wait.max.ms": 5000, "replica.fetch.min.bytes": 200_000}
    topics = {"lines": {"partitions": 2, "replicas": 3, "leaders": ("h4", "h2")}}
    assert declared.experiment.components["kafka"] == Kafka(
        name="kafka", nodes=("h2", "h1", "h4"), topics=topics, settings=settings
    )
    assert told(declared) == [
        "ZooKeeper is gone from Kafka 4: h2, h1, h4 are KRaft controllers instead (h2)",
        "replica.fetch.wait.max.ms is 5000 on all brokers, as on the first: settings hold for the "
        "whole cluster",
        "replica.fetch.min.bytes is 200000 on all brokers, as on the first: settings hold for the "
        "whole cluster",
    ]


@pytest.mark.parametrize(
    "text", ["", "---\n", "# nothing\n", "---\n...\n", "replicaMaxWait :\nreplicaMinBytes :\n"]
)
def test_a_broker_needs_no_settings(tmp_path: Path, text: str) -> None:
    declared = read(tmp_path, files={"cfg/broker.yaml": text})

    assert declared.experiment.components["kafka"] == Kafka(
        name="kafka", nodes=("h2",), topics={"lines": {}}
    )
    assert told(declared) == []


def test_every_topic_of_a_built_in_producer_is_checked_for_loss(tmp_path: Path) -> None:
    (check,) = read(tmp_path).experiment.checks

    assert (check.kind, check.topic) == ("no_loss", "lines")
