"""Counters of ports: one end of a link is read, and says what the other end counted too."""

from __future__ import annotations

from streambed.net.ports import METRICS, PortCounters
from streambed.plan import Shape
from tests.support.small_plans import link

DEV = b"""Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
  eth1:     500       6    0    0    0     0          0         0      700       8    0    0    0     0       0          0
    lo:       9       9    0    0    0     0          0         0        9       9    0    0    0     0       0          0
  eth0:     100       2    0    0    0     0          0         0      300       4    0    0    0     0       0          0
"""  # noqa: E501


class Counted:
    def counters(self) -> bytes:
        return DEV


def read(
    *ends: tuple[str, str], switches: set[str], interfaces: tuple[str, str] = ("eth0", "eth0")
) -> dict[str, list[float]]:
    """The counters of some links, where only those named can be read."""
    links = [link(pair, (Shape(), Shape()), interfaces) for pair in ends]
    counters = PortCounters(links, switches, {name: Counted() for name in switches or {ends[0][1]}})
    values, width = counters.read(), len(METRICS)
    return {
        port: values[place * width : (place + 1) * width]
        for place, port in enumerate(counters.names)
    }


def test_the_host_received_what_the_switch_sent() -> None:
    assert read(("a", "s"), switches={"s"}) == {
        "s/eth0": [100, 300, 2, 4],
        "a/eth0": [300, 100, 4, 2],
    }


def test_interfaces_are_found_by_name_in_any_order() -> None:
    assert read(("s", "a"), switches={"s"}, interfaces=("eth1", "eth0"))["s/eth1"] == [
        500,
        700,
        6,
        8,
    ]


def test_a_link_between_hosts_is_read_at_one_of_them() -> None:
    assert read(("a", "b"), switches=set()) == {
        "b/eth0": [100, 300, 2, 4],
        "a/eth0": [300, 100, 4, 2],
    }
