"""The address at which clusters outside reach this machine."""

from __future__ import annotations

import pytest

from streambed.errors import WorldError
from streambed.runner.own_address import own_address


@pytest.mark.parametrize("cluster", ["127.0.0.1:9092,127.0.0.1:9093", "spark://127.0.0.1:7077"])
def test_a_cluster_on_this_machine_reaches_it_at_its_loopback(cluster: str) -> None:
    assert own_address(cluster) == "127.0.0.1"


def test_an_address_without_a_port_is_refused() -> None:
    with pytest.raises(WorldError, match=r"'127.0.0.1' cannot be reached: .* Give it as HOST:PORT"):
        own_address("127.0.0.1")
