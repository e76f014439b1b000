"""The export for Jepsen is EDN, each operation is invoked and completed, and nothing is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from streambed.plan import READ_BACKS
from streambed.results.jepsen import history_lines
from tests.support.judge.correct_runs import correct_run, recorded_run
from tests.support.judge.stories import ABORTED, NOT_WRITTEN, UNKNOWN, WRITTEN, Story

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s,\[\]{}"]+')


def read_edn(text: str) -> Any:
    """Maps, vectors, strings, integers and keywords."""
    return _value(iter(TOKENS.findall(text)))


def _value(tokens: Iterator[str]) -> Any:
    token = next(tokens)
    if token == "[":
        return _until(tokens, "]")
    if token == "{":
        flat = _until(tokens, "}")
        return dict(zip(flat[::2], flat[1::2], strict=True))
    if token.startswith('"'):
        return token[1:-1]
    return token if token.startswith(":") else int(token)


def _until(tokens: Iterator[str], end: str) -> list[Any]:
    values = []
    for token in tokens:
        if token == end:
            return values
        values.append(_value(chain([token], tokens)))
    raise AssertionError(f"no {end}")


def operations(story: Story) -> list[dict[str, Any]]:
    return [read_edn(line) for line in history_lines(story.ledger())]


def test_a_send_and_a_poll_are_operations_with_places():
    story = Story().send("a=0", "1/5").assign("1/5").poll(("a=0", "1/5"))

    found = [(one[":f"], one[":type"], one[":value"]) for one in operations(story)]

    assert found == [
        (":send", ":invoke", [[":send", "lines/1", "a=0"]]),
        (":send", ":ok", [[":send", "lines/1", [5, "a=0"]]]),
        (":assign", ":invoke", ["lines/1"]),
        (":assign", ":ok", ["lines/1"]),
        (":poll", ":invoke", [[":poll"]]),
        (":poll", ":ok", [[":poll", {"lines/1": [[5, "a=0"]]}]]),
    ]


def test_a_failed_send_fails_and_an_unknown_one_is_info_and_ends_its_process():
    story = Story().send("a=0", outcome=NOT_WRITTEN).send("a=1", outcome=UNKNOWN).send("a=2", 0)

    ends = [one for one in operations(story) if one[":type"] != ":invoke"]

    assert [one[":type"] for one in ends] == [":fail", ":info", ":ok"]
    assert [one[":process"] for one in ends] == [0, 0, 1]


def test_a_transaction_is_one_operation():
    story = Story().send("a=0", 0, txn=1).send("a=1", 1, txn=1).transaction(1)

    (end,) = [one for one in operations(story) if one[":type"] == ":ok"]

    assert end[":f"] == ":txn"
    assert end[":value"] == [[":send", "lines/0", [0, "a=0"]], [":send", "lines/0", [1, "a=1"]]]


def test_a_new_life_is_a_crash_of_the_one_before():
    story = Story().life("a", 1, 0).send("a=0", 0).life("a", 2, 5).send("a=5", 1, life=2)

    found = [(one[":f"], one[":type"]) for one in operations(story)]

    assert found[2:4] == [(":crash", ":invoke"), (":crash", ":info")]


@pytest.mark.parametrize("seed", range(5))
def test_every_record_of_a_run_is_exported_and_no_process_does_two_things_at_once(seed):
    story = correct_run(seed)
    found = operations(story)

    sends = [part for one in found if one[":type"] != ":invoke" for part in one[":value"]]
    assert len([part for part in sends if part[0] == ":send"]) == len(story.rows["sent"])
    assert [one[":index"] for one in found] == list(range(len(found)))
    busy: set[int] = set()
    for one in found:
        process = one[":process"]
        assert (process in busy) == (one[":type"] != ":invoke")
        busy ^= {process}


def completed(story: Story, f: str) -> list[dict[str, Any]]:
    return [one for one in operations(story) if one[":f"] == f and one[":type"] != ":invoke"]


def own_reads(story: Story) -> list[dict[str, Any]]:
    return [row for row in story.rows["seen"] if row["consumer"] not in READ_BACKS]


RUNS = [*(correct_run(seed) for seed in range(5)), recorded_run()]


@pytest.mark.parametrize("story", RUNS)
def test_polls_are_those_of_the_ledger_with_their_records_in_order(story):
    polled = [part[1] for one in completed(story, ":poll") for part in one[":value"]]
    times: dict[tuple[Any, ...], dict[str, list[list[Any]]]] = {}
    for row in own_reads(story):
        poll = times.setdefault((row["consumer"], row["life"], row["seen"]), {})
        record = [row["offset"], f"{row['producer']}={row['sequence']}"]
        poll.setdefault(f"lines/{row['partition']}", []).append(record)

    in_order = [poll for _, poll in sorted(times.items(), key=lambda item: item[0][2])]

    assert sorted(map(repr, polled)) == sorted(map(repr, in_order))


ENDS = {int(WRITTEN): ":ok", int(ABORTED): ":fail", int(NOT_WRITTEN): ":fail"}


@pytest.mark.parametrize("story", RUNS)
def test_transactions_and_sends_end_as_in_the_ledger(story):
    ended = {
        (row["producer"], row["life"], row["transaction"]): row["outcome"]
        for row in story.rows["transactions"]
    }
    expected = {}
    for row in story.rows["sent"]:
        outcome = row["outcome"]
        if row["transaction"] is not None:
            outcome = ended.get((row["producer"], row["life"], row["transaction"]))
        expected[f"{row['producer']}={row['sequence']}"] = ENDS.get(outcome, ":info")
    found = {}
    for one in completed(story, ":send") + completed(story, ":txn"):
        for _, _, sent in one[":value"]:
            found[sent[1] if isinstance(sent, list) else sent] = one[":type"]

    assert found == expected
    assert len(completed(story, ":txn")) == len(
        {
            (row["producer"], row["life"], row["transaction"])
            for row in story.rows["sent"]
            if row["transaction"] is not None
        }
    )


@pytest.mark.parametrize("story", RUNS)
def test_assignments_name_what_a_client_holds_after_each_change(story):
    held: dict[tuple[str, int], list[str]] = {}
    expected = []
    own = [row for row in story.rows["assignments"] if row["consumer"] not in READ_BACKS]
    for row in sorted(own, key=lambda row: row["time"]):
        keys = held.setdefault((row["consumer"], row["life"]), [])
        key = f"lines/{row['partition']}"
        if row["change"] == "assigned" and key not in keys:
            keys.append(key)
        elif row["change"] in ("revoked", "lost", "closed") and key in keys:
            keys.remove(key)
        expected.append(list(keys))

    assert sorted(one[":value"] for one in completed(story, ":assign")) == sorted(expected)
