"""What may be captured and exposed, and what is planned for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streambed.declare.experiment import Experiment, problems
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.declare.yaml.reader import read
from streambed.errors import DeclarationError
from streambed.plan import Exposure, Machine, Plan
from streambed.planner.description import describe
from streambed.planner.planner import plan_for
from streambed.record.orders import CaptureOrder, CapturePort
from tests.support.fakes import order_of

LINKS = (Link(ends=("a", "core")), Link(ends=("core", "b")), Link(ends=("core", "c")))


def experiment(**keys: Any) -> Experiment:
    return Experiment(
        name="first",
        duration="1s",
        topology=Topology(switches=["core"], links=LINKS),
        components=[],
        **keys,
    )


def planned(**keys: Any) -> Plan:
    return plan_for(
        experiment(**keys), Machine(python="python"), base=Path("here"), directory=Path("runs/1")
    )


def test_a_link_is_captured_at_its_first_end_by_one_agent_for_each_node() -> None:
    plan = planned(capture={})

    assert [(process.name, process.node, process.starts) for process in plan.processes] == [
        ("capture/a", "a", "start"),
        ("capture/core", "core", "start"),
    ]
    assert order_of(plan.processes[1], CaptureOrder) == CaptureOrder(
        links={
            "core – b": CapturePort(interface="eth1", file="runs/1/captures/core+b.pcap"),
            "core – c": CapturePort(interface="eth2", file="runs/1/captures/core+c.pcap"),
        },
        snap=0,
        limit=100_000_000,
    )


def test_links_are_named_by_their_ends_in_any_order() -> None:
    (process,) = planned(
        capture={"links": [["b", "core"]], "snap": "96B", "limit": "1MB"}
    ).processes

    order = order_of(process, CaptureOrder)
    assert (list(order.links), order.snap, order.limit) == (["core – b"], 96, 1_000_000)


def test_several_links_between_two_nodes_have_separate_files() -> None:
    topology = Topology(
        links=[Link(ends=("a", "b")), Link(ends=("a", "b")), Link(ends=("a", "b"), name="spare")]
    )
    twins = Experiment(
        name="first",
        duration="1s",
        topology=topology,
        components=[],
        capture={"links": [["a", "b"]]},
    )

    (process,) = plan_for(
        twins, Machine(python="python"), base=Path("here"), directory=Path("runs/1")
    ).processes

    files = [Path(port.file).name for port in order_of(process, CaptureOrder).links.values()]
    assert files == ["a+b.pcap", "a+b+2.pcap", "spare.pcap"]


@pytest.mark.parametrize(
    ("capture", "key", "says"),
    [
        (
            {"links": [["a", "b"]]},
            "links.0",
            "there is no link a – b. Known: [a, core], [core, b], [core, c].",
        ),
        ({"snap": "10B"}, "snap", "10B is too little to tell packets apart: give 64B or more"),
        ({"limit": "1kB"}, "limit", "1kB is too little: give 10kB or more"),
    ],
)
def test_an_impossible_capture_is_a_problem(capture: dict[str, Any], key: str, says: str) -> None:
    (problem,) = problems(experiment(capture=capture), Path())

    assert (problem.key, problem.says) == (f"capture.{key}", says)


def test_a_port_is_exposed_and_shown() -> None:
    plan = planned(expose={8080: "b:4040"})

    assert plan.exposures == (Exposure(port=8080, node="b", target_port=4040),)
    assert "\nexposed\n  b:4040  on http://localhost:8080" in describe(plan)


@pytest.mark.parametrize(
    ("expose", "says"),
    [
        ({0: "b:80"}, "0 is not a port: give one from 1 to 65535, best above 1023"),
        ({70000: "b:80"}, "70000 is not a port: give one from 1 to 65535, best above 1023"),
        ({8080: "b"}, "'b' is not a port of a host: write its name and a port, such as a:8080"),
        ({8080: "b:0"}, "'b:0' is not a port of a host: write its name and a port, such as a:8080"),
        ({8080: "core:80"}, "there is no host 'core'. Known: a, b, c."),
    ],
)
def test_a_port_that_cannot_be_exposed_is_a_problem(expose: dict[int, str], says: str) -> None:
    (problem,) = problems(experiment(expose=expose), Path())

    assert (problem.key, problem.says) == (f"expose.{next(iter(expose))}", says)


def test_a_name_in_place_of_a_port_is_said_with_its_line(tmp_path: Path) -> None:
    text = "version: 1\nname: x\nduration: 1s\ntopology: {hosts: [a]}\ncomponents: {}\n"
    text += "expose: {8080: a:80, web: a:80}\n"
    (tmp_path / "x.yaml").write_text(text)

    with pytest.raises(DeclarationError) as caught:
        read(tmp_path / "x.yaml")

    assert (
        str(caught.value)
        == f"{tmp_path}/x.yaml:6:22: expose.web: 'web' is not a whole number: write digits only"
    )


def test_no_component_may_be_called_capture(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "version: 1\nname: x\nduration: 1s\ntopology: {hosts: [a]}\ncomponents: {capture: {kind: "
        "command, node: a, argv: [ls]}}\n"
    )

    with pytest.raises(DeclarationError, match="a component cannot be called 'capture'"):
        read(tmp_path / "x.yaml")
