"""Ledgers that programs of the user hand in."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import streambed
from streambed.errors import FormatError
from streambed.kinds.checks.latency import Latency
from streambed.kinds.checks.no_loss import NoLoss
from streambed.record import handed_in, history
from streambed.record.events import TableDamaged
from streambed.record.handed_in import Span
from streambed.record.history import History
from streambed.record.ledger.schemas import SEEN, SENT
from streambed.record.status import begin, conclude
from streambed.record.tables import key_hash
from tests.support.histories import Seen, Sent, acked, event, history_of, seen, sent, witnessed

START, END = 1_000, 9_000
SPAN = Span(start=START, end=END)
ROW: dict[str, list[Any]] = {
    "producer": ["homes", "homes"],
    "sequence": [0, 1],
    "topic": ["lines", "lines"],
    "due": [2_000, 3_000],
}


def write(folder: Path, columns: dict[str, Any], name: str = "sent-homes.parquet") -> Path:
    folder.mkdir(exist_ok=True)
    pl.DataFrame(columns).write_parquet(folder / name)
    return folder / name


def test_a_ledger_with_the_needed_columns_alone_is_read(tmp_path: Path) -> None:
    table = handed_in.read(write(tmp_path, ROW), "sent", SPAN)

    assert table.schema.equals(SENT)
    first = table.to_pylist()[0]
    assert first | {"partition": -1, "offset": -1, "acked": None, "key": None} == first


def test_smaller_numbers_and_keys_themselves_are_taken(tmp_path: Path) -> None:
    columns = {**ROW, "partition": pl.Series([3, 4], dtype=pl.UInt8), "key": ["k", None]}

    table = handed_in.read(write(tmp_path, columns), "sent", SPAN)

    assert table["partition"].to_pylist() == [3, 4]
    assert table["key"].to_pylist() == [key_hash(b"k"), None]


def test_a_consumer_without_a_group_is_one_by_itself(tmp_path: Path) -> None:
    columns = {"consumer": ["store"], "topic": ["lines"], "seen": [5_000]}

    table = handed_in.read(write(tmp_path, columns, "seen.parquet"), "seen", SPAN)

    assert table.schema.equals(SEEN)
    assert table["group"].to_pylist() == ["store"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"aked": [1, 2]}, "has no column 'aked'. Did you mean 'acked'?"),
        ({"due": ["2 s", "3 s"]}, "the column 'due' holds"),
        ({"due": [2_000.5, 3_000.5]}, "the column 'due' holds double"),
        ({"due": [2_000, None]}, "the column 'due' must not be null: 1 rows are"),
        ({"sequence": [0, 0]}, "'producer' and 'sequence' repeat in 1 rows"),
        ({"partition": [1 << 40, 0]}, "the column 'partition' does not fit"),
        ({"acked": [1_700_000_000_000_000_000, None]}, "the column 'acked' has times outside"),
        ({"sent": [999, 3_000]}, "the column 'sent' has times outside the run, such as 999"),
    ],
)
def test_a_ledger_that_is_not_as_it_should_be_is_refused_by_file_and_column(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = write(tmp_path, {**ROW, **change})

    with pytest.raises(FormatError) as refusal:
        handed_in.read(path, "sent", SPAN)

    assert reason in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, {name: column for name, column in ROW.items() if name != "topic"})

    with pytest.raises(FormatError, match="the column 'topic' is missing"):
        handed_in.read(path, "sent", SPAN)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "events.jsonl").write_text(
        f'{{"time":{START},"event":"phase","phase":"load"}}\n'
        f'{{"time":{END},"event":"phase","phase":"stop"}}\n'
    )
    begin(tmp_path, os.getpid())
    return tmp_path


def test_what_was_handed_in_is_part_of_the_ledger(run_folder: Path) -> None:
    write(run_folder / "handed_in", ROW)
    conclude(run_folder, "finished", "")

    assert history.keep_as_parquet(run_folder) == []
    assert history.read(run_folder).ledger.sent["sequence"].to_list() == [0, 1]


def test_a_half_written_file_is_an_event_and_an_error(run_folder: Path) -> None:
    path = write(run_folder / "handed_in", ROW)
    path.write_bytes(path.read_bytes()[:200])
    assert history.read(run_folder).ledger.sent.is_empty(), "it may be written just now"
    conclude(run_folder, "finished", "")

    (damaged,) = history.keep_as_parquet(run_folder)

    assert isinstance(damaged, TableDamaged)
    assert damaged.file == "handed_in/sent-homes.parquet"
    with pytest.raises(FormatError, match=r"sent-homes\.parquet.*half written"):
        history.read(run_folder)


def test_a_python_program_hands_in_by_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("HAND_IN", str(tmp_path)), ("COMPONENT", "homes"), ("PROCESS", "homes")):
        monkeypatch.setenv(f"STREAMBED_{name}", value)
    monkeypatch.setenv("STREAMBED_INCARNATION", "1")
    columns = {"sequence": [0], "topic": ["lines"], "due": [2_000], "key": [b"k"]}

    path = streambed.hand_in("sent", columns)

    assert path == tmp_path / "sent-homes-1.parquet"
    (row,) = handed_in.read(path, "sent", SPAN).to_pylist()
    assert (row["producer"], row["key"]) == ("homes", key_hash(b"k"))
    with pytest.raises(FormatError, match="the column 'topic' is missing"):
        streambed.hand_in("sent", {"sequence": [0], "due": [2_000]})


HOMES = {"kind": "command", "node": "edge", "argv": ["homes"], "writes": ["lines"]}
STORE = {"kind": "command", "node": "edge", "argv": ["store"], "reads": ["lines"]}


def run_of(*lines: Any, ended_at: float = 150.0, status: int = 0) -> History:
    ended = event(ended_at, "process_ended", component="store", node="edge", status=status)
    stop = event(195, "phase", phase="stop")
    return history_of(*lines, ended, stop, components={"homes": HOMES, "store": STORE})


def unplaced(row: Sent) -> Sent:
    """A record whose program does not know its position."""
    producer, sequence, topic, _, _, *rest = row.row
    return Sent((producer, sequence, topic, -1, -1, *rest))


ACKED = [unplaced(acked("lines", "homes=1")), unplaced(acked("lines", "homes=2"))]


def stored(name: str) -> Seen:
    return seen("lines", name, by="store", offset=-1)


def test_checks_judge_what_programs_handed_in() -> None:
    whole = run_of(*ACKED, stored("homes=1"), stored("homes=2"))

    assert NoLoss(topic="lines").judge(whole).holds
    latency = Latency(of="store", max="2s").judge(whole)
    assert latency.holds
    assert latency.evidence["max_ns"] == 1_000_000_000
    assert Latency(of="store", max="500ms").judge(whole).fails


def test_a_record_that_a_program_never_saw_is_lost_if_it_ended_in_order() -> None:
    verdict = NoLoss(topic="lines").judge(run_of(*ACKED, stored("homes=1")))

    assert verdict.fails
    assert [row["sequence"] for row in verdict.evidence["lost"]] == [2]
    assert Latency(of="store", max="2s").judge(run_of(*ACKED, stored("homes=1"))).fails


@pytest.mark.parametrize("end", [{"ended_at": 197.0}, {"status": 1}, {"status": -9}])
def test_a_program_that_was_stopped_or_failed_may_have_missed_the_last_records(
    end: dict[str, Any],
) -> None:
    half = run_of(*ACKED, stored("homes=1"), **end)

    assert NoLoss(topic="lines").judge(half).answer == "unknown"
    assert Latency(of="store", max="2s").judge(half).answer == "unknown"


def test_a_program_that_handed_in_nothing_makes_the_answer_unknown() -> None:
    nothing_seen = NoLoss(topic="lines").judge(run_of(*ACKED))
    nothing_sent = NoLoss(topic="lines").judge(run_of(stored("homes=1")))

    assert (nothing_seen.answer, nothing_seen.says) == ("unknown", "store kept no ledger of lines")
    assert (nothing_sent.answer, nothing_sent.says) == ("unknown", "homes kept no ledger of lines")


def test_a_program_that_was_killed_and_restarted_has_no_whole_ledger() -> None:
    killed = event(50, "process_ended", component="store", node="edge", status=-9)
    failed = event(50, "process_ended", component="store", node="edge", status=1)
    gone = event(50, "process_ended", component="homes", node="edge", status=-9)
    for end in (killed, failed, gone):
        # The second process saw only the second record.
        verdict = NoLoss(topic="lines").judge(
            run_of(*ACKED, end, seen("lines", "homes=2", by="store"))
        )
        assert verdict.answer == "unknown", end


def test_a_sender_that_ends_with_a_failure_may_still_hand_in_its_ledger() -> None:
    not_all = event(50, "process_ended", component="homes", node="edge", status=1)

    assert (
        NoLoss(topic="lines")
        .judge(run_of(*ACKED, not_all, stored("homes=1"), stored("homes=2")))
        .holds
    )


def test_the_witness_does_not_call_records_lost_that_carry_no_identity() -> None:
    read_back = [
        replace(row, row=(*row.row[:5], None, None, *row.row[7:]))
        for row in witnessed("lines", "homes=1")
    ]

    verdict = NoLoss(topic="lines").judge(run_of(*ACKED, stored("homes=1"), read_back))

    assert [row["part"] for row in verdict.evidence["lost"]] == ["either"]


def test_a_record_that_was_not_acked_is_not_judged() -> None:
    unacked = unplaced(sent("lines", "homes=3"))

    assert (
        NoLoss(topic="lines")
        .judge(run_of(*ACKED, unacked, stored("homes=1"), stored("homes=2")))
        .holds
    )


def test_an_empty_ledger_is_a_ledger_of_nothing(tmp_path: Path) -> None:
    table = SENT.empty_table()
    pa.parquet.write_table(table, tmp_path / "sent.parquet")

    assert len(handed_in.read(tmp_path / "sent.parquet", "sent", SPAN)) == 0
