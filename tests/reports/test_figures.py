"""The figures of load, processes, Spark, timeline and topology."""

from streambed.plan import Shape
from streambed.record.history import History
from streambed.reports import series
from streambed.reports.figure import Absent, Figure, share_data
from streambed.reports.figures import processes, records, spark, timeline, topology
from tests.support.synthetic import history_of, plan_of
from tests.support.synthetic_events import at, event


def test_record_rates_come_from_totals():
    history = history_of(samples=((1, "sent_total", "poet", 100), (3, "sent_total", "poet", 500)))

    figure = records.record_rates(history)

    assert isinstance(figure, Figure)
    assert figure.table.select("time_s", "series", "per_s").rows() == [(3.0, "poet sent", 200.0)]


def test_a_producer_without_failures_has_no_line_for_them():
    history = history_of(samples=((1, "failed_total", "poet", 0), (2, "failed_total", "poet", 0)))

    assert isinstance(records.record_rates(history), Absent)


def test_lag_is_shown_as_it_was_sampled():
    figure = records.lag(history_of(samples=((1, "lag_records", "reader", 7),)))

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [(1.0, "reader", 7.0)]


def test_cores_are_processor_seconds_in_a_second():
    history = history_of(
        samples=((1, "process_cpu_s", "broker1", 3.0), (3, "process_cpu_s", "broker1", 4.0))
    )

    figure = processes.processors(history, plan_of())

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [(3.0, "broker1", 0.5)]


def test_each_start_of_a_process_is_a_separate_life():
    started = {"process": "b", "component": "kafka", "node": "n"}
    died = event(
        2,
        "process_ended",
        process="b",
        component="b",
        status=-9,
        expected=False,
        last_lines=["x", "y"],
    )
    history = history_of(
        event(1, "process_started", **started), died, event(3, "process_started", **started)
    )

    lives = (
        processes.lives(history)
        .select("process", "start_s", "end_s", "status", "last_lines")
        .rows()
    )

    assert lives == [("b", 1.0, 2.0, "-9", "x\ny"), ("b", 3.0, None, None, None)]


def test_batches_are_shown_at_their_end_with_what_the_trigger_took():
    history = history_of(
        event(
            2,
            "batch",
            component="counter",
            batch=4,
            start=at(1),
            end=at(2),
            rows=10,
            durations_ms={"triggerExecution": 750, "addBatch": 500},
        )
    )

    (figure,) = spark.durations(history)

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [
        (2.0, "counter", 4, "addBatch", 0.5),
        (2.0, "counter", 4, "other", 0.25),
    ]


def test_a_fault_that_was_never_healed_lasts_to_the_end():
    history = history_of(
        event(2, "inject", fault=0, kind="cut", target="edge"), event(9, "note", says="gave up")
    )

    assert timeline.spans(history).rows()[-1] == (
        "F1 cut edge",
        "fault",
        2.0,
        9.0,
        "cut edge, never healed",
    )
    assert timeline.moments(history)["says"].to_list() == ["gave up"]


def test_a_change_of_routes_is_a_mark_on_the_timeline():
    history = history_of(
        event(2, "reroute", without=["s1 – s2"], nodes=["s1", "s3"]),
        event(4, "reroute", without=[], nodes=[]),
    )

    assert timeline.moments(history)["says"].to_list() == [
        "without s1 – s2: other routes at s1, s3",
        "without none: other routes at no node",
    ]


def test_a_death_that_was_asked_for_is_no_mark_on_the_timeline():
    history = history_of(
        event(1, "process_ended", process="b", component="b", status=0, expected=True)
    )

    assert timeline.moments(history).is_empty()


def test_the_timeline_has_a_row_for_each_fault_and_no_name_over_other_rows():
    history = history_of(
        event(1, "phase", phase="load"),
        event(2, "inject", fault=0, kind="cut", target="edge"),
        event(9, "phase", phase="drain"),
    )

    figure = timeline.timeline(history)

    assert isinstance(figure, Figure)
    assert "F1 cut edge" in figure.table["row"].to_list()
    assert "text" not in [layer["mark"]["type"] for layer in figure.spec("run")["layer"]]


def test_a_run_in_which_nothing_happened_says_so():
    assert isinstance(timeline.timeline(History()), Absent)


def test_a_link_tells_all_its_properties():
    shape = Shape(delay_ns=20_000_000, jitter_ns=1_500_000, loss=0.01, rate_bps=10_000_000)

    assert topology.properties((shape, shape)) == "20ms ± 1500us · 1% lost · 10Mbit"
    assert topology.properties((Shape(delay_ns=1_000_000), Shape())) == "→ 1ms  ← plain"


def test_the_topology_names_every_link():
    figure = topology.topology(plan_of())

    assert isinstance(figure, Figure)
    links = figure.table.select("link", "ends", "properties").rows()
    assert ("edge-core", "edge – core", "20ms ± 2ms · 1% lost · 10Mbit") in links


def test_nodes_that_the_plan_puts_in_one_place_are_drawn_apart():
    places = topology.positions(plan_of())

    assert len(set(places.values())) == len(places)


def test_a_long_series_is_thinned_and_the_caption_owns_up():
    history = history_of(
        samples=tuple(
            (float(second), "lag_records", "reader", float(second)) for second in range(2000)
        )
    )

    figure = records.lag(history)

    assert isinstance(figure, Figure)
    assert figure.table.height == 2000
    assert figure.caption.endswith(
        "Each point is the largest value of 5 s; the table has every sample."
    )


def test_thinning_to_the_largest_keeps_a_peak():
    history = history_of(
        samples=tuple(
            (float(second), "lag_records", "reader", 99.0 if second == 777 else 0.0)
            for second in range(2000)
        )
    )
    table = series.samples(history, "lag_records")

    thinned, _ = series.thin(table, by="of", value="value", keep="max")

    assert thinned.height <= series.POINTS
    assert thinned["value"].max() == 99.0


def test_with_too_many_series_the_caption_says_which_are_drawn():
    history = history_of(
        samples=tuple(
            (1.0, "lag_records", f"reader{number}", float(number)) for number in range(30)
        )
    )

    figure = records.lag(history)

    assert isinstance(figure, Figure)
    assert "Drawn are the 16 with the largest peaks out of 30" in figure.caption


def test_cores_of_the_run_are_distinguished_from_those_of_the_machine():
    history = history_of(
        samples=((1, "process_cpu_s", "broker1", 3.0), (3, "process_cpu_s", "broker1", 4.0))
    )

    figure = processes.processors(history, plan_of())

    assert isinstance(figure, Figure)
    assert "The processes of this run used 0.5 cores at most under load" in figure.caption


def test_the_topology_shows_throughput_and_what_a_fault_hit():
    grown = ((1, "port_tx_bytes", "edge/eth0", 0.0), (2, "port_tx_bytes", "edge/eth0", 125_000.0))
    history = history_of(
        event(1, "inject", fault=0, kind="cut", target="edge – core", links=[["edge", "core"]]),
        event(2, "inject", fault=1, kind="kill", target="broker1", processes=["broker1"]),
        samples=grown,
    )

    figure = topology.topology(plan_of(), history)

    assert isinstance(figure, Figure)
    (edge,) = [row for row in figure.table.rows() if row[0] == "edge-core"]
    assert edge[3:] == (1.0, "F1 cut")
    nodes = [
        row
        for data in share_data(figure.plain_spec())["datasets"].values()
        for row in data
        if row.get("node") == "broker1"
    ]
    assert {row["fault"] for row in nodes} == {"F2 kill"}
