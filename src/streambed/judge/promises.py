"""What Kafka promises under the settings in force. A promise changes no answer: it explains one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that decide; None where unknown."""

    acks: frozenset[str] | None = None
    """Those of all producers of the topic: all, 0 or 1."""
    idempotent: bool | None = None
    in_sync_min: int | None = None
    replicas: int | None = None
    unclean_election: bool | None = None
    uncommitted_groups: frozenset[str] = frozenset()
    latest_groups: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Promise:
    """Whether the absence of an anomaly is promised; None if the settings are unknown."""

    promised: bool | None
    because: str


def _durable_log(settings: Settings) -> Promise:
    """What was replicated stays: for what readers may see."""
    if settings.unclean_election:
        return Promise(False, "unclean elections let a broker lead that lacks records")
    if settings.in_sync_min is None or settings.replicas is None:
        return Promise(None, "the settings of the topic are unknown")
    if settings.replicas < 2:
        return Promise(False, "one replica is lost with its broker")
    if settings.in_sync_min < 2:
        return Promise(False, "min.insync.replicas is 1: one broker alone counts as replicated")
    return Promise(True, "two brokers in sync have every acknowledged record")


def _durable_write(settings: Settings) -> Promise:
    if settings.acks is None:
        return Promise(None, "the settings of the producers are unknown")
    weak = sorted(settings.acks - {"all"})
    if weak:
        return Promise(False, f"acks is {', '.join(weak)}: a leader acknowledges alone")
    return _durable_log(settings)


def _idempotent(settings: Settings) -> Promise:
    if settings.idempotent is None:
        return Promise(None, "the settings of the producers are unknown")
    if settings.idempotent:
        return Promise(True, "the producers are idempotent")
    return Promise(False, "without idempotence a retry may double or overtake records")


def _committed_only(settings: Settings) -> Promise:
    if settings.uncommitted_groups:
        names = ", ".join(sorted(settings.uncommitted_groups))
        return Promise(False, f"{names} reads uncommitted records")
    return Promise(True, "every group reads committed records")


def _position(settings: Settings) -> Promise:
    if settings.latest_groups:
        names = ", ".join(sorted(settings.latest_groups))
        return Promise(False, f"{names} jumps to the latest record if its position is gone")
    return Promise(True, "a consumer gets records in order, without gaps")


def _always(because: str) -> Callable[[Settings], Promise]:
    return lambda settings: Promise(True, because)


def _never(because: str) -> Callable[[Settings], Promise]:
    return lambda settings: Promise(False, because)


_RULES: dict[str, Callable[[Settings], Promise]] = {
    "A1": _durable_write,
    "A2": _always("a group that commits what it has handled sees every record"),
    "A3": _committed_only,
    "A4": _durable_log,
    "A5": _idempotent,
    "A6": _always("a consumer gets records in order, without gaps"),
    "A7": _always("a consumer gets records in order"),
    "A8": _position,
    "A9": _durable_log,
    "A10": _never("Kafka does not isolate writes of transactions"),
    "A11": _always("transactional producers are idempotent"),
    "A12": _idempotent,
    "A13": _committed_only,
    "A14": _never("Kafka does not isolate writes of transactions"),
    "A15": _committed_only,
    "A16": _never("Kafka promises nothing about what a transaction missed"),
    "A17": _always("a group continues where it committed"),
    "A18": _durable_log,
    "A19": _always("a transaction is visible as a whole"),
    "A20": _always("a group reads again only what it had not committed"),
    "A21": _always("the log holds only what was sent"),
    "A22": _always("replicas of one leader epoch are equal"),
    "A23": _always("a transaction ends at the latest when its time-out is over"),
}


def promise(anomaly: str, settings: Settings) -> Promise:
    """Whether Kafka promises that an anomaly does not occur."""
    return _RULES[anomaly](settings)
