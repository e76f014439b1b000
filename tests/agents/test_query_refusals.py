"""A query or a batch job without a result says why in a file that every reader can decode."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from streambed.agents import store_query
from streambed.errors import QueryError, StoreError
from streambed.record.codec import read_message, write_message
from streambed.record.ledger import stored_rows
from streambed.record.orders import Refusal, StoreQueryOrder
from streambed.results import batch_jobs
from streambed.runner.query import running
from streambed.stores.store import Address


def query(text: str, answer: Path) -> StoreQueryOrder:
    path = answer.with_name("store.sqlite")
    sqlite3.connect(path).close()
    address = Address(engine="sqlite", path=str(path))
    return StoreQueryOrder(store=address, text=text, answer=str(answer), read_only=False)


def test_a_refused_statement_is_a_wrong_query(tmp_path: Path) -> None:
    answer = tmp_path / "answer.arrow"

    store_query.main(query("selec 1", answer))

    assert read_message(answer.with_suffix(".json"), Refusal).query_wrong
    with pytest.raises(QueryError, match='file: near "selec"'):
        running.read_answer(answer, "file")


def test_a_locked_store_is_no_wrong_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_query, "PATIENCE_NS", 0)
    monkeypatch.setattr("streambed.stores.sqlite.BUSY_S", 0.01)
    answer = tmp_path / "answer.arrow"
    order = query("create table words (word)", answer)
    with sqlite3.connect(tmp_path / "store.sqlite") as writer:
        writer.execute("begin exclusive")

        store_query.main(order)

    assert not read_message(answer.with_suffix(".json"), Refusal).query_wrong
    with pytest.raises(StoreError, match="file: "):
        running.read_answer(answer, "file")


def test_a_batch_job_that_dies_says_so_with_quotes_in_the_name_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    false = tmp_path / "false"
    false.write_text("#!/bin/sh\nexit 3\n")
    false.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(false))
    answer = tmp_path / "history" / stored_rows.FOLDER / "spark-1.arrow"
    answer.parent.mkdir(parents=True)

    batch_jobs.start_agent(tmp_path / "order.json", tmp_path / "logs" / 'a "b" \\c.log', answer)

    says = 'the batch job ended with status 3: see logs/a "b" \\c.log'
    assert stored_rows.read(tmp_path)["spark-1"].error == says


def test_a_batch_job_that_takes_too_long_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(batch_jobs, "LIMIT_S", 0.1)
    answer = tmp_path / "history" / stored_rows.FOLDER / "spark-1.arrow"

    batch_jobs.start_agent(tmp_path / "order.json", tmp_path / "logs" / "job.log", answer)

    says = "the batch job did not end within 0.1 s: see logs/job.log"
    assert stored_rows.read(tmp_path)["spark-1"].error == says


def test_a_refusal_of_an_older_run_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "history" / stored_rows.FOLDER
    folder.mkdir(parents=True)
    write_message(folder / "file-1.json", {"status": 64, "says": "no such table: words"})

    assert stored_rows.read(tmp_path)["file-1"].error == "no such table: words"
