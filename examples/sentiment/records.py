"""Messages as people post them: moods in words, links, names, tags, and what nobody can read.

A mood is planted in each message, and only its header tells it.
"""

from __future__ import annotations

import sys
from random import Random

MOODS = ("positive", "negative")
POSITIVE_SHARE = 0.6
UNREADABLE_SHARE = 0.04
"""One in 25 is none that the job can use."""
MISLEADING_SHARE = 0.06
"""So often somebody is ironic: the words of the other mood."""

SUBJECTS = (
    "the ferry to the island", "my new kettle", "this library", "the concert last night",
    "their customer service", "the bakery on our street", "the update", "that documentary",
    "the night train", "this keyboard", "the community garden", "the ending of the book",
)  # fmt: skip
OPINIONS = {
    "positive": (
        "is wonderful", "was a great surprise", "is really good", "made me happy", "slaps",
        "is the best I know", "was lovely and calm", "lives up to the hype", "is not bad at all",
        "is beautiful, and cheap", "hits different", "won me over",
    ),
    "negative": (
        "is terrible", "was a great disappointment", "is really bad", "made me angry", "is so mid",
        "is the worst I know", "was ugly and loud", "let me down again", "is not good at all",
        "is broken, and expensive", "is a dumpster fire", "lost me halfway",
    ),
}  # fmt: skip
REMARKS = {
    "positive": ("10/10", "would go again", "thank you", "so proud", "count me in", "no notes"),
    "negative": ("never again", "want my money back", "so tired", "count me out", "do better"),
}
DECORATIONS = (
    "{}", "{} 🎉", "RT @passer_by: {}", "{} #monday", "{} https://example.net/p/{n}?ref=feed",
    "@friend{n} {}", "{}!!!", "WELL: {}", "{}\n\n— sent from a phone", "<b>{}</b>",
    "'); drop table sentiments; -- {}", "{} 東京より",
)  # fmt: skip
SCRIPTS = {
    "Arabic": "هذا المقهى جميل",
    "Armenian": "այս սրճարանը գեղեցիկ է",
    "Bengali": "এই দোকানটা সুন্দর",
    "Cyrillic": "это кафе прекрасно",
    "Devanagari": "यह दुकान सुंदर है",
    "Georgian": "ეს კაფე ლამაზია",
    "Greek": "αυτό το καφέ είναι όμορφο",
    "Han": "這家咖啡店很漂亮",
    "Hangul": "이 카페는 아름답다",
    "Hebrew": "בית הקפה הזה יפה",
    "Thai": "ร้านนี้สวยมาก",
}
UNREADABLE: tuple[bytes, ...] = (
    *(text.encode() for text in SCRIPTS.values()),
    "🎉🎉 12:30 ‼".encode(),
    b"",
    b" \t\r\n ",
    b"RT @nobody: #### https://example.net/only-a-link",
    b"caf\xe9 in Latin-1, not UTF-8",
    b"\xff\xfe\x00\x00",
    b"\x00\x01\x02",
    b"good " * 3000,
)


def message(number: int, random: Random) -> dict[str, object]:
    """A record for the producer: who posts, what, and in a header which mood was planted."""
    author = f"author{int(1000 * random.random() ** 3)}"
    if random.random() < UNREADABLE_SHARE:
        return {"key": author, "value": random.choice(UNREADABLE), "headers": {"mood": "none"}}
    mood, text = labelled_text(random)
    decorated = random.choice(DECORATIONS).replace("{n}", str(number)).replace("{}", text)
    return {"key": author, "value": decorated, "headers": {"mood": mood}}


def labelled_text(random: Random) -> tuple[str, str]:
    """A mood and a text in that mood, or in the other one if it is ironic."""
    mood = MOODS[random.random() > POSITIVE_SHARE]
    words = mood
    if random.random() < MISLEADING_SHARE:
        words = MOODS[mood == MOODS[0]]
    text = f"{random.choice(SUBJECTS)} {random.choice(OPINIONS[words])}"
    if random.random() < 0.5:
        text += f", {random.choice(REMARKS[words])}"
    return mood, text[0].upper() + text[1:]


def training_texts(count: int, seed: int) -> list[tuple[str, str]]:
    """What the classifier learns from: other draws of the same kind."""
    random = Random(f"training/{seed}")
    return [labelled_text(random) for _ in range(count)]


if __name__ == "__main__":
    for index in range(int(sys.argv[1])):
        record = message(index, Random(f"{sys.argv[2]}/{index}"))
        sys.stdout.write(f"{record['value']!r}\n")
