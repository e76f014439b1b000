"""Kafka's own files, read after a run: what each broker stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streambed.kinds.components.broker import FileTables
    from streambed.kinds.components.kafka.properties import Member


def file_tables(data: Path, members: Sequence[Member], topics: Mapping[str, int]) -> FileTables:
    """The tables of a cluster whose folder is `data`; `topics` has the partitions of each topic."""
    # A plan needs no tables: Arrow is slow to load.
    from streambed.kinds.components.kafka.log_files.tables import tables_of

    logs = {member.node: data / member.node / "log" for member in members}
    numbers = {member.number: member.node for member in members}
    return tables_of(logs, numbers, topics)
