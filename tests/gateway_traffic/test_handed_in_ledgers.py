"""The ledgers of gateways in the form that a test bed takes."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from gateway_traffic import auditing
from gateway_traffic.cli.auditing import write_tops
from gateway_traffic.client.ledger import Ledger, Sending, sent_rows
from gateway_traffic.stores.store import Top

SECOND = 1_000_000_000


def settled(
    ledger: Ledger, gateway: str, date: int, *, due: int, acked: int, status: int = 204
) -> None:
    sending = Sending(gateway, date, b"payload", due * SECOND)
    sending.sent_ns = due * SECOND + 1
    ledger.add(sending, status=status, acked_ns=acked * SECOND)


def sent_ledger() -> pl.DataFrame:
    ledger = Ledger()
    settled(ledger, "g2", 7, due=2, acked=4)
    settled(ledger, "g1", 7, due=1, acked=3)
    settled(ledger, "g1", 7, due=5, acked=6)  # A copy.
    settled(ledger, "g3", 8, due=6, acked=0, status=400)
    return sent_rows(ledger.frame(), producer="homes", topic="traffic-counter")


def test_each_record_has_one_row_however_often_it_was_sent():
    rows = sent_ledger()

    assert rows["sequence"].to_list() == [0, 1, 2]
    assert rows["key"].to_list() == ["g1", "g2", "g3"]
    assert rows["due"].to_list() == [1 * SECOND, 2 * SECOND, 6 * SECOND]
    assert rows["acked"].to_list() == [3 * SECOND, 4 * SECOND, None]
    assert rows["error"].to_list() == [None, None, "status 400"]
    assert rows["producer"].unique().to_list() == ["homes"]


def test_a_record_is_seen_when_the_store_holds_as_many_as_were_due():
    counts = pl.DataFrame({"time_ns": [4 * SECOND, 9 * SECOND], "records": [1, 2]})

    rows = auditing.seen_rows(sent_ledger(), counts, consumer="store")

    assert rows["sequence"].to_list() == [0, 1]
    assert rows["seen"].to_list() == [4 * SECOND, 9 * SECOND]
    assert rows["consumer"].unique().to_list() == ["store"]


def test_records_that_the_watch_never_counted_are_not_seen():
    counts = pl.DataFrame({"time_ns": [4 * SECOND], "records": [1]})

    assert auditing.seen_rows(sent_ledger(), counts, consumer="store").height == 1
    assert auditing.seen_rows(sent_ledger(), counts.clear(), consumer="store").is_empty()


def test_no_record_is_seen_before_it_was_sent():
    counts = pl.DataFrame({"time_ns": [0], "records": [2]})

    rows = auditing.seen_rows(sent_ledger(), counts, consumer="store")

    assert rows["seen"].to_list() == [1 * SECOND + 1, 2 * SECOND + 1]


def test_the_busiest_gateways_are_two_tables(tmp_path: Path):
    write_tops(tmp_path, Top(day=0, sent=(("g1", 2e9), ("g2", 1e9)), received=(("g2", 5e8),)))

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "table-gateways-that-received-most.csv",
        "table-gateways-that-sent-most.csv",
    ]
    sent = (tmp_path / "table-gateways-that-sent-most.csv").read_text()
    assert sent == "gateway,GB\ng1,2.0\ng2,1.0\n"
