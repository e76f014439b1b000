"""The words of stream2gym's files: its attributes in both spellings, and the YAML, properties and
inline texts that they hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streambed.declare.stream2gym.draft import Draft
from streambed.declare.stream2gym.form import Form
from streambed.declare.stream2gym.graphml import Item
from streambed.declare.yaml.document import Document, documents_of
from streambed.declare.yaml.source import Position, text_of
from streambed.errors import DeclarationError

ATTRIBUTES: dict[str, dict[str, tuple[str, ...]]] = {
    "graph": {
        "topicConfig": ("topicCfg",),
        "faultConfig": ("faultCfg",),
        "disconnectionConfig": ("dcCfg",),
    },
    "node": {
        "zookeeper": ("zk",),
        "broker": ("bk",),
        "brokerType": (),
        "brokerConfig": ("brokerCfg",),
        "producer": (),
        "producerType": ("prodType",),
        "producerConfig": ("prodCfg",),
        "consumer": (),
        "consumerType": ("consType",),
        "consumerConfig": ("consCfg",),
        "streamProcType": (),
        "streamProcConfig": ("streamProcCfg",),
        "sparkConfig": ("sparkCfg",),
        "storeType": (),
        "storeConfig": ("storeCfg",),
        "mysqlConfig": ("mysqlCfg",),
        "cpuPercentage": (),
    },
    "edge": {
        "bandwidth": ("bw",),
        "latency": ("lat",),
        "loss": (),
        "sport": ("st",),
        "dport": ("dt",),
    },
}
"""Each attribute and its other name: stream2gym's files use one as the name of a key and
the other as its id.
"""
KEYS: dict[str, tuple[str, ...]] = {
    "topicConfig": ("topicName", "topicBroker", "topicPartition", "topicReplica"),
    "faultConfig": ("duration", "links"),
    "brokerConfig": ("replicaMaxWait", "replicaMinBytes"),
    "producerConfig": (
        *(
            "filePath",
            "topicName",
            "totalMessages",
            "producerInstances",
            "producerPath",
            "acks",
            "compression",
        ),
        *("batchSize", "linger", "requestTimeout", "bufferMemory", "messageRate"),
    ),
    "consumerConfig": (
        "topicName",
        "consumerInstances",
        "consumerPath",
        "fetchMinBytes",
        "fetchMaxWait",
        "sessionTimeout",
    ),
    "streamProcConfig": ("app", "cluster", "nSPEWorkerInstances", "nWorkerCores", "workerMemory"),
}
"""The keys of the file that each attribute names."""
INLINE = {
    "producerConfig": ("filePath", "topicName", "totalMessages", "producerInstances"),
    "consumerConfig": ("topicName", "consumerInstances"),
}
"""The order of values where an attribute holds them itself, as old files have it."""
TOPIC_LINE = re.compile(
    r"\s*(?P<topicName>\S+)\s+broker\s+(?P<topicBroker>\S+)\s+partition\s+(?P<topicPartition>\S+)(\s+replica\s+(?P<topicReplica>\S+))?\s*"
)


def attributes_of(draft: Draft, item: Item, kind: str, name: str) -> Form:
    """The attributes of the graph, a node or an edge, by their usual names; unknown ones are
    noted.
    """
    usual_names = _usual_names(kind)
    values: dict[str, str] = {}
    places: dict[str, Position] = {}
    for attribute in item.attributes:
        known = [usual_names[spelling] for spelling in attribute.names if spelling in usual_names]
        if not known:
            unknown = attribute.names[0] if attribute.names else ""
            draft.unknown("the attribute", unknown, usual_names, name)
            continue
        key = known[0]
        if key in values:
            where = f"{name}: {key}" if name else key
            draft.wrong(where, "is given twice", attribute.place)
            continue
        values[key] = attribute.value
        places[key] = attribute.place
    return Form(draft, values, places, noun=kind, node=name, place=item.place)


def _usual_names(kind: str) -> dict[str, str]:
    """The usual name of an attribute for each of its spellings."""
    usual_names: dict[str, str] = {}
    for usual_name, others in ATTRIBUTES[kind].items():
        for spelling in (usual_name, *others):
            usual_names[spelling] = usual_name
    return usual_names


def forms_of(attributes: Form, key: str) -> list[Form]:
    """The documents of the YAML file that an attribute names, or its inline values; none if the
    file is not there or not readable.
    """
    draft = attributes.draft
    named = attributes.text(key)
    if key in INLINE and _is_inline(draft, named):
        return [_inline_form(attributes, key)]
    where = f"{attributes.node}: {key}" if attributes.node else key
    path = draft.find(where, named, attributes.at(key))
    if path is None:
        return []
    return [_document_form(attributes, path, document) for document in _documents(draft, path)]


def _inline_form(attributes: Form, key: str) -> Form:
    """The values that an attribute itself holds."""
    named = attributes.text(key)
    parts = [part.strip() for part in named.split(",")]
    keys = INLINE[key]
    if len(parts) > len(keys):
        attributes.wrong(key, f"'{named}' has more than {len(keys)} parts: {', '.join(keys)}")
    values = dict(zip(keys, parts, strict=False))
    place = attributes.at(key)
    places = dict.fromkeys(values, place)
    return Form(attributes.draft, values, places, noun=key, node=attributes.node, place=place)


def _document_form(attributes: Form, path: Path, document: Document) -> Form:
    file = str(path)
    places = {name: replace(place, file=file) for name, place in document.values.items()}
    first_line = min([place.line for place in document.keys.values()], default=1)
    return Form(
        attributes.draft,
        document.content,
        places,
        noun=file,
        node=attributes.node,
        place=Position(line=first_line, column=1, file=file),
    )


def form_of(attributes: Form, key: str) -> Form | None:
    """The only document that counts. An empty file is one without keys; None if there is no such
    file.
    """
    before = len(attributes.draft.document.problems)
    forms = forms_of(attributes, key)
    if forms[1:]:
        attributes.draft.note(f"{forms[0].noun}: only the first document counts", attributes.node)
    if forms or len(attributes.draft.document.problems) > before:
        return forms[0] if forms else None
    return Form(
        attributes.draft,
        {},
        {},
        noun=attributes.text(key),
        node=attributes.node,
        place=attributes.at(key),
    )


def _is_inline(draft: Draft, named: str) -> bool:
    """Old files hold values such as `data.txt,lines,10`; anything that looks like one path is a
    path.
    """
    if (draft.path.parent / named).is_file() or Path(named).is_file():
        return False
    return "," in named or not ("/" in named or "." in named)


def _documents(draft: Draft, path: Path) -> list[Document]:
    """What can be understood of a file; the rest becomes problems."""
    try:
        text = text_of(path)
    except DeclarationError as error:
        draft.document.problems += [replace(problem, file=str(path)) for problem in error.problems]
        return []
    documents = _topic_lines(text) or documents_of(text)
    readable = []
    for document in documents:
        problems = [replace(problem, file=str(path)) for problem in document.problems]
        draft.document.problems += problems
        if isinstance(document.content, dict):
            readable.append(document)
        elif document.content is not None:
            place = Position(line=1, column=1, file=str(path))
            draft.wrong(
                "", "this holds no keys and values: write lines such as 'key: value'", place
            )
    return readable


def _topic_lines(text: str) -> list[Document]:
    """The old form of the topics: a line such as `lines broker 2 partition 1 replica 1` for
    each.
    """
    documents: list[Document] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = TOPIC_LINE.fullmatch(line)
        if match is None:
            return []
        content = {key: value for key, value in match.groupdict().items() if value is not None}
        places = {key: Position(line=number, column=match.start(key) + 1) for key in content}
        documents.append(Document(content=content, keys=places, values=places))
    return documents


def properties_of(draft: Draft, attributes: Form, key: str) -> dict[str, str]:
    """The properties file that an attribute names. Its values may be secret."""
    path = draft.find(f"{attributes.node}: {key}", attributes.text(key), attributes.at(key))
    lines = path.read_text(errors="replace").splitlines() if path else []
    properties: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith(("#", "!")):
            properties[name.strip()] = value.strip()
    return properties


def first_of(form: Form, keys: Sequence[str]) -> str:
    """The first of several attributes that is given; the first of all if none is."""
    return next((key for key in keys if key in form), keys[0])
