"""Kafka's own files: batches, markers, commits, transactions and leaders, from bytes."""

from __future__ import annotations

import struct
from pathlib import Path

from streambed.kinds.components.kafka.log_files.internal_topics import (
    group_commits,
    leaderships,
    transaction_states,
)
from streambed.kinds.components.kafka.log_files.record_batches import HEADER, batches_in
from streambed.kinds.components.kafka.log_files.tables import tables_of

TRANSACTIONAL, CONTROL = 0x10, 0x20
TOPIC_ID = bytes(range(16))


def unsigned(number: int) -> bytes:
    content = b""
    while number >= 0x80:
        content += bytes([number & 0x7F | 0x80])
        number >>= 7
    return content + bytes([number])


def signed(number: int) -> bytes:
    return unsigned(number * 2 if number >= 0 else -number * 2 - 1)


def a_record(key: bytes, value: bytes, *, number: int = 0) -> bytes:
    sized_key, sized_value = signed(len(key)) + key, signed(len(value)) + value
    content = b"\0" + signed(0) + signed(number) + sized_key + sized_value + signed(0)
    return signed(len(content)) + content


def a_batch(
    first: int,
    *records: bytes,
    epoch: int = 0,
    attributes: int = 0,
    checksum: int = 7,
    count: int = 0,
) -> bytes:
    body = b"".join(records)
    count = count or len(records)
    length = HEADER.size - 12 + len(body)
    return (
        HEADER.pack(
            first, length, epoch, 2, checksum, attributes, count - 1, 1000, 1005, 9, 1, 0, count
        )
        + body
    )


def write(log: Path, partition: str, *batches: bytes) -> None:
    (log / partition).mkdir(parents=True, exist_ok=True)
    (log / partition / f"{0:020}.log").write_bytes(b"".join(batches))


def text(word: str) -> bytes:
    return struct.pack(">h", len(word)) + word.encode()


def test_batches_have_their_offsets_epochs_and_checksums(tmp_path: Path) -> None:
    write(
        tmp_path,
        "lines-0",
        a_batch(0, count=3, epoch=4),
        a_batch(3, count=2, epoch=5, checksum=8),
    )

    first, second = batches_in(tmp_path / "lines-0")

    assert (first.first, first.last, first.epoch, first.checksum) == (0, 2, 4, 7)
    assert (second.first, second.last, second.epoch, second.checksum) == (3, 4, 5, 8)


def test_a_batch_that_is_not_whole_ends_the_segment(tmp_path: Path) -> None:
    write(tmp_path, "lines-0", a_batch(0, count=3), a_batch(3, a_record(b"", b"value"))[:-2])

    assert [batch.last for batch in batches_in(tmp_path / "lines-0")] == [2]


def test_zeros_after_the_last_batch_are_space_that_kafka_allocated(tmp_path: Path) -> None:
    write(tmp_path, "lines-0", a_batch(0, count=1), bytes(4096))

    assert [batch.last for batch in batches_in(tmp_path / "lines-0")] == [0]


def test_a_marker_tells_whether_a_transaction_was_committed_or_aborted(tmp_path: Path) -> None:
    control = TRANSACTIONAL | CONTROL
    markers = [a_record(struct.pack(">hh", 0, kind), bytes(6)) for kind in (1, 0)]
    write(
        tmp_path,
        "lines-0",
        a_batch(0, count=2, attributes=TRANSACTIONAL),
        a_batch(2, markers[0], attributes=control),
        a_batch(3, markers[1], attributes=control),
    )

    table = tables_of({"b1": tmp_path}, {1: "b1"}, {"lines": 1})["log_batches"]

    assert table["marker"].to_pylist() == [None, "commit", "abort"]
    assert table["transactional"].to_pylist() == [True, True, True]


def test_commits_of_groups_are_read_and_other_records_left_out(tmp_path: Path) -> None:
    key = struct.pack(">h", 1) + text("readers") + text("lines") + struct.pack(">i", 2)
    value = struct.pack(">hq", 3, 812)
    membership = struct.pack(">h", 2) + text("readers")
    write(
        tmp_path,
        "__consumer_offsets-3",
        a_batch(0, a_record(key, value), a_record(membership, b"members", number=1)),
    )

    (commit,) = group_commits(tmp_path)

    assert (commit.group, commit.topic, commit.partition, commit.offset) == (
        "readers",
        "lines",
        2,
        812,
    )


def test_states_of_transactions_have_names(tmp_path: Path) -> None:
    key = struct.pack(">h", 0) + text("poet")
    value = struct.pack(">hqhib", 1, 42, 3, 60_000, 5)
    write(tmp_path, "__transaction_state-0", a_batch(0, a_record(key, value)))

    (state,) = transaction_states(tmp_path)

    assert (state.transactional_id, state.producer_id, state.producer_epoch, state.state) == (
        "poet",
        42,
        3,
        "aborted",
    )


def metadata(kind: int, *fields: bytes) -> bytes:
    return a_record(b"", unsigned(1) + unsigned(kind) + unsigned(0) + b"".join(fields))


def compact(*numbers: int) -> bytes:
    return unsigned(len(numbers) + 1) + b"".join(struct.pack(">i", number) for number in numbers)


def tagged(**fields: bytes) -> bytes:
    tags = {"in_sync": 0, "leader": 1}
    entries = [unsigned(tags[name]) + unsigned(len(c)) + c for name, c in fields.items()]
    return unsigned(len(entries)) + b"".join(entries)


def test_a_change_that_names_a_leader_raises_the_epoch(tmp_path: Path) -> None:
    topic = metadata(2, unsigned(6), b"lines", TOPIC_ID, unsigned(0))
    partition = struct.pack(">i", 0) + TOPIC_ID
    made = metadata(
        3,
        partition,
        compact(1, 2),
        compact(1, 2),
        compact(),
        compact(),
        struct.pack(">ii", 1, 0),
    )
    shrunk = metadata(5, partition, tagged(in_sync=compact(1)))
    moved = metadata(5, partition, tagged(leader=struct.pack(">i", 2)))
    batches = [a_batch(at, one) for at, one in enumerate((topic, made, shrunk, moved))]
    write(tmp_path, "__cluster_metadata-0", *batches)

    states = [(state.leader, state.epoch, state.in_sync) for state in leaderships(tmp_path)]

    assert states == [(1, 0, (1, 2)), (1, 0, (1,)), (2, 1, (1,))]


def test_a_cluster_without_files_has_no_tables(tmp_path: Path) -> None:
    assert tables_of({"b1": tmp_path / "nothing"}, {1: "b1"}, {"lines": 1}) == {}
