"""Overrides: what `--set key=value` changes in a declaration before it is understood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args, get_origin

from streambed.declare.experiment import Experiment
from streambed.declare.yaml.document import Document, document_of
from streambed.declare.yaml.keys import (
    Path,
    chosen,
    dotted,
    entry,
    is_declared,
    keys_of,
    noun_of,
    within,
)
from streambed.errors import Problem, suggestion


class _NoSuchKey(Exception):
    """The path of an override leads nowhere; the message says where it ended."""


def override(key: str, value: Any) -> str:
    """A change as the command line would say it: duration=60s."""
    plain = (
        isinstance(value, str) and document_of(value).content == value
    )  # Quotes only where YAML would read something else.
    return f"{key}={value if plain else json.dumps(value, default=str, ensure_ascii=False)}"


def option_of(override: str) -> str:
    """The option of the command line that makes a change, as problems name it."""
    return f"--set {override}"


def apply(document: Document, override: str) -> list[Problem]:
    """Change the document as `key=value` says; the problems of the override itself."""
    option = option_of(override)
    key, equals, text = override.partition("=")
    if not equals or not key:
        return [
            Problem(
                key="", says="write a key, '=' and a value, such as duration=60s", option=option
            )
        ]
    value = document_of(text)
    if value.problems:
        return [
            replace(problem, key=key, line=0, column=0, option=option) for problem in value.problems
        ]
    try:
        container, path = _find(document.content, key)
    except _NoSuchKey as error:
        return [Problem(key=key, says=str(error), option=option)]
    document.put(container, path, value.content, option)
    return []


def _find(content: Any, key: str) -> tuple[Any, Path]:
    """The container that holds a key, and the key's path; containers that the file leaves out are
    made.
    """
    kind, found, rest = chosen(Experiment, content), content, key
    path: Path = ()
    while True:
        step, rest = _step(kind, found, path, rest)
        path = (*path, step)
        if not rest:
            return found, path
        below = within(kind, step)
        if entry(found, step) is None and (
            is_declared(chosen(below, None)) or get_origin(chosen(below, None)) is dict
        ):
            found[step] = {}
        found = entry(found, step)
        kind = chosen(below, found)


def _step(kind: Any, found: Any, path: Path, rest: str) -> tuple[str | int, str]:
    """The next key or index of a dotted path, and what comes after it. Names may have dots
    themselves.
    """
    here = f"'{dotted(path)}'" if path else "the declaration"
    if isinstance(found, list):
        step, _, after = rest.partition(".")
        if not step.isdecimal() or int(step) >= len(found):
            raise _NoSuchKey(
                f"there is no '{step}' in {here}, which has {len(found)} entries, counted from 0"
            )
        return int(step), after
    if not isinstance(found, Mapping):
        raise _NoSuchKey(f"there is no '{rest}' in {here}, which holds no keys")
    if is_declared(kind):
        step, _, after = rest.partition(".")
        if step not in keys_of(kind):
            raise _NoSuchKey(
                f"{noun_of(kind)} has no key '{step}'. {suggestion(step, keys_of(kind))}"
            )
        return step, after
    if (
        get_origin(kind) is dict
        and not is_declared(chosen(get_args(kind)[1], None))
        and not _of_kinds(get_args(kind)[1])
    ):
        return rest, ""
    names = [name for name in found if rest == name or rest.startswith(f"{name}.")]
    if not names:
        raise _NoSuchKey(
            f"there is no '{rest.partition('.')[0]}' in {here}. "
            f"{suggestion(rest.partition('.')[0], map(str, found))}"
        )
    step = max(names, key=len)
    return step, rest[len(step) + 1 :]


def _of_kinds(kind: Any) -> bool:
    """Whether a type is one of several declared kinds."""
    return any(is_declared(arm) for arm in get_args(chosen(kind, None)))
