"""The figures of the network."""

from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import network
from tests.support.synthetic import history_of, plan_of


def test_throughput_is_the_growth_of_the_byte_counter_in_bits():
    counts = {1: 1000.0, 2: 2000.0, 4: 2500.0}
    history = history_of(
        samples=tuple(
            (second, "port_rx_bytes", "edge/eth0", count) for second, count in counts.items()
        )
    )

    figure = network.throughput(history, plan_of(), "received")

    assert isinstance(figure, Figure)
    assert figure.table.rows() == [(2.0, "edge/eth0", 8000.0), (4.0, "edge/eth0", 2000.0)]


def test_a_counter_that_began_again_gives_no_negative_rate():
    counts = (100, 200, 0, 50)
    history = history_of(
        samples=tuple(
            (second, "port_tx_bytes", "edge/eth0", count) for second, count in enumerate(counts)
        )
    )

    figure = network.throughput(history, plan_of(), "sent")

    assert isinstance(figure, Figure)
    assert figure.table["bit_per_s"].to_list() == [800.0, 400.0]


def test_ports_of_switches_are_no_access_ports():
    history = history_of(
        samples=((1, "port_rx_bytes", "core/eth0", 0), (2, "port_rx_bytes", "core/eth0", 9))
    )

    assert isinstance(network.throughput(history, plan_of(), "received"), Absent)
