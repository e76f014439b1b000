"""The figures of switches."""

from streambed.reports.figure import Absent, Figure
from streambed.reports.figures import ports
from tests.support.synthetic import history_of, plan_of


def counts(port, *bytes_by_second):
    return tuple(
        (second, "port_rx_bytes", port, float(count))
        for second, count in enumerate(bytes_by_second, 1)
    )


def test_every_port_of_a_switch_is_a_row_with_the_other_end_of_its_link():
    history = history_of(
        samples=(
            *counts("core/eth1", 0, 250),
            *counts("core/eth0", 0, 125),
            *counts("edge/eth0", 0, 9),
        )
    )

    figure = ports.switch_ports(history, plan_of(), "received")

    assert isinstance(figure, Figure)
    assert sorted(figure.table.rows()) == [
        (2.0, "core/eth0 → edge", 1000.0),
        (2.0, "core/eth1 → cluster", 2000.0),
    ]


def test_so_many_ports_that_names_would_not_fit_are_drawn_all_the_same():
    order = [f"core/eth{number}" for number in range(300)]
    history = history_of(samples=tuple(sample for port in order for sample in counts(port, 0, 125)))
    cells = ports._cells(history.samples.select(time_s=2.0, port="of", bit_per_s="value"), 1.0)

    spec = ports._chart(history, cells, order).to_dict()

    assert set(order) < set(spec["layer"][0]["encoding"]["y"]["scale"]["domain"])


def test_a_network_without_switches_says_so():
    figure = ports.switch_ports(history_of(), None, "sent")

    assert isinstance(figure, Absent)
    assert figure.reason == "There is no switch, so there is no port of one."
