"""The stores of a stream2gym file: a server or a file on the host itself, and a sink for each topic
that was to be written there.
"""

from __future__ import annotations

import re
from typing import Any

from streambed.declare.stream2gym.draft import Draft
from streambed.declare.stream2gym.files import first_of, properties_of
from streambed.declare.stream2gym.form import Form
from streambed.declare.stream2gym.kafka import NAME as KAFKA
from streambed.errors import suggestion
from streambed.kinds.tables import COMPONENTS

STORES: dict[str, dict[str, Any]] = {
    "mysql": {"kind": "mariadb"},
    "mariadb": {"kind": "mariadb"},
    "postgresql": {"kind": "postgresql"},
    "mongodb": {"kind": "mongodb"},
    "cassandra": {"kind": "cassandra"},
    "redis": {"kind": "redis"},
    "rocksdb": {"kind": "embedded", "engine": "rocksdb"},
    "sqlite": {"kind": "embedded", "engine": "sqlite"},
    "duckdb": {"kind": "embedded", "engine": "duckdb"},
}
"""What each type becomes; stream2gym documents MySQL, MongoDB and RocksDB."""
USUAL = "MySQL"
"""What a configuration without a type is for."""


def put_store(draft: Draft, host: Form) -> None:
    """The store of a host, if it has one."""
    key = first_of(host, ("storeConfig", "mysqlConfig"))
    asked = host.text("storeType", USUAL if key in host else "")
    if not asked:
        return
    body = STORES.get(asked.lower())
    if body is None:
        host.wrong("storeType", f"there is no store '{asked}'. {suggestion(asked.lower(), STORES)}")
        return
    name = f"{host.node}-store"
    declared_by = "storeType" if "storeType" in host else key
    component = {**body, **_placement(body["kind"], host.node)}
    draft.put(("components", name), component, host.at(declared_by))
    reference = "path" if "engine" in body else "address"
    noun = "MariaDB, in MySQL's protocol," if asked.lower() == "mysql" else asked
    draft.note(
        f"storeType {asked}: {noun} runs on the host itself, inside the network; "
        f"{{{name}.{reference}}} is where",
        host.node,
    )
    if key in host:
        _put_sinks(draft, host, key, name)


def _placement(kind: str, node: str) -> dict[str, Any]:
    if COMPONENTS[kind].host_keys == ("nodes",):
        return {"nodes": [node]}
    return {"node": node}


def _put_sinks(draft: Draft, host: Form, key: str, store: str) -> None:
    """What Kafka Connect was to write: a table for each topic that its properties name."""
    properties = properties_of(draft, host, key)
    ignored = [name for name in properties if name not in ("topics", "topics.regex")]
    if ignored:
        verb = "has" if len(ignored) == 1 else "have"
        says = f"{key} {host.text(key)}: {', '.join(ignored)} {verb} no effect"
        draft.note(f"{says}: the store is the host's own", host.node)
    topics = _topics(draft, host, key, properties)
    for number, topic in enumerate(topics, 1):
        sink = {
            "kind": "sink",
            "node": host.node,
            "reads": topic,
            "store": store,
            "table": _table(topic),
        }
        draft.put(("components", f"{host.node}-sink-{number}"), sink, host.at(key))
        draft.note(
            "a sink writes each record as a row: topic, partition, offset, timestamp, key and "
            "value, which is not taken apart",
            host.node,
        )


def _table(topic: str) -> str:
    """A valid name of a table for a topic."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", topic)
    if not name[0].isalpha():
        name = f"t{name}"
    return name[:48]


def _topics(draft: Draft, host: Form, key: str, properties: dict[str, str]) -> list[str]:
    known = list(draft.document.content["components"].get(KAFKA, {}).get("topics", {}))
    listed = [topic.strip() for topic in properties.get("topics", "").split(",") if topic.strip()]
    for topic in listed:
        if topic not in known:
            host.wrong(key, f"topics: there is no topic '{topic}'. {suggestion(topic, known)}")
    try:
        wanted = re.compile(properties.get("topics.regex", "(?!)"))
    except re.error as error:
        host.wrong(
            key, f"topics.regex: '{properties['topics.regex']}' is no regular expression: {error}"
        )
        return []
    return [topic for topic in known if topic in listed or wanted.fullmatch(topic)]
