"""The check `log`: every anomaly is a row; it fails on all but those that are allowed."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from streambed.kinds.checks.log import Log
from streambed.kinds.declared_parts import components_of
from streambed.record.events import Inject
from tests.support.judge.runs import COMPONENTS, row, run_of, small_story
from tests.support.judge.stories import TOPIC, UNKNOWN, Story


def test_a_log_without_anomalies_holds():
    verdict = Log(topic=TOPIC).judge(run_of(small_story(3)))

    assert (verdict.answer, verdict.says) == ("holds", "3 records, nothing wrong")
    assert len(verdict.evidence["rows"]) == 23


def test_a_lost_write_fails_and_is_shown_with_its_fault():
    fault = Inject(time=1, fault=0, kind="kill", target="broker1")
    verdict = Log(topic=TOPIC).judge(run_of(small_story(4, lost=(1, 2)), fault))

    assert verdict.fails
    found = row(verdict, "A1")
    assert (found["answer"], found["count"], found["promised"]) == ("fails", 2, True)
    assert found["offenders"][0]["record"] == "a=1"
    assert found["offenders"][0]["during"] == "kill"


def test_what_is_not_promised_fails_as_well_and_says_so():
    weak = {"a": {"kind": "producer", "node": "a", "writes": TOPIC, "acks": 1}}
    verdict = Log(topic=TOPIC).judge(run_of(small_story(4, lost=(1,)), **weak))

    assert verdict.fails
    assert row(verdict, "A1")["promised"] is False
    assert "not promised: acks is 1" in verdict.says


@pytest.mark.parametrize("word", ["A1", "lost_write"])
def test_an_allowance_is_given_by_number_or_name(word):
    verdict = Log(topic=TOPIC, allow=(word,)).judge(run_of(small_story(4, lost=(1,))))

    assert verdict.holds
    assert verdict.says == "4 records, nothing wrong; allowed: A1 lost write 1"


def test_a_loss_below_the_start_of_the_log_is_no_loss():
    story = small_story(4)
    story.rows["seen"] = [
        row for row in story.rows["seen"] if row["offset"] or row["group"] == "reader"
    ]

    assert Log(topic=TOPIC).judge(run_of(story, start=1)).holds


def test_a_loss_is_undecided_if_the_start_of_the_log_is_unknown():
    assert Log(topic=TOPIC).judge(run_of(small_story(4, lost=(0,)), start=None)).answer == "unknown"


def test_readers_that_noted_no_assignments_leave_it_unknown():
    story = small_story(3)
    story.rows["assignments"].clear()

    verdict = Log(topic=TOPIC).judge(run_of(story))

    assert verdict.answer == "unknown"
    assert "A8 poll skip unknown: reader recorded no assignments" in verdict.says


def test_without_a_read_back_unread_records_leave_it_unknown():
    story = Story().life("a", 1, 0).send("a=0", 0).send("a=1", 1).assign().poll(("a=0", 0))
    verdict = Log(topic=TOPIC, allow=("A2",)).judge(run_of(story))

    assert verdict.answer == "unknown"


def test_an_empty_history_is_unknown():
    assert Log(topic=TOPIC).judge(run_of(Story())).answer == "unknown"


def test_an_expected_anomaly_that_is_found_holds():
    check = Log(topic=TOPIC, expect={"found": ["lost_write"], "may": ["A4"]})  # type: ignore[arg-type]

    assert check.judge(run_of(small_story(4, lost=(1,)))).holds


def test_an_expected_anomaly_that_is_not_found_fails():
    check = Log(topic=TOPIC, expect={"found": ["A1"]})  # type: ignore[arg-type]

    verdict = check.judge(run_of(small_story(4)))

    assert (verdict.answer, verdict.says) == ("fails", "expected and not found: A1 lost write")


def test_an_expected_anomaly_that_is_unknown_is_not_found():
    check = Log(topic=TOPIC, expect={"found": ["A1"]})  # type: ignore[arg-type]

    assert check.judge(run_of(small_story(4, lost=(0,)), start=None)).answer == "unknown"


def test_another_anomaly_than_expected_fails():
    story = small_story(4, lost=(1,)).log(("a=0", 9))
    check = Log(topic=TOPIC, expect={"found": ["A1"]})  # type: ignore[arg-type]

    verdict = check.judge(run_of(story))

    assert verdict.fails
    assert verdict.says.startswith("found besides what was expected: A5 duplicate")


def test_an_unknown_send_is_never_lost():
    story = small_story(3).send("a=3", None, outcome=UNKNOWN)

    assert Log(topic=TOPIC).judge(run_of(story)).holds


def test_an_anomaly_that_does_not_exist_is_refused_with_a_suggestion():
    with pytest.raises(ValidationError, match="Did you mean 'lost_write'"):
        Log(topic=TOPIC, allow=("lost_writes",))


def test_a_topic_that_does_not_exist_is_refused():
    (problem,) = Log(topic="line").problems(components_of({"components": COMPONENTS}))

    assert problem.key == "topic"


@pytest.mark.parametrize("name", ["a", "reader"])
def test_a_client_without_a_ledger_is_refused(name):
    components = COMPONENTS | {name: COMPONENTS[name] | {"ledger": False}}

    (problem,) = Log(topic=TOPIC).problems(components_of({"components": components}))

    assert problem.says == f"{name} keeps no ledger of lines: leave out `ledger: false`"


def test_an_expectation_of_nothing_is_refused():
    with pytest.raises(ValidationError, match="at least 1 item"):
        Log(topic=TOPIC, expect={"found": []})  # type: ignore[arg-type]


def test_an_unknown_promise_is_not_called_a_broken_one():
    foreign = {"a": None, "program": {"kind": "command", "node": "a", "argv": ["write"]}}
    verdict = Log(topic=TOPIC).judge(run_of(small_story(4, lost=(1,)), **foreign))

    assert row(verdict, "A1")["promised"] is None
    assert "not promised" not in verdict.says


@pytest.mark.parametrize(
    ("anomaly", "reason"),
    [
        ("A14", "it is only counted, because Kafka always allows it"),
        ("precommitted_read", "no client here reads inside a transaction"),
        ("A19", "no producer of lines sends transactions"),
    ],
)
def test_what_can_never_be_found_cannot_be_expected(anomaly, reason):
    check = Log(topic="lines", expect={"found": [anomaly]})

    (problem,) = check.problems(components_of({"components": COMPONENTS}))

    assert problem.key == "expect"
    assert problem.says.endswith(f"can never be found here: {reason}")
