from dataclasses import asdict

import polars as pl

from streambed.record.calibration import LinkCalibration
from streambed.record.fidelity import fidelity
from streambed.record.history import History, empty
from streambed.record.ledger import schemas
from tests.support.histories import event, ns

MS = 1_000_000


def way(*, declared_ms=20.0, measured_ms=20.1, arrived=10, **more):
    measured_ns = None if measured_ms is None else round(measured_ms * MS)
    return LinkCalibration(
        link="edge – core",
        source="edge",
        target="core",
        declared_ns=round(declared_ms * MS),
        measured_ns=measured_ns,
        probes=10,
        arrived=arrived,
        **more,
    )


NEAR = way()


def judge(*samples, ways=(NEAR,), load=10, stop=30):
    """A run that was calibrated at 1 s; samples are (seconds, metric, value)."""
    events = [
        event(0, "phase", phase="build"),
        event(1, "calibrated", link="edge – core", ways=[asdict(one) for one in ways]),
    ]
    events += [
        event(1, "calibration", links=1),
        event(load, "phase", phase="load"),
        event(stop, "phase", phase="stop"),
    ]
    rows = [(ns(second), metric, "somebody", float(value)) for second, metric, value in samples]
    return fidelity(
        History(
            events=tuple(events),
            samples=pl.DataFrame(rows, schema=empty(schemas.SAMPLES).schema, orient="row"),
        )
    )


def lateness(**mean_ms_by_second):
    """Twenty seconds in which the delay line was punctual but for some."""
    late = {int(second.strip("s")): mean for second, mean in mean_ms_by_second.items()}
    for second in range(5, 31):
        yield second, "delay_line_late_mean_ns", late.get(second, 0.05) * MS
        yield second, "delay_line_late_max_ns", late.get(second, 0.05) * 3 * MS


def counters(**grown_by_second):
    """Counters that grow by these amounts in each second."""
    for metric, amounts in grown_by_second.items():
        total = 0.0
        for second, amount in enumerate(amounts, 11):
            total += amount
            yield second, metric, total


def seconds(judged):
    return [(span.start / 1e9, span.end / 1e9) for span in judged.spans]


def test_a_calm_run_says_how_near_its_links_were():
    judged = judge(*lateness())

    assert judged.believable
    assert judged.says == "links were within 0.15 ms and 0.75 % of what was declared"


def test_a_second_in_which_packets_were_late_is_in_doubt_and_no_other():
    judged = judge(*lateness(s17=4))

    assert not judged.believable
    assert seconds(judged) == [(16.0, 17.0)]
    assert judged.spans[0].says == "packets left up to 12 ms late"
    assert judged.says == (
        "network timing was off for 1 of 20 s: packets left up to 12 ms late; "
        "the rest of the time links were within 0.15 ms and 0.75 % of what was declared"
    )


def test_doubtful_seconds_that_touch_are_one_span():
    assert seconds(judge(*lateness(s17=4, s18=9, s21=3))) == [(16.0, 18.0), (20.0, 21.0)]


def test_the_run_s_sentence_has_the_worst_of_all_spans_and_not_of_the_first():
    judged = judge(*lateness(s17=4, s21=9))

    assert [span.says[-10:] for span in judged.spans] == ["12 ms late", "27 ms late"]
    assert "off for 2 of 20 s: packets left up to 27 ms late; the rest of the time" in judged.says


def test_what_was_late_before_the_load_is_of_no_account():
    assert judge(*lateness(s7=80)).believable


def test_long_delays_allow_more():
    assert judge(*lateness(s17=4), ways=[way(declared_ms=100, measured_ms=100)]).believable


def test_a_delay_line_without_a_sign_of_life_is_in_doubt():
    alive = [sample for sample in lateness() if not 15 < sample[0] < 19]

    assert seconds(judge(*alive)) == [(15.0, 19.0)]


def test_a_delay_line_that_waited_for_a_processor_is_in_doubt_though_no_packet_was_held_then():
    judged = judge(
        *counters(
            delay_line_waited_s=[0.01, 0.01, 0.83, 0.01], delay_line_turns=[500, 500, 90, 500]
        )
    )

    assert seconds(judged) == [(12.0, 13.0)]
    assert judged.spans[0].says == "the delay line waited for a CPU up to 83 % of the time"


def test_stolen_time_is_in_doubt_and_a_busy_machine_is_not():
    judged = judge(
        *counters(
            machine_busy_s=[2, 2, 1.5, 2],
            machine_idle_s=[0, 0, 0, 0],
            machine_stolen_s=[0, 0.1, 0.5, 0],
        )
    )

    assert seconds(judged) == [(12.0, 13.0)]
    assert judged.spans[0].says == "the hypervisor took up to 25 % of the CPU time"


def test_a_moment_says_nothing_of_stolen_time():
    ticks = [
        (11, "machine_stolen_s", 0.0),
        (11.03, "machine_stolen_s", 0.01),
        (11, "machine_busy_s", 0.0),
        (11.03, "machine_busy_s", 0.05),
    ]

    assert judge(*ticks, (11, "machine_idle_s", 0), (11.03, "machine_idle_s", 0)).believable


def test_a_sampler_that_could_not_wake_is_in_doubt():
    assert seconds(judge((15, "sampler_late_s", 0.0), (16.8, "sampler_late_s", 0.8))) == [
        (15.0, 16.8)
    ]


def test_a_link_that_is_off_puts_the_whole_load_in_doubt():
    judged = judge(*lateness(), ways=[way(), way(measured_ms=23)])

    assert seconds(judged) == [(10.0, 30.0)]
    assert (
        judged.says
        == "the network was not as declared: the link from edge to core took 23 ms instead of 20 ms"
    )


def test_a_link_that_is_too_slow_makes_packets_late_and_nothing_else():
    def only_slower(*ways):
        return [span.only_slower for span in judge(ways=ways).spans]

    assert only_slower(way(measured_ms=23)) == [True]
    assert only_slower(way(measured_ms=17)) == [False]
    assert only_slower(way(measured_ms=23), way(measured_ms=None, arrived=0)) == [False]


def test_a_link_that_carries_nothing_is_off_unless_it_was_declared_so():
    dead = way(measured_ms=None, arrived=0)

    assert (
        judge(ways=[dead]).says
        == "the network was not as declared: the link from edge to core carried none of 10 packets"
    )
    assert judge(ways=[way(measured_ms=None, arrived=0, loses_all=True)]).believable


def test_chance_explains_what_jitter_may_do_to_a_mean():
    assert judge(ways=[way(measured_ms=22.5, chance_ns=2 * MS)]).believable


def test_a_rate_that_is_off_is_named():
    judged = judge(ways=[way(declared_bps=10_000_000, measured_bps=8_000_000)])

    assert judged.says == (
        "the network was not as declared: the link from edge to core carried 8 Mbit/s instead of 10"
    )


def test_a_run_that_was_not_calibrated_is_not_believed_and_puts_no_time_in_doubt():
    judged = fidelity(History(events=(event(0, "phase", phase="load"),)))

    assert (judged.believable, judged.spans) == (False, ())
    assert judged.says == "link fidelity unknown: its links were not calibrated"


def test_a_network_without_links_can_do_nothing_wrong():
    assert judge(ways=[]).says == "no link was emulated"
