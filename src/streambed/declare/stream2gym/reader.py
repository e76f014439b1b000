"""stream2gym's files as declarations: GraphML with the files that it names, in the present form,
older ones and its successor's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from streambed.declare.experiment import Experiment
from streambed.declare.stream2gym import graphml
from streambed.declare.stream2gym.draft import Draft
from streambed.declare.stream2gym.files import ATTRIBUTES, attributes_of
from streambed.declare.stream2gym.form import Form
from streambed.declare.stream2gym.graphml import Graph, Item
from streambed.declare.stream2gym.kafka import NAME, put_kafka
from streambed.declare.stream2gym.network import put_faults, put_topology
from streambed.declare.stream2gym.programs import put_consumers, put_job, put_producers
from streambed.declare.stream2gym.stores import put_store
from streambed.declare.yaml.reader import VERSION, experiment_of
from streambed.declare.yaml.source import Position
from streambed.declare.yaml.writer import yaml_text
from streambed.errors import DeclarationError, Problem, UsageError
from streambed.units import Duration, Share

DURATION = Duration(10e9)
"""What stream2gym's --time is by default."""
USUAL_STEM = "input"
"""The usual name of files: the folder's name says more."""


def read(
    path: Path, overrides: Sequence[str] = (), seed: int | None = None, *, base: Path | None = None
) -> tuple[Experiment, str, tuple[str, ...]]:
    """The experiment in a GraphML file, the same as YAML, and notes on what is ignored or has
    another meaning.

    Relative paths of the experiment start at `base`, by default beside the file.
    """
    base = base or path.absolute().parent
    draft = _draft_of(path, base, _asked_duration(overrides))
    if draft.document.problems:  # Later problems would only follow from these.
        raise DeclarationError(draft.document.problems, str(path))
    experiment = experiment_of(draft.document, path, overrides, seed, base=base)
    heading = [f"Converted from {path.name}.", *(f"- {note}" for note in draft.notes)]
    return experiment, yaml_text(draft.document.content, heading), draft.notes


def _asked_duration(overrides: Sequence[str]) -> Duration | None:
    """What --set asks for: faults begin at a share of it, so it must be known first. Its
    problems are reported later.
    """
    asked = None
    for override in overrides:
        key, _, text = override.partition("=")
        if key == "duration":
            try:
                asked = Duration.parse(text.strip())
            except UsageError:
                return None
    return asked


def _draft_of(path: Path, base: Path, duration: Duration | None) -> Draft:
    graph = graphml.read(path)
    _refuse_network_alone(graph, path)
    draft = Draft(path, base)
    top = graph.item.place
    draft.put(("version",), VERSION, top)
    draft.put(("name",), _name(path), top)
    draft.put(("duration",), str(duration or DURATION), top)
    if not duration:
        draft.note(
            f"the load lasts {DURATION}, as without --time: change it with --set duration=60s"
        )
    for ignored in graph.ignored:
        draft.note(f"ignored: {ignored}")
    nodes = put_topology(draft, graph)
    attributes = attributes_of(draft, graph.item, "graph", "")
    draft.put(("components",), {}, top)
    _put_components(draft, attributes, nodes)
    put_faults(draft, attributes, duration or DURATION)
    _put_checks(draft, top)
    return draft


def _put_components(draft: Draft, attributes: Form, nodes: list[Item]) -> None:
    forms = {node.name: attributes_of(draft, node, "node", node.name) for node in nodes}
    hosts = {name: form for name, form in forms.items() if name.startswith("h")}
    put_kafka(draft, attributes, hosts)
    for name, form in forms.items():
        if name in hosts:
            _put_host(draft, form)
        else:
            _note_switch(form)
    _note_bootstrap(draft)


def _refuse_network_alone(graph: Graph, path: Path) -> None:
    """A file with coordinates is a network for experiments, but not an experiment."""
    if any("Latitude" in attribute.names for node in graph.nodes for attribute in node.attributes):
        says = (
            "this is a network without programs on it: write an experiment beside it with "
            f"topology: {{graphml: {path.name}}}"
        )
        place = graph.item.place
        raise DeclarationError(
            [Problem(key="graph", says=says, line=place.line, column=place.column)], str(path)
        )


def _name(path: Path) -> str:
    """The name of runs: the file's, or the folder's if that says more."""
    absolute = path.absolute()
    name = absolute.parent.name if absolute.stem == USUAL_STEM else absolute.stem
    letters = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-")[:63]
    return letters if re.match(r"[A-Za-z]", letters) else f"g{letters}"[:63]


def _put_host(draft: Draft, host: Form) -> None:
    put_producers(draft, host)
    put_job(draft, host)
    put_consumers(draft, host)
    put_store(draft, host)
    if "cpuPercentage" in host:
        share = Share(host.real("cpuPercentage", 1, most=1))
        draft.put(("topology", "cpu", host.node), str(share), host.at("cpuPercentage"))


def _note_switch(switch: Form) -> None:
    for key in ATTRIBUTES["node"]:
        switch.ignore(key, "has no effect on a switch")


def _note_bootstrap(draft: Draft) -> None:
    components = draft.document.content["components"]
    if len(components.get(NAME, {}).get("nodes", ())) > 1:
        for name in chain.from_iterable(draft.built_in.values()):
            says = "built-in producers and consumers find the cluster by all its brokers"
            draft.note(f"{says}, not only by topicBroker", components[name]["node"])


def _put_checks(draft: Draft, place: Position) -> None:
    """A check for each topic of a built-in producer: what it sends arrives."""
    components = draft.document.content["components"]
    topics = components.get(NAME, {}).get("topics", {})
    written = dict.fromkeys(components[name]["writes"] for name in draft.built_in["producer"])
    checked = [topic for topic in written if topic in topics]
    for at, topic in enumerate(checked):
        draft.put(("checks", at, "kind"), "no_loss", place)
        draft.put(("checks", at, "topic"), topic, place)
