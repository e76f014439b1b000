"""The planner: addresses, routes, processes, witnesses and limits of the machine."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from streambed import artifacts, plan
from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import MachineError, UsageError
from streambed.kinds.checks import NoLoss
from streambed.kinds.components import Command, Kafka, Producer, SparkJob
from streambed.kinds.components.kafka.topic import Topic
from streambed.kinds.faults import Cut, Kill
from streambed.plan import Machine, Plan, Route
from streambed.planner.description import describe
from streambed.planner.nodes import address
from streambed.planner.planner import plan_for
from tests.support.planned import KAFKA, STAR, planned

pytestmark = pytest.mark.usefixtures("no_jars")

POET = Producer(name="poet", node="a", writes="lines")


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


def test_processes_come_in_the_order_of_the_declaration() -> None:
    assert [process.name for process in planned(POET, KAFKA).processes] == ["poet", "kafka/b"]


def test_a_command_may_run_the_tools_of_kafka() -> None:
    words = ["{run.java}", "-cp", "{kafka.class_path}", "org.apache.kafka.tools.TopicCommand"]

    machine = Machine(python="python", java="/opt/java")
    tool = planned(KAFKA, Command(name="tool", node="a", argv=words), machine=machine).processes[-1]

    assert tool.argv[0] == "/opt/java"
    assert any("kafka-tools" in path for path in tool.argv[2].split(":"))


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


def test_a_cap_that_is_not_permitted_is_refused_with_the_command_that_allows_it() -> None:
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
