"""Experiments from YAML files. All problems of a file are reported at once, each with its line."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from streambed.declare.expansion import expand
from streambed.declare.experiment import Experiment, problems
from streambed.declare.yaml import overrides as command_line
from streambed.declare.yaml.document import Document, document_at
from streambed.declare.yaml.keys import (
    dotted_key,
    entry,
    is_declared,
    keys_of,
    path_of,
    table_at,
    type_at,
)
from streambed.declare.yaml.messages import complaints
from streambed.errors import (
    UNKNOWN_FAULT,
    UNKNOWN_TOPIC,
    DeclarationError,
    Problem,
    nearest,
)
from streambed.planner.placement import place_components

VERSION = 1
MISSING_VERSION = Problem(
    key="version", says=f"is missing: write 'version: {VERSION}' at the top", line=1, column=1
)
_EXPERIMENT = TypeAdapter(Experiment)


def read(path: Path, overrides: Sequence[str] = (), seed: int | None = None) -> Experiment:
    """The experiment that a file declares, changed by `key=value` overrides and a seed of the
    caller's.
    """
    return experiment_of(document_at(path, "an experiment"), path, overrides, seed)


def experiment_of(
    document: Document,
    path: Path,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    *,
    base: Path | None = None,
) -> Experiment:
    """The experiment that a document of the file `path` declares; its relative paths start at
    `base`, by default beside the file.
    """
    for override in overrides:
        document.problems += command_line.apply(document, override)
    if seed is not None:
        document.put(document.content, ("seed",), seed, f"--seed {seed}")
    if version_problem := wrong_version(document):
        raise DeclarationError([version_problem], str(path))
    experiment, wrong = _experiment_of(document, base or path.parent)
    if experiment is None or document.problems or wrong:
        raise DeclarationError([*document.problems, *wrong], str(path))
    return experiment


def wrong_version(document: Document) -> Problem | None:
    """A file of another version would mean something else by its keys: say just that."""
    version = document.content.get("version", VERSION)
    if version == VERSION and not isinstance(version, bool):
        return None
    return document.problem("version", f"this streambed reads version {VERSION}, not {version!r}")


def _experiment_of(document: Document, base: Path) -> tuple[Experiment | None, list[Problem]]:
    content = document.content
    wrong = [] if "version" in content else [MISSING_VERSION]
    experiment, errors = _validate(content)
    unknown_kinds, content = _with_nearest_kinds(content, errors)
    if unknown_kinds:
        experiment, errors = _validate(content)
    for complaint in complaints([*unknown_kinds, *errors, *_named_inside(content)], content):
        wrong.append(document.locate(complaint.problem, at_key=complaint.at_key))
    left_out = _LeftOut()
    if errors:
        rest, left_out = _without(content, errors)
        experiment, _ = _validate(rest)
    if experiment is None:
        return None, wrong
    expanded = expand(experiment.topology, base)
    document.notes += expanded.notes
    if expanded.problems:
        for problem in expanded.problems:
            below_topology = replace(problem, key=f"topology.{problem.key}")
            wrong.append(_locate(document, below_topology))
        return experiment, wrong
    experiment = place_components(replace(experiment, topology=expanded.topology))
    reported = {problem.key for problem in wrong}
    for problem in problems(experiment, base):
        if problem.key not in reported and not left_out.explains(problem):
            wrong.append(document.locate(problem))
    return experiment, wrong


def _locate(document: Document, problem: Problem) -> Problem:
    """Its position in the declaration, unless it is in another file."""
    return problem if problem.file else document.locate(problem)


@dataclass(frozen=True, kw_only=True)
class _LeftOut:
    """What had to be left out: components, whether any of them may declare topics, whether faults,
    and from which links a key.
    """

    names: frozenset[str] = frozenset()
    topics: bool = False
    faults: bool = False
    links: tuple[str, ...] = ()
    """The keys of these links, such as topology.links.0."""

    def explains(self, problem: Problem) -> bool:
        """Whether a problem may be there only because something was left out."""
        lacks_topic = self.topics and problem.code == UNKNOWN_TOPIC
        lacks_fault = self.faults and problem.code == UNKNOWN_FAULT
        of_link = problem.key.startswith(tuple(f"{link}." for link in self.links))
        return lacks_topic or lacks_fault or of_link or bool(problem.about & self.names)


def _validate(content: Any) -> tuple[Experiment | None, list[ErrorDetails]]:
    if content is None:
        return None, []
    try:
        return _EXPERIMENT.validate_python(content), []
    except ValidationError as error:
        return None, error.errors()


def _with_nearest_kinds(content: Any, errors: list[ErrorDetails]) -> tuple[list[ErrorDetails], Any]:
    """The errors of misspelt kinds, and the content with the kinds that were probably meant, so
    that the other problems of these entries show.
    """
    misspelt = []
    changed = copy.deepcopy(content)
    for error in errors:
        path = path_of(error["loc"])
        if error["type"] != "union_tag_invalid":
            continue
        meant = nearest(str(error["ctx"]["tag"]), table_at(path) or {})
        body = _entry_at(changed, path)
        if meant and isinstance(body, dict):
            body["kind"] = meant
            misspelt.append(error)
    return (misspelt, changed) if misspelt else ([], content)


def _named_inside(content: dict[str, Any]) -> list[ErrorDetails]:
    """In a file a component's name is its key; only Python gives it as a field."""
    components = content.get("components")
    if not isinstance(components, dict):
        return []
    return [
        ErrorDetails(
            type="unexpected_keyword_argument",
            loc=("components", name, "name"),
            msg="",
            input=body["name"],
        )
        for name, body in components.items()
        if isinstance(body, dict) and "name" in body
    ]


def _without(content: Any, errors: list[ErrorDetails]) -> tuple[Any, _LeftOut]:
    """The content without what is wrong, so that the rest can be looked at, and the components that
    had to be left out whole.

    Nothing at all if too much may depend on what is wrong: the topology, or a component that
    declares topics.
    """
    rest = copy.deepcopy(content)
    names: set[str] = set()
    faults = False
    links: list[str] = []
    for error in errors:
        *above, last = path_of(error["loc"]) or ("",)
        section = above[0] if above else ""
        container = _entry_at(rest, above)
        if section in ("faults", "checks"):
            rest[section] = []
            faults = faults or section == "faults"
        elif isinstance(container, dict) and _is_plain(container.get(last, {})):
            del container[last]
            if above[:2] == ["topology", "links"]:
                links.append(dotted_key(tuple(above[:3])))
        elif section == "components":
            names.add(str([*above, last][1]))
        else:
            return None, _LeftOut()
    bodies = [rest["components"].pop(name, None) for name in names]
    if names:  # Faults and checks may be about them.
        faults = True
        rest["faults"], rest["checks"] = [], []
    if any(isinstance(body, dict) and "topics" in body for body in bodies):
        return None, _LeftOut()
    topics = any(_may_declare_topics(name, content) for name in names)
    return rest, _LeftOut(names=frozenset(names), topics=topics, faults=faults, links=tuple(links))


def _entry_at(content: Any, path: Iterable[str | int]) -> Any:
    for key in path:
        content = entry(content, key)
    return content


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _may_declare_topics(component: str, content: Any) -> bool:
    kind = type_at(("components", component), content)
    return is_declared(kind) and "topics" in keys_of(kind)
