"""The exact answer, in plain Python: for each message an opinion, or why there is none."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from textblob import TextBlob

NOT_SAID = re.compile(r"https?://\S+|@[A-Za-z0-9_]+|(?<!\S)RT(?!\S)|[#:]|[\x00-\x1f\x7f]", re.ASCII)
SPACE = re.compile(r"\s+", re.ASCII)
WORD = re.compile("[a-z]+(?:'[a-z]+)?")
LATIN = re.compile("[A-Za-z]")
CHARACTERS_MAX = 10_000


@dataclass(frozen=True)
class Sentiment:
    """What a message says of a mood."""

    text: str
    label: str
    polarity: float
    subjectivity: float


class Classifier:
    """Multinomial naive Bayes with Laplace smoothing, from texts whose mood is known."""

    def __init__(self, texts: list[tuple[str, str]]) -> None:
        self._texts = Counter(mood for mood, _ in texts)
        self._words: dict[str, Counter[str]] = {mood: Counter() for mood in self._texts}
        for mood, text in texts:
            self._words[mood].update(words_of(text))
        self._vocabulary = set().union(*self._words.values())

    def label(self, text: str) -> str:
        """The likelier mood; words that it never met say nothing."""
        known = [word for word in words_of(text) if word in self._vocabulary]
        return max(self._texts, key=lambda mood: self.likelihood(mood, known))

    def likelihood(self, mood: str, known: list[str]) -> float:
        """The logarithm of how likely a mood comes with these words. Moods are smoothed as words
        are: each was met once more.
        """
        counts = self._words[mood]
        total = counts.total() + len(self._vocabulary)
        prior = math.log((self._texts[mood] + 1) / (self._texts.total() + len(self._texts)))
        return prior + sum(math.log((counts[word] + 1) / total) for word in known)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return WORD.findall(re.sub("[A-Z]", lambda letter: letter[0].lower(), text))


def cleaned(raw: str) -> str:
    """What is left of a message to read."""
    return SPACE.sub(" ", NOT_SAID.sub(" ", raw)).strip(" ")


def expected_outcome(value: bytes | None, classifier: Classifier) -> Sentiment | str:
    """The opinions on a message, or the reason why it is rejected."""
    if value is None:
        return "no value"
    try:
        raw = value.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    text = cleaned(raw)
    if len(raw) > CHARACTERS_MAX:
        return "too long"
    if not any(unicodedata.category(character).startswith("L") for character in text):
        return "no letter"
    if not LATIN.search(text):
        return "no letter of the Latin script"
    polarity, subjectivity = TextBlob(text).sentiment
    return Sentiment(text, classifier.label(text), polarity, subjectivity)
