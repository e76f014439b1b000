"""docs/declare.md knows every key of every kind, and its default."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from streambed.declare.capture import Capture
from streambed.declare.expansion import expand
from streambed.declare.experiment import Experiment
from streambed.declare.link import Direction, Link
from streambed.declare.topology import Topology
from streambed.declare.yaml.document import document_of
from streambed.declare.yaml.keys import TABLES, keys_of
from streambed.declare.yaml.reader import read
from streambed.kinds.checks import CHECKS
from streambed.kinds.checks.expected import MayFail
from streambed.kinds.components.kafka.topic import Topic
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.placement_rule import Place
from streambed.kinds.components.producer import Producer, Transaction
from streambed.kinds.components.profile import KEYS, Profile
from streambed.kinds.components.ready_sign import ReadySign
from streambed.kinds.direction import Bursts
from streambed.kinds.evidence.outputs.identity import Identity
from streambed.kinds.faults import FAULTS
from streambed.kinds.faults.when.timing import Timed
from tests.support.declare.defaults import default_text

PAGE = Path(__file__).parents[2] / "docs" / "declare.md"
EXAMPLES = PAGE.parents[1] / "examples"
KINDS = {kind: declared for table in TABLES.values() for kind, declared in table.items()}
TIMES = tuple(keys_of(Timed))
HEADINGS = {
    "when": Timed,
    "expect": MayFail,
    "Experiment": Experiment,
    "Topology": Topology,
    "Link": Link,
    "Bursts": Bursts,
    "Direction": Direction,
    "topic": Topic,
    "ready": ReadySign,
    "place": Place,
    "Capture": Capture,
    "limits": Limits,
    "profile": Profile,
    "transaction": Transaction,
    "identity": Identity,
    **KINDS,
}


def section(heading: str) -> str:
    return re.split(
        r"^#+ ", PAGE.read_text().split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE
    )[0]


def page_keys(declared: type) -> list[str]:
    """The keys of a class but those that have a section for all faults, or for all checks."""
    keys = keys_of(declared)
    if declared in CHECKS.values() and issubclass(declared, MayFail):
        return [key for key in keys if key not in keys_of(MayFail)]
    if declared not in FAULTS.values():
        return list(keys)
    others = [key for key in keys if key not in ("kind", "at", "lasts") and key not in TIMES]
    return ["kind", *(key for key in ("at", "lasts") if key in keys), *others]


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_page_lists_each_key_with_its_default_in_the_order_of_the_class(heading: str) -> None:
    declared = HEADINGS[heading]
    fields = declared.__pydantic_fields__
    expected = [
        (key, default_text(key, fields[key].default, fields[key].default_factory))
        for key in page_keys(declared)
    ]

    assert re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", section(heading), re.MULTILINE) == expected


def test_the_networks_of_the_page_are_right(tmp_path: Path) -> None:
    parts = [part.split("```")[0] for part in PAGE.read_text().split("```yaml\ntopology:")[1:]]
    shutil.copyfile(EXAMPLES / "reroute" / "islands.graphml", tmp_path / "geant.graphml")

    for part in parts:
        topology = TypeAdapter(Topology).validate_python(
            document_of(f"topology:{part}").content["topology"]
        )
        expansion = expand(topology, tmp_path)
        assert (expansion.problems, expansion.topology.problems()) == ((), [])
    assert len(parts) == 3


def test_the_example_of_the_page_is_right(tmp_path: Path) -> None:
    example = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
    (tmp_path / "example.yaml").write_text(example)

    assert read(tmp_path / "example.yaml").name == "word-count"


def test_the_links_of_the_page_are_right(tmp_path: Path) -> None:
    links = section("Link").split("```yaml\n")[1].split("```")[0]
    network = "".join(f"  {line}\n" for line in ("switches: [core]", *links.splitlines()))
    (tmp_path / "example.yaml").write_text(
        f"version: 1\nname: links\nduration: 10s\ntopology:\n{network}components: {{}}\n"
    )
    (tmp_path / "lte.txt").write_text("40ms\n")

    assert len(read(tmp_path / "example.yaml").topology.links) == 3


def test_the_example_of_phases_is_valid(tmp_path):
    example = section("latency").split("```yaml\n")[1].split("```")[0]
    (tmp_path / "example.yaml").write_text(
        "version: 1\nname: phases\nduration: 60s\ntopology: {links: [{ends: [edge, broker]}]}\n"
        "components:\n"
        "  kafka: {kind: kafka, nodes: [broker], topics: {lines: {}}}\n"
        "  reader: {kind: consumer, node: edge, reads: lines}\n" + example
    )

    assert [check.about for check in read(tmp_path / "example.yaml").checks] == [
        "reader:before",
        "reader:kill",
        "reader:after",
    ]


def test_the_profiles_of_the_page_are_right() -> None:
    example = section("profile").split("```yaml\n")[1].split("```")[0]
    declared = document_of(example).content
    producers = [
        TypeAdapter(Producer).validate_python({"name": name, **body})
        for name, body in declared.items()
    ]

    assert [producer.profile.shape for producer in producers] == list(KEYS)
