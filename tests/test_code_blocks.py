"""Every code block of every page is executed, planned, parsed or compared with what it quotes.

A block that no rule below claims fails.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import streambed
from benchmarks import _famous_cases
from gateway_traffic.cli import app as gateway_traffic
from streambed import artifacts
from streambed.agents.producer.record_source import from_function
from streambed.cli.app import app
from streambed.declare import reading
from streambed.declare.experiment import Experiment
from streambed.declare.yaml import study_file
from streambed.declare.yaml.document import document_of
from streambed.declare.yaml.keys import keys_of
from streambed.errors import DeclarationError
from streambed.planner.planner import plan_for
from streambed.runner.up.choice import choose
from streambed.runner.up.servers import Servers, server_of
from tests.support import fake_launcher
from tests.support.code_blocks import Block, all_blocks, block
from tests.support.declare.samples import GOOD
from tests.support.roomy_machine import MACHINE
from tests.support.running import ROOT

BLOCKS = all_blocks()
READING = "def reading(number, random):"
EXECUTED = {
    ("README.md", "import streambed"): "tests/system/test_readme.py",
    ("docs/first-hour.md", "import polars as pl"): "tests/system/test_first_hour.py",
    ("docs/first-hour.md", "import sys"): "tests/system/test_first_hour.py",
    ("docs/results.md", "from streambed.results import runs"): "tests/test_results_page.py",
    ("docs/results.md", "import time"): "tests/test_results_page.py",
    ("docs/results.md", "from streambed import Run"): "tests/test_results_page.py",
    ("docs/testing.md", "def test_survives_a_leader_cut(streambed):"): (
        "tests/system/test_partition.py"
    ),
    ("docs/declare.md", READING): "tests/test_code_blocks.py",
    ("docs/stores.md", "import streambed"): "tests/test_code_blocks.py",
    ("docs/studies.md", "import streambed"): "tests/test_code_blocks.py",
}
"""Python that a test executes, by its page and first line. Files that begin with their path are
written and installed by tests/system/test_outside_kinds.py."""
QUOTED = {
    ("README.md", "leader: 3 hosts, 3 brokers, 1 fault, 16 s, seed 1"),
    ("docs/first-hour.md", "no_loss    HOLDS   500 acked, 500 seen"),
    ("docs/first-hour.md", "0:27 inject   cut edge – core, 3 s"),
    ("docs/first-hour.md", "topology.links.0.delay  measure     mean       95 % interval  trials"),
    ("docs/results.md", "scribe=2000"),
    ("examples/maritime/README.md", "destination   kind      ships"),
    (
        "docs/results.md",
        "fidelity  BELIEVED links were within 0.14 ms and 2.9 % of what was declared",
    ),
}
"""Output that tests/test_quoted_output.py renders."""
DRAWN = {
    "docs/tour.md": "test_the_drawing_of_the_tour_names_packages",
    "docs/decisions/0014-shelves-by-noun.md": "test_the_drawing_of_the_layers_is_the_contract",
    "examples/gateways/README.md": "test_the_drawing_of_the_gateways_has_the_links_of_the_demo",
}
OUTSIDE_FILE = re.compile(r"# [\w/]+\.(py|toml|yaml)")


def rule_of(block: Block) -> str:
    """How a block is tested; empty if it is not."""
    key = (block.page, block.first_line)
    if block.commands:
        return "commands"
    if block.page == "docs/adding-a-kind.md" and OUTSIDE_FILE.fullmatch(block.first_line):
        return "executed"
    if block.language == "yaml":
        return "yaml"
    if key in EXECUTED:
        return "executed"
    if key in QUOTED:
        return "quoted"
    return "drawn" if block.page in DRAWN and not block.language else ""


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_rule_claims_every_block(block: Block) -> None:
    assert rule_of(block), block.text


def test_no_claim_is_of_a_block_that_is_gone() -> None:
    keys = {(block.page, block.first_line) for block in BLOCKS}
    drawings = {block.page for block in BLOCKS if rule_of(block) == "drawn"}

    assert {*EXECUTED, *QUOTED} <= keys
    assert drawings == set(DRAWN)


@pytest.mark.parametrize("key", EXECUTED, ids=lambda key: key[0])
def test_the_test_that_executes_a_block_reads_its_page(key: tuple[str, str]) -> None:
    text = (ROOT / EXECUTED[key]).read_text()

    assert Path(key[0]).name in text


# Commands.


def parse_as(program: Any, words: list[str]) -> None:
    """Raise if there is no such command, option or value."""
    group = typer.main.get_command(program)
    command = group.get_command(None, words[0])  # type: ignore[attr-defined]
    assert command, f"there is no command {words[0]}"
    command.make_context(words[0], words[1:]).close()


def make_targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


COMMANDS = [
    pytest.param(command, id=f"{block}: {' '.join(command)[:40]}")
    for block in BLOCKS
    for command in block.commands
]
OTHERS = {
    ". .venv/bin/activate",  # tests/system/test_readme.py
    "pip install ./streambed-nats",  # tests/system/test_outside_kinds.py
}


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_of_a_page_is_understood(words: list[str]) -> None:
    program, *arguments = words
    if program == "streambed":
        parse_as(app, arguments)
    elif program == "gateway-traffic":
        parse_as(gateway_traffic, arguments)
    elif program == "make":
        assert set(arguments) <= make_targets()
    elif program == "uv":
        lock = (ROOT / "requirements.lock").read_text().splitlines()
        assert lock[1] == f"#    {' '.join(words)}"
    elif program == "scripts/cases":
        options = _famous_cases.parser().parse_args(arguments)
        assert _famous_cases.experiments(options.names, twins=True)
    else:
        assert " ".join(words) in OTHERS


def test_a_command_or_an_option_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(AssertionError, match="there is no command chekc"):
        parse_as(app, ["chekc", "latest"])
    with pytest.raises(Exception, match="No such option: --juson"):
        parse_as(app, ["check", "latest", "--juson"])


# YAML.

FRAME = """
version: 1
name: frame
duration: 120s
topology:
  switches: [core]
  links:
    - {ends: [edge, core]}
    - {ends: [office, core]}
    - {ends: [home, core]}
    - {ends: [storage, core]}
    - {ends: [cluster, core]}
    - {ends: [broker, core]}
    - {ends: [broker1, core]}
    - {ends: [broker2, core]}
    - {ends: [broker3, core]}
"""
"""The network around a fragment."""
COMPONENTS = """
kafka:
  kind: kafka
  nodes: [broker1, broker2, broker3]
  topics:
    {lines: {replicas: 3}, shouts: {}, counts: {}, orders: {}, bills: {}, words: {}, drafts: {},
     risky: {}}
poet: {kind: producer, node: edge, writes: lines}
seller: {kind: producer, node: edge, writes: [orders, words, drafts, risky]}
reader: {kind: consumer, node: edge, reads: [lines, orders]}
shout: {kind: spark_job, node: cluster, job: job.py, reads: lines, writes: shouts}
counter: {kind: spark_job, node: cluster, job: job.py, reads: lines, writes: counts}
biller: {kind: spark_job, node: cluster, job: job.py, reads: orders, writes: bills}
archive: {kind: postgresql, node: storage}
totals: {kind: embedded, node: home, engine: sqlite}
"""
"""What fragments refer to. A fragment that declares a broker stands without them."""
MODELS = "/data/models"
"""An absolute path of docs/security.md, which must exist."""
FILES = ("job.py", "shout.py", "lines.txt", "hog", "audit", "monitor.py", "rates.csv", "trace.csv")


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages name."""
    for command in ("cassandra_command", "kafka_command", "spark_command"):
        monkeypatch.setattr(artifacts, command, lambda *_, **__: ["java"])
    monkeypatch.setattr(artifacts, "checkpoint_path", lambda *_: Path("checkpoint"))
    monkeypatch.setattr(artifacts, "jars", lambda *_: [])
    for name in FILES:
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "lte.txt").write_text("40ms\n")
    (tmp_path / "counts.txt").write_text("counts\n120\n")
    for folder in ("results", MODELS.strip("/")):
        (tmp_path / folder).mkdir(parents=True)
    islands = ROOT / "examples" / "reroute" / "islands.graphml"
    (tmp_path / "geant.graphml").write_text(islands.read_text())
    return tmp_path


def framed(fragment: dict[str, Any]) -> dict[str, Any]:
    """An experiment around part of one: keys of it, links, or components by name."""
    if "links" in fragment:
        fragment = {"topology": {"switches": ["core"], **fragment}}
    if not set(fragment) <= set(keys_of(Experiment)):
        fragment = {"components": fragment}
    declared = fragment.get("components", {})
    others = document_of(COMPONENTS).content
    if "topology" in fragment or any(body["kind"] == "kafka" for body in declared.values()):
        others = {}
    components = {
        name: {**others.get(name, {}), **declared.get(name, {})} for name in {**others, **declared}
    }
    return {**document_of(FRAME).content, **fragment, "components": components}


YAML = [block for block in BLOCKS if rule_of(block) == "yaml"]


@pytest.mark.parametrize("block", YAML, ids=str)
def test_every_declaration_of_a_page_can_be_planned(block: Block, beside: Path) -> None:
    content = document_of(block.text.replace(MODELS, f"{beside}{MODELS}")).content
    if "vary" in content:
        (beside / "study.yaml").write_text(block.text)
        for name in ("experiment.yaml", "first.yaml"):
            (beside / name).write_text(GOOD.partition("faults:")[0])
        assert study_file.read(beside / "study.yaml").trials
        return
    whole = content if "version" in content else framed(content)
    (beside / "experiment.yaml").write_text(json.dumps(whole))
    declared = reading.read(beside / "experiment.yaml")

    plan = plan_for(declared.experiment, MACHINE, base=beside, directory=beside / "run")

    assert plan.nodes


def test_a_fragment_with_a_wrong_key_is_noticed(beside: Path) -> None:
    (beside / "experiment.yaml").write_text(json.dumps(framed({"hog": {"kind": "comand"}})))

    with pytest.raises(DeclarationError, match="comand"):
        reading.read(beside / "experiment.yaml")


# Python that needs no run.


def execute(one: Block) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(one.text, str(one), "exec"), names)
    return names


def test_the_function_of_the_page_makes_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sensors.py").write_text(block("docs/declare.md", READING).text)
    monkeypatch.syspath_prepend(tmp_path)

    make = from_function("sensors:reading", str(tmp_path), "seed")

    key, value, headers = make(13)
    assert key == b"sensor3"
    assert -20 < float(value) < 60
    assert headers == [("unit", b"celsius")]


def test_the_study_of_the_page_is_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_launcher.install(monkeypatch)
    fake_launcher.write_study(tmp_path).rename(tmp_path / "study.yaml")
    monkeypatch.chdir(tmp_path)

    names = execute(block("docs/studies.md", "import streambed"))

    assert names["result"].trials().height == 4


def test_the_servers_of_the_page_are_chosen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without their processes: tests/system/test_servers_up.py starts some."""

    @contextlib.contextmanager
    def chosen(*what: str, topics: dict[str, int]) -> Iterator[Servers]:
        components = choose(what, ports={}, topics=topics).experiment.components
        servers = {name: server_of(one, Path("data")) for name, one in components.items()}
        yield Servers(by_name=servers, directory=Path("up"))

    monkeypatch.setattr(streambed, "up", chosen)

    execute(block("docs/stores.md", "import streambed"))

    assert re.fullmatch(r"localhost:\d+ postgresql://\S+\n", capsys.readouterr().out)


# Drawings.


def test_the_drawing_of_the_layers_is_the_contract() -> None:
    (drawing,) = [one for one in BLOCKS if one.page.startswith("docs/decisions/0014")]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]

    shelves = drawing.text.partition("agents stand beside")[0]

    drawn = [" | ".join(layer.split(" | ")) for layer in re.split(r"\s*▸\s*", shelves.strip())]
    assert drawn == [layer.replace("streambed.", "") for layer in layers]


def test_the_drawing_of_the_tour_names_packages() -> None:
    (drawing,) = [one for one in BLOCKS if one.page == "docs/tour.md"]
    boxes = drawing.text.partition("┐\n")[2]
    names = set(re.findall(r"\w+", boxes)) - {"run", "folder"}
    package = ROOT / "src" / "streambed"
    homes = {path.stem for path in (*package.iterdir(), *(package / "kinds").iterdir())}

    assert names
    assert names <= homes


def test_the_drawing_of_the_gateways_has_the_links_of_the_demo() -> None:
    (drawing,) = [one for one in BLOCKS if one.page == "examples/gateways/README.md"]
    demo = reading.read(ROOT / "examples" / "gateways" / "demo.yaml").experiment
    drawn_ms = re.findall(r"(\w+) ─+ (\d+) ms", drawing.text)

    delays = {link.ends[0]: link.delay.ms for link in demo.topology.links}
    assert {name: float(ms) for name, ms in drawn_ms} == {
        name: delays[name] for name in ("north", "south", "exchange")
    }
    for name in ("server", "kafka", "watch", "audit", "delay"):
        (place,) = set(demo.components[name].places.values())
        (line,) = [line for line in drawing.text.splitlines() if re.search(rf"\b{name}\b", line)]
        assert re.search(rf"\b{place}\b", line), name
    assert [node for node in demo.topology.nodes() if node not in drawing.text] == []
