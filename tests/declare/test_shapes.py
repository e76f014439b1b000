"""Files of samples, and what faults make of links."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare.experiment import Experiment, problems
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import UsageError
from streambed.kinds.faults import Degrade
from streambed.planner.shapes import samples_in

MS = 1_000_000


def found(base: Path, link: Link, **fault: object) -> list[tuple[str, str]]:
    faults = [Degrade(at="1s", lasts="2s", link=("a", "b"), **fault)] if fault else []
    experiment = Experiment(
        name="first", duration="10s", topology=Topology(links=[link]), components=[], faults=faults
    )
    return [(problem.key, problem.says) for problem in problems(experiment, base)]


def test_a_line_is_a_delay_with_its_unit_or_in_nanoseconds(tmp_path: Path) -> None:
    (tmp_path / "rtt.txt").write_text(
        "# measured on a Sunday\n20ms\n\n 1.5ms  # a quick one\n3000000\n"
    )

    assert samples_in(tmp_path / "rtt.txt") == (20 * MS, 1_500_000, 3 * MS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "20ms\nsoon\n",
            "rtt.txt, line 2: not a delay: write one such as 20ms",
        ),
        ("-3\n", "rtt.txt, line 1: '-3' is not a duration"),
        ("20ms 30ms\n", "rtt.txt, line 1: not a delay: write one such as 20ms"),
        ("2h\n", "rtt.txt, line 1: 2h is longer than 1h"),
        ("# nothing\n", "rtt.txt holds no delay: write one a line, such as 20ms"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "rtt.txt").write_text(text)

    with pytest.raises(UsageError) as refused:
        samples_in(tmp_path / "rtt.txt")
    assert str(refused.value).startswith(says)


def test_files_that_are_not_there_are_named_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "rtt.txt").write_text("1ms\n")
    link = Link(ends=("a", "b"), samples="rtt.txt", back={"samples": "rtd.txt"})

    assert found(tmp_path, link, samples="nowhere/x") == [
        (
            "topology.links.0.back.samples",
            "there is no file 'rtd.txt' beside the declaration. Did you mean 'rtt.txt'?",
        ),
        ("faults.0.samples", "there is no file 'nowhere/x' beside the declaration. None is known."),
    ]


@pytest.mark.parametrize(
    ("link", "fault", "key", "says"),
    [
        (
            Link(ends=("a", "b")),
            {"reorder": "10%"},
            "reorder",
            "without a delay no packet can overtake another: give a `delay` as well (link a – b, "
            "packets from a)",
        ),
        (
            Link(ends=("a", "b"), delay="1ms", back={"in_order": True}),
            {"reorder": "10%"},
            "reorder",
            "packets cannot overtake each other and stay in order: leave out `in_order` or "
            "`reorder` (link a – b, packets from b)",
        ),
        (
            Link(ends=("a", "b")),
            {"queue": "15kB"},
            "queue",
            "without a rate nothing waits: give a `rate` as well (link a – b, packets from a)",
        ),
    ],
)
def test_a_fault_cannot_ask_of_a_link_what_it_cannot_do(
    tmp_path: Path, link: Link, fault: dict[str, str], key: str, says: str
) -> None:
    assert found(tmp_path, link, **fault) == [(f"faults.0.{key}", says)]


def test_a_fault_may_ask_of_a_link_what_it_can_do(tmp_path: Path) -> None:
    link = Link(ends=("a", "b"), delay="5ms", rate="1Mbit")

    assert (
        found(
            tmp_path,
            link,
            reorder="10%",
            queue="15kB",
            in_order=False,
            loss={"enter": "1%", "leave": "10%"},
        )
        == []
    )
