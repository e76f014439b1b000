"""Jobs whose n-th output of a key covers the n-th input of that key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from streambed.kinds.checks.latency import Latency
from streambed.kinds.checks.no_loss import NoLoss
from streambed.kinds.components.component import OnOneNode
from streambed.kinds.components.engine import CoveredByKeyCount
from streambed.kinds.declaring import Name, Names, declared
from streambed.kinds.evidence.journeys import journeys
from streambed.record.events import Event
from streambed.record.history import History
from tests.support.histories import (
    Seen,
    Sent,
    acked,
    behind,
    history_of,
    output,
    seen,
    sent,
    undrained,
)

IN, OUT = "trips", "fares"


@declared
class KeyedJob(OnOneNode, CoveredByKeyCount):
    """A job that makes one fare of each trip."""

    kind: Literal["keyed_job"] = "keyed_job"
    name: Name = "job"
    node: str = "worker"
    reads: Names = (IN,)
    writes: Names = (OUT,)

    @property
    def as_engine(self) -> KeyedJob:
        return self


def run_of(*lines: Sent | Seen | Event | list[Seen], **jobs: Any) -> History:
    history = history_of(
        *lines, components={"reader": {"kind": "consumer", "node": "edge", "reads": OUT}}
    )
    job: Any = KeyedJob(**jobs)
    return replace(history, components={**history.components, "job": job})


def fare(offset: int, key: str, *, at: float = 3.0, partition: int = 0, by: str = "reader") -> Seen:
    return output(OUT, offset=offset, key=key, at=at, partition=partition, by=by)


TRIPS = [acked(IN, "a=0", key="k"), acked(IN, "a=1", key="m"), acked(IN, "a=2", key="k")]
LATENCY = Latency(of="job", max="5s")
NO_LOSS = NoLoss(topic=IN, by=("job",))


def test_outputs_are_matched_to_the_inputs_of_their_key_in_the_order_of_the_log() -> None:
    history = run_of(*TRIPS, fare(0, "k", at=1), fare(1, "k", at=3), fare(2, "m", at=4))

    records = journeys(history, "job").sort("offset")

    assert records["seen"].to_list() == [1e9, 4e9, 3e9]
    assert NO_LOSS.judge(history).holds
    latency = LATENCY.judge(history)
    assert latency.holds
    assert latency.evidence["max_ns"] == 3_000_000_000


def test_a_slow_output_breaks_the_limit_of_latency() -> None:
    history = run_of(*TRIPS, fare(0, "k", at=1), fare(1, "k", at=3), fare(2, "m", at=40))

    assert LATENCY.judge(history).fails


def test_an_input_without_its_output_is_lost() -> None:
    history = run_of(*TRIPS, fare(0, "m", at=2), fare(1, "k", at=3))

    verdict = NO_LOSS.judge(history)

    assert verdict.fails
    assert [(row["producer"], row["sequence"]) for row in verdict.evidence["lost"]] == [("a", 2)]
    latency = LATENCY.judge(history)
    assert latency.fails
    # Which of the two records of k was lost cannot be told, so no latency is claimed for either.
    assert (latency.evidence["lost"], latency.evidence["undecided"]) == (1, 1)
    assert latency.evidence["records"] == 1


def test_an_output_in_the_middle_that_nobody_saw_makes_what_follows_unknown() -> None:
    history = run_of(*TRIPS, fare(0, "k", at=1), fare(2, "k", at=3))

    assert NO_LOSS.judge(history).answer == "unknown"
    assert LATENCY.judge(history).answer == "unknown"


def test_the_witness_tells_a_gap_in_the_log_from_an_output_that_nobody_saw() -> None:
    fares = [fare(0, "k", at=1), fare(2, "k", at=3), fare(3, "m", at=4)]
    witnessed = [
        fare(offset, key, at=100, by="witness") for offset, key in [(0, "k"), (2, "k"), (3, "m")]
    ]

    assert NO_LOSS.judge(run_of(*TRIPS, *fares)).answer == "unknown"
    assert NO_LOSS.judge(run_of(*TRIPS, *fares, *witnessed)).holds


def test_more_outputs_than_inputs_of_a_key_say_nothing() -> None:
    doubled = [fare(0, "k"), fare(1, "k"), fare(2, "k"), fare(3, "m")]
    history = run_of(*TRIPS, *doubled)

    verdict = NO_LOSS.judge(history)

    assert verdict.answer == "unknown"
    assert "2 acked records" in verdict.says
    assert LATENCY.judge(run_of(*TRIPS, *doubled)).answer == "unknown"


def test_records_without_a_key_are_unknown() -> None:
    history = run_of(acked(IN, "a=0"), acked(IN, "a=1"), fare(0, ""), fare(1, ""))

    assert NO_LOSS.judge(history).answer == "unknown"
    assert LATENCY.judge(history).answer == "unknown"


def test_a_job_that_drops_the_keys_has_lost_nothing_for_sure() -> None:
    history = run_of(*TRIPS, fare(0, ""), fare(1, ""), fare(2, ""))

    assert NO_LOSS.judge(history).answer == "unknown"


def test_a_job_that_changes_the_keys_has_lost_nothing_for_sure() -> None:
    history = run_of(*TRIPS, fare(0, "K"), fare(1, "m"), fare(2, "K"))

    assert NO_LOSS.judge(history).answer == "unknown"


def test_a_key_in_two_partitions_has_no_order() -> None:
    spread = [acked(IN, "a=0", key="k"), acked(IN, "a=1", key="k", partition=1, offset=0)]
    others = [acked(IN, "a=2", key="m", offset=1)]
    history = run_of(*spread, *others, fare(0, "k"), fare(1, "k"), fare(2, "m", at=4))

    assert NO_LOSS.judge(history).answer == "unknown"
    records = journeys(history, "job").sort("due")
    assert records["seen"].to_list() == [None, None, 4e9]


def test_outputs_of_a_key_in_two_partitions_have_no_order() -> None:
    history = run_of(*TRIPS, fare(0, "k"), fare(0, "k", partition=1), fare(1, "m"))

    assert NO_LOSS.judge(history).answer == "unknown"


def test_partitions_are_counted_by_themselves() -> None:
    trips = [acked(IN, "a=0", key="k"), acked(IN, "a=1", key="m", partition=1, offset=0)]
    history = run_of(*trips, fare(0, "k", at=2), fare(0, "m", at=3, partition=1))

    assert NO_LOSS.judge(history).holds
    assert LATENCY.judge(history).holds


def test_an_input_that_nobody_knows_makes_the_count_after_it_unknown() -> None:
    unknown = sent(IN, "a=1", key="m")  # It was not acked, but may be in the log.
    history = run_of(TRIPS[0], unknown, TRIPS[2], fare(0, "k"), fare(1, "m"), fare(2, "k"))

    assert NO_LOSS.judge(history).answer == "unknown"


@pytest.mark.parametrize("rival", ["a=1", "b=7"])
def test_an_offset_of_two_records_makes_the_count_unknown(rival: str) -> None:
    rivals = [acked(IN, "c=3", key="k", offset=0), acked(IN, rival, key="k", offset=0)]
    history = run_of(*rivals, fare(0, "k"), fare(1, "k"))

    assert NO_LOSS.judge(history).answer == "unknown"


def test_outputs_that_were_not_read_yet_are_not_lost() -> None:
    history = run_of(*TRIPS, fare(0, "m"), fare(1, "k"), undrained(behind("reader", OUT)))

    assert NO_LOSS.judge(history).answer == "unknown"
    assert LATENCY.judge(history).answer == "unknown"


@pytest.mark.parametrize("writes", [(OUT,), ()])
def test_without_any_output_nothing_is_reported(writes: tuple[str, ...]) -> None:
    assert NO_LOSS.judge(run_of(*TRIPS, writes=writes)).answer == "unknown"


def test_a_job_behind_a_job_takes_the_due_times_of_the_first_inputs() -> None:
    chained = run_of(*TRIPS, fare(0, "k"), fare(1, "k"), fare(2, "m"))
    second: Any = KeyedJob(name="second", reads=(OUT,), writes=("bills",))
    bills = [output("bills", offset=n, key=key, at=20 + n) for n, key in enumerate("kkm")]
    seen_table = history_of(*bills).ledger.seen
    history = replace(
        chained,
        components={**chained.components, "second": second},
        ledger=replace(chained.ledger, seen=chained.ledger.seen.vstack(seen_table)),
    )

    records = journeys(history, "second").sort("offset")

    assert records["due"].to_list() == [0, 2e9, 1e9]
    assert records["seen"].to_list() == [20e9, 21e9, 22e9]


def test_records_with_an_identity_are_counted_as_well() -> None:
    fares = [seen(OUT, f"job={n}", key=key, at=5) for n, key in enumerate("kkm")]

    assert NO_LOSS.judge(run_of(*TRIPS, *fares)).holds
