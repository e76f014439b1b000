"""Fault profiles fit any experiment, or say why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare import reading
from streambed.declare.fault_profiles import PROFILES
from streambed.errors import UsageError
from streambed.kinds.tables import FAULTS

EXPERIMENT = """
version: 1
name: small
duration: 100s
topology:
  switches: [core]
  links:
    - {ends: [edge, core], delay: 40ms}
    - {ends: [b1, core], delay: 1ms}
    - {ends: [b2, core], delay: 1ms}
    - {ends: [b3, core], delay: 1ms}
components:
  kafka: {kind: kafka, nodes: [b1, b2, b3], topics: {lines: {replicas: 3}}}
  poet: {kind: producer, node: edge, writes: lines}
faults:
  - {kind: pause, at: 1s, lasts: 1s, target: poet}
"""


def faults(folder: Path, profile: str, text: str = EXPERIMENT) -> list[tuple[str, str]]:
    (folder / "a.yaml").write_text(text)
    experiment = reading.read(folder / "a.yaml", profile=profile).experiment
    return [(fault.kind, fault.aim) for fault in experiment.faults]


@pytest.mark.parametrize("profile", sorted(set(PROFILES) - {"bad_clock"}))
def test_a_profile_adds_faults_to_those_of_the_file(tmp_path, profile):
    found = faults(tmp_path, profile)

    assert found[0] == ("pause", "poet")
    assert len(found) > 1


def test_a_flaky_wan_is_made_of_the_slowest_links(tmp_path):
    assert faults(tmp_path, "flaky_wan")[1:] == [
        ("degrade", "edge – core: delay 80ms, jitter 20ms, loss 1%"),
        ("flap", "edge – core, down 1s, up 1s"),
    ]


def test_a_split_brain_has_the_leader_on_the_smaller_side(tmp_path):
    assert faults(tmp_path, "split_brain")[1:] == [
        ("partition", "leader of lines/0 | all but leader of lines/0")
    ]


def test_a_bad_clock_needs_the_fault_that_makes_one(tmp_path):
    if "skew_clock" in FAULTS:
        assert faults(tmp_path, "bad_clock")[1][0] == "skew_clock"
    else:
        with pytest.raises(UsageError, match="this streambed has no fault 'skew_clock'"):
            faults(tmp_path, "bad_clock")


def test_an_unknown_profile_gets_a_suggestion(tmp_path):
    with pytest.raises(UsageError, match=r"no profile 'split-brain'\. Did you mean 'split_brain'"):
        faults(tmp_path, "split-brain")


def test_a_profile_says_what_an_experiment_lacks_for_it(tmp_path):
    one_broker = EXPERIMENT.replace("nodes: [b1, b2, b3]", "nodes: [b1]").replace("replicas: 3", "")

    with pytest.raises(UsageError, match="needs a kafka component with 3 brokers or more"):
        faults(tmp_path, "split_brain", one_broker)


def test_a_flaky_wan_spares_links_that_the_file_breaks_itself(tmp_path):
    cut = EXPERIMENT.replace(
        "kind: pause, at: 1s, lasts: 1s, target: poet",
        "kind: cut, at: 0s, lasts: 100s, link: [edge, core]",
    )

    assert [kind for kind, _ in faults(tmp_path, "flaky_wan", cut)] == ["cut", "degrade"]


def test_faults_of_a_profile_that_contradict_those_of_the_file_are_refused(tmp_path):
    dead = EXPERIMENT.replace(
        "kind: pause, at: 1s, lasts: 1s, target: poet",
        "kind: kill, at: 0s, lasts: 100s, target: kafka/b2",
    )

    with pytest.raises(UsageError, match=r"--faults rolling_restart: faults.1.at: .* is dead"):
        faults(tmp_path, "rolling_restart", dead)
