"""Problems in a file of stream2gym are reported with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare import reading
from streambed.errors import DeclarationError
from tests.support.declare.graphs import NODES, graphml, star, wrong


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
            "topology.cpu.h1: 0% is not allowed: give more than 0 % and at most 100 %",
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
def test_an_impossible_graph_is_refused_with_its_line(
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
            "3:15: components.kafka.topics.lines.replicas: 2 replicas need as many brokers, and "
            "the cluster has 1: add nodes or ask for fewer",
        ),
        (
            "topics.yaml",
            "topicName: lines\n---\ntopicName: lines",
            "3:12: topicName: there is a topic 'lines' already",
        ),
    ],
)
def test_an_invalid_file_is_refused_with_its_line(
    tmp_path: Path, file: str, text: str, says: str
) -> None:
    assert wrong(tmp_path, files={f"cfg/{file}": text})[0] == f"cfg/{file}:{says}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "duration: 60\nlinks: s1-h1",
            "1:11: faults.0.lasts: it ends at 61s, but the load lasts only 10s: begin earlier, or "
            "lengthen `duration` to 61s or more",
        ),
        (
            "duration: 3\nlinks: s1-h1, s1-h9",
            "2:8: faults.1.link: there is no link s1 – h9. Did you mean [s1, h4]?",
        ),
        (
            "duration: 3\nlinks: s1",
            "2:8: links: 's1' is not a link: write two nodes, such as s1-h1",
        ),
    ],
)
def test_an_impossible_fault_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    assert wrong(
        tmp_path, files={"cfg/fault.yaml": text}, graph={"faultConfig": "cfg/fault.yaml"}
    ) == [f"cfg/fault.yaml:{says}"]


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
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
