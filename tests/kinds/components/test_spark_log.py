import json

from streambed.kinds.components.spark.event_log import SparkLog, batch_of

LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"
STARTED = {"Event": f"{LISTENER}QueryStartedEvent", "id": "q", "runId": "r", "name": None}
IDLE = {"Event": f"{LISTENER}QueryIdleEvent", "id": "q", "runId": "r"}
PROGRESS = {
    "Event": f"{LISTENER}QueryProgressEvent",
    "progress": {
        "id": "q",
        "runId": "r",
        "name": None,
        "timestamp": "1970-01-01T00:00:01.500Z",
        "batchId": 3,
        "durationMs": {"triggerExecution": 250},
        "sources": [
            {
                "startOffset": {"lines": {"0": 2}},
                "endOffset": {"lines": {"0": 5, "1": 1}},
                "numInputRows": 4,
            }
        ],
        "sink": {"numOutputRows": 2},
    },
}


def log_of(folder, *events, name="app.inprogress", end="\n"):
    lines = [
        json.dumps(event, separators=(",", ":"))
        for event in ({"Event": "SparkListenerLogStart"}, *events)
    ]
    (folder / name).write_text("\n".join(lines) + end)
    return SparkLog("job", folder)


def test_a_job_without_a_query_is_not_ready(tmp_path):
    assert log_of(tmp_path).missing() == "no streaming query has been started yet"


def test_a_query_that_has_not_looked_for_input_is_not_ready(tmp_path):
    assert log_of(tmp_path, STARTED).missing() == "1 of 1 queries have not looked for input yet"


def test_a_query_that_found_nothing_yet_is_ready(tmp_path):
    assert log_of(tmp_path, STARTED, IDLE).missing() == ""


def test_a_query_whose_first_batch_runs_is_ready(tmp_path):
    job = {"Event": "SparkListenerJobStart", "Properties": {"sql.streaming.queryId": "q"}}

    assert log_of(tmp_path, STARTED, job).missing() == ""


def test_a_batch_has_its_times_rows_and_offset_ranges(tmp_path):
    (batch,) = log_of(tmp_path, STARTED, PROGRESS).take_batches()

    assert (batch.component, batch.batch, batch.rows, batch.output_rows) == ("job", 3, 4, 2)
    assert batch.offsets == {"lines": {0: (2, 5), 1: (0, 1)}}


def test_a_batch_has_its_rates_watermark_and_state():
    progress = PROGRESS["progress"] | {
        "eventTime": {"max": "1970-01-01T00:00:09.000Z", "watermark": "1970-01-01T00:00:04.000Z"},
        "stateOperators": [
            {"numRowsTotal": 7, "numRowsDroppedByWatermark": 2},
            {"numRowsTotal": 1, "numRowsDroppedByWatermark": 0},
        ],
        "sources": [
            {"inputRowsPerSecond": 10.0, "processedRowsPerSecond": 40.0},
            {"inputRowsPerSecond": 5.0, "processedRowsPerSecond": 20.0},
        ],
    }

    batch = batch_of(progress, "job", wall_minus_monotonic_ns=0)

    assert (batch.input_per_s, batch.processed_per_s) == (15.0, 60.0)
    assert (batch.event_time_max_ns, batch.watermark_ns) == (9 * 10**9, 4 * 10**9)
    assert (batch.state_rows, batch.late_rows) == (8, 2)


def test_a_query_without_state_and_watermark_reports_none():
    batch = batch_of(PROGRESS["progress"], "job", wall_minus_monotonic_ns=0)

    assert (batch.input_per_s, batch.watermark_ns, batch.state_rows) == (None, None, None)


def test_the_wall_clock_of_spark_becomes_monotonic_time():
    batch = batch_of(PROGRESS["progress"], "job", wall_minus_monotonic_ns=1_000_000_000)

    assert (batch.start, batch.end) == (500_000_000, 750_000_000)


def test_positions_are_the_ends_of_finished_batches(tmp_path):
    assert log_of(tmp_path, PROGRESS).positions() == {"lines": {0: 5, 1: 1}}


def test_half_a_line_is_read_when_it_is_whole(tmp_path):
    log = log_of(tmp_path, PROGRESS, end="")
    assert log.take_batches() == []

    with (tmp_path / "app.inprogress").open("a") as file:
        file.write("\n")

    assert len(log.take_batches()) == 1


def test_a_log_that_spark_renamed_is_not_read_twice(tmp_path):
    log = log_of(tmp_path, PROGRESS)
    assert len(log.take_batches()) == 1

    (tmp_path / "app.inprogress").rename(tmp_path / "app")

    assert log.take_batches() == []


def test_of_several_queries_that_read_one_topic_the_slowest_counts(tmp_path):
    ahead = {
        **PROGRESS["progress"],
        "id": "letters",
        "sources": [{"startOffset": None, "endOffset": {"lines": {"0": 9, "1": 1}}}],
    }

    log = log_of(tmp_path, PROGRESS, {**PROGRESS, "progress": ahead})

    assert log.positions() == {"lines": {0: 5, 1: 1}}


def test_times_of_a_driver_with_a_skewed_clock_are_corrected():
    def an_hour_less(shown_ns: int) -> int:
        return shown_ns - 3600 * 10**9

    right = batch_of(PROGRESS["progress"], "job", 0)
    corrected = batch_of(PROGRESS["progress"], "job", 0, an_hour_less)

    assert right.start - corrected.start == right.end - corrected.end == 3600 * 10**9


def progress_of(query, end):
    source = {"endOffset": {"lines": {"0": end}}, "numInputRows": 1}
    progress = PROGRESS["progress"] | {"id": query, "sources": [source]}
    return PROGRESS | {"progress": progress}


def test_a_query_of_an_earlier_life_counts_until_the_job_has_begun_again_with_another(tmp_path):
    log_of(tmp_path, progress_of("q", 7), name="life-1")
    log = log_of(tmp_path, STARTED, name="life-2")
    assert log.positions() == {"lines": {0: 7}}

    log = log_of(tmp_path, progress_of("another", 3), name="life-3")
    assert log.positions() == {"lines": {0: 3}}


def test_two_queries_of_one_life_count_both(tmp_path):
    log = log_of(tmp_path, progress_of("q", 7), progress_of("another", 3))

    assert log.positions() == {"lines": {0: 3}}
    log = log_of(tmp_path, progress_of("q", 2), progress_of("another", 3))
    assert log.positions() == {"lines": {0: 2}}
