"""Which keys a declaration may have where, derived from the types of the declared classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from streambed.declare.experiment import Experiment
from streambed.declare.generators import GENERATORS
from streambed.kinds.check_table import CHECKS
from streambed.kinds.one_of import OneOf
from streambed.kinds.tables import COMPONENTS, FAULTS

TABLES: dict[str, Mapping[str, type]] = {
    "components": COMPONENTS,
    "faults": FAULTS,
    "checks": CHECKS,
    "topology.generate": GENERATORS,
}
"""The key under which each table's kinds are declared."""
Path = tuple[str | int, ...]


def dotted_key(path: Path) -> str:
    """A path as people write it: components.kafka.nodes.0."""
    return ".".join(map(str, path))


def is_declared(kind: Any) -> bool:
    """Whether a type is one of ours, with its own keys."""
    return hasattr(kind, "__pydantic_fields__")


def keys_of(kind: Any) -> list[str]:
    """The keys of a declared class in a file, where a component's name is not among them."""
    keys = list(kind.__pydantic_fields__)
    if COMPONENTS.get(_kind_of(kind)) is kind:
        keys.remove("name")
    return keys


def noun_of(kind: Any) -> str:
    """A declared class as people call it: a spark job."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def plain_type(kind: Any, value: Any) -> Any:
    """The plain type without its annotations; of several kinds, the one that `value` says it is."""
    if get_origin(kind) is Annotated:
        mark = table_mark(kind)
        named_kind = mark.kind_of(value) if mark else None
        return named_kind or plain_type(get_args(kind)[0], value)
    if get_origin(kind) not in (Union, UnionType):
        return kind
    arms = [arm for arm in get_args(kind) if arm is not NoneType]
    if len(arms) == 1:
        return plain_type(arms[0], value)
    if not isinstance(value, Mapping):
        return kind
    tag = value.get("kind")
    return next((arm for arm in arms if is_declared(arm) and _kind_of(arm) == tag), kind)


def table_mark(kind: Any) -> OneOf | None:
    """The marker of a type that is one of the kinds of a table; None for other types."""
    marks = get_args(kind) if get_origin(kind) is Annotated else ()
    return next((mark for mark in marks if isinstance(mark, OneOf)), None)


def _kind_of(declared: Any) -> Any:
    """What its `kind` says; nothing if it has none."""
    field = declared.__pydantic_fields__.get("kind")
    return field.default if field else None


def within(kind: Any, key: str | int) -> Any:
    """The type of the value of a key of `kind`; None if there is no such key."""
    if is_declared(kind):
        field = kind.__pydantic_fields__.get(key)
        return field.annotation if field else None
    arguments = get_args(kind)
    if get_origin(kind) is dict:
        return arguments[1]
    return arguments[0] if get_origin(kind) is tuple else None


def type_at(path: Path, content: Any, root: Any = Experiment) -> Any:
    """The type that is declared for a place in the content of a file that declares a `root`."""
    kind, value = plain_type(root, content), content
    for key in path:
        value = entry(value, key)
        kind = plain_type(within(kind, key), value)
    return kind


def entry(container: Any, key: str | int) -> Any:
    """The value of a key or an index; None if it is missing."""
    if isinstance(container, Mapping):
        return container.get(key)
    is_list = isinstance(container, Sequence) and not isinstance(container, str)
    if is_list and isinstance(key, int) and key < len(container):
        return container[key]
    return None


def table_at(path: Sequence[str | int]) -> Mapping[str, type] | None:
    """The table whose kinds are at a path, or around it."""
    return TABLES.get(str(path[0])) or TABLES.get(dotted_key(tuple(path[:2])))


def path_of(location: Sequence[str | int]) -> Path:
    """The place in a file of an error's location, which marks keys and forms in brackets."""
    return tuple(step for step in location if not str(step).startswith("["))
