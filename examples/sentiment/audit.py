"""Compare the store with the exact answer for every message of the log, and both readers with the
moods that were planted.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field

import psycopg
from expected import Classifier, Sentiment, expected_outcome
from records import training_texts
from topics import records_of

Place = tuple[int, int]
OUTCOMES = """select source_partition, source_offset, reason, text, label, polarity, subjectivity
from sentiments"""
SHOWN = 3


@dataclass
class Comparison:
    """What the audit has found so far."""

    differences: list[str] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    read: int = 0
    right: Counter[str] = field(default_factory=Counter)

    def add(self, place: Place, wanted: Sentiment | str, stored: Sentiment | str | None) -> None:
        """Compare one message with its row."""
        if stored != wanted:
            self.differences.append(f"{place}: {stored} in place of {wanted}")
        if isinstance(wanted, str):
            self.rejected[wanted] += 1

    def count(self, sentiment: Sentiment, mood: str) -> None:
        """Whether the two readers found the planted mood, and agree."""
        lexicon = "positive" if sentiment.polarity > 0 else "negative"
        self.read += 1
        self.right["classifier"] += sentiment.label == mood
        self.right["TextBlob"] += sentiment.polarity != 0 and lexicon == mood
        self.right["both alike"] += sentiment.polarity != 0 and lexicon == sentiment.label

    def says(self) -> str:
        """One line on everything."""
        shares = [f"{name} {right / self.read:.1%}" for name, right in self.right.items()]
        return (
            f"{self.read} read and {self.rejected.total()} rejected for {len(self.rejected)} "
            f"reasons, all as computed apart; right: {', '.join(shares)}"
        )


def stored_outcomes(store: str) -> dict[Place, Sentiment | str]:
    """What the store says of each message."""
    outcomes: dict[Place, Sentiment | str] = {}
    with psycopg.connect(store) as connection:
        for partition, offset, reason, *opinion in connection.execute(OUTCOMES):
            outcomes[partition, offset] = reason or Sentiment(*opinion)
    return outcomes


def main(bootstrap: str, topic: str, store: str, texts: str, seed: str) -> None:
    """Exit with status 1 if anything differs."""
    classifier = Classifier(training_texts(int(texts), int(seed)))
    stored = stored_outcomes(store)
    comparison = Comparison()
    for record in records_of(bootstrap, topic):
        place = record.partition, record.offset
        wanted = expected_outcome(record.value, classifier)
        comparison.add(place, wanted, stored.pop(place, None))
        if isinstance(wanted, Sentiment):
            comparison.count(wanted, record.headers["mood"].decode())
    unfounded = [f"{place}: {outcome} of no message" for place, outcome in stored.items()]
    if differences := comparison.differences + unfounded:
        sys.exit(f"{len(differences)} differences: {'; '.join(differences[:SHOWN])}")
    print(comparison.says())


if __name__ == "__main__":
    main(*sys.argv[1:])
