"""Which keys may stand where in a declaration, found from the types of the declared classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from streambed.declare.experiment import Experiment
from streambed.declare.generators import GENERATORS
from streambed.kinds.check_table import CHECKS
from streambed.kinds.tables import COMPONENTS, FAULTS

TABLES: dict[str, Mapping[str, type]] = {
    "components": COMPONENTS,
    "faults": FAULTS,
    "checks": CHECKS,
    "topology.generate": GENERATORS,
}
"""The key under which each table's kinds are declared."""
Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """A path as people write it: components.kafka.nodes.0."""
    return ".".join(map(str, path))


def is_declared(kind: Any) -> bool:
    """Whether a type is one of ours, with keys of its own."""
    return hasattr(kind, "__pydantic_fields__")


def keys_of(kind: Any) -> list[str]:
    """The keys of a declared class in a file, where a component's name is not among them."""
    return [
        key
        for key in kind.__pydantic_fields__
        if not (key == "name" and kind in COMPONENTS.values())
    ]


def noun_of(kind: Any) -> str:
    """A declared class as people call it: a spark job."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def chosen(kind: Any, found: Any) -> Any:
    """The plain type without its annotations; of several kinds, the one that `found` says it is."""
    if get_origin(kind) is Annotated:
        return chosen(get_args(kind)[0], found)
    if get_origin(kind) not in (Union, UnionType):
        return kind
    arms = [arm for arm in get_args(kind) if arm is not NoneType]
    if len(arms) == 1:
        return chosen(arms[0], found)
    if not isinstance(found, Mapping):
        return kind
    tag = found.get("kind")
    return next((arm for arm in arms if is_declared(arm) and _kind_of(arm) == tag), kind)


def _kind_of(declared: Any) -> Any:
    """What its `kind` says; nothing if it has none."""
    field = declared.__pydantic_fields__.get("kind")
    return field.default if field else None


def within(kind: Any, key: str | int) -> Any:
    """The type of what stands under a key of `kind`; nothing if no such key is known."""
    if is_declared(kind):
        field = kind.__pydantic_fields__.get(key)
        return field.annotation if field else None
    arguments = get_args(kind)
    if get_origin(kind) is dict:
        return arguments[1]
    return arguments[0] if get_origin(kind) is tuple else None


def type_at(path: Path, content: Any, root: Any = Experiment) -> Any:
    """The type that is declared for a place in the content of a file that declares a `root`."""
    kind, found = chosen(root, content), content
    for key in path:
        found = entry(found, key)
        kind = chosen(within(kind, key), found)
    return kind


def entry(found: Any, key: str | int) -> Any:
    """What stands under a key or an index; nothing if it is not there."""
    if isinstance(found, Mapping):
        return found.get(key)
    if (
        isinstance(found, Sequence)
        and not isinstance(found, str)
        and isinstance(key, int)
        and key < len(found)
    ):
        return found[key]
    return None


def table_at(path: Sequence[str | int]) -> Mapping[str, type] | None:
    """The table whose kinds stand at a place, or around it."""
    return TABLES.get(str(path[0])) or TABLES.get(dotted(tuple(path[:2])))


def path_of(location: Sequence[str | int]) -> Path:
    """The place in a file of an error's location, which also names the kind that was chosen, and
    marks keys and forms in brackets.
    """
    path = [step for step in location if not str(step).startswith("[")]
    tagged = len(path) > 2 and path[2] in (table_at(path) or ())
    return (*path[:2], *path[3:]) if tagged else tuple(path)
