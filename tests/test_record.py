import subprocess

import pyarrow as pa

from streambed.record import now_ns, wait_for_an_end, wait_until
from streambed.record.event_log import EventLog, read_events
from streambed.record.events import Phase
from streambed.record.ledger.schemas import SAMPLES
from streambed.record.tables import Table, column, read_table


def test_a_table_gives_back_what_was_appended(tmp_path):
    with Table(tmp_path / "a.arrow", SAMPLES) as table:
        table.append(1, "lag_records", "reader", 2.0)

    assert read_table(tmp_path / "a.arrow", SAMPLES).to_pylist() == [
        {"time": 1, "metric": "lag_records", "of": "reader", "value": 2.0}
    ]


def test_rows_that_say_the_same_are_kept_as_others_are(tmp_path):
    rows = [(1, "m", None, 1.0), (2, "m", None, 2.0)]
    with Table(tmp_path / "a.arrow", SAMPLES) as table:
        table.extend(rows)

    assert [
        tuple(row.values()) for row in read_table(tmp_path / "a.arrow", SAMPLES).to_pylist()
    ] == rows


def test_columns_appended_at_once_are_rows_like_others_and_come_before_what_waits(tmp_path):
    with Table(tmp_path / "a.arrow", SAMPLES) as table:
        table.append(1, "lag_records", "reader", 2.0)
        table.append_columns([3, 3], column(["m", "m"]), column(["a", "b"]), [4.0, 5])

    rows = read_table(tmp_path / "a.arrow", SAMPLES).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (3, "m", "a", 4.0),
        (3, "m", "b", 5.0),
        (1, "lag_records", "reader", 2.0),
    ]


def test_a_table_cut_off_in_the_middle_of_a_batch_gives_its_whole_batches(tmp_path):
    path = tmp_path / "a.arrow"
    table = Table(path, SAMPLES)
    table.append(1, "m", "a", 1.0)
    table.flush()
    whole = path.stat().st_size
    table.append(2, "m", "a", 2.0)
    table.flush()
    size_now = path.stat().st_size
    table.close()

    for size in (whole, whole + 1, whole + 50, size_now - 1):
        (tmp_path / "cut.arrow").write_bytes(path.read_bytes()[:size])
        assert read_table(tmp_path / "cut.arrow", SAMPLES).column("time").to_pylist() == [1], size


def test_an_empty_file_is_an_empty_table(tmp_path):
    (tmp_path / "a.arrow").touch()

    assert read_table(tmp_path / "a.arrow", pa.schema(SAMPLES)).num_rows == 0


def test_events_are_kept_line_by_line_and_half_a_line_is_left_out(tmp_path):
    path = tmp_path / "history" / "events.jsonl"
    path.parent.mkdir()
    events = EventLog(path)
    events.record(Phase(phase="load"))
    events.close()
    with path.open("a") as file:
        file.write('{"time": 5, "ev')

    (event,) = read_events(tmp_path)

    assert event == Phase(time=event.time, phase="load")
    assert 0 < event.time <= now_ns()


def test_waiting_ends_at_its_limit():
    assert wait_until(lambda: False, limit_s=0.01, step_s=0.001) is False
    assert wait_until(lambda: True, limit_s=0) is True


def test_the_end_of_a_process_is_noticed_at_once_and_no_end_at_the_limit():
    with subprocess.Popen(["sleep", "0.05"]) as short, subprocess.Popen(["sleep", "60"]) as long:
        wait_for_an_end([short.pid, long.pid], limit_s=30)
        ended = short.poll()
        began_ns = now_ns()
        wait_for_an_end([long.pid], limit_s=0.0105)
        waited_ns = now_ns() - began_ns
        long.kill()

    assert ended == 0 and waited_ns >= 10_500_000


def test_a_process_that_is_gone_is_not_waited_for():
    with subprocess.Popen(["true"]) as gone:
        gone.wait()

    wait_for_an_end([gone.pid], limit_s=30)
