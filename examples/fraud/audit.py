"""Compare scores, alerts, dead letters and profiles with the exact answer, and alerts with the
frauds that were planted.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import redis
from audits import finish, wrong_letters
from expected import THRESHOLD, Bank, Detector
from topics import Record, records_of

TOLERANCE = 1e-6
"""Probabilities are written with six digits."""
Value = dict[str, Any]


def values_of(records: list[Record], differences: list[str]) -> dict[str, Value]:
    """The value of each key. A record may have been written twice, but not in two ways."""
    values: dict[str, Value] = {}
    for record in records:
        key, value = (record.key or b"").decode(), json.loads(record.value or b"{}")
        if values.setdefault(key, value) != value:
            differences.append(f"{record.topic}: {key} is {values[key]} and {value}")
    return values


def is_right(score: Value | None, alert: Value | None, probability: float) -> bool:
    """Whether a payment has its score, and an alert if it needs one."""
    if score is None or abs(score["probability"] - probability) > TOLERANCE:
        return False
    return alert == (score if probability > THRESHOLD else None)


def wrong_profiles(bank: Bank, twin: str) -> list[str]:
    """The accounts whose profile in Redis is not the exact one."""
    client = redis.Redis.from_url(twin, decode_responses=True)
    wrong = []
    for account, profile in bank.profiles.items():
        stored = {name: int(text) for name, text in client.hgetall(f"profile/{account}").items()}
        if stored != vars(profile):
            wrong.append(f"{account}: {stored} in place of {vars(profile)}")
    return wrong


def quality(counts: Counter[tuple[bool, bool]]) -> str:
    """Precision and recall, from how often there was an alert and a fraud."""
    found = counts[True, True]
    alerts, frauds = found + counts[True, False], found + counts[False, True]
    return f"precision {found / max(alerts, 1):.0%}, recall {found / max(frauds, 1):.0%}"


def main(bootstrap: str, models: str, twin: str) -> None:
    """Exit with status 1 if anything differs."""
    detectors = {version: Detector(Path(models) / str(version)) for version in (1, 2)}
    differences: list[str] = []
    scores, alerts = (
        values_of(records_of(bootstrap, topic), differences) for topic in ("scores", "alerts")
    )
    bank, reasons = Bank(), {}
    counts: defaultdict[int, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    payments = records_of(bootstrap, "payments")
    for record in payments:
        key = f"{record.partition}/{record.offset}"
        score, alert = scores.pop(key, None), alerts.pop(key, None)
        version = score["model"] if score else 1
        outcome = bank.outcome(record.value, detectors[version])
        if isinstance(outcome, str):
            reasons[record.place] = outcome
            differences += [f"{key}: {score} in place of {outcome}"] if score else []
            continue
        counts[version][outcome > THRESHOLD, record.headers["fraud"] == b"1"] += 1
        if not is_right(score, alert, outcome):
            differences.append(f"{key}: {score} and {alert} in place of {outcome:.6f}")
    differences += [f"{key}: a score of no payment" for key in (*scores, *alerts)]
    differences += wrong_letters(reasons, records_of(bootstrap, "refused"))
    differences += wrong_profiles(bank, twin)
    says = [f"model {version}: {quality(each)}" for version, each in sorted(counts.items())]
    compared = f"{len(payments)} payments and {len(bank.profiles)} profiles ({'; '.join(says)})"
    finish(differences, compared, reasons)


if __name__ == "__main__":
    main(*sys.argv[1:])
