"""The figures of fidelity."""

from dataclasses import asdict

from streambed.record.calibration import LinkCalibration
from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import fidelity
from tests.support.synthetic import history_of
from tests.support.synthetic_events import event


def calibrated(source, target, *, declared_ms, measured_ms, link="link", **more):
    measured_ns = None if measured_ms is None else round(measured_ms * 1e6)
    way = LinkCalibration(
        link=link,
        source=source,
        target=target,
        declared_ns=declared_ms * 1_000_000,
        measured_ns=measured_ns,
        probes=10,
        arrived=10,
        **more,
    )
    return event(0.1, "calibrated", link=link, ways=[asdict(way)])


def test_calibration_shows_the_worst_way_first():
    good, bad = (
        calibrated("a", "b", declared_ms=20, measured_ms=20.1),
        calibrated("b", "a", declared_ms=20, measured_ms=18),
    )

    figure = fidelity.calibration(history_of(good, bad))

    assert isinstance(figure, Figure)
    assert figure.table.select("way", "declared_ms", "measured_ms", "error_ms").rows() == [
        ("b → a", 20.0, 18.0, -2.0),
        ("a → b", 20.0, 20.1, 0.1),
    ]


def test_several_links_between_two_nodes_are_distinguished():
    fast, slow = (
        calibrated("a", "b", declared_ms=delay, measured_ms=delay, link=f"link{delay}")
        for delay in (1, 9)
    )

    figure = fidelity.calibration(history_of(fast, slow))

    assert isinstance(figure, Figure)
    assert figure.table["way"].to_list() == ["a → b by link1", "a → b by link9"]


def test_rates_are_shown_if_they_were_measured():
    way = calibrated(
        "a", "b", declared_ms=20, measured_ms=20.1, declared_bps=10_000_000, measured_bps=9_900_000
    )

    figure = fidelity.calibration(history_of(way))

    assert isinstance(figure, Figure)
    assert figure.summary is not None
    assert figure.summary.columns == [
        "way",
        "declared_ms",
        "measured_ms",
        "error_ms",
        "packets",
        "declared_bps",
        "measured_bps",
    ]


def test_pressure_is_a_share_of_all_cores():
    busy = ((1, "machine_busy_s", "machine", 10.0), (2, "machine_busy_s", "machine", 11.5))
    idle = ((1, "machine_idle_s", "machine", 10.0), (2, "machine_idle_s", "machine", 10.5))

    figure = fidelity.pressure(history_of(samples=(*busy, *idle)))

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [(2.0, "busy", 75.0)]


def test_a_time_in_which_the_network_was_off_is_a_thin_strip_at_the_bottom():
    samples = tuple(
        (second, "delay_line_late_mean_ns", "delay line", 9e6 if second == 5 else 0.0)
        for second in range(1, 10)
    )
    samples += tuple(
        (second, "delay_line_late_max_ns", "delay line", 0.0) for second in range(1, 10)
    )
    phases = (
        event(0.2, "calibration", links=1),
        event(1, "phase", phase="load"),
        event(9, "phase", phase="stop"),
    )

    figure = fidelity.lateness(history_of(*phases, samples=samples))

    assert isinstance(figure, Figure)
    strip = figure.spec("run")["layer"][-1]
    assert (strip["mark"]["type"], strip["mark"]["style"]) == ("rule", "doubt")
    assert strip["encoding"]["y"] == {"value": {"expr": "height - 2"}}
    # The load began at second 1 of the run.
    spans = [(span["from_s"], span["to_s"]) for span in strip["data"]["values"]]
    assert spans == [(3.0, 4.0)]


def test_lateness_is_shown_in_milliseconds():
    history = history_of(samples=((1, "delay_line_late_max_ns", "delay line", 2_500_000),))

    figure = fidelity.lateness(history)

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [(1.0, "largest", 2.5)]


def test_without_a_delay_line_the_reason_is_said():
    figure = fidelity.lateness(history_of())

    assert isinstance(figure, Absent)
    assert figure.reason.startswith("No delay line ran")


def test_a_plot_shades_each_fault_from_inject_to_heal():
    samples = ((1.0, "lag_records", "a", 1.0), (9.0, "delay_line_late_max_ns", "delay line", 1.0))
    history = history_of(
        event(2, "inject", fault=0, kind="cut", target="edge"),
        event(5, "heal", fault=0, kind="cut"),
        samples=samples,
    )

    figure = fidelity.lateness(history)

    assert isinstance(figure, Figure)
    shade = figure.spec("run")["layer"][0]
    assert shade["mark"]["style"] == "fault"
    assert [(span["from_s"], span["to_s"]) for span in shade["data"]["values"]] == [(2.0, 5.0)]


def test_a_table_that_leaves_out_directions_says_so():
    ways = [
        calibrated("core", f"host{number}", declared_ms=20, measured_ms=20.1)
        for number in range(20)
    ]

    figure = fidelity.calibration(history_of(*ways))

    assert isinstance(figure, Figure)
    assert figure.summary is not None
    assert figure.summary.height == 16
    assert "Below are the worst 16 of 20 directions." in figure.caption
