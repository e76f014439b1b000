import pytest
from pydantic import ValidationError

from streambed.kinds.checks import AtLeastOnce, AtMostOnce, ExactlyOnce
from streambed.kinds.checks.check import rows_of_record
from streambed.kinds.evidence.outputs.identity import Identity
from streambed.record import codec
from streambed.record.events import PartitionState
from tests.support.histories import (
    acked,
    batch,
    behind,
    event,
    history_of,
    kept,
    seen,
    stored,
    undrained,
    witnessed,
)
from tests.support.pipelines import PIPELINE, declared

TABLE = "select * from words"
PLACE = ["topic", "partition", "offset"]
THREE = [acked("lines", f"a={number}") for number in (1, 2, 3)]
LOG = [*THREE, witnessed("lines", "a=1", "a=2", "a=3")]


def judged(kind, *lines, to="archive", **keys):
    keys |= {"table": "words"} if to == "archive" and "query" not in keys else {}
    check = kind(topic="lines", to=to, **keys)
    assert check.problems(declared(PIPELINE)) == []
    return check.judge(history_of(*LOG, *lines, components=PIPELINE))


def rows(*offsets):
    return stored("archive", TABLE, PLACE, *(("lines", 0, offset) for offset in offsets))


def test_a_store_that_has_each_record_once_holds_all_three():
    for kind in (AtLeastOnce, AtMostOnce, ExactlyOnce):
        assert judged(kind, rows(3, 1, 2)).holds


def test_a_missing_record_fails_at_least_once_and_exactly_once():
    assert judged(AtLeastOnce, rows(1, 3)).fails
    assert judged(AtMostOnce, rows(1, 3)).holds
    verdict = judged(ExactlyOnce, rows(1, 3))
    assert verdict.fails
    assert verdict.says == ("1 of 3 records of lines is not in archive: a=2 (by source offset)")


def test_a_doubled_record_fails_at_most_once_and_exactly_once():
    assert judged(AtLeastOnce, rows(1, 2, 2, 3)).holds
    assert judged(ExactlyOnce, rows(1, 2, 2, 3)).fails
    verdict = judged(AtMostOnce, rows(1, 2, 2, 2, 3))
    assert verdict.fails
    assert verdict.evidence["doubled_records"] == [
        {"producer": "a", "sequence": 2, "partition": 0, "offset": 2}
    ]


def test_a_row_of_a_record_that_is_not_in_the_log_fails_exactly_once():
    verdict = judged(ExactlyOnce, rows(1, 2, 3, 9))

    assert verdict.fails
    assert "1 output of archive names a record that lines does not have" in verdict.says


def test_a_row_that_names_no_record_leaves_it_open():
    row = stored("archive", TABLE, PLACE, *[("lines", 0, n) for n in (1, 2, 3)], ("lines", 0, None))

    assert judged(AtLeastOnce, row).holds
    assert judged(ExactlyOnce, row).answer == "unknown"


def test_rows_of_other_topics_do_not_count():
    row = stored("archive", TABLE, PLACE, *[("lines", 0, n) for n in (1, 2, 3)], ("other", 0, 1))

    assert judged(ExactlyOnce, row).holds


def test_a_store_that_was_not_read_is_unknown():
    verdict = judged(ExactlyOnce)

    assert verdict.answer == "unknown"
    assert "it was not queried after the drain" in verdict.says


def test_identity_columns_that_are_not_there_are_unknown_and_named():
    verdict = judged(ExactlyOnce, stored("archive", TABLE, ["word"], ("to",)))

    assert verdict.answer == "unknown"
    assert verdict.says == (
        "the rows of archive have no column topic, partition, offset; they have word"
    )


def test_a_column_with_producer_and_sequence_names_the_record():
    row = stored("archive", "select id from words", ["id"], ("a/1",), ("a/2",), ("a/2",), ("a/3",))

    verdict = judged(ExactlyOnce, row, query="select id from words", identity=Identity(record="id"))

    assert verdict.fails
    assert verdict.evidence["doubled"] == 1


def test_outputs_of_a_topic_are_known_by_the_header_that_the_job_passed_on():
    outputs = witnessed("shouted", "a=1", "a=2", "a=3")

    assert judged(ExactlyOnce, outputs, to="shouted").holds
    assert judged(ExactlyOnce, outputs[:2], to="shouted").fails


def test_outputs_of_a_topic_are_known_by_json_paths_of_their_values():
    outputs = [
        *witnessed("shouted", "x=1", "x=2", "x=3"),
        *(kept("shouted", f'{{"p": 0, "o": {number}}}', offset=number) for number in (1, 2, 2)),
    ]

    verdict = judged(
        ExactlyOnce, outputs, to="shouted", identity=Identity(partition="$.p", offset="$.o")
    )

    assert (verdict.evidence["missing"], verdict.evidence["doubled"]) == (1, 1)


def test_a_record_that_the_log_has_twice_may_arrive_twice():
    twice = seen("lines", "a=2", by="witness", offset=4, at=1000)
    outputs = [*witnessed("shouted", "a=1", "a=2", "a=3")]
    outputs.append(seen("shouted", "a=2", by="witness", offset=4, at=1000))

    assert judged(ExactlyOnce, twice, outputs, to="shouted").holds


def test_a_group_is_judged_by_its_ledger():
    saw = [seen("lines", name) for name in ("a=1", "a=2", "a=3")]

    assert judged(ExactlyOnce, *saw, to="reader").holds
    again = judged(ExactlyOnce, *saw, seen("lines", "a=2", at=9), to="reader")
    assert again.says.startswith("1 record of lines reached reader more than once, up to 2 times")


def test_a_group_that_saw_another_record_at_a_place_missed_the_one_there():
    saw = [seen("lines", "a=1"), seen("lines", "b=2"), seen("lines", "a=3")]

    assert judged(ExactlyOnce, *saw, to="reader").evidence["missing"] == 1


def test_what_a_reader_had_yet_to_read_is_unknown():
    saw = [seen("lines", "a=1"), seen("lines", "a=2"), undrained(behind("reader"))]

    assert judged(AtLeastOnce, *saw, to="reader").answer == "unknown"
    assert judged(AtMostOnce, *saw, to="reader").holds


def test_a_gap_below_what_a_reader_has_read_is_a_loss_although_it_is_behind():
    saw = [seen("lines", "a=1"), seen("lines", "a=3"), undrained(behind("reader"))]

    assert judged(AtLeastOnce, *saw, to="reader").evidence["missing_records"][0]["sequence"] == 2


def test_a_job_is_judged_by_its_batches_and_the_verdict_says_so():
    verdict = judged(AtLeastOnce, batch("shout", 1, 2, lines=(1, 4)), to="shout")

    assert verdict.holds
    assert "batch ranges only" in verdict.says
    assert judged(AtLeastOnce, batch("shout", 1, 2, lines=(1, 3)), to="shout").fails


def test_batches_of_a_restarted_job_do_not_tell_exactly_once():
    starts = [event(at, "process_started", component="shout") for at in (0, 2)]

    verdict = judged(ExactlyOnce, *starts, batch("shout", 1, 2, lines=(1, 4)), to="shout")

    assert verdict.answer == "unknown"
    assert "shout was restarted" in verdict.says


def test_without_a_read_back_it_is_unknown():
    history = history_of(*THREE, rows(1, 2, 3), components=PIPELINE)

    verdict = ExactlyOnce(topic="lines", to="archive", table="words").judge(history)

    assert verdict.answer == "unknown"


def test_a_run_that_broke_is_unknown():
    history = history_of(*LOG, rows(1, 2, 3), components=PIPELINE, broken=True)

    assert (
        ExactlyOnce(topic="lines", to="archive", table="words").judge(history).answer == "unknown"
    )


@pytest.mark.parametrize(
    ("keys", "key", "says"),
    [
        ({"topic": "line", "to": "reader"}, "topic", "no topic 'line'. Did you mean 'lines'?"),
        (
            {"topic": "lines", "to": "archiv", "table": "words"},
            "to",
            "'archiv' is no store, no topic and no reader of lines. Did you mean 'archive'?",
        ),
        ({"topic": "lines", "to": "archive"}, "table", "'archive' is a store: give the table, or"),
        ({"topic": "lines", "to": "reader", "table": "words"}, "table", "'reader' takes no table"),
        (
            {"topic": "lines", "to": "archive", "table": "words", "by": "shuot"},
            "by",
            "'shuot' does not read lines",
        ),
    ],
)
def test_a_wrong_target_is_refused_with_its_place(keys, key, says):
    (problem,) = ExactlyOnce(**keys).problems(declared(PIPELINE))

    assert problem.key == key
    assert problem.says.startswith(says)


def test_identity_columns_that_a_sink_does_not_write_are_refused():
    sink = {"kind": "sink", "node": "home", "reads": ["lines"], "store": "archive", "table": "all"}
    components = declared({**PIPELINE, "keeper": sink})
    check = ExactlyOnce(
        topic="lines",
        to="archive",
        table="all",
        by="keeper",
        identity=Identity(partition="part", offset="offset"),
    )

    (problem,) = check.problems(components)

    assert problem.says == "'all' has no column 'part'. Did you mean 'partition'?"


def test_half_an_identity_is_refused():
    with pytest.raises(ValidationError, match="give partition and offset, or record"):
        Identity(partition="p")


def test_a_store_is_queried_after_the_drain_and_both_logs_are_read_back():
    components = declared(PIPELINE)
    to_store = ExactlyOnce(topic="lines", to="archive", table="words")
    to_topic = ExactlyOnce(topic="lines", to="shouted")

    assert [query.text for query in to_store.store_queries(components)] == [TABLE]
    assert to_topic.witnessed(components) == ("lines", "shouted")
    assert to_topic.store_queries(components) == ()


@pytest.mark.parametrize("kind", [AtLeastOnce, AtMostOnce, ExactlyOnce])
def test_a_reader_without_a_ledger_leaves_it_unknown(kind):
    silent = PIPELINE | {"reader": {**PIPELINE["reader"], "ledger": False}}

    verdict = kind(topic="lines", to="reader").judge(history_of(*LOG, components=silent))

    assert (verdict.answer, verdict.says) == ("unknown", "reader kept no ledger of lines")


POET = {"kind": "producer", "node": "home", "writes": "lines"}


def log_start(offset):
    """The log of lines begins here after the drain."""
    state = PartitionState(
        topic="lines", partition=0, leader="broker", replicas=(), in_sync=(), start=offset
    )
    return event(195, "cluster_state", component="kafka", partitions=[codec.fields_of(state)])


def after_deletion(kind, *lines, to="archive", **components):
    """Records 1 and 2 were deleted before the read-back, which found 3."""
    keys = {"table": "words"} if to == "archive" else {}
    logged = [*THREE, witnessed("lines", "a=3"), log_start(3)]
    history = history_of(*logged, *lines, components=PIPELINE | {"a": POET} | components)
    return kind(topic="lines", to=to, **keys).judge(history)


def test_a_record_that_was_deleted_before_a_reader_saw_it_is_missing():
    lines = [seen("lines", "a=1"), seen("lines", "a=3")]

    verdict = after_deletion(AtLeastOnce, *lines, to="reader")

    assert verdict.fails
    assert "1 of 3 records of lines is not in reader: a=2" in verdict.says


def test_a_record_that_was_deleted_after_it_was_stored_is_no_strange_output():
    assert after_deletion(ExactlyOnce, rows(1, 2, 3)).holds


def test_deleted_records_that_nobody_noted_leave_it_unknown():
    verdict = after_deletion(AtLeastOnce, rows(1, 2, 3), a={**POET, "ledger": False})

    assert verdict.answer == "unknown"


def test_a_row_without_a_topic_names_no_record():
    row = stored("archive", TABLE, PLACE, *[("lines", 0, n) for n in (1, 3)], (None, 0, 2))

    verdict = judged(AtLeastOnce, row)

    assert (verdict.answer, verdict.evidence["unnamed"]) == ("unknown", 1)


def test_a_check_finds_the_rows_of_one_record():
    check = ExactlyOnce(topic="lines", to="archive", table="words")
    history = history_of(*LOG, rows(1, 2, 2), components=PIPELINE)

    found = [rows_of_record(check, history, producer="a", sequence=number) for number in (1, 2, 3)]

    assert [one.rows for one in found] == [1, 2, 0]
    assert rows_of_record(check, history, producer="b", sequence=1) is None


def test_a_reader_without_a_ledger_is_refused():
    silent = PIPELINE | {"reader": {**PIPELINE["reader"], "ledger": False}}

    (problem,) = ExactlyOnce(topic="lines", to="reader").problems(declared(silent))

    assert (problem.key, problem.says) == (
        "to",
        "reader keeps no ledger: leave out `ledger: false`",
    )
