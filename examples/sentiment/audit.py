"""Compare the store and the dead letters with the exact answer for every message of the log, and
both readers with the moods that were planted.
"""

from __future__ import annotations

import sys
from collections import Counter

import psycopg
from audits import finish, wrong_letters
from expected import Classifier, Sentiment, expected_outcome
from records import training_texts
from topics import records_of

Place = tuple[int, int]
OUTCOMES = """select source_partition, source_offset, reason, text, label, polarity, subjectivity
from sentiments"""


def stored_outcomes(store: str) -> dict[Place, Sentiment | str]:
    """What the store says of each message."""
    with psycopg.connect(store) as connection:
        return {
            (partition, offset): reason or Sentiment(*opinion)
            for partition, offset, reason, *opinion in connection.execute(OUTCOMES)
        }


def marks(sentiment: Sentiment, mood: str) -> dict[str, bool]:
    """Which reader found the planted mood, and whether both say the same. TextBlob says nothing of
    words that its lexicon does not have.
    """
    lexicon = {True: "positive", False: "negative"}[sentiment.polarity > 0]
    knows = sentiment.polarity != 0
    return {
        "classifier right": sentiment.label == mood,
        "TextBlob right": knows and lexicon == mood,
        "both alike": knows and lexicon == sentiment.label,
    }


def main(bootstrap: str, topic: str, letters: str, store: str, texts: str, seed: str) -> None:
    """Exit with status 1 if anything differs."""
    classifier = Classifier(training_texts(int(texts), int(seed)))
    stored = stored_outcomes(store)
    reasons: dict[str, str] = {}
    differences: list[str] = []
    right: Counter[str] = Counter()
    messages = records_of(bootstrap, topic)
    for message in messages:
        outcome = expected_outcome(message.value, classifier)
        row = stored.pop((message.partition, message.offset), None)
        if row != outcome:
            differences.append(f"{message.place}: {row} in place of {outcome}")
        if isinstance(outcome, str):
            reasons[message.place] = outcome
        else:
            right.update(marks(outcome, message.headers["mood"].decode()))
    differences += [f"{place}: {row} of no message" for place, row in stored.items()]
    differences += wrong_letters(reasons, records_of(bootstrap, letters))
    read = len(messages) - len(reasons)
    shares = [f"{name} {count / read:.0%}" for name, count in right.items()]
    finish(differences, f"{len(messages)} messages ({', '.join(shares)})", reasons)


if __name__ == "__main__":
    main(*sys.argv[1:])
