"""Kinds of installed packages.

A package brings kinds by an entry point of the group `streambed.kinds` that names a `Kinds`:

    [project.entry-points."streambed.kinds"]
    nats = "streambed_nats:KINDS"
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, cast

from streambed.errors import UsageError

GROUP = "streambed.kinds"
Table = Literal["components", "faults", "checks"]


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """The kinds that a package brings, by the word that `kind:` has in a declaration."""

    components: Mapping[str, type[Any]] = field(default_factory=dict)
    faults: Mapping[str, type[Any]] = field(default_factory=dict)
    checks: Mapping[str, type[Any]] = field(default_factory=dict)

    def table(self, name: Table) -> Mapping[str, type[Any]]:
        """The components, faults or checks."""
        tables: dict[Table, Mapping[str, type[Any]]] = {
            "components": self.components,
            "faults": self.faults,
            "checks": self.checks,
        }
        return tables[name]


@cache
def packages() -> dict[str, Kinds]:
    """What every installed package brings, by the package's name."""
    return load_packages(entry_points(group=GROUP))


def load_packages(points: Iterable[EntryPoint]) -> dict[str, Kinds]:
    """What these entry points bring; UsageError if one cannot be loaded."""
    return {point.dist.name if point.dist else point.value: _load(point) for point in points}


def _load(point: EntryPoint) -> Kinds:
    package = point.dist.name if point.dist else point.value
    try:
        brought = point.load()
    except Exception as error:  # Any error in its code must be reported with the package's name.
        raise UsageError(
            f"the kinds of the package {package} cannot be loaded: {error!r}. Mend or uninstall it"
        ) from error
    if not isinstance(brought, Kinds):
        says = f"the entry point '{point.name}' of the package {package} names {brought!r}"
        raise UsageError(f"{says}: let {point.value} be a streambed.kinds.installed.Kinds")
    return brought


def with_installed(
    name: Table, ours: Mapping[str, type[Any]], brought: Mapping[str, Kinds]
) -> Mapping[str, type[Any]]:
    """One of our tables, with what packages bring to it; UsageError if two bring the same kind."""
    more: dict[str, type[Any]] = {}
    owners = dict.fromkeys(ours, "streambed")
    for package, kinds in brought.items():
        for kind, declared in kinds.table(name).items():
            if kind in owners:
                raise UsageError(
                    f"{owners[kind]} and {package} both bring the kind '{kind}' of {name}: "
                    "uninstall one of them"
                )
            _refuse_unfit(declared, kind, package)
            owners[kind] = package
            more[kind] = declared
    # A dict would look up every kind in our table, which imports them all.
    return ChainMap(more, cast("dict[str, type[Any]]", ours))


def _refuse_unfit(declared: type[Any], kind: str, package: str) -> None:
    fields = getattr(declared, "__pydantic_fields__", {})
    if "kind" not in fields or fields["kind"].default != kind:
        says = f"make it a class with `@declared` and a field `kind: Literal[{kind!r}] = {kind!r}`"
        raise UsageError(f"the kind '{kind}' of the package {package} cannot be declared: {says}")
