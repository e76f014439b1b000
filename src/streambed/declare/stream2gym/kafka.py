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
    settings = _settings_by_broker(hosts)
    zookeepers = [name for name, host in hosts.items() if host.flag("zookeeper")]
    brokers = sorted(settings, key=lambda name: name not in zookeepers)
    topics = forms_of(graph, "topicConfig") if "topicConfig" in graph else []
    if not brokers:
        _note_missing_brokers(draft, topics, zookeepers)
        return
    _note_controllers(draft, brokers, zookeepers)
    place = hosts[brokers[0]].at("brokerConfig")
    draft.put(PATH, {"kind": "kafka", "nodes": brokers, "topics": {}}, place)
    for at, broker in enumerate(brokers):
        draft.mark((*PATH, "nodes", at), hosts[broker].at("brokerConfig"))
    for form in topics:
        _put_topic(draft, form, brokers)
    if common := _common_settings(draft, settings):
        draft.put((*PATH, "settings"), common, place)


def _settings_by_broker(hosts: dict[str, Form]) -> dict[str, dict[str, Any]]:
    settings = {}
    for name, host in hosts.items():
        if _is_broker(host):
            settings[name] = _broker_settings(host)
    return settings


def _note_missing_brokers(draft: Draft, topics: list[Form], zookeepers: list[str]) -> None:
    if topics:
        draft.note("no host is a broker, so Kafka does not run and topicConfig has no effect")
    for node in zookeepers:
        draft.note("zookeeper has no effect: no host is a broker", node)


def _note_controllers(draft: Draft, brokers: list[str], zookeepers: list[str]) -> None:
    cluster = Kafka(name=NAME, nodes=tuple(brokers))
    controllers = [member.node for member in cluster.members if member.controller]
    noun = "is a KRaft controller" if len(controllers) == 1 else "are KRaft controllers"
    for node in zookeepers:
        draft.note(f"ZooKeeper is gone from Kafka 4: {', '.join(controllers)} {noun} instead", node)


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
    if "brokerConfig" not in host:
        return DEFAULTS
    form = form_of(host, "brokerConfig")
    if form is None:
        return DEFAULTS
    wait_ms = form.number("replicaMaxWait", 500, most=REPLICA_WAIT_MS_MAX)
    least_bytes = form.number("replicaMinBytes", 1)
    form.finish(KEYS["brokerConfig"])
    return {"replica.fetch.wait.max.ms": wait_ms, "replica.fetch.min.bytes": least_bytes}


def _common_settings(draft: Draft, settings: dict[str, dict[str, Any]]) -> dict[str, Any]:
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
    partitions = form.number("topicPartition", 1, least=1)
    replicas = form.number("topicReplica", 1, least=1)
    leaders = _leaders(form, brokers)[:partitions]
    body: dict[str, Any] = {}
    if partitions != 1:
        body["partitions"] = partitions
    if replicas != 1:
        body["replicas"] = replicas
    if leaders:
        body["leaders"] = leaders
    draft.put(path, body, form.at("topicName"))
    draft.mark((*path, "partitions"), form.at("topicPartition"))
    draft.mark((*path, "replicas"), form.at("topicReplica"))
    draft.mark((*path, "leaders"), form.at("topicBroker"))
    form.finish(KEYS["topicConfig"])


def _leaders(form: Form, brokers: list[str]) -> list[str]:
    """The brokers in turn, from topicBroker on; empty if there is only one or none is named."""
    first = f"h{form.text('topicBroker').removeprefix('h')}"
    if first == "h":
        return []
    if first not in brokers:
        form.wrong("topicBroker", f"{first} is not a broker: brokers are {', '.join(brokers)}")
        return []
    at = brokers.index(first)
    return [*brokers[at:], *brokers[:at]] if len(brokers) > 1 else []
