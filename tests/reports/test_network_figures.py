"""The figures of the network."""

from streambed.reports import network
from streambed.reports.figure import Absent, Figure
from tests.reports.synthetic import event, history_of, plan_of


def test_throughput_is_the_growth_of_the_byte_counter_in_bits():
    counts = {1: 1000.0, 2: 2000.0, 4: 2500.0}
    history = history_of(samples=tuple((second, "port_rx_bytes", "edge/eth0", count) for second, count in counts.items()))

    figure = network.throughput(history, plan_of(), "received")

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [(2.0, "edge/eth0", 8000.0), (4.0, "edge/eth0", 2000.0)]


def test_a_counter_that_began_again_gives_no_negative_rate():
    counts = (100, 200, 0, 50)
    history = history_of(samples=tuple((second, "port_tx_bytes", "edge/eth0", count) for second, count in enumerate(counts)))

    figure = network.throughput(history, plan_of(), "sent")

    assert isinstance(figure, Figure)
    assert figure.table["bit_per_s"].to_list() == [800.0, 400.0]


def test_ports_of_switches_are_no_access_ports():
    history = history_of(samples=((1, "port_rx_bytes", "core/eth0", 0), (2, "port_rx_bytes", "core/eth0", 9)))

    assert isinstance(network.throughput(history, plan_of(), "received"), Absent)


def test_lateness_is_shown_in_milliseconds():
    history = history_of(samples=((1, "delay_line_late_max_ns", "delay line", 2_500_000),))

    figure = network.lateness(history)

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [(1.0, "largest", 2.5)]


def test_without_a_delay_line_the_reason_is_said():
    figure = network.lateness(history_of())

    assert isinstance(figure, Absent)
    assert figure.reason.startswith("No delay line ran")


def test_a_plot_shades_each_fault_from_inject_to_heal():
    samples = ((1.0, "lag_records", "a", 1.0), (9.0, "delay_line_late_max_ns", "delay line", 1.0))
    history = history_of(event(2, "inject", fault=0, kind="cut", target="edge"), event(5, "heal", fault=0), samples=samples)

    figure = network.lateness(history)

    assert isinstance(figure, Figure)
    shade = figure.spec("run")["layer"][0]
    assert shade["mark"]["style"] == "fault"
    assert [(found["from_s"], found["to_s"]) for found in shade["data"]["values"]] == [(2.0, 5.0)]
