from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Literal

import pytest

from streambed.errors import UsageError
from streambed.kinds import installed
from streambed.kinds.declaring import Name, declared
from streambed.kinds.installed import Kinds, load_packages, with_installed


@declared
class Nats:
    kind: Literal["nats"] = "nats"
    name: Name


@declared
class Unnamed:
    name: Name


def test_what_a_package_brings_stands_beside_ours():
    table = with_installed(
        "components", {"kafka": object}, {"streambed-nats": Kinds(components={"nats": Nats})}
    )

    assert table == {"kafka": object, "nats": Nats}
    assert with_installed("faults", {}, {"streambed-nats": Kinds(components={"nats": Nats})}) == {}


def test_one_word_of_two_packages_is_refused_with_both_names():
    brought = {"one": Kinds(components={"nats": Nats}), "two": Kinds(components={"nats": Nats})}

    with pytest.raises(
        UsageError,
        match="one and two both bring the kind 'nats' of components: uninstall one of them",
    ):
        with_installed("components", {}, brought)
    with pytest.raises(UsageError, match="streambed and one both bring the kind 'nats'"):
        with_installed("components", {"nats": object}, {"one": Kinds(components={"nats": Nats})})


@pytest.mark.parametrize(("word", "kind"), [("nats", Unnamed), ("gnats", Nats), ("nats", object)])
def test_a_class_that_cannot_be_declared_by_its_word_is_refused(word, kind):
    with pytest.raises(
        UsageError, match=f"the kind '{word}' of the package one cannot be declared"
    ):
        with_installed("components", {}, {"one": Kinds(components={word: kind})})


def entry(value):
    point = EntryPoint(name="nats", value=value, group=installed.GROUP)
    return SimpleNamespace(
        name=point.name, value=value, load=point.load, dist=SimpleNamespace(name="streambed-nats")
    )


def test_a_package_that_cannot_be_imported_is_named():
    with pytest.raises(
        UsageError,
        match="the kinds of the package streambed-nats cannot be loaded: ModuleNotFoundError",
    ):
        load_packages([entry("no_such_module:KINDS")])


def test_an_entry_point_must_name_kinds():
    with pytest.raises(
        UsageError, match="the entry point 'nats' of the package streambed-nats names"
    ):
        load_packages([entry("json:dumps")])
