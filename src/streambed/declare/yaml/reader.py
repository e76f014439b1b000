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
    """The experiment that a file declares, changed by `key=value` overrides and by `seed`."""
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
    """The only problem to report for a file of another version: its keys may mean other things."""
    version = document.content.get("version", VERSION)
    if version == VERSION and not isinstance(version, bool):
        return None
    return document.problem("version", f"this streambed reads version {VERSION}, not {version!r}")


def _experiment_of(document: Document, base: Path) -> tuple[Experiment | None, list[Problem]]:
    """The experiment and its problems; None if too much of it is invalid."""
    experiment, left_out, wrong = _valid_part(document)
    if experiment is None:
        return None, wrong
    expanded = expand(experiment.topology, base)
    document.notes += expanded.notes
    if expanded.problems:
        wrong += _locate_in_topology(document, expanded.problems)
        return experiment, wrong
    experiment = place_components(replace(experiment, topology=expanded.topology))
    reported = {problem.key for problem in wrong}
    for problem in problems(experiment, base):
        if problem.key not in reported and not left_out.explains(problem):
            wrong.append(document.locate(problem))
    return experiment, wrong


def _valid_part(document: Document) -> tuple[Experiment | None, _LeftOut, list[Problem]]:
    """The experiment without its invalid keys, what was left out, and the problems of these."""
    content = document.content
    wrong = [] if "version" in content else [MISSING_VERSION]
    experiment, errors = _validate(content)
    unknown_kinds, content = _with_nearest_kinds(content, errors)
    if unknown_kinds:
        experiment, errors = _validate(content)
    all_errors = [*unknown_kinds, *errors, *_named_inside(content)]
    for complaint in complaints(all_errors, content):
        wrong.append(document.locate(complaint.problem, at_key=complaint.at_key))
    left_out = _LeftOut()
    if errors:
        rest, left_out = _without(content, errors)
        experiment, _ = _validate(rest)
    return experiment, left_out, wrong


def _locate_in_topology(document: Document, problems: Iterable[Problem]) -> list[Problem]:
    """Problems of a generator, with their lines in the declaration. Some have a line in another
    file already.
    """
    located = []
    for problem in problems:
        below_topology = replace(problem, key=f"topology.{problem.key}")
        if below_topology.file:
            located.append(below_topology)
        else:
            located.append(document.locate(below_topology))
    return located


@dataclass(frozen=True, kw_only=True)
class _LeftOut:
    """The invalid parts of a declaration that were removed so that the rest can be checked."""

    names: frozenset[str] = frozenset()
    """Components that were removed."""
    topics: bool = False
    """Whether one of these components may declare topics."""
    faults: bool = False
    """Whether faults were removed."""
    links: tuple[str, ...] = ()
    """Links that lost a key, such as topology.links.0."""

    def explains(self, problem: Problem) -> bool:
        """Whether a problem may follow only from what was left out."""
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
    """The content without its invalid parts, so that the rest can be checked, and these parts.

    The content is None if too much may depend on an invalid part: on the topology, or on a
    component that declares topics.
    """
    rest = copy.deepcopy(content)
    names: set[str] = set()
    faults = False
    links: list[str] = []
    for error in errors:
        path = path_of(error["loc"]) or ("",)
        section = path[0] if len(path) > 1 else ""
        if section in ("faults", "checks"):
            rest[section] = []
            faults = faults or section == "faults"
        elif _delete_plain_value(rest, path):
            if path[:2] == ("topology", "links"):
                links.append(dotted_key(path[:3]))
        elif section == "components":
            names.add(str(path[1]))
        else:
            return None, _LeftOut()
    if _drop_components(rest, names):
        return None, _LeftOut()
    topics = any(_may_declare_topics(name, content) for name in names)
    return rest, _LeftOut(
        names=frozenset(names), topics=topics, faults=faults or bool(names), links=tuple(links)
    )


def _delete_plain_value(content: Any, path: tuple[str | int, ...]) -> bool:
    """Delete a key whose value is no mapping or list. Returns whether it did."""
    *above, last = path
    container = _entry_at(content, above)
    if not isinstance(container, dict) or not _is_plain(container.get(last, {})):
        return False
    del container[last]
    return True


def _drop_components(content: Any, names: set[str]) -> bool:
    """Delete components, and all faults and checks, which may be about them. Returns whether one
    of the components declares topics.
    """
    if not names:
        return False
    content["faults"], content["checks"] = [], []
    declares_topics = False
    for name in names:
        body = content["components"].pop(name, None)
        if isinstance(body, dict) and "topics" in body:
            declares_topics = True
    return declares_topics


def _entry_at(content: Any, path: Iterable[str | int]) -> Any:
    for key in path:
        content = entry(content, key)
    return content


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _may_declare_topics(component: str, content: Any) -> bool:
    kind = type_at(("components", component), content)
    return is_declared(kind) and "topics" in keys_of(kind)
