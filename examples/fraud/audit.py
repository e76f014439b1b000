"""Compare scores, alerts, dead letters and profiles with the exact answer, and alerts with the
frauds that were planted.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from expected import Bank, Detector
from topics import Record, records_of

SHOWN = 3
TOLERANCE = 1e-6
"""Probabilities are written with six digits."""


@dataclass
class Written:
    """What the job wrote. A record that it wrote twice counts once."""

    scores: dict[str, dict[str, Any]]
    alerts: dict[str, dict[str, Any]]
    letters: dict[str, dict[str, Any]]


@dataclass
class Tally:
    """How good one detector is."""

    counts: Counter[tuple[bool, bool]] = field(default_factory=Counter)

    def says(self) -> str:
        """Precision and recall; a detector that was never used has none."""
        found = self.counts[True, True]
        alerts = found + self.counts[True, False]
        frauds = found + self.counts[False, True]
        return f"precision {found / max(alerts, 1):.0%}, recall {found / max(frauds, 1):.0%}"


def by_key(records: list[Record]) -> dict[str, dict[str, Any]]:
    """The value of each key. Records of one key are equal, however often one was written."""
    values: dict[str, dict[str, Any]] = {}
    for record in records:
        key, value = (record.key or b"").decode(), json.loads(record.value or b"{}")
        if values.setdefault(key, value) != value:
            sys.exit(f"{record.topic}: {key} was written as {values[key]} and as {value}")
    return values


def differences(
    record: Record, outcome: float | str, written: Written, score: dict[str, Any] | None
) -> list[str]:
    """What was not written as it should have been for one payment."""
    place = f"{record.partition}/{record.offset}"
    letter = written.letters.pop(record.place, None)
    alert = written.alerts.pop(place, None)
    if isinstance(outcome, str):
        right = letter is not None and letter["reason"] == outcome and score is None
        return [] if right else [f"{place}: {letter or score} in place of {outcome!r}"]
    near = score is not None and abs(score["probability"] - outcome) <= TOLERANCE
    if not near or letter or score["alert"] != (outcome > 0.5):
        return [f"{place}: {letter or score} in place of {outcome:.6f}"]
    return [] if alert == (score if score["alert"] else None) else [f"{place}: alert {alert}"]


def profile_differences(bank: Bank, twin: str) -> list[str]:
    """The accounts whose profile in Redis is not the exact one."""
    client = redis.Redis.from_url(twin, decode_responses=True)
    wrong = []
    for account, profile in bank.profiles.items():
        stored = {key: int(text) for key, text in client.hgetall(f"profile/{account}").items()}
        if stored != vars(profile):
            wrong.append(f"{account}: {stored} in place of {vars(profile)}")
    return wrong


def main(bootstrap: str, models: str, twin: str) -> None:
    """Exit with status 1 if anything differs."""
    detectors = {version: Detector(Path(models) / str(version)) for version in (1, 2)}
    topics = [by_key(records_of(bootstrap, topic)) for topic in ("scores", "alerts", "refused")]
    written = Written(*topics)
    bank, wrong, refused = Bank(), [], Counter()
    tallies: defaultdict[int, Tally] = defaultdict(Tally)
    for record in records_of(bootstrap, "payments"):
        score = written.scores.pop(f"{record.partition}/{record.offset}", None)
        version = score["model"] if score else 1
        outcome = bank.outcome(record.value, detectors[version])
        wrong += differences(record, outcome, written, score)
        if isinstance(outcome, str):
            refused[outcome] += 1
        else:
            tallies[version].counts[outcome > 0.5, record.headers["fraud"] == b"1"] += 1
    wrong += [f"{key} of no payment" for key in (*written.scores, *written.alerts)]
    wrong += profile_differences(bank, twin)
    if wrong:
        sys.exit(f"{len(wrong)} differences: {'; '.join(wrong[:SHOWN])}")
    scored = sum(tally.counts.total() for tally in tallies.values())
    says = [f"model {version}: {tally.says()}" for version, tally in sorted(tallies.items())]
    print(
        f"{scored} scored, {refused.total()} refused for {len(refused)} reasons, "
        f"{len(bank.profiles)} profiles, all as computed apart; {'; '.join(says)}"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
