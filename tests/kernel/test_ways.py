"""Packets take the ways that were decided: through rings and meshes, over several links, and around
what is cut.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.net import machine
from streambed.plan import Plan
from streambed.planner.planner import plan_for
from tests.support.kernel.boxes import Measure

pytestmark = pytest.mark.kernel

CUT = "s1 – s2"


def planned(pairs: str, tmp_path: Path, *, cut: str = "", **changes: Any) -> Plan:
    """Links as "a-s1 s1-s2"; nodes that begin with s are switches."""
    links = [Link(ends=tuple(pair.split("-"))) for pair in pairs.split()]
    switches = dict.fromkeys(end for link in links for end in link.ends if end.startswith("s"))
    faults = [{"kind": "cut", "at": "0s", "lasts": "1s", "link": cut.split(" – ")}] if cut else []
    topology = Topology(switches=tuple(switches), links=links, **changes)
    experiment = Experiment(
        name="ways", duration="9s", topology=topology, components=[], faults=faults
    )
    return plan_for(
        experiment, machine.examine(tmp_path / "machine.json"), base=tmp_path, directory=tmp_path
    )


def test_in_a_ring_packets_go_round_the_other_way_after_a_cut_and_back_when_it_is_mended(
    measure: Measure, tmp_path: Path
) -> None:
    ring = planned("a-s1 s1-s2 s2-b s2-s3 s3-s1", tmp_path, cut=CUT, reroute="500ms")

    measured = measure(ring, "rerouted")

    assert measured["whole"] == ["s1", "s2"]
    assert measured["cut"] == []
    assert measured["rerouted"] == ["s1", "s2", "s3"]
    assert measured["back"] == ["s1", "s2"]
    assert [event["without"] for event in measured["events"]] == [[CUT], []]
    assert measured["events"][0]["nodes"] == ["s1", "s2"]


def test_one_of_two_links_between_switches_of_a_mesh_is_enough(
    measure: Measure, tmp_path: Path
) -> None:
    mesh = planned(
        "a-s1 b-s2 c-s3 s1-s2 s1-s2 s2-s3 s3-s1", tmp_path, reroute="500ms", cut="s1 – s2"
    )

    measured = measure(mesh, "rerouted")

    assert (measured["whole"], measured["rerouted"]) == (["s1", "s2"], ["s1", "s2"])
    assert measured["events"][0]["without"] == ["s1 – s2"]


def test_a_host_with_two_links_is_reached_by_the_one_that_is_left(
    measure: Measure, tmp_path: Path
) -> None:
    measured = measure(
        planned("a-s1 a-s2 s1-s3 s2-s3 s3-b", tmp_path, reroute="500ms", cut="a – s1"), "rerouted"
    )

    assert (measured["whole"], measured["cut"], measured["rerouted"]) == (
        ["s1", "s3"],
        [],
        ["s2", "s3"],
    )


def test_multipath_spreads_connections_over_all_ways_that_are_equal(
    measure: Measure, tmp_path: Path
) -> None:
    measured = measure(
        planned("a-s1 s1-s2 s1-s3 s2-s4 s3-s4 s4-b", tmp_path, routing="multipath"), "spread"
    )

    assert measured["answered"] == measured["asked"]
    assert min(measured["packets"]["s2"], measured["packets"]["s3"]) > measured["asked"] / 10


def test_a_way_by_hand_is_the_one_that_packets_take(measure: Measure, tmp_path: Path) -> None:
    there = ["a", "s1", "s3", "s4", "b"]
    pairs = "a-s1 s1-s2 s1-s3 s2-s4 s3-s4 s4-b"

    measured = measure(
        planned(pairs, tmp_path, routing="by_hand", routes=[there, there[::-1]]), "spread"
    )

    assert measured["answered"] == measured["asked"]
    assert (measured["packets"]["s2"], measured["packets"]["s3"] >= measured["asked"]) == (0, True)
