"""Overrides: what `--set key=value` changes in a declaration before it is understood."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args, get_origin

from streambed.declare.experiment import Experiment
from streambed.declare.yaml.document import Document, document_of
from streambed.declare.yaml.keys import (
    Path,
    dotted_key,
    entry,
    is_declared,
    keys_of,
    noun_of,
    plain_type,
    table_mark,
    within,
)
from streambed.errors import Problem, suggestion


class _NoSuchKey(Exception):
    """The path of an override leads nowhere; the message says where it ended."""


def override(key: str, value: Any) -> str:
    """A change as the command line would say it: duration=60s."""
    # Quotes only where YAML would read something else.
    if isinstance(value, str) and document_of(value).content == value:
        return f"{key}={value}"
    return f"{key}={json.dumps(value, default=str, ensure_ascii=False)}"


def option_of(override: str) -> str:
    """The option of the command line that makes a change, as problems name it."""
    return f"--set {override}"


def apply(document: Document, override: str) -> list[Problem]:
    """Change the document as `key=value` says; the problems of the override itself."""
    option = option_of(override)
    key, equals, text = override.partition("=")
    if not equals or not key:
        says = "write a key, '=' and a value, such as duration=60s"
        return [Problem(key="", says=says, option=option)]
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
    kind = plain_type(Experiment, content)
    container = content
    rest = key
    path: Path = ()
    while True:
        step, rest = _step(kind, container, path, rest)
        path = (*path, step)
        if not rest:
            return container, path
        below = within(kind, step)
        if entry(container, step) is None and _is_mapping(plain_type(below, None)):
            container[step] = {}
        container = entry(container, step)
        kind = plain_type(below, container)


def _is_mapping(kind: Any) -> bool:
    return is_declared(kind) or get_origin(kind) is dict


def _step(kind: Any, value: Any, path: Path, rest: str) -> tuple[str | int, str]:
    """The next key or index of a dotted path, and what comes after it. Names may have dots
    themselves.
    """
    here = f"'{dotted_key(path)}'" if path else "the declaration"
    step, _, after = rest.partition(".")
    if isinstance(value, list):
        return _index(step, value, here), after
    if not isinstance(value, Mapping):
        raise _NoSuchKey(f"there is no '{rest}' in {here}, which holds no keys")
    if is_declared(kind):
        keys = keys_of(kind)
        if step not in keys:
            raise _NoSuchKey(f"{noun_of(kind)} has no key '{step}'. {suggestion(step, keys)}")
        return step, after
    if _holds_plain_values(kind):
        return rest, ""
    name = _longest_name(value, rest)
    if not name:
        raise _NoSuchKey(f"there is no '{step}' in {here}. {suggestion(step, map(str, value))}")
    return name, rest[len(name) + 1 :]


def _index(step: str, entries: list[Any], here: str) -> int:
    if step.isdecimal() and int(step) < len(entries):
        return int(step)
    size = f"which has {len(entries)} entries, counted from 0"
    raise _NoSuchKey(f"there is no '{step}' in {here}, {size}")


def _longest_name(names: Iterable[str], path: str) -> str:
    """The longest of these names that a dotted path begins with; empty if there is none."""
    beginning = [name for name in names if path == name or path.startswith(f"{name}.")]
    return max(beginning, key=len, default="")


def _holds_plain_values(kind: Any) -> bool:
    """Whether a type is a mapping of names to values without keys, such as settings of Kafka."""
    if get_origin(kind) is not dict:
        return False
    value_kind = get_args(kind)[1]
    return not is_declared(plain_type(value_kind, None)) and not _of_kinds(value_kind)


def _of_kinds(kind: Any) -> bool:
    """Whether a type is one of several declared kinds."""
    return table_mark(kind) is not None
