"""Errors say where, what was found and what to do."""

from __future__ import annotations

from streambed.errors import DeclarationError, MachineError, Problem, suggestion


def test_a_problem_is_reported_with_its_place_as_compilers_do() -> None:
    problem = Problem(key="duration", says="it is too short", line=3, column=11)

    assert problem.text("a.yaml") == "a.yaml:3:11: duration: it is too short"


def test_a_problem_of_an_option_names_the_option() -> None:
    problem = Problem(key="duration", says="it is too short", option="--set duration=0s")

    assert problem.text("a.yaml") == "--set duration=0s: duration: it is too short"


def test_problems_are_reported_in_the_order_of_the_file() -> None:
    error = DeclarationError(
        [Problem(key="b", says="no", line=9), Problem(key="a", says="no", line=2)], "a.yaml"
    )

    assert str(error) == "a.yaml:2:0: a: no\na.yaml:9:0: b: no"


def test_the_nearest_name_is_suggested() -> None:
    assert suggestion("egde", ["core", "edge"]) == "Did you mean 'edge'?"


def test_without_a_near_name_some_of_all_are_listed() -> None:
    assert suggestion("x", ["b", "a"]) == "Known: a, b."
    assert (
        suggestion("x", map(str, range(10, 20)))
        == "Known: 10, 11, 12, 13, 14, 15, 16, 17, and 2 more."
    )
    assert suggestion("x", []) == "None is known."


def test_exit_statuses_tell_wrong_usage_from_a_world_that_failed() -> None:
    assert (DeclarationError([]).exit_status, MachineError().exit_status) == (64, 3)
