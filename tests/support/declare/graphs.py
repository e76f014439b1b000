"""Small GraphML experiments in stream2gym's form, and the files that they name, to be spoilt by
tests in one place at a time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed import Producer
from streambed.declare import reading
from streambed.declare.reading import Declared
from streambed.errors import DeclarationError

Attributes = dict[str, str]
ZOOKEEPER = "ZooKeeper is gone from Kafka 4: h2 is a KRaft controller instead (h2)"
TIME = "the load lasts 10s, as without --time: change it with --set duration=60s"
SPELLINGS = {
    "topicConfig": "topicCfg",
    "faultConfig": "faultCfg",
    "disconnectionConfig": "dcCfg",
    "zookeeper": "zk",
    "broker": "bk",
    "brokerConfig": "brokerCfg",
    "producerType": "prodType",
    "producerConfig": "prodCfg",
    "consumerType": "consType",
    "consumerConfig": "consCfg",
    "streamProcConfig": "streamProcCfg",
    "sparkConfig": "sparkCfg",
    "storeConfig": "storeCfg",
    "bandwidth": "bw",
    "latency": "lat",
    "sport": "st",
    "dport": "dt",
}
"""The usual name of an attribute, and the usual id of its key."""
NODES: dict[str, Attributes] = {
    "s1": {},
    "h1": {"producerType": "SFST", "producerConfig": "cfg/prod.yaml"},
    "h2": {"zookeeper": "1", "brokerConfig": "cfg/broker.yaml"},
    "h4": {"consumerType": "STANDARD", "consumerConfig": "cfg/cons.yaml"},
}
FILES = {
    "cfg/topics.yaml": (
        "---\n  topicName: lines\n  topicBroker: 2\n  topicPartition: 1\n  topicReplica: 1\n...\n"
    ),
    "cfg/prod.yaml": (
        "---\n  filePath: a.txt\n  topicName: lines\n  totalMessages: 3\n"
        "  producerInstances: 1\n...\n"
    ),
    "cfg/broker.yaml": "",
    "cfg/cons.yaml": "---\n  topicName : lines\n  consumerInstances : 1\n...\n",
    "a.txt": "one\ntwo\n",
    "texts/b.txt": "b",
    "p.py": "",
    "job.py": "",
}


def graphml(
    nodes: dict[str, Attributes],
    edges: list[tuple[str, str, Attributes]],
    graph: Attributes,
    keys: str = "declared",
) -> str:
    """The text of a file; a line for each key, node, edge and attribute. Keys are `declared`,
    `undeclared`, or have `ids` only.
    """
    used = dict.fromkeys(
        name for item in (graph, *nodes.values(), *(edge[2] for edge in edges)) for name in item
    )

    def identity(name: str) -> str:
        return name if keys == "undeclared" else SPELLINGS.get(name, name)

    def data(attributes: Attributes) -> list[str]:
        return [
            f'<data key="{identity(name)}">{value}</data>' for name, value in attributes.items()
        ]

    declared = [
        f'<key id="{identity(name)}" '
        f'for="all"{"" if keys == "ids" else f" attr.name={chr(34)}{name}{chr(34)}"}/>'
        for name in used
    ]
    lines = [
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(declared if keys != "undeclared" else []),
    ]
    lines += ['<graph edgedefault="undirected">', *data(graph)]
    for name, attributes in nodes.items():
        lines += [f'<node id="{name}">', *data(attributes), "</node>"]
    for source, target, attributes in edges:
        lines += [f'<edge source="{source}" target="{target}">', *data(attributes), "</edge>"]
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def star(nodes: dict[str, Attributes]) -> list[tuple[str, str, Attributes]]:
    """All hosts on one switch, with ports."""
    hosts = [name for name in nodes if name != "s1"]
    return [
        ("s1", host, {"latency": "5", "sport": str(at), "dport": "1"})
        for at, host in enumerate(hosts, 1)
    ]


def write(
    folder: Path,
    *,
    nodes: dict[str, Attributes] | None = None,
    edges: list[tuple[str, str, Attributes]] | None = None,
    graph: Attributes | None = None,
    files: dict[str, str] | None = None,
    keys: str = "declared",
) -> Path:
    """A small experiment, changed in what is given; `nodes` and `files` add to the usual ones."""
    all_nodes = {**NODES, **(nodes or {})}
    for name, text in {**FILES, **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    path = folder / "input.graphml"
    path.write_text(
        graphml(
            all_nodes,
            star(all_nodes) if edges is None else edges,
            {"topicConfig": "cfg/topics.yaml", **(graph or {})},
            keys,
        )
    )
    return path


def read(folder: Path, *overrides: str, **changes: object) -> Declared:
    """The changed experiment."""
    return reading.read(write(folder, **changes), overrides)  # type: ignore[arg-type]


def wrong(folder: Path, *overrides: str, **changes: object) -> list[str]:
    """What is wrong with it, line by line, without the folder's name."""
    with pytest.raises(DeclarationError) as refused:
        read(folder, *overrides, **changes)
    return str(refused.value).replace(f"{folder}/", "").splitlines()


def producer(declared: Declared, name: str = "h1-producer-1") -> Producer:
    component = declared.experiment.components[name]
    assert isinstance(component, Producer)
    return component


def told(declared: Declared) -> list[str]:
    """The notes but for the usual ones."""
    return [note for note in declared.notes if note not in (ZOOKEEPER, TIME)]
