"""What this machine cannot do and the experiment asks for: refused before anything is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from streambed.errors import MachineError
from streambed.kinds.direction_rules import lacking
from streambed.kinds.faults.fault import Fault
from streambed.plan import Machine, PlannedLink, ProcessSpec

ADVICE = "`streambed doctor` tells what this machine can emulate and how to mend it"


def refuse_what_cannot_be(
    links: tuple[PlannedLink, ...], faults: Iterable[Fault], machine: Machine
) -> None:
    """MachineError that names all of it."""
    if not machine.namespaces:
        raise MachineError(
            "\n".join(
                [
                    "this machine does not let you make the namespaces that hosts live in",
                    *machine.notes,
                    ADVICE,
                ]
            )
        )
    says = [lacking for fault in faults if (lacking := fault.lacks(machine))]
    emulated = [link.name for link in links if link.emulated]
    if emulated and machine.means == "none":
        says.append(
            f"this machine can neither delay, lose nor cut packets, but {listed(emulated)} needs it"
        )
    for what, names in _lacking(links, machine).items():
        says.append(f"this machine {what}, but {listed(names)} needs it")
    if says:
        raise MachineError("\n".join([*says, ADVICE]))


def refuse_too_much_memory(processes: Iterable[ProcessSpec], machine: Machine) -> None:
    """MachineError if the heaps of all processes together are more than the machine has."""
    asked: Counter[str] = Counter()
    for process in processes:
        asked[process.component] += process.heap_bytes
    total, there = asked.total(), machine.memory_mib << 20
    if there and total > there:
        parts = ", ".join(f"{name} {_gibibytes(count)}" for name, count in asked.most_common(3))
        raise MachineError(
            f"the components ask for {_gibibytes(total)} of memory in all ({parts}), but this "
            f"machine has {_gibibytes(there)}: "
            "give them less (`heap`, `memory`), or run fewer of them"
        )


def _gibibytes(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB"


def _lacking(links: tuple[PlannedLink, ...], machine: Machine) -> dict[str, list[str]]:
    """What links ask for and this machine cannot do, and the links that ask."""
    found: dict[str, list[str]] = {}
    for link in links:
        shapes = (*link.shapes, *link.changed[0], *link.changed[1])
        for what in {what for shape in shapes if (what := lacking(shape, machine))}:
            found.setdefault(what, []).append(link.name)
    return found


def listed(names: list[str]) -> str:
    """The first few of many names."""
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
