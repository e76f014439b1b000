"""Checks that are expected to fail."""

import pytest

from streambed import NoLoss
from streambed.kinds.checks import CHECKS
from streambed.kinds.checks.expected import MayFail, as_expected
from streambed.results.runs import _verdict_of
from tests.support.histories import acked, behind, event, history_of, seen, undrained

READER = {"reader": {"kind": "consumer", "node": "home", "reads": ["lines"]}}
LOSS = NoLoss(topic="lines", expect="fails")
FAULT_MISSING = event(3, "inject_failed", fault=0, kind="kill", target="poet", reason="gone")
WHOLE = [acked("lines", "a=1"), seen("lines", "a=1")]
LOST = [acked("lines", "a=1"), acked("lines", "a=2"), seen("lines", "a=1")]


def judge(*lines, check=LOSS):
    history = history_of(*lines, components=READER)
    return as_expected(check, check.judge(history))


def test_a_check_that_fails_as_expected_holds():
    verdict = judge(*LOST)

    assert verdict.holds
    assert verdict.says.startswith("fails as expected: 1 of 2 acked records was never seen")
    assert verdict.brief == "as expected: 1 of 2 acknowledged records of lines lost"


def test_a_check_that_holds_although_it_should_fail_fails():
    verdict = judge(*WHOLE)

    assert verdict.fails
    assert verdict.says.startswith("expected to fail, and holds: 1 acked, 1 seen")


def test_unknown_is_not_what_was_expected():
    assert (
        judge(acked("lines", "a=1"), undrained(behind("reader", "lines", records=1))).answer
        == "unknown"
    )


def test_a_check_without_expectation_keeps_its_verdict():
    check = NoLoss(topic="lines")

    assert judge(*LOST, check=check).fails
    assert judge(*WHOLE, check=check).holds


@pytest.mark.parametrize("lines", [LOST, WHOLE], ids=["as expected", "not as expected"])
def test_without_its_fault_an_expectation_is_neither_met_nor_missed(lines):
    history = history_of(*lines, FAULT_MISSING, components=READER)

    assert _verdict_of(LOSS, history).answer == "unknown"


def test_every_kind_that_can_fail_can_be_expected_to():
    others = {name for name in CHECKS if not issubclass(CHECKS[name], MayFail)}

    assert others == {"log", "happens"}
