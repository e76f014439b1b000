"""Refuse experiments that this machine cannot emulate, before anything is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from streambed.errors import MachineError
from streambed.kinds.direction_rules import missing_ability
from streambed.kinds.faults.fault import Fault
from streambed.plan import Machine, PlannedLink, ProcessSpec

ADVICE = "`streambed doctor` tells what this machine can emulate and how to mend it"


def refuse_what_cannot_be(
    links: tuple[PlannedLink, ...], faults: Iterable[Fault], machine: Machine
) -> None:
    """Raise MachineError that names everything that links and faults need and the machine lacks."""
    if not machine.namespaces:
        reason = "this machine does not let you make the namespaces that hosts live in"
        raise MachineError("\n".join([reason, *machine.notes, ADVICE]))
    reasons = [reason for fault in faults if (reason := fault.lacks(machine))]
    emulated = [link.name for link in links if link.emulated]
    if emulated and machine.means == "none":
        links_text = list_names(emulated)
        reasons.append(
            f"this machine can neither delay, lose nor cut packets, but {links_text} needs it"
        )
    for reason, names in _links_by_lack(links, machine).items():
        reasons.append(f"this machine {reason}, but {list_names(names)} needs it")
    if reasons:
        raise MachineError("\n".join([*reasons, ADVICE]))


def refuse_too_much_memory(processes: Iterable[ProcessSpec], machine: Machine) -> None:
    """Raise MachineError if heaps and disks in memory need more than the machine's memory."""
    asked: Counter[str] = Counter()
    for process in processes:
        asked[process.component] += process.heap_bytes + process.disk_bytes
    total = asked.total()
    available = machine.memory_mib << 20
    if available and total > available:
        parts = ", ".join(f"{name} {_gibibytes(count)}" for name, count in asked.most_common(3))
        raise MachineError(
            f"the components ask for {_gibibytes(total)} of memory in all ({parts}), "
            f"but this machine has {_gibibytes(available)}: "
            "give them less (`heap`, `memory`, the `size` of fill_disk), or run fewer of them"
        )


def _gibibytes(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB"


def _links_by_lack(links: tuple[PlannedLink, ...], machine: Machine) -> dict[str, list[str]]:
    """Each thing that the machine cannot do, with the links that need it."""
    names: dict[str, list[str]] = {}
    for link in links:
        shapes = (*link.shapes, *link.changed[0], *link.changed[1])
        lacks = {missing_ability(shape, machine) for shape in shapes}
        for lack in lacks - {""}:
            names.setdefault(lack, []).append(link.name)
    return names


def list_names(names: list[str]) -> str:
    """The first three names, and how many more there are."""
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
