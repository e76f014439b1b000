"""The planner: shapes of links, and what a machine cannot emulate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streambed import plan
from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import MachineError
from streambed.kinds.faults import Cut, Degrade, Isolate, Partition
from streambed.plan import Machine, Shape
from streambed.planner.description import describe
from streambed.planner.planner import plan_for
from tests.support.planned import KAFKA, planned

pytestmark = pytest.mark.usefixtures("no_jars")


def test_links_have_a_shape_for_each_direction() -> None:
    first, second = planned().links

    assert first.shapes == (Shape(delay_ns=20_000_000), Shape(delay_ns=20_000_000, loss=0.01))
    assert second.shapes == (Shape(rate_bps=10_000_000), Shape(rate_bps=10_000_000))


def test_a_link_is_emulated_for_its_delay_or_because_a_fault_may_cut_it() -> None:
    assert [link.emulated for link in planned().links] == [True, False]
    assert [
        link.emulated
        for link in planned(faults=[Cut(at="1s", lasts="1s", link=("core", "b"))]).links
    ] == [True, True]


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (Machine(namespaces=False), "this machine does not let you make the namespaces"),
        (Machine(means="none"), "can neither delay, lose nor cut packets, but a – core needs it"),
        (Machine(shaping=False), "cannot limit rates, but b – core needs it"),
    ],
)
def test_what_the_machine_cannot_do_is_refused(machine: Machine, says: str) -> None:
    with pytest.raises(MachineError, match="streambed doctor") as refused:
        planned(machine=machine)

    assert says in str(refused.value)


def test_a_delay_shorter_than_the_delay_line_itself_is_refused() -> None:
    with pytest.raises(
        MachineError, match=r"cannot delay by less than 100us .*, but a – b needs it"
    ):
        planned(links=(Link(ends=("a", "b"), delay="50us"),))

    assert (
        planned(
            links=(Link(ends=("a", "b"), delay="50us"),),
            machine=Machine(means="netem", python="python"),
        )
        .links[0]
        .emulated
    )


def test_what_a_fault_asks_of_a_link_is_refused_where_the_machine_cannot() -> None:
    narrow = Degrade(at="1s", lasts="1s", link=("a", "b"), rate="1Mbit")

    with pytest.raises(MachineError, match="cannot limit rates, but a – b needs it"):
        planned(
            links=(Link(ends=("a", "b")),),
            faults=[narrow],
            machine=Machine(shaping=False, python="python"),
        )


def test_a_plan_knows_what_faults_make_of_a_link() -> None:
    links = (Link(ends=("a", "b"), delay="5ms", rate="1Mbit"),)
    [link] = planned(
        links=links, faults=[Degrade(at="1s", lasts="1s", link=("a", "b"), source="b", loss="2%")]
    ).links

    assert link.changed == ((), (Shape(delay_ns=5_000_000, rate_bps=1_000_000, loss=0.02),))


def test_a_link_is_described_with_its_name_if_it_has_one() -> None:
    plan = planned(
        links=(Link(ends=("a", "b"), name="north"), Link(ends=("a", "b")), Link(ends=("a", "b")))
    )

    assert [link.named for link in plan.links] == [True, False, False]
    rows = describe(plan).partition("links\n")[2].splitlines()[:3]
    assert [row.split("  ")[1] for row in rows] == [
        "north: a/eth0 – b/eth0",
        "a/eth1 – b/eth1",
        "a/eth2 – b/eth2",
    ]


def test_a_plan_from_before_links_said_whether_they_are_named_is_read(tmp_path: Path) -> None:
    plan.write(planned(), tmp_path / "plan.json")
    older = json.loads((tmp_path / "plan.json").read_text())
    for link in older["links"]:
        del link["named"]
    (tmp_path / "plan.json").write_text(json.dumps(older))

    assert plan.read(tmp_path / "plan.json") == planned()


def test_a_link_is_described_with_all_that_it_does() -> None:
    there = Link(
        ends=("a", "b"),
        delay="40ms",
        jitter="5ms",
        distribution="normal",
        in_order=True,
        loss={"enter": "1%", "leave": "25%", "good": "0.1%"},
        duplicate="2%",
        corrupt="0.5%",
        rate="10Mbit",
        queue="15kB",
        back={"delay": "20ms", "jitter": "0s", "in_order": False, "loss": "1%", "reorder": "3%"},
    )

    text = describe(planned(links=(there,)))
    assert (
        "40ms ± 5ms (normal) in order, 100% lost in bursts and 0.1% between (begin 1%, end 25%), "
        "2% doubled, 0.5% damaged, "
        "10Mbit, queue 15kB; back 20ms, 1% lost, 3% reordered, 2% doubled, 0.5% damaged, 10Mbit, "
        "queue 15kB" in text
    )


def test_samples_are_read_beside_the_declaration_and_their_mean_chooses_the_way(
    tmp_path: Path,
) -> None:
    (tmp_path / "slow.txt").write_text("10ms\n30ms\n")
    links = [
        Link(ends=("a", "s1"), samples="slow.txt"),
        Link(ends=("s1", "b")),
        Link(ends=("a", "s2"), delay="19ms"),
        Link(ends=("s2", "b")),
    ]
    experiment = Experiment(
        name="first",
        duration="10s",
        topology=Topology(switches=("s1", "s2"), links=links),
        components=[],
    )

    plan = plan_for(experiment, Machine(python="python"), base=tmp_path, directory=Path("runs/1"))

    drawn = Shape(
        delay_ns=20_000_000,
        jitter_ns=10_000_000,
        distribution="samples",
        samples_ns=(10_000_000, 30_000_000),
    )
    assert plan.links[0].shapes == (drawn, drawn)
    assert [
        route.interface
        for route in plan.node("a").routes
        if route.destination == plan.node("b").address
    ] == ["eth1"]
    assert "20ms ± 10ms (2 samples)" in describe(plan)


def test_links_of_all_who_may_hold_a_role_are_emulated_if_it_may_be_isolated() -> None:
    by_role = Isolate(at="1s", lasts="1s", target="leader of lines/0")

    assert [link.emulated for link in planned(KAFKA, faults=[by_role]).links] == [True, True]


def test_a_partition_emulates_no_link_but_needs_packet_rules() -> None:
    partition = Partition(at="1s", lasts="1s", sides=(("a",), ("b",)))

    assert [link.emulated for link in planned(faults=[partition]).links] == [True, False]
    with pytest.raises(MachineError, match="no packet rules"):
        planned(faults=[partition], machine=Machine(filtering=False, python="python"))
