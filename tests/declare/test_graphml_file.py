"""stream2gym's files are understood in every form; what is ignored or changed is noted; what is
wrong is told with its place.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from declare.graphs import NODES, graphml, read, star, write, wrong

from streambed import Command, Consumer, Cut, Kafka, Link, Producer, SparkJob
from streambed.declare import reading
from streambed.declare.reading import Declared
from streambed.errors import DeclarationError
from streambed.units import Duration, Share

ZOOKEEPER = "ZooKeeper is gone from Kafka 4: h2 is a KRaft controller instead (h2)"
TIME = "the load lasts 10s, as without --time: change it with --set duration=60s"


def producer(declared: Declared, name: str = "h1-producer-1") -> Producer:
    found = declared.experiment.components[name]
    assert isinstance(found, Producer)
    return found


def told(declared: Declared) -> list[str]:
    """The notes but for the usual ones."""
    return [note for note in declared.notes if note not in (ZOOKEEPER, TIME)]


@pytest.mark.parametrize("keys", ["declared", "ids", "undeclared"])
def test_a_small_experiment_is_understood_however_its_keys_are_spelt(
    tmp_path: Path, keys: str
) -> None:
    declared = read(tmp_path, keys=keys)

    experiment = declared.experiment
    assert list(experiment.components) == ["kafka", "h1-producer-1", "h4-consumer-1"]
    assert experiment.components["kafka"] == Kafka(
        name="kafka", nodes=("h2",), topics={"lines": {}}
    )
    assert experiment.topology.addresses == {"h1": "10.0.0.1", "h2": "10.0.0.2", "h4": "10.0.0.4"}
    assert experiment.topology.links[2] == Link(
        ends=("s1", "h4"), delay="5ms", rate="1Gbit", ports=("s1-eth3", "h4-eth1")
    )
    assert experiment.duration == Duration(10e9)
    assert declared.notes == (TIME, ZOOKEEPER)


def test_runs_are_named_by_the_file_or_by_its_folder_if_it_is_called_input(tmp_path: Path) -> None:
    (tmp_path / "2 words!").mkdir()
    path = write(tmp_path / "2 words!")

    assert reading.read(path).experiment.name == "g2-words"
    assert reading.read(path.rename(path.with_name("star.graphml"))).experiment.name == "star"


def test_overrides_and_a_seed_change_what_was_understood(tmp_path: Path) -> None:
    path = write(tmp_path)

    experiment = reading.read(
        path, ["duration=60s", "topology.links.0.delay=9ms"], seed=4
    ).experiment

    assert (experiment.duration, experiment.topology.links[0].delay, experiment.seed) == (
        Duration(60e9),
        Duration(9e6),
        4,
    )


def test_a_wrong_override_points_at_itself(tmp_path: Path) -> None:
    (says,) = wrong(tmp_path, "duration=soon")

    assert says.startswith("--set duration=soon: duration: 'soon' is not a duration")


def test_what_is_converted_reads_back_the_same(tmp_path: Path) -> None:
    nodes = {
        "h3": {"streamProcType": "Spark", "streamProcConfig": "cfg/spe.yaml"},
        "h5": {"producerType": "CUSTOM", "producerConfig": "cfg/custom.yaml"},
        "h6": {"producerType": "ELTT", "producerConfig": "cfg/prod.yaml"},
    }
    files = {
        "cfg/spe.yaml": "app: job.py",
        "cfg/custom.yaml": "producerPath: p.py",
        "cfg/fault.yaml": "duration: 2\nlinks: s1-h1, h2-s1",
    }
    declared = read(tmp_path, nodes=nodes, files=files, graph={"faultConfig": "cfg/fault.yaml"})

    (tmp_path / "same.yaml").write_text(declared.text)

    assert reading.read(tmp_path / "same.yaml").experiment == declared.experiment
    assert declared.text.startswith(
        f"# Converted from input.graphml.\n# - {TIME}\n# - {ZOOKEEPER}\n"
    )


def test_what_is_converted_into_another_folder_names_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    declared = reading.convert(write(tmp_path), base=tmp_path / "other")

    assert producer(declared).file == "../a.txt"


# The network


def test_links_have_stream2gyms_defaults(tmp_path: Path) -> None:
    declared = read(
        tmp_path,
        edges=[
            ("s1", "h1", {}),
            ("h2", "s1", {"bandwidth": "10", "latency": "0.5", "loss": "2"}),
            ("s1", "h4", {}),
        ],
    )

    first, second, _ = declared.experiment.topology.links
    assert first == Link(ends=("s1", "h1"), delay="1ms", rate="1Gbit")
    assert second == Link(ends=("h2", "s1"), delay="500us", rate="10Mbit", loss="2%")


def test_ports_stay_with_the_end_that_was_declared(tmp_path: Path) -> None:
    edges = [
        ("s1", "h1", {"sport": "7", "dport": "2"}),
        ("h2", "s1", {"sport": "1", "dport": "8"}),
        ("s1", "h4", {}),
    ]

    links = read(tmp_path, edges=edges).experiment.topology.links

    assert [link.ports for link in links] == [("s1-eth7", "h1-eth2"), ("h2-eth1", "s1-eth8"), None]


def test_a_bandwidth_that_stream2gym_ignored_is_noted(tmp_path: Path) -> None:
    edges = [*star(NODES)[:-1], ("s1", "h4", {"bandwidth": "4000"})]

    assert told(read(tmp_path, edges=edges)) == [
        "a bandwidth above 1000 is emulated here; stream2gym ignored it (s1-h4)"
    ]


def test_defaults_of_keys_hold_where_nothing_is_given(tmp_path: Path) -> None:
    path = write(tmp_path)
    text = path.read_text().replace(
        '<key id="lat" for="all" attr.name="latency"/>',
        '<key id="lat" for="edge"><default>33</default></key>',
    )
    path.write_text(text.replace('<data key="lat">5</data>', "", 1))

    assert [link.delay.ms for link in reading.read(path).experiment.topology.links] == [33, 5, 5]


def test_a_fault_cuts_links_at_a_tenth_of_the_run(tmp_path: Path) -> None:
    files = {"cfg/fault.yaml": "---\n  duration : 60\n  links: s1-h1, h2-s1\n...\n"}

    declared = read(tmp_path, "duration=5min", files=files, graph={"faultConfig": "cfg/fault.yaml"})

    assert declared.experiment.faults == (
        Cut(at="30s", lasts="60s", link=("s1", "h1")),
        Cut(at="30s", lasts="60s", link=("h2", "s1")),
    )
    assert told(declared) == [
        "faultConfig: the links are cut at 30s, a tenth of the run, and for 1min exactly; before, "
        "it was in steps of 10 s"
    ]


def test_the_old_name_of_a_fault_is_understood(tmp_path: Path) -> None:
    files = {"cfg/fault.yaml": "duration: 3\nlinks: s1-h1"}

    (fault,) = read(
        tmp_path, files=files, graph={"disconnectionConfig": "cfg/fault.yaml"}
    ).experiment.faults

    assert (fault.at, fault.lasts) == (Duration(1e9), Duration(3e9))


# Producers, consumers and jobs


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

    found = producer(
        read(
            tmp_path,
            files={
                "cfg/prod.yaml": f"filePath: a.txt\ntopicName: lines\ntotalMessages: 1\n{settings}"
            },
        )
    )

    assert (found.acks, found.compression, found.batch.bytes, found.linger.s) == (
        "all",
        "gzip",
        1000,
        5,
    )
    assert found.settings == {"socket.timeout.ms": 100_000, "queue.buffering.max.kbytes": 16_384}


def test_settings_of_a_consumers_client_are_kept(tmp_path: Path) -> None:
    settings = "topicName: lines\nfetchMinBytes: 10\nfetchMaxWait: 20\nsessionTimeout: 6000"

    found = read(tmp_path, files={"cfg/cons.yaml": settings}).experiment.components["h4-consumer-1"]

    expected = {"session.timeout.ms": 6000, "fetch.min.bytes": 10, "fetch.wait.max.ms": 20}
    assert found == Consumer(name="h4-consumer-1", node="h4", reads="lines", settings=expected)


def test_instances_are_components_of_their_own(tmp_path: Path) -> None:
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

    found = read(
        tmp_path, nodes=nodes, files={"cfg/spe.yaml": "---\n  app : job.py\n..."}
    ).experiment.components["h3-spark"]

    assert found == SparkJob(name="h3-spark", node="h3", job="job.py", cwd=".")


def test_a_standalone_cluster_becomes_threads(tmp_path: Path) -> None:
    settings = (
        "app: job.py\ncluster: True\nnSPEWorkerInstances: 3\nnWorkerCores: 2\nworkerMemory: 4g"
    )

    declared = read(
        tmp_path,
        nodes={"h3": {"streamProcType": "spark", "streamProcConfig": "cfg/spe.yaml"}},
        files={"cfg/spe.yaml": settings},
    )

    found = declared.experiment.components["h3-spark"]
    assert isinstance(found, SparkJob)
    assert (found.cores, str(found.memory)) == (6, "4GiB")
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


# Older forms


def test_values_may_stand_in_the_attributes_themselves(tmp_path: Path) -> None:
    nodes = {
        "h1": {"producer": "1", "producerType": "ELTT", "producerConfig": "a.txt, lines, 5, 2"},
        "h2": {"broker": "1"},
        "h3": {"sparkConfig": "job.py,lines"},
        "h4": {"consumer": "1", "consumerConfig": "lines,2"},
    }
    files = {
        "cfg/topics.yaml": "lines broker 2 partition 1 replica 1\nother broker 2 partition 3\n"
    }

    declared = read(tmp_path, nodes=nodes, files=files)

    kafka = Kafka(name="kafka", nodes=("h2",), topics={"lines": {}, "other": {"partitions": 3}})
    assert declared.experiment.components["kafka"] == kafka
    assert list(declared.experiment.components)[1:] == [
        "h1-producer-1",
        "h1-producer-2",
        "h4-consumer-1",
        "h4-consumer-2",
        "h3-spark",
    ]
    assert producer(declared).rounds == 5
    assert told(declared) == [
        "consumerConfig without consumerType is taken to be STANDARD (h4)",
        "sparkConfig: the sink 'lines' has no effect, the job itself says where it writes (h3)",
    ]


def test_a_script_may_stand_beside_its_type(tmp_path: Path) -> None:
    found = read(tmp_path, nodes={"h1": {"producerType": "CUSTOM,p.py"}}).experiment.components[
        "h1-producer-1"
    ]

    assert isinstance(found, Command)
    assert found.argv[1].endswith("p.py")


def test_the_share_of_a_host_caps_it(tmp_path: Path) -> None:
    found = read(
        tmp_path, nodes=NODES | {"h1": {"cpuPercentage": "0.1"}, "h4": {"cpuPercentage": "1"}}
    )

    assert found.experiment.topology.cpu == {"h1": Share(0.1), "h4": Share(1.0)}


# What is ignored


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


def test_a_mysql_store_becomes_mariadb_with_a_sink_for_each_topic_and_no_secret_is_told(
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
def test_a_store_that_cannot_be_is_refused(
    tmp_path: Path, attributes: dict[str, str], problem: str
) -> None:
    (said,) = wrong(tmp_path, nodes={"h4": attributes}, files={"s.properties": "topics=lime"})

    assert problem in said


def test_a_note_is_told_once_for_all_its_nodes(tmp_path: Path) -> None:
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


# Where files are looked for


def test_files_are_looked_for_beside_the_graph_then_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case").mkdir()
    path = write(tmp_path / "case").relative_to(tmp_path)
    (tmp_path / "case" / "a.txt").rename(tmp_path / "a.txt")

    assert producer(reading.read(path)).file == "../a.txt"

    (tmp_path / "a.txt").unlink()
    with pytest.raises(DeclarationError) as refused:
        reading.read(path)
    assert str(refused.value) == (
        "case/cfg/prod.yaml:2:13: h1: filePath: there is no file 'a.txt': "
        "looked for case/a.txt and a.txt"
    )


# What is wrong


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"nodes": {"host1": {}}},
            "node: 'host1' is neither a host (h1, h2 …) nor a switch (s1, s2 …). Did you mean "
            "'h1'?",
        ),
        (
            {"nodes": {"h300": {}}},
            "node: 'h300' has no address: hosts go up to h254, because h<N> has the address "
            "10.0.0.<N>",
        ),
        (
            {"nodes": {"h0": {}}},
            "node: 'h0' is neither a host (h1, h2 …) nor a switch (s1, s2 …). Did you mean 'h1'?",
        ),
        (
            {"edges": [*star(NODES), ("s1", "h9", {})]},
            "edge: there is no node 'h9'. Known: h1, h2, h4, s1.",
        ),
        ({"edges": [*star(NODES), ("s1", "", {})]}, "edge: source or target is missing"),
        ({"edges": star(NODES)[:2]}, "h4: no link ends at it: add an edge, or leave the node out"),
        (
            {"edges": [*star(NODES), ("h1", "h1", {})]},
            "topology.links.3.ends: 'h1' is linked to itself",
        ),
        (
            {"edges": [*star(NODES)[:2], ("s1", "h4", {"sport": "1", "dport": "1"})]},
            "topology.links.2.ports.0: 's1' has an interface s1-eth1 already, at link 0",
        ),
        (
            {"edges": [*star(NODES)[:2], ("s1", "h4", {"sport": "1"})]},
            "s1-h4: sport: give both sport and dport, or neither",
        ),
        (
            {"edges": [*star(NODES)[:2], ("s1", "h4", {"latency": "fast"})]},
            "s1-h4: latency: 'fast' is not a number of at least 0",
        ),
        (
            {"edges": [*star(NODES)[:2], ("s1", "h4", {"latency": "-1"})]},
            "s1-h4: latency: '-1' is not a number of at least 0",
        ),
        (
            {"edges": [*star(NODES)[:2], ("s1", "h4", {"loss": "101"})]},
            "s1-h4: loss: '101' is not a number from 0 to 100",
        ),
        (
            {"edges": [*star(NODES)[:2], ("s1", "h4", {"bandwidth": "0"})]},
            "topology.links.2.rate: a link that carries nothing is no link: give a rate above 0, "
            "or cut it with a fault",
        ),
        (
            {"nodes": {"h1": {"producerType": "RND", "producerConfig": "cfg/prod.yaml"}}},
            "h1: producerType: there is no producerType 'RND'. ",
        ),
        (
            {"nodes": {"h1": {"producerType": "SFST"}}},
            "h1: producerConfig: is missing: producerType SFST needs it",
        ),
        (
            {"nodes": {"h1": {"cpuPercentage": "10"}}},
            "h1: cpuPercentage: '10' is not a number from 0 to 1",
        ),
        (
            {"nodes": {"h1": {"cpuPercentage": "half"}}},
            "h1: cpuPercentage: 'half' is not a number from 0 to 1",
        ),
        (
            {"nodes": {"h1": {"cpuPercentage": "0"}}},
            "topology.cpu.h1: 0% cannot be: give more than 0 % and at most 100 %",
        ),
        (
            {"nodes": {"h2": {"zookeeper": "2", "broker": "1"}}},
            "h2: zookeeper: '2' is neither 1 nor 0",
        ),
        (
            {"nodes": {"h2": {"brokerConfig": "cfg/broker.yaml", "brokerType": "rMQ"}}},
            "h2: brokerType: RabbitMQ brokers do not run here, only Kafka's: write kafka, or leave "
            "it out",
        ),
        (
            {"nodes": {"h1": {"streamProcType": "Flink", "streamProcConfig": "cfg/prod.yaml"}}},
            "h1: streamProcType: Flink jobs do not run here: only Spark does. ",
        ),
        (
            {"graph": {"topicConfig": "cfg/topcis.yaml"}},
            "topicConfig: there is no file 'cfg/topcis.yaml': looked for cfg/topcis.yaml and "
            "cfg/topcis.yaml",
        ),
    ],
)
def test_a_graph_that_cannot_be_is_refused_with_its_line(
    tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    first = wrong(tmp_path, **changes)[0]

    place, _, rest = first.partition(": ")
    assert rest.startswith(says)
    file, line, column = place.split(":")
    assert file == "input.graphml"
    assert int(line) > 1 and int(column) == 1


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        (
            "prod.yaml",
            "filePath: a.txt\ntopicName: lines\ntotalMessages: ten",
            "3:16: h1: totalMessages: 'ten' is not a number of at least 1",
        ),
        (
            "prod.yaml",
            "filePath: a.txt\ntopicName: lines\ntotalMessages: 1.5",
            "3:16: h1: totalMessages: 1.5 is not a whole number",
        ),
        (
            "prod.yaml",
            "filePath: a.txt\ntopicName: lines",
            "1:1: h1: totalMessages: is missing: it says how often to send, 1 or more",
        ),
        (
            "prod.yaml",
            "filePath: a.txt\ntopicName: liens\ntotalMessages: 1",
            "2:12: components.h1-producer-1.writes: no kafka component declares the topic 'liens'. "
            "Did you mean 'lines'?",
        ),
        (
            "prod.yaml",
            "topicName: lines\ntotalMessages: 1",
            "1:1: h1: filePath: is missing: SFST sends a file",
        ),
        (
            "prod.yaml",
            "filePath: texts\ntopicName: lines\ntotalMessages: 1",
            "1:11: h1: filePath: there is no file 'texts': texts is a folder",
        ),
        (
            "prod.yaml",
            "filePath: a.txt\ntopicName: lines\ntotalMessages: 1\nacks: 3",
            "4:7: h1: acks: '3' is not a number from 0 to 2",
        ),
        (
            "prod.yaml",
            "filePath: a.txt\ntopicName: lines\ntotalMessages: 1\ncompression: zip",
            "4:14: h1: compression: there is no compression 'zip'. Did you mean 'gzip'?",
        ),
        (
            "prod.yaml",
            "filePath: [a",
            "1:13: this is not YAML: expected ',' or ']', but got '<stream end>'",
        ),
        (
            "prod.yaml",
            "just words",
            "1:1: this holds no keys and values: write lines such as 'key: value'",
        ),
        (
            "broker.yaml",
            "replicaMaxWait: 30000",
            "1:17: h2: replicaMaxWait: '30000' is not a number from 0 to 29999",
        ),
        (
            "cons.yaml",
            "topicName: lines\nsessionTimeout: 10",
            "2:17: h4: sessionTimeout: '10' is not a number from 6000 to 1800000",
        ),
        (
            "cons.yaml",
            "consumerInstances: 1",
            "1:1: h4: topicName: is missing: STANDARD reads a topic",
        ),
        (
            "topics.yaml",
            "topicName: lines\ntopicBroker: 1",
            "2:14: topicBroker: h1 is not a broker: brokers are h2",
        ),
        (
            "topics.yaml",
            "topicName: lines\ntopicBroker: 2\ntopicReplica: 2",
            "3:15: components.kafka.topics.lines.replicas: 2 replicas need as many brokers, but "
            "there are 1: add nodes or ask for fewer",
        ),
        (
            "topics.yaml",
            "topicName: lines\n---\ntopicName: lines",
            "3:12: topicName: there is a topic 'lines' already",
        ),
    ],
)
def test_a_file_that_cannot_be_is_refused_with_its_line(
    tmp_path: Path, file: str, text: str, says: str
) -> None:
    assert wrong(tmp_path, files={f"cfg/{file}": text})[0] == f"cfg/{file}:{says}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "duration: 60\nlinks: s1-h1",
            "1:11: faults.0.lasts: it ends at 61s, but the load lasts only 10s: begin earlier, or "
            "lengthen `duration`",
        ),
        (
            "duration: 3\nlinks: s1-h1, s1-h9",
            "2:8: faults.1.link: there is no link s1 – h9. Did you mean 's1-h4'?",
        ),
        (
            "duration: 3\nlinks: s1",
            "2:8: links: 's1' is not a link: write two nodes, such as s1-h1",
        ),
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    assert wrong(
        tmp_path, files={"cfg/fault.yaml": text}, graph={"faultConfig": "cfg/fault.yaml"}
    ) == [f"cfg/fault.yaml:{says}"]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    says = wrong(
        tmp_path,
        nodes={"x": {}, "h1": {"producerType": "NO", "producerConfig": "a,b"}},
        files={"cfg/cons.yaml": "sessionTimeout: 1"},
    )

    assert [line.split(": ")[1] for line in says] == ["h1", "node", "h4", "h4"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1:1: this is not XML: no element found"),
        ("<graphml>\n<graph>\n</graphml>", "3:3: this is not XML: mismatched tag"),
        ("version: 1", "1:1: this is not XML: syntax error"),
        ("<html/>", "1:1: this is XML, but not GraphML: it begins with <html>"),
        ("<graphml/>", "1:1: there is no <graph> in it"),
    ],
)
def test_what_is_no_graph_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "input.graphml").write_text(text)

    with pytest.raises(DeclarationError) as refused:
        reading.read(tmp_path / "input.graphml")

    assert str(refused.value) == f"{tmp_path}/input.graphml:{says}"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="there is no such file"):
        reading.read(tmp_path / "none.graphml")


def test_entities_that_unfold_without_end_are_refused(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10}">' for at in range(1, 10))
    head = f'<!DOCTYPE graphml [<!ENTITY e0 "{"x" * 1000}">{entities}]>'
    text = f'{head}<graphml><graph><data key="a">&e9;</data></graph></graphml>'
    (tmp_path / "input.graphml").write_text(text)

    with pytest.raises(DeclarationError, match="this is not XML"):
        reading.read(tmp_path / "input.graphml")


def test_a_single_host_needs_no_edge(tmp_path: Path) -> None:
    (tmp_path / "one.graphml").write_text(graphml({"h1": {}}, [], {}))

    assert reading.read(tmp_path / "one.graphml").experiment.topology.host_names() == ["h1"]
