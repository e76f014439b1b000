"""Experiments from YAML files. All that is wrong with a file is told at once, each with its line."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from streambed.errors import DeclarationError, Problem
from streambed.experiment import overrides as command_line
from streambed.experiment.document import Document, document_of
from streambed.experiment.keys import dotted, entry, path_of
from streambed.experiment.messages import complaints
from streambed.experiment.model import Experiment, problems

VERSION = 1
_EXPERIMENT = TypeAdapter(Experiment)


def read(path: Path, overrides: Sequence[str] = (), seed: int | None = None) -> Experiment:
    """The experiment that a file declares, changed by `key=value` overrides and a seed of the caller's."""
    document = document_of(_text(path))
    if document.content is None and not document.problems:
        document.problems.append(Problem(key="", says="the file is empty: it should declare an experiment", line=1, column=1))
    elif not isinstance(document.content, dict) and not document.problems:
        document.problems.append(Problem(key="", says="this is not a mapping: begin with 'version: 1'", line=1, column=1))
    if not isinstance(document.content, dict):
        raise DeclarationError(document.problems, str(path))
    for override in overrides:
        document.problems += command_line.apply(document, override)
    if seed is not None:
        document.put(document.content, ("seed",), seed, f"--seed {seed}")
    if wrong_version := _wrong_version(document):
        raise DeclarationError([wrong_version], str(path))
    experiment, found = _understood(document, path.parent)
    if experiment is None or document.problems or found:
        raise DeclarationError([*document.problems, *found], str(path))
    return experiment


def _text(path: Path) -> str:
    def refuse(says: str) -> DeclarationError:
        return DeclarationError([Problem(key="", says=says)], str(path))

    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise refuse("there is no such file") from None
    except IsADirectoryError:
        raise refuse("this is a directory: name the file in it") from None
    except UnicodeDecodeError as error:
        raise refuse(f"this is not UTF-8: byte {error.start} cannot be read") from None
    except OSError as error:
        raise refuse(f"it cannot be read: {error.strerror}") from None


def _wrong_version(document: Document) -> Problem | None:
    """A file of another version would mean something else by its keys: say just that."""
    version = document.content.get("version", VERSION)
    if version == VERSION and not isinstance(version, bool):
        return None
    return document.problem("version", f"this streambed reads version {VERSION}, not {version!r}")


def _understood(document: Document, base: Path) -> tuple[Experiment | None, list[Problem]]:
    content = document.content
    found = [] if "version" in content else [Problem(key="version", says="is missing: write 'version: 1' at the top", line=1, column=1)]
    experiment, errors = _validated(content)
    heard = complaints([*errors, *_named_inside(content)], content)
    found += [document.problem(dotted(one.path), one.says, at_key=one.at_key) for one in heard]
    if errors:
        experiment, _ = _validated(_without(content, errors))
    if experiment is not None:
        told = {problem.key for problem in found}
        crossed = [problem for problem in problems(experiment, base) if problem.key not in told]
        found += [document.problem(problem.key, problem.says) for problem in crossed]
    return experiment, found


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
        ErrorDetails(type="unexpected_keyword_argument", loc=("components", name, "name"), msg="", input=body["name"])
        for name, body in bodies
        if isinstance(body, dict) and "name" in body
    ]


def _without(content: Any, errors: list[ErrorDetails]) -> Any:
    """The content without what is wrong, so that the rest can be looked at; nothing if others may depend on what is wrong."""
    rest = copy.deepcopy(content)
    for error in errors:
        *above, last = path_of(error["loc"]) or ("",)
        holder = rest
        for key in above:
            holder = entry(holder, key)
        if above and above[0] in ("faults", "checks"):
            rest[above[0]] = []
        elif isinstance(holder, dict) and not isinstance(holder.get(last, {}), (dict, list)):
            del holder[last]
        else:
            return None
    return rest
