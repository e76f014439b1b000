"""Experiments from YAML files. All that is wrong with a file is told at once, each with its
line.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from streambed.declare.expansion import expand
from streambed.declare.experiment import Experiment, problems
from streambed.declare.yaml import overrides as command_line
from streambed.declare.yaml.document import Document, document_at
from streambed.declare.yaml.keys import entry, is_declared, keys_of, path_of, type_at
from streambed.declare.yaml.messages import complaints
from streambed.errors import UNKNOWN_TOPIC, DeclarationError, Problem
from streambed.planner.placement import place_components

VERSION = 1
_EXPERIMENT = TypeAdapter(Experiment)


def read(path: Path, overrides: Sequence[str] = (), seed: int | None = None) -> Experiment:
    """The experiment that a file declares, changed by `key=value` overrides and a seed of the
    caller's.
    """
    return understood(document_at(path, "an experiment"), path, overrides, seed)


def understood(
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
    if wrong := wrong_version(document):
        raise DeclarationError([wrong], str(path))
    experiment, found = _understood(document, base or path.parent)
    if experiment is None or document.problems or found:
        raise DeclarationError([*document.problems, *found], str(path))
    return experiment


def wrong_version(document: Document) -> Problem | None:
    """A file of another version would mean something else by its keys: say just that."""
    version = document.content.get("version", VERSION)
    if version == VERSION and not isinstance(version, bool):
        return None
    return document.problem("version", f"this streambed reads version {VERSION}, not {version!r}")


def _understood(document: Document, base: Path) -> tuple[Experiment | None, list[Problem]]:
    content = document.content
    found = (
        []
        if "version" in content
        else [
            Problem(
                key="version", says="is missing: write 'version: 1' at the top", line=1, column=1
            )
        ]
    )
    experiment, errors = _validated(content)
    heard = complaints([*errors, *_named_inside(content)], content)
    found += [document.locate(one.problem, at_key=one.at_key) for one in heard]
    left_out = _LeftOut()
    if errors:
        rest, left_out = _without(content, errors)
        experiment, _ = _validated(rest)
    if experiment is not None:
        made = expand(experiment.topology, base)
        document.notes += made.notes
        if made.problems:
            return experiment, found + [
                _placed(document, replace(problem, key=f"topology.{problem.key}"))
                for problem in made.problems
            ]
        experiment = place_components(replace(experiment, topology=made.topology))
        told = {problem.key for problem in found}
        for problem in problems(experiment, base):
            if problem.key not in told and not left_out.explains(problem):
                found.append(document.locate(problem))
    return experiment, found


def _placed(document: Document, problem: Problem) -> Problem:
    """Where it stands in the declaration, unless it is in another file."""
    return problem if problem.file else document.locate(problem)


@dataclass(frozen=True, kw_only=True)
class _LeftOut:
    """The components that had to be left out, and whether any of them may declare topics."""

    names: frozenset[str] = frozenset()
    topics: bool = False

    def explains(self, problem: Problem) -> bool:
        """Whether a problem is only there because a component was left out."""
        lacks_topic = self.topics and problem.code == UNKNOWN_TOPIC
        return lacks_topic or bool(problem.about & self.names)


def _validated(content: Any) -> tuple[Experiment | None, list[ErrorDetails]]:
    if content is None:
        return None, []
    try:
        return _EXPERIMENT.validate_python(content), []
    except ValidationError as error:
        return None, error.errors()


def _named_inside(content: dict[str, Any]) -> list[ErrorDetails]:
    """In a file a component's name is its key; only Python gives it as a field."""
    components = content.get("components")
    bodies = components.items() if isinstance(components, dict) else ()
    return [
        ErrorDetails(
            type="unexpected_keyword_argument",
            loc=("components", name, "name"),
            msg="",
            input=body["name"],
        )
        for name, body in bodies
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
    for error in errors:
        *above, last = path_of(error["loc"]) or ("",)
        holder = rest
        for key in above:
            holder = entry(holder, key)
        if above and above[0] in ("faults", "checks"):
            rest[above[0]] = []
        elif isinstance(holder, dict) and not isinstance(holder.get(last, {}), (dict, list)):
            del holder[last]
        elif above and above[0] == "components":
            names.add(str([*above, last][1]))
        else:
            return None, _LeftOut()
    bodies = [rest["components"].pop(name, None) for name in names]
    if names:  # Faults and checks may be about them.
        rest["faults"], rest["checks"] = [], []
    if any(isinstance(body, dict) and "topics" in body for body in bodies):
        return None, _LeftOut()
    topics = any(_may_declare_topics(name, content) for name in names)
    return rest, _LeftOut(names=frozenset(names), topics=topics)


def _may_declare_topics(component: str, content: Any) -> bool:
    kind = type_at(("components", component), content)
    return is_declared(kind) and "topics" in keys_of(kind)
