"""Stores inside the network: each starts by name, is filled by a sink, answers while the run lasts,
and answers the same afterwards.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from streambed import Run, artifacts
from streambed.errors import QueryError, WorldError
from tests.support import stand_in_mongod
from tests.support.running import (
    ROOT,
    STREAMBED,
    end_now,
    only_run,
    phases,
    start,
    streambed,
    wait_for,
)

pytestmark = [
    pytest.mark.system,
    pytest.mark.together(90),
    pytest.mark.usefixtures("store_servers"),
]
NOBODY = 65534
RECORDS = 200 * 8
ANSWER_S = 60
EXPERIMENT = """
version: 1
name: stores
duration: 8s
drain: 3min
topology:
  switches: [core]
  links:
    - {ends: [edge, core], delay: 5ms}
    - {ends: [broker, core], delay: 1ms}
    - {ends: [one, core], delay: 2ms}
    - {ends: [two, core], delay: 2ms}
components:
  kafka: {kind: kafka, nodes: [broker], topics: {lines: {partitions: 2}}}
  poet: {kind: producer, node: edge, writes: lines, rate: 200/s, text: '{"n": {n}, "who": "poet"}'}
  pg: {kind: postgresql, node: one,
       setup: ["create table mine (a int)", "insert into mine values (7)"]}
  maria: {kind: mariadb, node: two}
  cache: {kind: redis, node: one}
  ring: {kind: cassandra, nodes: [two]}
  file: {kind: embedded, node: edge, engine: sqlite}
  duck: {kind: embedded, node: edge, engine: duckdb}
  rocks: {kind: embedded, node: edge, engine: rocksdb}
  mongo: {kind: mongodb, node: one, settings: {quiet: true},
          setup: ['{"insert": "mine", "documents": [{"_id": 7, "a": {"b": [1]}}]}']}
  to-pg: {kind: sink, node: broker, reads: lines, store: pg, table: records,
          format: json, columns: {n: integer, who: text}}
  to-maria: {kind: sink, node: two, reads: lines, store: maria, table: records}
  to-cache: {kind: sink, node: one, reads: lines, store: cache, table: records}
  to-ring: {kind: sink, node: two, reads: lines, store: ring, table: records}
  to-file: {kind: sink, node: edge, reads: lines, store: file, table: records}
  to-duck: {kind: sink, node: edge, reads: lines, store: duck, table: records}
  to-rocks: {kind: sink, node: edge, reads: lines, store: rocks, table: records}
  to-mongo: {kind: sink, node: two, reads: lines, store: mongo, table: records,
             format: json, columns: {n: integer, who: text}}
faults:
  - {kind: kill, at: 3s, lasts: 1s, target: pg}
checks:
  - {kind: no_loss, topic: lines}
"""
COUNTS = {
    "pg": "select count(*) from records",
    "maria": "select count(*) from records",
    "cache": "DBSIZE",
    "ring": "select count(*) from records",
    "file": "select count(*) from records",
    "duck": "select count(*) from records",
    "rocks": "count records/",
    "mongo": '{"count": "records"}',
}
SMALL = """
version: 1
name: small
duration: 1s
topology: {hosts: [one]}
components:
  store: {kind: %s, node: one%s}
"""


def count(run: Run, store: str) -> int:
    """How many records a store says it has, once it answers.

    DuckDB lets one process in at a time: while its sink writes much, a query may find it closed.
    """
    answers: list[int] = []

    def asked() -> bool:
        with suppress(WorldError):
            answers.append(int(run.query(store, COUNTS[store]).item()))
        return bool(answers)

    wait_for(asked, ANSWER_S, f"an answer of {store}")
    return answers[0]


def counts(run: Run) -> dict[str, int]:
    """What each store says, all asked at once."""
    with ThreadPoolExecutor(len(COUNTS)) as pool:
        return dict(zip(COUNTS, pool.map(lambda store: count(run, store), COUNTS), strict=True))


@pytest.fixture(scope="module")
def mongod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What stands in for MongoDB's server is on PATH."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "PATH",
            str(stand_in_mongod.install(tmp_path_factory.mktemp("programs"))),
            prepend=os.pathsep,
        )
        yield


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory, store_servers: None, mongod: None
) -> Iterator[tuple[Run, dict[str, int], str]]:
    """A run that is over, what its stores said while it lasted, and what it printed."""
    folder = tmp_path_factory.mktemp("stores")
    (folder / "experiment.yaml").write_text(EXPERIMENT)
    process = start(folder / "experiment.yaml", folder / "runs")
    try:
        directory = wait_for(lambda: only_run(folder / "runs"), 60, "the run's folder")
        wait_for(lambda: "load" in phases(directory) or process.poll() is not None, 120, "the load")
        during = counts(Run(directory)) if process.poll() is None else {}
        printed, _ = process.communicate(timeout=150)
        yield Run(directory), during, printed
    finally:
        end_now(process)


def fingerprint(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(
        b"".join(str(path).encode() + path.read_bytes() for path in files)
    ).hexdigest()


@pytest.mark.timeout(400)
def test_every_store_has_every_record_once_and_answers_during_and_after_the_run(filled):
    run, during, printed = filled
    assert "no_loss    HOLDS" in printed, printed
    assert set(during) == set(COUNTS)
    assert all(0 < count <= RECORDS for count in during.values()), (
        during
    )  # Slow questions are answered when all is there.

    assert counts(run) == dict.fromkeys(COUNTS, RECORDS)


def test_a_query_gives_a_frame_with_types_and_leaves_the_data_as_they_are(filled):
    run, _, _ = filled
    before = fingerprint(run.directory / "data" / "pg")

    found = run.query("pg", "select n, who, value from records order by n limit 2")

    assert found.rows() == [
        (1, "poet", '{"n": 1, "who": "poet"}'),
        (2, "poet", '{"n": 2, "who": "poet"}'),
    ]
    assert found.schema == {"n": pl.Int64, "who": pl.String, "value": pl.String}
    assert fingerprint(run.directory / "data" / "pg") == before
    assert not list(run.directory.glob("question-*"))


def test_query_prints_a_table_or_csv_or_json_and_passes_on_what_the_store_says(filled):
    run, _, _ = filled
    where = ("--into", run.directory.parents[1])

    table = streambed("query", "latest", "file", "select 7 as a, 'x' as b", *where, cwd=ROOT).stdout
    assert [line.split() for line in table.splitlines()] == [["a", "b"], ["─────"], ["7", "x"]]
    assert (
        streambed("query", "latest", "file", "select 7 as a", "--csv", *where, cwd=ROOT).stdout
        == "a\n7\n"
    )
    assert (
        streambed("query", "latest", "rocks", "count", "--json", *where, cwd=ROOT).stdout
        == f'[{{"count":{RECORDS}}}]\n'
    )
    refused = streambed("query", "latest", "file", "select missing", *where, cwd=ROOT)
    assert (refused.returncode, refused.stderr) == (64, "file: no such column: missing\n")
    with pytest.raises(QueryError, match=r"there is no store .fil.* Did you mean 'file'"):
        run.query("fil", "select 1")


@pytest.mark.timeout(300)
def test_an_ordinary_user_starts_and_asks_postgresql_and_redis(tmp_path_factory):
    home = tmp_path_factory.mktemp("ordinary")
    (home / "cache").mkdir()
    (home / "cache" / "servers").symlink_to(artifacts.cache() / "servers")
    text = SMALL % ("postgresql", ', setup: ["create table t (a int)", "insert into t values (7)"]')
    (home / "small.yaml").write_text(text + "  cache: {kind: redis, node: one, setup: [SET a 7]}\n")
    prefix: list[str] = []
    if os.getuid() == 0:
        for path in (home.parent, home, home / "cache", home / "small.yaml"):
            os.chmod(path, 0o755)
            os.chown(path, NOBODY, NOBODY)
        needed = [
            str(ROOT),
            sys.prefix,
            sys.base_prefix,
            str(artifacts.cache() / "servers"),
            str(home),
        ]
        prefix = [
            sys.executable,
            str(ROOT / "tests" / "support" / "ordinary.py"),
            str(NOBODY),
            *needed,
            "--",
        ]
    environment = {**os.environ, "HOME": str(home), "STREAMBED_CACHE": str(home / "cache")}

    def ordinary(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, *STREAMBED, *words],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    done = ordinary("run", "small.yaml", "--no-report")
    assert done.returncode == 0, done.stdout + done.stderr
    for store, text, answer in [
        ("store", "select a from t", "a\n7\n"),
        ("cache", "GET a", "value\n7\n"),
    ]:
        asked = ordinary("query", "latest", store, text, "--csv")
        assert asked.stdout == answer, asked.stderr
    assert not list(Path("/dev/shm").glob("PostgreSQL*"))


def test_a_server_that_was_not_fetched_is_said_with_the_command_that_gets_it(tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL % ("mariadb", ""))

    done = streambed(
        "run", "small.yaml", cwd=tmp_path, env={"STREAMBED_CACHE": str(tmp_path / "cache")}
    )

    assert done.returncode == 3
    assert "Run: streambed fetch mariadb" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("kind", "rest", "evidence"),
    [
        (
            "redis",
            # A test of memory would follow the report, with as many lines as there are regions.
            ", settings: {crash-memcheck-enabled: 'no'}}\n"
            "  end: {kind: command, node: one, argv: [redis-cli, -h, one, DEBUG, SEGFAULT], "
            "on_exit: record",
            "REDIS BUG REPORT",
        ),
        ("cassandra", ", heap: 16MiB", "OutOfMemoryError"),
        (
            "postgresql",
            ", settings: {shared_buffers: much}",
            'invalid value for parameter "shared_buffers": "much"',
        ),
        ("postgresql", ', setup: ["create nonsense"]', "store refused its setup: syntax error"),
    ],
)
def test_a_store_that_dies_or_refuses_ends_the_run_with_its_last_words(
    tmp_path, kind, rest, evidence
):
    text = SMALL % (kind, rest)
    (tmp_path / "small.yaml").write_text(
        text.replace("node: one, heap", "nodes: [one], heap").replace(
            "duration: 1s", "duration: 20s"
        )
    )

    done = streambed(
        "run",
        "small.yaml",
        "--no-report",
        cwd=tmp_path,
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )

    assert done.returncode == 3, done.stdout + done.stderr
    assert evidence in done.stderr
    assert "Traceback" not in done.stderr


def test_mongodb_is_refused_where_there_is_no_mongod(tmp_path, monkeypatch):
    (tmp_path / "small.yaml").write_text(SMALL % ("mongodb", ""))

    refused = streambed("run", "small.yaml", cwd=tmp_path, env={"PATH": str(tmp_path)})

    assert refused.returncode == 3
    assert "mongodb needs a program 'mongod' on PATH" in refused.stderr


def test_mongodb_is_asked_with_its_own_commands_and_has_what_its_sink_took_out_of_json(filled):
    run, _, _ = filled

    found = run.query(
        "mongo",
        '{"find": "records", "filter": {"n": {"$lte": 2}}, "sort": {"n": 1}, "projection": {"n": '
        '1, "who": 1}}',
    )

    assert found.select("n", "who").rows() == [(1, "poet"), (2, "poet")]
    assert all(name.startswith("lines/") for name in found["_id"])
    assert run.query("mongo", '{"find": "mine"}').rows() == [(7, '{"b": [1]}')]
