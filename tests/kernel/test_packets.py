"""What links do to single packets, each way and changed while they run; the same by the delay line
and by netem.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from streambed.kinds.delay_table import PARTS
from streambed.kinds.direction_rules import delays
from streambed.plan import Plan, Shape
from tests.support.kernel.boxes import Measure
from tests.support.small_plans import MS, pair

pytestmark = pytest.mark.kernel

Found = dict[str, Any]


def ways(there: Shape, back: Shape) -> Plan:
    """a and b linked directly, with a shape for each direction."""
    plan = pair(there)
    return replace(plan, links=(replace(plan.links[0], shapes=(there, back)),))


def likely(count: int, of: int, share: float) -> bool:
    """Whether `count` is what chance gives: for 99.99 % of all seeds it is."""
    return abs(count - of * share) <= 3.9 * (of * share * (1 - share)) ** 0.5


def quantile(values: list[float], chance: float) -> float:
    return sorted(values)[int(len(values) * chance)]


def spreads_like(measured: Found, shape: Shape, slack_ms: float) -> bool:
    """Whether the nine deciles of the delays are those of the table."""
    drawn = delays(shape)
    wanted_ms = [(shape.delay_ns + drawn.width_ns * entry / PARTS) / 1e6 for entry in drawn.table]
    # Packets are never early; on a busy machine some are late.
    early_ms, late_ms = 0.25 * shape.jitter_ns / 1e6, 0.6 * shape.jitter_ns / 1e6
    off_ms = [
        quantile(measured["delays_ms"], tenth / 10) - quantile(wanted_ms, tenth / 10)
        for tenth in range(1, 10)
    ]
    return all(-early_ms <= off <= late_ms + slack_ms for off in off_ms)


def test_delays_spread_as_declared_and_let_packets_overtake(
    measure_both: Measure, slack_ms: float
) -> None:
    normal, pareto = (
        Shape(delay_ns=60 * MS, jitter_ns=10 * MS, distribution=kind)
        for kind in ("normal", "pareto")
    )  # type: ignore[arg-type]

    measured = measure_both(ways(normal, pareto), "both_ways")

    assert spreads_like(measured["there"], normal, slack_ms)
    assert spreads_like(measured["back"], pareto, slack_ms)
    assert measured["there"]["overtaken"] > 100 and measured["back"]["overtaken"] > 50
    assert measured["back"]["least_ms"] >= 53 and measured["back"]["most_ms"] > 80


def test_delays_are_drawn_from_samples_and_packets_stay_in_order_where_they_should(
    measure_both: Measure, slack_ms: float
) -> None:
    samples = (10 * MS, 20 * MS, 60 * MS)
    in_order = Shape(delay_ns=60 * MS, jitter_ns=10 * MS, distribution="normal", in_order=True)
    drawn = Shape(
        delay_ns=30 * MS, jitter_ns=21_602_469, distribution="samples", samples_ns=samples
    )

    measured = measure_both(ways(in_order, drawn), "both_ways")

    there, back = measured["there"], measured["back"]
    assert there["overtaken"] == 0 and there["arrived"] == there["sent"]
    # A packet that waits for earlier ones is later than its own draw.
    assert there["deviation_ms"] > 3 and there["mean_ms"] > 63
    for wanted in (10, 20, 60):
        near = sum(wanted - 0.5 <= delay <= wanted + 5 + slack_ms for delay in back["delays_ms"])
        assert likely(near, back["sent"], 1 / 3)


def test_packets_are_lost_in_bursts(measure_both: Measure) -> None:
    there, back = measure_both(
        ways(Shape(loss_enter=0.02, loss_leave=0.25), Shape()), "long_stream"
    ).values()

    lost = 1 - there["arrived"] / there["sent"]
    assert 0.035 < lost < 0.12  # 2 / 27; there are few bursts, so this varies.
    assert 2.5 < fmean(there["gaps"]) < 6  # 1 / 25 %
    assert back["arrived"] == back["sent"]


def test_packets_are_reordered_doubled_and_damaged(measure_both: Measure) -> None:
    there, back = measure_both(
        ways(Shape(delay_ns=30 * MS, reorder=0.2, corrupt=0.1), Shape(duplicate=0.2)), "both_ways"
    ).values()

    assert likely(sum(delay < 25 for delay in there["delays_ms"]), there["arrived"], 0.2)
    missing = there["sent"] - there["arrived"]  # Damaged, or lost because a header was damaged.
    assert likely(missing, there["sent"], 0.1)
    assert there["damaged"] >= 0.8 * missing
    assert likely(back["twice"], back["sent"], 0.2)
    assert back["arrived"] == back["sent"] and not back["overtaken"] and not back["damaged"]


def test_a_queue_holds_what_is_declared_and_drops_the_rest(measure_both: Measure) -> None:
    short, longer = Shape(rate_bps=1_000_000, queue_bytes=15_000), Shape(rate_bps=1_000_000)

    there, back = measure_both(ways(short, longer), "volleys").values()

    # 3,200 bytes pass at once and 15,000 wait; each packet has 1,054.
    assert 15 <= there["arrived"] <= 20
    assert 100 <= there["most_ms"] <= 180
    assert back["arrived"] == 40 and 280 <= back["most_ms"] <= 400


def test_all_that_a_link_does_is_changed_while_it_runs_and_healed(
    measure_both: Measure, slack_ms: float
) -> None:
    measured = measure_both(ways(Shape(delay_ns=40 * MS), Shape(delay_ns=5 * MS)), "changes")

    normal, in_order = measured["normal"], measured["uniform in order"]
    assert 58 < normal["median_ms"] < 62 + 2 * slack_ms
    assert normal["deviation_ms"] > 7 and normal["overtaken"] > 30
    assert in_order["overtaken"] == 0
    assert in_order["deviation_ms"] > 2 and in_order["least_ms"] >= 39
    assert (
        0.3 < measured["bursts"]["arrived"] / 200 < 0.95 and fmean(measured["bursts"]["gaps"]) > 1.5
    )
    assert likely(sum(delay < 30 for delay in measured["reorder"]["delays_ms"]), 200, 0.3)
    assert likely(measured["duplicate"]["twice"], 200, 0.5)
    assert likely(200 - measured["corrupt"]["arrived"], 200, 0.5) and measured["corrupt"]["damaged"]
    assert 15 <= measured["queue"]["arrived"] <= 20
    after, back = measured["after"], measured["back"]
    assert after["arrived"] == 200
    assert not after["twice"] and not after["overtaken"]
    assert 39 < after["median_ms"] < 42 + slack_ms
    assert back["arrived"] == 100 and 4 < back["median_ms"] < 7 + slack_ms
