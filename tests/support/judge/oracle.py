"""A naive judge: the definitions of docs/judge.md over lists, in the plainest way.

It knows no array and no sort order. It judges runs with a read-back of committed records whose
readers see committed records and noted every tenure; the logs begin at offset 0.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from streambed.plan import WITNESS
from tests.support.judge.stories import ABORTED, NOT_WRITTEN, UNKNOWN, WRITTEN, Story

Row = dict[str, Any]


def identity(row: Row) -> tuple[str, int]:
    return row["producer"], row["sequence"]


def place(row: Row) -> tuple[int, int]:
    return row["partition"], row["offset"]


class Oracle:
    def __init__(self, story: Story) -> None:
        self.sent = story.rows["sent"]
        self.log = [row for row in story.rows["seen"] if row["consumer"] == WITNESS]
        self.reads = [row for row in story.rows["seen"] if row["consumer"] != WITNESS]
        self.groups = list(dict.fromkeys(row["group"] for row in self.reads))
        self.assignments = story.rows["assignments"]
        self.commits = story.rows["commits"]
        self.lives = story.rows["lives"]
        self.ended = {
            (row["producer"], row["life"], row["transaction"]): row["outcome"]
            for row in story.rows["transactions"]
        }
        self.visible = {identity(row) for row in (*self.log, *self.reads)}
        self.logged = Counter(name for name, _ in {(identity(row), place(row)) for row in self.log})
        self.places = sorted({place(row) for row in self.log})

    def counts(self) -> dict[str, int]:
        counted = {
            "A1": len(self.lost()),
            "A2": sum(len(self.unseen(group)) for group in self.groups),
            "A3": len(self.aborted()),
            "A4": len(self.inconsistent()),
            "A5": sum(times > 1 and self.is_sent_here(name) for name, times in self.logged.items()),
            **self.polls(),
            **self.sends(),
            "A13": self.precommitted(),
            "A17": sum(self.hand_overs(group) for group in self.groups),
            "A18": sum(len(self.vanished(group)) for group in self.groups),
            "A19": self.torn(),
            "A20": sum(self.rereads(group) for group in self.groups),
            "A21": len(self.phantoms()),
        }
        return {name: count for name, count in counted.items() if count}

    def transaction(self, row: Row) -> tuple[str, int, int] | None:
        client = row.get("consumer") or row["producer"]
        return None if row["transaction"] is None else (client, row["life"], row["transaction"])

    def written(self, row: Row) -> bool:
        if row["outcome"] == WRITTEN:
            return True
        if row["outcome"] != UNKNOWN:
            return False
        if row["transaction"] is None:
            return identity(row) in self.visible
        together = [
            other
            for other in self.sent
            if self.transaction(other) == self.transaction(row) and other["outcome"] == UNKNOWN
        ]
        return any(identity(other) in self.visible for other in together)

    def lost(self) -> list[Row]:
        return [row for row in self.sent if self.written(row) and not self.logged[identity(row)]]

    def unseen(self, group: str) -> list[Row]:
        seen = {identity(row) for row in self.reads if row["group"] == group}
        sent = {identity(row) for row in self.sent}
        unsent = {identity(row): row for row in self.log[::-1] if identity(row) not in sent}
        unnoted = [
            row
            for name, row in unsent.items()
            if name not in seen
            and self.wanted(group, min(place(one) for one in self.log if identity(one) == name))
        ]
        return unnoted + [
            row
            for row in self.sent
            if self.written(row)
            and self.logged[identity(row)]
            and identity(row) not in seen
            and self.wanted(group, self.known_place(row) or (0, 0))
        ]

    def wanted(self, group: str, at: tuple[int, int]) -> bool:
        """Whether it lies after the place at which the group began to read."""
        own = [row for row in self.tenures() if row["group"] == group and row["partition"] == at[0]]
        first = min(own, key=lambda row: row["time"], default=None)
        return first is None or first["origin"] == "earliest" or at >= place(first)

    def aborted(self) -> list[Row]:
        return [
            row
            for row in self.sent
            if identity(row) in self.visible
            and (
                row["outcome"] in (NOT_WRITTEN, ABORTED)
                or self.ended.get(self.transaction(row) or ("", 0, 0)) == ABORTED
            )
        ]

    def inconsistent(self) -> set[tuple[int, int]]:
        claims: dict[tuple[int, int], set[tuple[str, int]]] = {}
        placed = [
            row
            for row in self.sent
            if row["offset"] >= 0 and (self.written(row) or row["outcome"] == ABORTED)
        ]
        for row in (*placed, *self.log, *self.reads):
            claims.setdefault(place(row), set()).add(identity(row))
        return {at for at, names in claims.items() if len(names) > 1}

    def index(self, at: tuple[int, int]) -> int:
        return self.places.index(at)

    def tenures(self) -> list[Row]:
        return [row for row in self.assignments if row["change"] == "assigned"]

    def rows_of(self, tenure: Row) -> list[Row]:
        keys = ("consumer", "life", "tenure", "partition")
        return [row for row in self.reads if all(row[key] == tenure[key] for key in keys)]

    def polls(self) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for tenure in self.tenures():
            rows = [row for row in self.rows_of(tenure) if place(row) in self.places]
            below = [at for at in self.places if at < place(tenure)]
            position, unsure, last = len(below) - 1, False, None
            for row in rows:
                index = self.index(place(row))
                internal = last is not None and row["seen"] == last["seen"]
                before = self.index(place(last)) if internal and last else position
                step = index - before
                if internal or not unsure:
                    names = ("A6", "A7") if internal else ("A8", "A9")
                    counted[names[0]] += step > 1
                    counted[names[1]] += step < 1
                outcome = WRITTEN
                if row["transaction"] is not None:
                    outcome = self.ended.get(self.transaction(row) or ("", 0, 0), UNKNOWN)
                if outcome == WRITTEN:
                    position, unsure = index, False
                unsure = unsure or outcome == UNKNOWN
                last = row
        return counted

    def sends(self) -> dict[str, int]:
        counted: Counter[str] = Counter()
        streams: dict[tuple[Any, ...], list[tuple[Row, tuple[int, int]]]] = {}
        for row in sorted(self.sent, key=identity):
            at = self.known_place(row)
            if at is not None:
                streams.setdefault((row["producer"], row["life"], at[0]), []).append((row, at))
        for stream in streams.values():
            for (one, first), (two, second) in pairwise(stream):
                together = self.transaction(one) is not None
                together = together and self.transaction(one) == self.transaction(two)
                if second <= first:
                    counted["A11" if together else "A12"] += 1
                elif together and first in self.places and second in self.places:
                    counted["A10"] += self.index(second) - self.index(first) > 1
        return counted

    def known_place(self, row: Row) -> tuple[int, int] | None:
        if not self.written(row):
            return None
        if row["offset"] >= 0:
            return place(row)
        return min((place(one) for one in self.log if identity(one) == identity(row)), default=None)

    def precommitted(self) -> int:
        own = {(identity(row), self.transaction(row)) for row in self.sent}
        return sum(
            row["transaction"] is not None and (identity(row), self.transaction(row)) in own
            for row in self.reads
        )

    def between(self, partition: int, first: int, past: int) -> int:
        return sum((partition, first) <= at < (partition, past) for at in self.places)

    def reached(self, tenure: Row) -> int:
        return max((row["offset"] + 1 for row in self.rows_of(tenure)), default=tenure["offset"])

    def committed(self, tenure: Row) -> int | None:
        keys = ("group", "partition")
        known = [
            row["offset"]
            for row in self.commits
            if all(row[key] == tenure[key] for key in keys)
            and row["time"] <= tenure["time"]
            and row["error"] is None
        ]
        return known[-1] if known else None

    def hand_overs(self, group: str) -> int:
        wrong = 0
        own = [row for row in self.tenures() if row["group"] == group]
        for tenure in own:
            partition, start = place(tenure)
            committed = self.committed(tenure)
            earlier = [
                row for row in own if row["partition"] == partition and row["time"] < tenure["time"]
            ]
            if committed is not None and start < committed:
                wrong += 1
            elif earlier:
                wrong += self.between(partition, max(map(self.reached, earlier)), start) > 0
            elif tenure["origin"] == "earliest":
                wrong += self.between(partition, 0, start) > 0
        for commit in self.commits:
            if commit["group"] == group and commit["error"] is None:
                keys = ("consumer", "life", "partition")
                held = [row for row in own if all(row[key] == commit[key] for key in keys)]
                partition, offset = place(commit)
                wrong += not held or (
                    self.between(partition, max(map(self.reached, held)), offset) > 0
                )
        return wrong

    def vanished(self, group: str) -> set[tuple[int, int]]:
        began = min((row["seen"] for row in self.log), default=None)
        return {
            place(row)
            for row in self.reads
            if row["group"] == group
            and place(row) not in self.places
            and (began is None or row["seen"] < began)
        }

    def torn(self) -> int:
        wrong = 0
        for name in {self.transaction(row) for row in self.sent} - {None}:
            rows = [
                row
                for row in self.sent
                if self.transaction(row) == name and row["outcome"] != NOT_WRITTEN
            ]
            shown = sum(self.logged[identity(row)] > 0 for row in rows)
            wrong += 0 < shown < len(rows)
        return wrong

    def rereads(self, group: str) -> int:
        own = [row for row in self.reads if row["group"] == group]
        own.sort(key=lambda row: row["seen"])
        wrong = 0
        for number, row in enumerate(own):
            before = [other for other in own[:number] if place(other) == place(row)]
            tenure = next(one for one in self.tenures() if row in self.rows_of(one))
            committed = self.committed(tenure)
            rewound = committed is not None and tenure["offset"] < committed
            same = any(other in self.rows_of(tenure) for other in before)
            wrong += bool(before) and (same or rewound)
        return wrong

    def is_sent_here(self, name: tuple[str, int]) -> bool:
        """Whether its producer sends to this topic: then no job made a second one of it."""
        return any(row["producer"] == name[0] for row in self.sent)

    def phantoms(self) -> set[tuple[str, int]]:
        sent = {identity(row) for row in self.sent}
        return {name for name in self.visible - sent if not self.may_be_sent(*name)}

    def may_be_sent(self, producer: str, sequence: int) -> bool:
        """Whether a life that was killed may have sent it without noting it."""
        firsts = {row["life"]: row["first"] for row in self.lives if row["client"] == producer}
        begun = [life for life, first in firsts.items() if first <= sequence]
        return bool(begun) and max(begun) != max(firsts)
