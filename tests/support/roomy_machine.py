"""A machine with room for every declaration that we ship."""

from __future__ import annotations

from streambed.plan import Machine

MACHINE = Machine(
    cores=8,
    memory_mib=32_000,
    java="java",
    java_version=21,
    python="python",
    core_numbers=tuple(range(8)),
    cpu_groups="/cpu",
    memory_groups="/memory",
)
