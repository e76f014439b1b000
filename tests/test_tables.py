"""Tables of a run whose files were damaged: a killed writer loses half a batch, wrong bytes are
never taken for the end.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streambed.errors import FormatError
from streambed.record import events, history, parquet_files, tables
from streambed.record.event_log import read_events
from streambed.record.ledger.schemas import ADDED_LATER, SEEN, SENT
from streambed.record.status import begin, conclude
from streambed.record.tables import NO_KEY, KeyHashes, Table, key_hash, read_part, read_table
from streambed.results.runs import Run
from streambed.runner import launcher

BATCHES, ROWS = 4, 50
LENGTH_AT = 4
"""A message begins with a mark of four bytes; then comes its length."""


def write_seen(path: Path, *, close: bool = True) -> list[int]:
    """Four batches of 50 rows; where each ends in the file. A writer that was killed does not close
    it.
    """
    table = Table(path, SEEN)
    ends = []
    for batch in range(BATCHES):
        for number in range(batch * ROWS, (batch + 1) * ROWS):
            position = ("lines", 0, number)
            identity = ("poet", number)
            times = (1_000 + number, 1)
            table.append("reader", "group", *position, *identity, *times, None, 1, 1, None)
        table.flush()
        ends.append(path.stat().st_size)
    table.close()
    if not close:
        cut(path, ends[-1])
    return ends


def flip(path: Path, place: int, count: int = 4) -> None:
    """Turn over all bits of a few bytes."""
    content = bytearray(path.read_bytes())
    content[place : place + count] = bytes(byte ^ 0xFF for byte in content[place : place + count])
    path.write_bytes(content)


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    return tmp_path / "seen-reader-1.arrow"


def test_a_closed_file_is_complete(seen):
    write_seen(seen)

    part = read_part(seen, SEEN)

    assert (part.end.state, part.table.num_rows) == ("complete", BATCHES * ROWS)


def test_a_file_without_its_last_bytes_is_cut_off_and_loses_half_a_batch_only(seen):
    *_, before, last = write_seen(seen, close=False)
    content = seen.read_bytes()

    # Every size near the ends, where each byte has its meaning, and every seventh between.
    sizes = {*range(before, before + 100), *range(before, last, 7), *range(last - 100, last)}

    for size in sorted(sizes):
        seen.write_bytes(content[:size])
        part = read_part(seen, SEEN)
        assert (part.end.state, part.table.num_rows) == ("cut_off", (BATCHES - 1) * ROWS), size


def test_a_file_that_is_still_written_has_all_that_was_flushed(seen):
    write_seen(seen, close=False)

    part = read_part(seen, SEEN)

    assert (part.end.state, part.table.num_rows) == ("cut_off", BATCHES * ROWS)


@pytest.mark.parametrize("what", ["mark", "length", "metadata", "text offsets"])
@pytest.mark.parametrize("close", [True, False])
def test_wrong_bytes_in_the_middle_are_corrupt_and_never_an_end(seen, what, close):
    start = write_seen(seen, close=close)[0]
    place = {"mark": 0, "length": LENGTH_AT, "metadata": 16, "text offsets": 616}[what]

    flip(seen, start + place)

    part = read_part(seen, SEEN)
    assert (part.end.state, part.table.num_rows) == ("corrupt", ROWS)
    assert f"byte {start}" in part.end.reason


def test_wrong_bytes_in_the_last_batch_of_a_closed_file_are_corrupt(seen):
    *_, start, _ = write_seen(seen)

    flip(seen, start + LENGTH_AT)

    assert read_part(seen, SEEN).end.state == "corrupt"


def test_an_end_mark_in_the_middle_is_corrupt(seen):
    start = write_seen(seen)[0]
    content = seen.read_bytes()

    seen.write_bytes(content[:start] + b"\xff\xff\xff\xff\0\0\0\0" + content[start + 8 :])

    assert read_part(seen, SEEN).end.state == "corrupt"


def test_a_file_of_another_table_is_corrupt(seen):
    write_seen(seen)

    assert read_part(seen, SENT).end.state == "corrupt"


def test_a_corrupt_file_is_named_with_what_to_do(seen):
    flip(seen, write_seen(seen)[0])

    with pytest.raises(
        FormatError, match=r"seen-reader-1\.arrow is damaged: .* run the experiment again"
    ):
        read_table(seen, SEEN)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The folder of a run that has not ended."""
    directory = tmp_path / "words" / "1"
    (directory / "history").mkdir(parents=True)
    (directory / "plan.json").write_text(json.dumps({"declaration": {}}))
    begin(directory, os.getpid())
    return Run(directory)


def in_run(run: Run) -> Path:
    return run.directory / "history" / "seen-reader-1.arrow"


def test_a_finished_run_with_a_corrupt_table_is_not_read(run):
    flip(in_run(run), write_seen(in_run(run))[0])
    conclude(run.directory, "finished", "")

    with pytest.raises(FormatError, match=r"seen-reader-1\.arrow is damaged"):
        run.history()


def test_a_finished_run_is_read_if_an_agent_was_killed(run):
    ends = write_seen(in_run(run), close=False)
    cut(in_run(run), ends[-1] - 100)
    conclude(run.directory, "finished", "")

    assert run.ledger().seen.height == (BATCHES - 1) * ROWS


def test_a_run_that_did_not_finish_is_read_as_far_as_it_goes(run):
    flip(in_run(run), write_seen(in_run(run))[0])
    conclude(run.directory, "failed", "the disk is full")

    assert run.ledger().seen.height == ROWS


def test_a_corrupt_table_keeps_its_arrow_files_and_is_recorded(run):
    start = write_seen(in_run(run))[0]
    write_seen(in_run(run).with_name("seen-archive-1.arrow"))
    flip(in_run(run), start)

    (recorded,) = history.keep_as_parquet(run.directory)

    assert isinstance(recorded, events.TableDamaged)
    assert recorded.file == "history/seen-reader-1.arrow"
    assert f"byte {start}" in recorded.reason
    assert {path.name for path in in_run(run).parent.iterdir()} == {
        "seen-reader-1.arrow",
        "seen-archive-1.arrow",
    }


def test_a_table_that_was_cut_off_is_kept_as_parquet(run):
    ends = write_seen(in_run(run), close=False)
    cut(in_run(run), ends[-1] - 100)

    assert history.keep_as_parquet(run.directory) == []

    assert run.ledger().seen.height == (BATCHES - 1) * ROWS
    assert [path.name for path in in_run(run).parent.iterdir()] == ["seen.parquet"]


def test_a_table_that_cannot_be_written_as_parquet_stays_and_is_noted(run, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    write_seen(in_run(run))
    monkeypatch.setattr(parquet_files, "write", refuse)

    (recorded,) = history.keep_as_parquet(run.directory)

    assert isinstance(recorded, events.Note)
    assert "seen could not be kept as Parquet: [Errno 28] No space left on device" in recorded.says
    assert run.ledger().seen.height == BATCHES * ROWS


def test_the_launcher_records_a_damaged_table_after_the_events_of_the_run(run):
    path = run.directory / "history" / "events.jsonl"
    path.write_text('{"time": 1, "event": "phase", "phase": "build"}\n{"time": 2, "eve')
    flip(in_run(run), write_seen(in_run(run))[0])

    launcher._keep_tables(run.directory, {})

    first, second = read_events(run.directory)
    assert first == events.Phase(time=1, phase="build")
    assert isinstance(second, events.TableDamaged) and second.file == "history/seen-reader-1.arrow"
    assert second.time > first.time


@pytest.fixture
def kept(run: Run) -> Path:
    """The Parquet file of a finished run."""
    write_seen(in_run(run))
    conclude(run.directory, "finished", "")
    assert history.keep_as_parquet(run.directory) == []
    return run.directory / "history" / "seen.parquet"


def test_a_truncated_parquet_file_is_named(run, kept):
    content = kept.read_bytes()
    for size in (0, 3, len(content) // 2, len(content) - 1):
        kept.write_bytes(content[:size])
        with pytest.raises(FormatError, match=r"seen\.parquet is damaged"):
            run.history()


def test_wrong_bytes_in_the_middle_of_a_parquet_file_are_found(run, kept):
    content = kept.read_bytes()
    for share in (0.2, 0.4, 0.6):
        kept.write_bytes(content)
        flip(kept, int(len(content) * share), count=16)
        with pytest.raises(FormatError, match=r"seen\.parquet is damaged"):
            _ = run.history().ledger.seen


def without(schema: pa.Schema, later: tuple[str, ...]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in later])


@pytest.mark.parametrize("key", [(), (77,)], ids=["without keys", "with keys"])
def test_tables_of_older_runs_are_read_with_null_in_the_columns_that_came_later(
    tmp_path: Path, key: tuple[int, ...]
) -> None:
    row = ("reader", "group", "lines", 0, 5, "poet", 5, 1_005, 1, *key)
    old = without(SEEN, ADDED_LATER[SEEN][len(key) :])
    with Table(tmp_path / "seen-reader.arrow", old) as table:
        table.append(*row)
    columns = [pa.array([value], kind) for value, kind in zip(row, old.types, strict=True)]
    pq.write_table(pa.table(columns, schema=old), tmp_path / "seen.parquet")

    for read in (
        read_table(tmp_path / "seen-reader.arrow", SEEN),
        parquet_files.read(tmp_path / "seen.parquet", SEEN),
    ):
        assert read.schema.names == SEEN.names
        whole = row + (None,) * (len(SEEN) - len(row))
        assert [tuple(found.values()) for found in read.to_pylist()] == [whole]


def test_the_hash_of_a_key_is_the_same_in_every_run_and_program() -> None:
    # printf gateway-1 | sha256sum begins with e11eea07c434b465, the lowest byte first.
    assert key_hash(b"gateway-1") == 0x65B434C407EA1EE1
    assert key_hash(b"") != NO_KEY


def test_hashes_are_held_for_a_bounded_number_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "KEYS_MAX", 3)
    hashes = KeyHashes()

    found = [hashes[key] for key in (b"a", b"b", None, b"c", b"a")]

    assert found == [key_hash(b"a"), key_hash(b"b"), NO_KEY, key_hash(b"c"), key_hash(b"a")]
    assert len(hashes) <= 3
