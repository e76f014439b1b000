"""Bounds: any declaration is read soon, and gives an experiment or a sentence."""

from __future__ import annotations

import shutil
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from streambed.declare import reading
from streambed.errors import DeclarationError, StreambedError
from streambed.plan import Machine
from streambed.planner import shapes
from streambed.planner.planner import plan_for
from tests.support.examples import examples

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    *sorted((ROOT / "examples").glob("*/*.yaml")),
    ROOT / "studies" / "raptor" / "experiment.yaml",
    ROOT / "studies" / "gateways" / "platform.yaml",
]
KAFKA = "components:\n  kafka: {kind: kafka, nodes: [b], topics: {lines: {}}}\n"
HEAD = "version: 1\nname: x\nduration: 5s\ntopology: {links: [{ends: [a, b]}]}\n"


def problem_of(tmp_path: Path, text: str) -> str:
    """The one problem of a declaration."""
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(DeclarationError) as refused:
        reading.read(file)
    (problem,) = refused.value.problems
    return f"{problem.line}:{problem.column} {problem.key}: {problem.says}"


def with_component(body: str) -> str:
    """A small declaration with one more component."""
    return f"{HEAD}{KAFKA}  {body}\n"


def test_an_alias_bomb_is_refused_with_the_reason(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 10):
        aliases = ", ".join([f"*a{level - 1}"] * 9)
        rows.append(f"a{level}: &a{level} [{aliases}]")

    problem = problem_of(tmp_path, "\n".join([*rows, HEAD]) + "components: {}\n")

    assert problem == (
        "1:1 : aliases unfold 30 values into billions, more than 100000 beyond them: "
        "use fewer aliases"
    )


def test_a_merge_of_a_word_is_refused(tmp_path: Path) -> None:
    assert problem_of(tmp_path, f"{HEAD}<<: word\ncomponents: {{}}\n") == (
        "5:5 <<: `<<` merges mappings: give the alias of one, such as *defaults, or a list of these"
    )


def test_a_cassandra_without_nodes_may_be_referred_to_and_is_refused(tmp_path: Path) -> None:
    text = with_component('c: {kind: command, node: a, argv: [echo, "{rows.host}"]}')
    text += "  rows: {kind: cassandra}\n"

    assert "components.rows.nodes: is missing" in problem_of(tmp_path, text)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("rate: 1000000000000000000/s", "rate must be above 0 and at most 10000000/s"),
        ("size: 1000GB", "size 1000GB is too large: a record has at most 100MB"),
        ("profile: {shape: ramp, to: 99999999/s}", "99999999/s is too fast"),
        ("size: 99999999999999999999GB", "'99999999999999999999GB' is too large for a size"),
    ],
)
def test_a_load_beyond_any_machine_is_refused(tmp_path: Path, keys: str, says: str) -> None:
    text = with_component(f"poet: {{kind: producer, node: a, writes: lines, {keys}}}")

    assert says in problem_of(tmp_path, text)


@pytest.mark.parametrize("name", ["box", "delay_line", "witness"])
def test_a_component_cannot_have_the_name_of_a_file_of_the_run(tmp_path: Path, name: str) -> None:
    text = with_component(f"{name}: {{kind: command, node: a, argv: [echo]}}")

    assert f"a component cannot be called '{name}'" in problem_of(tmp_path, text)


def test_an_experiment_cannot_be_called_latest(tmp_path: Path) -> None:
    text = with_component("c: {kind: command, node: a, argv: [echo]}").replace(
        "name: x", "name: latest"
    )

    assert problem_of(tmp_path, text) == (
        "2:7 name: an experiment cannot be called 'latest': the word means the newest run"
    )


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nowhere", "there is no file or folder 'nowhere': make it first"),
        ("/proc/sys", "'/proc/sys' belongs to the machine, which no program of a run may change"),
        ("/", "'/' belongs to the machine"),
    ],
)
def test_folders_that_cannot_be_made_writable_are_refused(
    tmp_path: Path, path: str, says: str
) -> None:
    text = with_component("c: {kind: command, node: a, argv: [echo]}")

    problem = problem_of(tmp_path, f"{text}writable: [{path}]\n")

    assert problem.partition("writable.0: ")[2].startswith(says)


def test_routes_that_take_too_long_are_refused_before_they_are_computed(tmp_path: Path) -> None:
    text = with_component("c: {kind: command, node: a, argv: [echo]}").replace(
        "links: [{ends: [a, b]}]",
        "generate: {kind: ring, switches: 2500, hosts: 1}, "
        "links: [{ends: [a, b]}, {ends: [a, s1]}]",
    )

    problem = problem_of(tmp_path, text)

    assert "routes over 2500 switches and 5002 links would take 1.6 times as long" in problem


def test_samples_are_bounded_and_their_text_is_not_shown(tmp_path: Path, monkeypatch) -> None:
    text = with_component("c: {kind: command, node: a, argv: [echo]}").replace(
        "ends: [a, b]", "ends: [a, b], samples: delays.txt"
    )
    (tmp_path / "delays.txt").write_text("root:$6$hash:19000:0:99999:7:::\n")
    assert problem_of(tmp_path, text).endswith(
        "delays.txt, line 1: not a delay: write one such as 20ms"
    )

    (tmp_path / "delays.txt").write_text("20 parsecs\n".replace(" parsecs", "mz"))
    assert "line 1: '20mz' is not a duration" in problem_of(tmp_path, text)

    monkeypatch.setattr(shapes, "SAMPLES_BYTES_MAX", 1 << 20)
    (tmp_path / "delays.txt").write_text("20ms\n" * 300_000)
    assert "delays.txt has more than 1 MiB" in problem_of(tmp_path, text)


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["{", "{kafka.bootstrap}", "{x}", "0s", "-1s", "99999999h", "100%", "*", "..", "/", "~"]
    ),
    st.just([]),
    st.just({}),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def paths_in(content: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in plain data."""
    if isinstance(content, dict):
        places = list(content.items())
    elif isinstance(content, list):
        places = list(enumerate(content))
    else:
        return []
    return [
        path for key, value in places for path in ((*above, key), *paths_in(value, (*above, key)))
    ]


def mutate(content: Any, draw: Any) -> None:
    """Change, remove, rename or copy what stands at one place."""
    path = draw(st.sampled_from(paths_in(content)))
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    way = draw(st.sampled_from(["change", "remove", "rename", "copy"]))
    if way == "remove":
        del holder[path[-1]]
    elif way == "rename" and isinstance(holder, dict):
        holder[draw(st.text(max_size=5))] = holder.pop(path[-1])
    elif way == "copy":
        other = draw(st.sampled_from(paths_in(content)))
        value = content
        for key in other:
            value = value[key]
        holder[path[-1]] = YAML(typ="safe").load(_written(value))
    else:
        holder[path[-1]] = draw(ODD_VALUES)


def _written(content: Any) -> str:
    stream = StringIO()
    YAML(typ="safe", pure=True).dump(content, stream)
    return stream.getvalue()


@seed(7)
@settings(
    max_examples=examples(60),
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_any_change_of_an_example_gives_a_sentence_or_a_plan(
    tmp_path: Path, data: st.DataObject
) -> None:
    example = data.draw(st.sampled_from(EXAMPLES))
    content = YAML(typ="safe", pure=True).load(example.read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(content, data.draw)
    folder = tmp_path / example.parent.name
    if not folder.exists():
        shutil.copytree(example.parent, folder)
    file = folder / "changed.yaml"
    file.write_text(_written(content))

    with suppress(StreambedError):
        declared = reading.read(file)
        plan_for(
            declared.experiment,
            Machine(python="python"),
            base=folder,
            directory=tmp_path / "run",
        )
