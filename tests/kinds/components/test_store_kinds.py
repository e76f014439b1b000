"""Stores as declared: their commands, what refers to them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streambed.artifacts import servers
from streambed.declare.yaml.reader import read
from streambed.errors import DeclarationError
from streambed.kinds.components import Cassandra, Embedded, PostgreSQL, Redis
from streambed.plan import Machine, Plan, ProcessSpec
from streambed.planner.planner import plan_for
from streambed.record.orders import ServerSetupOrder, SinkOrder
from streambed.stores.store import Address
from tests.support.fakes import FakeWorld, order_of

FILE = """\
version: 1
name: stores
duration: 5s
topology:
  links: [{ends: [one, two]}]
components:
  kafka: {kind: kafka, nodes: [one], topics: {lines: {}}}
  pg: {kind: postgresql, node: two, settings: {fsync: true}}
  maria: {kind: mariadb, node: two}
  cache: {kind: redis, node: two}
  ring: {kind: cassandra, nodes: [one, two], replicas: 2, heap: 256MiB}
  file: {kind: embedded, node: two, engine: sqlite}
  to-pg: {kind: sink, node: one, reads: lines, store: pg, table: lines,
          format: json, columns: {n: integer}}
  to-file: {kind: sink, node: two, reads: lines, store: file, table: lines, format: bytes}
  all: {kind: command, node: one, argv: [echo, "{pg.url}", "{maria.jdbc}", "{cache.address}",
        "{ring.hosts}", "{file.path}", "{to-pg.table}"]}
"""


def plan_of(folder: Path, text: str = FILE) -> Plan:
    (folder / "a.yaml").write_text(text)
    machine = Machine(java="/opt/java", java_version=21, python="/opt/python", means="netem")
    return plan_for(read(folder / "a.yaml"), machine, base=folder, directory=Path("/run"))


def process(plan: Plan, name: str) -> ProcessSpec:
    return next(spec for spec in plan.processes if spec.name == name)


def complaint(folder: Path, old: str, new: str) -> str:
    assert FILE.count(old) == 1
    (folder / "a.yaml").write_text(FILE.replace(old, new))
    with pytest.raises(DeclarationError) as refused:
        read(folder / "a.yaml")
    (problem,) = refused.value.problems
    return f"{problem.key}: {problem.says}"


def test_programs_learn_where_stores_are(tmp_path: Path) -> None:
    assert process(plan_of(tmp_path), "all").argv[1:] == (
        "postgresql://postgres@two:5432/postgres",
        "jdbc:mariadb://two:3306/streambed?user=streambed",
        "two:6379",
        "one,two",
        "/run/data/file/store.sqlite",
        "lines",
    )


def test_postgresql_is_not_root_and_takes_its_settings(tmp_path: Path) -> None:
    spec = process(plan_of(tmp_path), "pg")

    assert spec.argv[:2] == ("unshare", "--user")
    order = order_of(spec, ServerSetupOrder)
    assert order.argv[0].endswith("/bin/postgres")
    assert "fsync=true" in order.argv
    assert order.stale == ("/run/data/pg/cluster/postmaster.pid",)


def test_a_ring_shares_its_tokens_equally_and_each_node_is_a_seed(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    one, two = (json.loads(process(plan, f"ring/{node}").files[0].text) for node in ("one", "two"))

    assert (one["initial_token"], two["initial_token"]) == (str(-(2**63)), "0")
    assert one["seed_provider"] == two["seed_provider"]
    assert two["listen_address"] == plan.node("two").address
    assert "-Xmx256m" in process(plan, "ring/one").argv


def test_a_sink_gets_its_store_and_its_columns(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    order = order_of(process(plan, "to-pg"), SinkOrder)
    other = order_of(process(plan, "to-file"), SinkOrder)

    assert order.store == Address(
        engine="postgresql", hosts=("two",), port=5432, database="postgres"
    )
    assert order.table.columns["n"] == "integer"
    assert other.store.path == "/run/data/file/store.sqlite"
    assert other.table.columns["value"] == "bytes"


@pytest.mark.parametrize("keys", ["", ", text: '{record} {n}'"])
def test_a_sink_of_text_refuses_a_producer_of_random_bytes(tmp_path: Path, keys: str) -> None:
    poet = f"poet: {{kind: producer, node: one, writes: lines{keys}}}"

    says = complaint(tmp_path, "  all:", f"  {poet}\n  all:")

    assert says == (
        "components.poet.writes: made-up records are random bytes, and 'to-pg' takes only text: "
        "give `text`, `file` or `function` here, or `format: bytes` to 'to-pg'"
    )


def test_a_sink_of_text_takes_a_producer_of_text(tmp_path: Path) -> None:
    poet = "poet: {kind: producer, node: one, writes: lines, text: '{\"n\": {n}}'}"

    (tmp_path / "a.yaml").write_text(FILE.replace("  all:", f"  {poet}\n  all:"))

    assert "poet" in read(tmp_path / "a.yaml").components


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "store: file",
            "store: fil",
            "components.to-file.store: there is no store 'fil'. Did you mean 'file'?",
        ),
        (
            "store: pg,",
            "store: kafka,",
            "components.to-pg.store: there is no store 'kafka'. Known: cache, file, maria, pg, "
            "ring.",
        ),
        (
            "to-file: {kind: sink, node: two",
            "to-file: {kind: sink, node: one",
            "components.to-file.node: 'file' is a file on 'two'",
        ),
        (
            "format: json, ",
            "",
            "components.to-pg.columns: columns are taken from JSON, but `format` is text",
        ),
        (
            "{n: integer}",
            "{offset: integer}",
            "components.to-pg.columns.offset: every sink's table has such a column already",
        ),
        (
            "kind: mariadb, node: two",
            "kind: mariadb, node: two, port: 5432",
            "components.maria.node: 'two' runs 'pg' already, and both",
        ),
        (
            "replicas: 2",
            "replicas: 3",
            "components.ring.replicas: 3 replicas need as many nodes, and it has 2",
        ),
        (
            "nodes: [one, two], rep",
            "nodes: [two, two], rep",
            "components.ring.nodes: a node is named twice",
        ),
        ("engine: sqlite", "engine: oracle", "components.file.engine"),
        (
            "{pg.url}",
            "{pg.uri}",
            "components.all.argv.1: nothing answers to {pg.uri}. Did you mean 'pg.url'?",
        ),
    ],
)
def test_impossible_values_are_refused_with_their_key(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert complaint(tmp_path, old, new).startswith(says)


def test_mongodb_takes_its_options_and_a_sink_writes_its_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers.shutil, "which", lambda name: "/opt/mongod")
    text = FILE.replace(
        "kind: redis, node: two", "kind: mongodb, node: two, settings: {quiet: true, slowms: 5}"
    )
    plan = plan_of(tmp_path, text.replace("store: pg,", "store: cache,"))

    argv = process(plan, "cache").argv
    assert argv == (
        "/opt/mongod",
        "--quiet",
        "--slowms=5",
        "--bind_ip_all",
        "--port=27017",
        "--dbpath=/run/data/cache",
    )
    order = order_of(process(plan, "to-pg"), SinkOrder)
    assert order.store == Address(
        engine="mongodb", hosts=("two",), port=27017, database="streambed"
    )


@pytest.mark.parametrize(
    "store",
    [PostgreSQL(name="s", node="localhost", port=1), Redis(name="s", node="localhost", port=1)],
)
def test_a_server_that_does_not_answer_is_not_ready(store: PostgreSQL | Redis) -> None:
    assert store.readiness(FakeWorld())().startswith("it does not answer: ")


def test_a_ring_that_does_not_answer_is_not_ready() -> None:
    assert (
        Cassandra(name="r", nodes=("localhost",), port=1)
        .readiness(FakeWorld())()
        .startswith("it does not answer")
    )


def test_an_embedded_store_is_set_up_before_others_start(tmp_path: Path) -> None:
    (tmp_path / "data" / "file").mkdir(parents=True)
    store = Embedded(name="file", node="a", engine="sqlite", setup=("create table t (a int)",))

    assert store.readiness(FakeWorld(tmp_path))() == ""
    assert (tmp_path / "data" / "file" / "store.sqlite").exists()


def test_a_password_of_redis_is_refused(tmp_path: Path) -> None:
    text = FILE.replace(
        "{kind: redis, node: two}", "{kind: redis, node: two, settings: {requirepass: pw}}"
    )

    with pytest.raises(DeclarationError, match="requirepass: clients log in without a password"):
        plan_of(tmp_path, text)
