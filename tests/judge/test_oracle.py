"""The engine and a naive judge agree on small histories of all sorts, possible or not."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.judge.judged_stories import counts
from tests.support.judge.oracle import Oracle
from tests.support.judge.stories import ABORTED, NOT_WRITTEN, UNKNOWN, WRITTEN, Story

JUDGED_BY_GRAPHS = {"A14", "A15", "A16"}
"""Cycles: test_cycles.py compares them with another search."""
OUTCOMES = [WRITTEN, WRITTEN, WRITTEN, UNKNOWN, NOT_WRITTEN, ABORTED]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Up to a dozen sends, a read-back and two groups, each mostly as it should be."""
    story = Story().life("a", 1, 0).life("a", 2, 6).life("b", 1, 0)
    rows: list[tuple[str, str]] = []
    ends = [0, 0]
    for producer, count in (("a", draw(st.integers(0, 9))), ("b", draw(st.integers(0, 4)))):
        for sequence in range(count):
            if producer == "a" and sequence == 5:
                continue  # Life 1 was killed before it noted this one.
            partition = draw(st.integers(0, 1))
            ends[partition] += draw(st.sampled_from([0, 1, 1, 1, 1, 1, 2]))
            at = f"{partition}/{max(0, ends[partition] - 1)}"
            outcome = draw(st.sampled_from(OUTCOMES))
            placed = outcome in (WRITTEN, ABORTED) or draw(st.booleans())
            story.send(
                f"{producer}={sequence}",
                at if placed else None,
                outcome=outcome,
                life=2 if producer == "a" and sequence > 5 else 1,
                txn=draw(st.sampled_from([None, None, 1, 2])),
            )
            rows.append((f"{producer}={sequence}", at))
    for producer in "ab":
        for number in (1, 2):
            if draw(st.booleans()):
                outcome = draw(st.sampled_from([WRITTEN, ABORTED, UNKNOWN]))
                story.transaction(number, outcome, of=producer)
    rows.append(("a=5", "0/20"))
    _read(draw, story, rows)
    log = [row for row in rows if draw(st.integers(0, 5))]
    for extra in draw(st.lists(st.sampled_from(rows), max_size=2)):
        partition = draw(st.integers(0, 1))
        log.append((extra[0], f"{partition}/{draw(st.integers(0, 14))}"))
    return story.log(*log)


def _read(draw: st.DrawFn, story: Story, rows: list[tuple[str, str]]) -> None:
    """Two groups read, poll by poll, in tenures that begin anywhere."""
    for group in ("one", "two")[: draw(st.integers(0, 2))]:
        for tenure in range(1, draw(st.integers(1, 3)) + 1):
            partition = draw(st.integers(0, 1))
            start = draw(st.integers(0, 4)) if draw(st.booleans()) else 0
            origin = draw(st.sampled_from(["earliest", "committed", "latest"]))
            story.assign(f"{partition}/{start}", by=group, tenure=tenure, origin=origin)
            own = sorted(
                (row for row in rows if row[1].startswith(f"{partition}/")),
                key=lambda row: int(row[1][2:]),
            )
            for _ in range(draw(st.integers(0, 3))):
                first = draw(st.integers(0, max(0, len(own) - 1)))
                polled = own[first : first + draw(st.integers(1, 4))]
                if draw(st.integers(0, 4)) == 0:
                    polled = polled[::-1]
                txn = draw(st.sampled_from([None, None, 1, 2]))
                story.poll(*polled, by=group, tenure=tenure, txn=txn)
            if draw(st.booleans()):
                story.commit(f"{partition}/{draw(st.integers(0, 6))}", by=group)
    for group in ("one", "two"):
        story.transaction(1, draw(st.sampled_from([WRITTEN, ABORTED])), of=group)


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow])
@given(stories())
def test_the_engine_agrees_with_the_oracle(story: Story) -> None:
    if not [row for row in story.rows["seen"] if row["consumer"] == "witness"]:
        return
    engine = {name: count for name, count in counts(story).items() if name not in JUDGED_BY_GRAPHS}

    assert engine == Oracle(story).counts()
