"""The Kafka cluster of a stream2gym file: a broker on every host that is one, and the topics."""

from __future__ import annotations

from typing import Any

from streambed.declare.stream2gym.draft import Draft
from streambed.declare.stream2gym.files import KEYS, form_of, forms_of
from streambed.declare.stream2gym.form import Form
from streambed.kinds.components import Kafka

NAME = "kafka"
PATH = ("components", NAME)
REPLICA_WAIT_MS_MAX = 29_999
"""A follower that waits longer counts as out of sync."""
DEFAULTS = {"replica.fetch.wait.max.ms": 500, "replica.fetch.min.bytes": 1}


def put_kafka(draft: Draft, graph: Form, hosts: dict[str, Form]) -> None:
    """One cluster of all brokers; those that ran ZooKeeper come first, because the first ones are
    controllers.
    """
    settings = {name: _broker_settings(host) for name, host in hosts.items() if _is_broker(host)}
    keepers = [name for name, host in hosts.items() if host.flag("zookeeper")]
    nodes = sorted(settings, key=lambda name: name not in keepers)
    topics = forms_of(graph, "topicConfig") if "topicConfig" in graph else []
    if not nodes:
        _without_brokers(draft, graph, topics, keepers)
        return
    controllers = [
        member.node for member in Kafka(name=NAME, nodes=tuple(nodes)).members if member.controller
    ]
    noun = "is a KRaft controller" if len(controllers) == 1 else "are KRaft controllers"
    for name in keepers:
        draft.note(f"ZooKeeper is gone from Kafka 4: {', '.join(controllers)} {noun} instead", name)
    place = hosts[nodes[0]].at("brokerConfig")
    draft.put(PATH, {"kind": "kafka", "nodes": nodes, "topics": {}}, place)
    for at, node in enumerate(nodes):
        draft.mark((*PATH, "nodes", at), hosts[node].at("brokerConfig"))
    for form in topics:
        _put_topic(draft, form, nodes)
    if common := _common(draft, settings):
        draft.put((*PATH, "settings"), common, place)


def _without_brokers(draft: Draft, graph: Form, topics: list[Form], keepers: list[str]) -> None:
    if topics:
        draft.note("no host is a broker, so Kafka does not run and topicConfig has no effect")
    for node in keepers:
        draft.note("zookeeper has no effect: no host is a broker", node)


def _is_broker(host: Form) -> bool:
    kind = host.text("brokerType", "kafka")
    marked = host.flag("broker")
    if kind.lower() != "kafka":
        noun = "RabbitMQ" if kind.lower() in ("rmq", "rabbitmq") else f"'{kind}'"
        host.wrong(
            "brokerType",
            f"{noun} brokers do not run here, only Kafka's: write kafka, or leave it out",
        )
    return marked or "brokerConfig" in host


def _broker_settings(host: Form) -> dict[str, Any]:
    form = form_of(host, "brokerConfig") if "brokerConfig" in host else None
    if form is None:
        return DEFAULTS
    wait_ms, least_bytes = (
        form.number("replicaMaxWait", 500, most=REPLICA_WAIT_MS_MAX),
        form.number("replicaMinBytes", 1),
    )
    form.finish(KEYS["brokerConfig"])
    return dict(zip(DEFAULTS, (wait_ms, least_bytes), strict=True))


def _common(draft: Draft, settings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Settings hold for all brokers of a cluster: those of the first one. Kafka's own defaults need
    not be said.
    """
    first, *others = settings.values()
    for key, value in first.items():
        if any(other[key] != value for other in others):
            draft.note(
                f"{key} is {value} on all brokers, as on the first: settings hold for the whole "
                "cluster"
            )
    return {key: value for key, value in first.items() if value != DEFAULTS[key]}


def _put_topic(draft: Draft, form: Form, brokers: list[str]) -> None:
    name = form.needed("topicName", "each topic needs a name")
    path = (*PATH, "topics", name)
    if name in draft.document.content["components"][NAME]["topics"]:
        form.wrong("topicName", f"there is a topic '{name}' already")
        return
    partitions, replicas = (
        form.number(key, 1, least=1) for key in ("topicPartition", "topicReplica")
    )
    leaders = _leaders(form, brokers)[:partitions]
    given = {"partitions": (partitions, 1), "replicas": (replicas, 1), "leaders": (leaders, [])}
    draft.put(
        path,
        {key: value for key, (value, default) in given.items() if value != default},
        form.at("topicName"),
    )
    for key, said in {
        "partitions": "topicPartition",
        "replicas": "topicReplica",
        "leaders": "topicBroker",
    }.items():
        draft.mark((*path, key), form.at(said))
    form.finish(KEYS["topicConfig"])


def _leaders(form: Form, brokers: list[str]) -> list[str]:
    """The brokers in turn, from topicBroker on; nothing to say if there is but one."""
    first = f"h{form.text('topicBroker').removeprefix('h')}"
    if first == "h":
        return []
    if first not in brokers:
        form.wrong("topicBroker", f"{first} is not a broker: brokers are {', '.join(brokers)}")
        return []
    at = brokers.index(first)
    return [*brokers[at:], *brokers[:at]] if len(brokers) > 1 else []
