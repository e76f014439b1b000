"""Tables of kinds, whose modules are imported when a kind is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind", covariant=True)


class KindTable(Mapping[str, type[Kind]], Generic[Kind]):
    """The kinds of a package, by the word that `kind:` has in a declaration.

    Each is given as MODULE:CLASS, in the package: a plan imports only the kinds that it names.
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package = package
        self._places = places

    def __getitem__(self, kind: str) -> type[Kind]:
        module, _, name = self._places[kind].partition(":")
        kind_class: type[Kind] = getattr(import_module(f"{self._package}.{module}"), name)
        return kind_class

    def __contains__(self, kind: object) -> bool:
        return kind in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def class_called(self, name: str) -> Any:
        """A kind by the name of its class: the `__getattr__` of the package."""
        for kind, place in self._places.items():
            if place.partition(":")[2] == name:
                return self[kind]
        raise AttributeError(f"module '{self._package}' has no attribute '{name}'")
