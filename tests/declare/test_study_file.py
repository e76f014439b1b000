"""Studies as files: what they declare, and which mistakes are reported before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare.yaml.study_file import DeclaredStudy, read
from streambed.errors import DeclarationError
from tests.support.declare.samples import write

GOOD = """\
version: 1
name: sweep
experiment: a.yaml
set: {duration: 40s}
vary:
  topology.links.1.delay: [10ms, 25ms]
  components.poet.acks: [1, all]
repetitions: 2
warm_up: 5s
measures:
  slow: {latency: counter, statistic: p99}
  lost: {lost: lines}
  speed: {throughput: reader}
  used: {cpu: kafka}
  ready: {ready: all}
plots: [{x: topology.links.1.delay, y: slow}]
"""


def study(folder: Path, text: str = GOOD, repetitions: int | None = None) -> DeclaredStudy:
    write(folder)
    (folder / "s.yaml").write_text(text)
    return read(folder / "s.yaml", repetitions)


def complaints(folder: Path, *changes: tuple[str, str]) -> list[str]:
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} must be there once"
        text = text.replace(old, new)
    with pytest.raises(DeclarationError) as refused:
        study(folder, text)
    return str(refused.value).replace(f"{folder}/", "").splitlines()


def test_a_grid_is_every_combination_each_as_often_as_asked(tmp_path: Path) -> None:
    declared = study(tmp_path)

    assert len(declared.points) == 4
    assert len(declared.trials) == 8
    assert [str(point.experiment.topology.links[1].delay) for point in declared.points] == [
        "10ms",
        "10ms",
        "25ms",
        "25ms",
    ]
    assert {str(point.experiment.duration) for point in declared.points} == {"40s"}


def test_a_list_of_points_is_taken_as_it_is(tmp_path: Path) -> None:
    text = GOOD.replace(
        "  topology.links.1.delay: [10ms, 25ms]\n  components.poet.acks: [1, all]\n",
        "  - {topology.links.1.delay: 10ms}\n",
    )

    names = [trial.name for trial in study(tmp_path, text + "order: given\n").trials]

    assert names == [
        "topology.links.1.delay=10ms, repetition 1",
        "topology.links.1.delay=10ms, repetition 2",
    ]


def test_a_repetition_has_the_same_seed_at_every_point(tmp_path: Path) -> None:
    declared = study(tmp_path)

    seeds = {(trial.repetition, trial.seed) for trial in declared.trials}
    assert len(seeds) == 2
    assert len({seed for _, seed in seeds}) == 2
    assert all(
        declared.experiment(trial).experiment.seed == trial.seed for trial in declared.trials
    )


def test_the_order_is_drawn_from_the_seed_or_as_given(tmp_path: Path) -> None:
    in_file_order = study(tmp_path, GOOD + "order: given\n")
    drawn, again, other = (study(tmp_path, GOOD + f"seed: {seed}\n") for seed in (7, 7, 8))

    assert [(trial.repetition, trial.point) for trial in in_file_order.trials] == [
        (r, p) for r in (1, 2) for p in range(4)
    ]
    assert drawn.trials == again.trials
    assert [trial.name for trial in drawn.trials] != [trial.name for trial in other.trials]


def test_more_repetitions_leave_the_first_as_they_were(tmp_path: Path) -> None:
    few, many = study(tmp_path), study(tmp_path, repetitions=5)

    assert {trial.name: trial.seed for trial in few.trials}.items() <= {
        trial.name: trial.seed for trial in many.trials
    }.items()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "repetitions",
            "repetitons",
            "s.yaml:8:1: repetitons: unknown key 'repetitons'. Did you mean 'repetitions'?",
        ),
        (
            "repetitions: 2",
            "repetitions: 0",
            "s.yaml:8:14: repetitions: 0 is too small: at least 1",
        ),
        ("name: sweep\n", "", "s.yaml:1:1: name: is missing: a study needs 'name'"),
        ("version: 1\n", "", "s.yaml:1:1: version: is missing: write 'version: 1' at the top"),
        ("version: 1", "version: 2", "s.yaml:1:10: version: this streambed reads version 1, not 2"),
        ("a.yaml", "b.yaml", "s.yaml:3:13: experiment: there is no file 'b.yaml' beside this one"),
        (
            "{latency: counter, ",
            "{latncy: counter, ",
            "s.yaml:11:10: measures.slow.latncy: unknown key 'latncy'. Did you mean 'latency'?",
        ),
        (
            "{lost: lines}",
            "{}",
            "s.yaml:12:3: measures.lost: give one of latency, throughput, lost, ready, cpu",
        ),
        (
            "{lost: lines}",
            "{lost: liens}",
            "s.yaml:12:16: measures.lost.lost: no topic 'liens'. Did you mean 'lines'?",
        ),
        (
            "throughput: reader",
            "throughput: raeder",
            "s.yaml:13:23: measures.speed.throughput: no consumer, sink, Spark job or producer is "
            "called 'raeder'. Did you mean 'reader'?",
        ),
        (
            "25ms",
            "25",
            "s.yaml:6:34: vary.topology.links.1.delay.1: 25 is not a duration: "
            "write a number and one of ns, us, ms, s, min, h, such as '20ms'",
        ),
        (
            "poet.acks",
            "poe.acks",
            "s.yaml:7:25: vary.components.poe.acks.0: there is no 'poe' in 'components'. Did you "
            "mean 'poet'?",
        ),
        (
            "[1, all]",
            "1",
            "s.yaml:7:25: vary.components.poet.acks: write a list of values in brackets, such as "
            "[10ms, 20ms]",
        ),
        (
            "[1, all]",
            "[]",
            "s.yaml:7:3: vary.components.poet.acks: has no values: give at least one",
        ),
        (
            "[1, all]",
            "[1, 1]",
            "s.yaml:5:1: vary: the point topology.links.1.delay=10ms, components.poet.acks=1 is "
            "given twice",
        ),
        (
            "{duration: 40s}",
            "{seed: 3}",
            "s.yaml:4:13: set.seed: cannot be changed by a study: each repetition has its own "
            "seed, drawn from the study's",
        ),
        (
            "warm_up: 5s",
            "warm_up: 50s",
            "s.yaml:9:10: warm_up: 50s leaves nothing of a load that lasts 40s",
        ),
        (
            "y: slow",
            "y: slwo",
            "s.yaml:16:40: plots.0.y: there is no measure 'slwo'. Did you mean 'slow'?",
        ),
        (
            "{x: topology.links.1.delay",
            "{x: duration",
            "s.yaml:16:13: plots.0.x: 'duration' is not varied. Known: ",
        ),
        (
            "duration: 40s",
            "duration: 20s",
            "a.yaml:16:21: faults.0.at: it begins at 20s, but the load lasts only 20s",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert complaints(tmp_path, (old, new))[0].startswith(says)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    messages = complaints(
        tmp_path, ("duration: 40s", "name: x"), ("y: slow", "y: fast"), ("[1, all]", "[1, 1]")
    )

    assert [line.split(" ")[1] for line in messages] == [
        "set.name:",
        "vary:",
        "vary:",
        "plots.0.y:",
    ]


def test_a_study_of_too_many_trials_is_refused(tmp_path: Path) -> None:
    assert complaints(tmp_path, ("repetitions: 2", "repetitions: 251")) == [
        "s.yaml:5:1: vary: this makes 1004 trials: at most 1000"
    ]


def test_the_trials_of_a_huge_study_are_counted_before_they_are_made(tmp_path: Path) -> None:
    ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    keys = "\n".join(f"  components.poet.settings.key{number}: {ten}" for number in range(12))

    assert complaints(tmp_path, ("vary:\n", f"vary:\n{keys}\n")) == [
        "s.yaml:5:1: vary: this makes 8000000000000 trials: at most 1000"
    ]
