import pytest

from streambed import Command, Succeeds
from tests.support.histories import event, history_of


def ended(status, *lines, expected=None):
    known = status == 0 if expected is None else expected
    return event(
        210,
        "process_ended",
        component="audit",
        status=status,
        expected=known,
        last_lines=list(lines),
    )


def test_a_command_that_ended_well_holds_and_says_what_it_said_last():
    verdict = Succeeds(of="audit").judge(history_of(ended(0, "reading", "all is there", "")))

    assert verdict.holds
    assert verdict.says == "audit: all is there"


def test_a_command_that_ended_badly_fails():
    verdict = Succeeds(of="audit").judge(history_of(ended(1, "two are missing")))

    assert verdict.fails
    assert verdict.says == "audit: two are missing"


@pytest.mark.parametrize(
    "history",
    [
        history_of(),
        history_of(ended(-9)),
        history_of(ended(3, expected=True)),
        history_of(broken=True),
    ],
)
def test_a_command_that_did_not_exit_by_itself_is_unknown(history):
    assert Succeeds(of="audit").judge(history).answer == "unknown"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"starts": "load", "on_exit": "record"},
            "no command with `starts: drain` is called 'audit'.",
        ),
        (
            {"starts": "drain"},
            "'audit' needs `on_exit: record`: otherwise the run is over when it fails",
        ),
    ],
)
def test_it_is_of_a_command_after_the_drain_whose_failure_is_recorded(changes, says):
    audit = Command(name="audit", node="home", argv=["true"], **changes)

    (problem,) = Succeeds(of="audit").problems({"audit": audit})

    assert problem.says.startswith(says)
