"""The log of each server of a Kafka cluster, on its disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streambed.kinds.components.kafka.properties import Member


class KeepsLog:
    """Each server appends to its log, which a power failure cuts at its last sync."""

    power_failure_refusal: ClassVar[str] = ""

    @property
    def members(self) -> Sequence[Member]:
        """All servers of the cluster, brokers and controllers."""
        raise NotImplementedError

    @property
    def disks(self) -> dict[str, str]:
        """The folder of each server's log."""
        return {member.node: f"{member.node}/log" for member in self.members}
