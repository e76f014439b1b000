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
