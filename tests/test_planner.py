"""The planner decides addresses, routes, links and commands, and refuses what the machine cannot
do.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streambed import artifacts, plan
from streambed.declare.experiment import Experiment
from streambed.declare.link import Direction, Link
from streambed.declare.topology import Topology
from streambed.errors import MachineError, UsageError
from streambed.kinds.checks import NoLoss
from streambed.kinds.components import Command, Kafka, Producer, SparkJob
from streambed.kinds.components.kafka.topic import Topic
from streambed.kinds.faults import Cut, Degrade, Isolate, Kill, Partition
from streambed.plan import Machine, Plan, Route, Shape
from streambed.planner.description import describe
from streambed.planner.nodes import address
from streambed.planner.planner import plan_for

KAFKA = Kafka(name="kafka", nodes=["b"], topics={"lines": Topic()})
POET = Producer(name="poet", node="a", writes="lines")
STAR = (
    Link(ends=("a", "core"), delay="20ms", back=Direction(loss="1%")),
    Link(ends=("b", "core"), rate="10Mbit"),
)


@pytest.fixture(autouse=True)
def _no_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        artifacts,
        "kafka_command",
        lambda *_, **__: ["java", "-cp", ":".join(f"lib{at}.jar" for at in range(20))],
    )
    monkeypatch.setattr(artifacts, "kafka_checkpoint", lambda: Path("checkpoint"))


def planned(
    *components: Any, links: tuple[Link, ...] = STAR, machine: Machine | None = None, **changes: Any
) -> Plan:
    switches = ["core"] if any("core" in link.ends for link in links) else []
    topology = Topology(switches=switches, links=links)
    experiment = Experiment(
        name="first", duration="10s", topology=topology, components=list(components), **changes
    )
    return plan_for(
        experiment, machine or Machine(python="python"), base=Path("here"), directory=Path("runs/1")
    )


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, "10.0.0.1"), (254, "10.0.0.254"), (255, "10.0.1.1"), (60_000, "10.0.236.56")],
)
def test_addresses_never_end_in_0_or_255(number: int, expected: str) -> None:
    assert address("10.0", number) == expected


def test_hosts_and_switches_get_addresses_in_order_of_mention() -> None:
    assert planned().addresses() == {"a": "10.0.0.1", "b": "10.0.0.2", "core": "10.255.0.1"}


def test_given_addresses_are_kept_and_the_others_go_round_them() -> None:
    topology = Topology(
        links=[Link(ends=("a", "b")), Link(ends=("a", "c"))],
        addresses={"c": "10.0.0.1", "b": "192.168.7.9"},
    )
    experiment = Experiment(name="first", duration="10s", topology=topology, components=[])

    plan = plan_for(
        experiment, Machine(python="python"), base=Path("here"), directory=Path("runs/1")
    )

    assert plan.addresses() == {"a": "10.0.0.2", "b": "192.168.7.9", "c": "10.0.0.1"}


def test_ports_have_their_given_names_and_the_others_go_round_them() -> None:
    links = (
        Link(ends=("a", "core")),
        Link(ends=("b", "core"), ports=("up", "eth1")),
        Link(ends=("c", "core")),
    )

    plan = planned(links=links)

    assert [[port.interface for port in link.ports] for link in plan.links] == [
        ["eth0", "eth0"],
        ["up", "eth1"],
        ["eth0", "eth2"],
    ]
    assert [link.ports[1].index for link in plan.links] == [2, 3, 4]
    assert plan.node("b").routes[0].interface == "up"


def test_a_program_runs_in_its_folder_and_starts_in_its_phase() -> None:
    early = Command(name="early", node="a", argv=("true",))
    late = Command(name="late", node="a", argv=("{run.python}", "x.py"), cwd="..", starts="load")

    first, second = planned(early, late).processes

    assert (first.cwd, first.starts) == ("here", "ready")
    assert (second.cwd, second.starts, second.argv) == ("here/..", "load", (sys.executable, "x.py"))


def test_notes_of_a_plan_are_described() -> None:
    assert describe(replace(planned(KAFKA), notes=("one", "two"))).endswith("\nnotes\n  one\n  two")


def test_a_host_on_a_switch_has_a_default_route_and_the_switch_one_for_each_host() -> None:
    plan = planned()

    assert plan.node("a").routes == (
        Route(destination="default", interface="eth0", via="10.255.0.1"),
    )
    assert plan.node("core").routes == (
        Route(destination="10.0.0.1", interface="eth0"),
        Route(destination="10.0.0.2", interface="eth1"),
    )


def test_hosts_with_a_link_between_them_reach_each_other_directly() -> None:
    assert planned(links=(Link(ends=("a", "b")),)).node("a").routes == (
        Route(destination="10.0.0.2", interface="eth0"),
    )


def test_a_host_with_several_links_has_a_route_for_each_host() -> None:
    plan = planned(links=(*STAR, Link(ends=("a", "b"), delay="90ms")))

    assert plan.node("a").routes == (
        Route(destination="10.0.0.2", interface="eth0", via="10.255.0.1"),
    )
    assert [port.index for port in plan.links[2].ports] == [3, 3]


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


def test_processes_come_in_the_order_of_the_declaration() -> None:
    assert [process.name for process in planned(POET, KAFKA).processes] == ["poet", "kafka/b"]


def test_references_become_what_they_stand_for() -> None:
    words = [
        "true",
        "{kafka.bootstrap}",
        "{a.address}",
        "{self.node}/{self.checkpoint}",
        "{run.seed}",
        "{{a.name}}",
        '{"x":{}}',
    ]

    tool = planned(
        KAFKA, Command(name="tool", node="a", argv=words, env={"AT": "{self.data}"})
    ).processes[-1]

    assert tool.argv == (
        "true",
        "b:9092",
        "10.0.0.1",
        "a/runs/1/data/tool/checkpoint",
        "1",
        "{a.name}",
        '{"x":{}}',
    )
    assert tool.env["AT"] == "runs/1/data/tool"


def test_a_witness_reads_back_what_checks_need() -> None:
    witness = planned(KAFKA, POET, checks=[NoLoss(topic="lines")]).processes[-1]

    assert (witness.name, witness.node, witness.starts, witness.on_exit) == (
        "witness",
        "b",
        "drain",
        "record",
    )


def test_each_cluster_has_its_own_witness() -> None:
    other = Kafka(name="other", nodes=["a"], topics={"words": Topic()})

    processes = planned(
        KAFKA, other, checks=[NoLoss(topic="lines"), NoLoss(topic="words")]
    ).processes

    assert [(process.name, process.component, process.node) for process in processes[2:]] == [
        ("witness/kafka", "witness", "b"),
        ("witness/other", "witness", "a"),
    ]


def test_nobody_witnesses_what_no_check_asks_for() -> None:
    assert [process.name for process in planned(KAFKA).processes] == ["kafka/b"]


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


def capped(machine: Machine) -> Plan:
    topology = Topology(links=[Link(ends=("a", "b"))], cpu={"a": "10%"})
    experiment = Experiment(name="first", duration="10s", topology=topology, components=[])
    return plan_for(experiment, machine, base=Path("here"), directory=Path("runs/1"))


def test_a_capped_host_is_planned_and_shown() -> None:
    plan = capped(Machine(cpu_groups="groups"))

    assert [node.allowance.cpu for node in plan.nodes] == [0.1, 0.0]
    assert (
        "  a  10.0.0.1  b by eth0  at most 10% of the machine's CPU\n  b  10.0.0.2  a by eth0\n"
        in describe(plan)
    )


def test_a_cap_that_cannot_be_had_is_refused_with_the_command_that_allows_it() -> None:
    with pytest.raises(
        MachineError, match=r"topology\.cpu\.a asks: .*systemd-run --user --scope -p Delegate=yes"
    ):
        capped(Machine())


def test_a_plan_is_kept_and_read_back_the_same(tmp_path: Path) -> None:
    written = planned(KAFKA, POET, checks=[NoLoss(topic="lines")])

    plan.write(written, tmp_path / "plan.json")

    assert plan.read(tmp_path / "plan.json") == written


def test_a_plan_is_described_for_people() -> None:
    text = describe(planned(KAFKA, POET, faults=[Cut(at="3s", lasts="1s", link=("a", "core"))]))

    assert text.startswith(
        "first: 2 hosts, 1 switch, 2 links, 2 processes, 0:10 of load, seed 1\n\nnodes\n  a     "
        "10.0.0.1    all by eth0, through core\n"
    )
    assert "  a/eth0 – core/eth0  20ms; back 20ms, 1% lost  emulated\n" in text
    assert "  kafka/b  on b  java -cp (20 jars) " in text
    assert text.endswith("\ntimeline\n  0:03  cut  link a – core  until 0:04")


def test_links_of_all_who_may_hold_a_role_are_emulated_if_it_may_be_isolated() -> None:
    by_role = Isolate(at="1s", lasts="1s", target="leader of lines/0")

    assert [link.emulated for link in planned(KAFKA, faults=[by_role]).links] == [True, True]


def test_a_partition_emulates_no_link_but_needs_packet_rules() -> None:
    partition = Partition(at="1s", lasts="1s", sides=(("a",), ("b",)))

    assert [link.emulated for link in planned(faults=[partition]).links] == [True, False]
    with pytest.raises(MachineError, match="no packet rules"):
        planned(faults=[partition], machine=Machine(filtering=False, python="python"))


def test_more_memory_than_the_machine_has_is_refused_with_who_asks_for_it() -> None:
    greedy = Kafka(name="kafka", nodes=["a", "b"], heap="3GiB")

    with pytest.raises(
        MachineError,
        match=r"ask for 6\.0 GiB of memory in all \(kafka 6\.0 GiB\), "
        r"but this machine has 4\.0 GiB: give them less",
    ):
        planned(greedy, machine=Machine(python="python", memory_mib=4096))


@pytest.mark.parametrize("target", ["kafka/b", "leader of lines/0"])
def test_a_process_that_a_fault_may_kill_restarts_if_it_fails_later(target: str) -> None:
    kill = Kill(at="2s", lasts="1s", target=target)

    plan = planned(KAFKA, POET, faults=[kill])

    assert {process.name: process.on_exit for process in plan.processes} == {
        "kafka/b": "auto",
        "poet": "fail",
    }
    (line,) = [line for line in describe(plan).splitlines() if line.startswith("  kafka/b")]
    assert "restarts if it fails after a kill" in line


def test_the_title_of_a_plan_names_the_warm_up() -> None:
    assert "0:10 of load, 0:02 of it warm-up, seed 1" in describe(
        planned(POET, KAFKA, warm_up="2s")
    )


@pytest.mark.parametrize(
    ("version", "found"),
    [("4.0.1", "has pyspark 4.0.1"), ("3.5.5", "has pyspark 3.5.5"), ("", "has no pyspark")],
)
def test_an_interpreter_whose_pyspark_does_not_fit_the_connector_is_refused(
    version: str, found: str
) -> None:
    job = SparkJob(name="job", node="a", job="job.py", python="own/python")
    machine = Machine(python="python", pysparks={"here/own/python": version})

    with pytest.raises(UsageError) as refused:
        planned(KAFKA, job, machine=machine)

    ours = artifacts.connector_version()
    assert str(refused.value) == (
        f"components.job.python: here/own/python {found}; the Kafka connector here is for {ours}: "
        f"install pyspark=={ours} there, or name another interpreter"
    )


def test_a_patch_release_of_pyspark_fits_the_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "spark_command", lambda *_, **__: ["java", "-cp", "a.jar"])
    job = SparkJob(name="job", node="a", job="job.py", python="own/python")
    release = artifacts.connector_version().rpartition(".")[0]
    machine = Machine(python="python", pysparks={"here/own/python": f"{release}.0"})

    processes = planned(KAFKA, job, machine=machine).processes

    assert processes[1].argv[0] == "here/own/python"
