"""The exact answer, in plain Python: a function of the records that Kafka acknowledged, in whatever
order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

WORD = re.compile("[a-z]+(?:'[a-z]+)?")


def expected_frequencies(records: Iterable[tuple[str | None, str]]) -> dict[tuple[str, str], int]:
    """How often each (document, word) occurs in records of (key, value); a record that was sent
    twice counts twice.
    """
    return dict(
        Counter(
            (key, word)
            for key, value in records
            if key is not None
            for word in WORD.findall(value.lower())
        )
    )


def expected_averages(records: Iterable[tuple[str | None, str]]) -> dict[str, tuple[int, int]]:
    """Documents and words of each topic; their quotient is the average. A document without any word
    is not counted.
    """
    frequencies = expected_frequencies(records)
    words: Counter[str] = Counter()
    for (document, _), frequency in frequencies.items():
        words[document.split("/")[0]] += frequency
    documents = Counter(
        document.split("/")[0] for document in {document for document, _ in frequencies}
    )
    return {topic: (documents[topic], words[topic]) for topic in words}
