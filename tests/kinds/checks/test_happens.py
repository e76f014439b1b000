"""Checks of what occurred: happens, input_complete."""

from dataclasses import replace

import pytest

from streambed.kinds.checks import Happens, InputComplete
from streambed.record import codec
from streambed.record.events import PartitionState
from tests.support.histories import acked, batch, event, heal, history_of, inject, sent, witnessed
from tests.support.pipelines import PIPELINE, declared


def change(at, was="broker1"):
    place = {"component": "kafka", "topic": "lines", "partition": 0}
    return event(at, "leader_changed", **place, was=was, now="broker2")


def happens(*lines, **keys):
    return Happens(**keys).judge(history_of(*lines, components=PIPELINE))


def test_a_leader_change_under_load_happens():
    verdict = happens(change(5), event(100, "phase", phase="heal"), what="leader change")

    assert verdict.holds
    assert verdict.says == "leader change: 1 time during load, at 0:05"


def test_what_did_not_happen_is_unknown_and_never_fails():
    assert happens(what="leader change").answer == "unknown"
    late = happens(change(150), event(100, "phase", phase="heal"), what="leader change")
    assert late.answer == "unknown"
    assert late.says == "leader change: 0 times during load, wanted 1; 1 time at other times"


def test_the_first_look_at_a_cluster_is_no_change():
    assert happens(change(5, was=""), what="leader change").answer == "unknown"


def test_something_happens_while_a_record_is_in_flight_or_not():
    record = sent("lines", "a=1", due=4, acked_at=6)

    assert happens(record, change(5), what="leader change", during="in flight").holds
    assert happens(record, change(7), what="leader change", during="in flight").answer == "unknown"


def test_something_happens_during_a_kind_of_fault():
    fault = [inject(3, "kill"), heal(6, "kill")]

    assert happens(*fault, change(5), what="leader change", during="kill").holds
    assert happens(*fault, change(7), what="leader change", during="faults").answer == "unknown"


def test_enough_times_and_of_one_topic():
    lines = [change(5), change(6)]

    assert happens(*lines, what="leader change", of="lines", times=2).holds
    assert happens(*lines, what="leader change", of="shouted").answer == "unknown"


def test_a_restart_is_a_later_life_of_a_process():
    start = event(5, "process_started", component="shout", incarnation=2)

    assert happens(start, what="restart", of="shout").holds


@pytest.mark.parametrize(
    ("keys", "key", "says"),
    [
        ({"what": "batch"}, "what", "a batch needs a job: declare one"),
        (
            {"what": "restart", "during": "transaction"},
            "during",
            "'transaction' needs a producer with `transaction`: declare one",
        ),
    ],
)
def test_what_nobody_records_is_refused(keys, key, says):
    components = declared({name: PIPELINE[name] for name in ("kafka", "reader")})

    (problem,) = Happens(**keys).problems(components)

    assert (problem.key, problem.says) == (key, says)


def test_a_situation_that_is_no_fault_of_the_experiment_is_refused():
    (problem,) = Happens(what="leader change", during="kil").fault_problems(["kill"])

    assert "Did you mean 'kill'?" in problem.says


LOG = witnessed("lines", "a=1", "a=2", "a=3", "a=5")


def complete(*batches):
    history = history_of(LOG, *batches, components=PIPELINE)
    return InputComplete(of="shout").judge(history)


def read(rows, *, number=0, **offsets):
    return replace(batch("shout", 1 + number, 2 + number, **offsets), rows=rows, batch=number)


def test_a_batch_that_read_every_visible_record_of_its_range_is_complete():
    verdict = complete(read(4, lines=(1, 6)))  # Offset 4 is a hole.

    assert verdict.holds
    assert verdict.says == "4 records in 1 batch, all of them read"


def test_a_batch_that_read_less_than_its_range_fails():
    verdict = complete(read(2, lines=(1, 4)), read(1, number=1, lines=(4, 6)))

    assert verdict.fails
    assert verdict.says == "1 batch of shout read less than its range: query 0 read 2 of 3"


def test_a_job_that_scans_its_input_twice_is_complete():
    assert complete(read(8, lines=(1, 6))).holds


def test_more_rows_than_records_but_no_multiple_is_unknown():
    assert complete(read(5, lines=(1, 6))).answer == "unknown"


def test_a_batch_that_was_not_reported_leaves_it_open():
    batches = [read(1, lines=(1, 2)), read(2, number=2, lines=(3, 6))]

    assert complete(*batches).answer == "unknown"


def test_no_batches_or_no_read_back_are_unknown():
    assert complete().answer == "unknown"
    history = history_of(read(4, lines=(1, 6)), components=PIPELINE)
    assert InputComplete(of="shout").judge(history).answer == "unknown"


def test_only_a_job_with_declared_topics_can_be_judged():
    (problem,) = InputComplete(of="reader").problems(declared(PIPELINE))

    assert problem.says.startswith("no job is called 'reader'")


def deleted(*batches, **changes):
    """Records 1 to 3 were deleted before the read-back, which found 5."""
    state = PartitionState(
        topic="lines", partition=0, leader="broker", replicas=(), in_sync=(), start=4
    )
    end = event(195, "cluster_state", component="kafka", partitions=[codec.fields_of(state)])
    acks = [acked("lines", f"a={number}") for number in (1, 2, 3, 5)]
    poet = {"kind": "producer", "node": "home", "writes": "lines", **changes}
    lines = [*acks, witnessed("lines", "a=5"), end, *batches]
    history = history_of(*lines, components={**PIPELINE, "a": poet})
    return InputComplete(of="shout").judge(history)


def test_records_that_were_deleted_before_a_batch_read_them_are_lacking():
    verdict = deleted(read(1, lines=(1, 6)))

    assert verdict.fails
    assert "query 0 read 1 of 4" in verdict.says


def test_records_that_were_deleted_after_a_batch_read_them_are_not_lacking():
    assert deleted(read(4, lines=(1, 6))).holds


def test_records_that_were_deleted_and_that_nobody_noted_leave_it_unknown():
    assert deleted(read(1, lines=(1, 6)), ledger=False).answer == "unknown"
