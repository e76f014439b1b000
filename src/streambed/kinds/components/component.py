"""What the rest of streambed asks of a component."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, Protocol, Self

from streambed.artifacts import Need
from streambed.errors import Problem, suggestion
from streambed.kinds.components.broker import Broker
from streambed.kinds.components.engine import Engine
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.plan_context import Loopback, PlanContext
from streambed.kinds.components.progress import (
    NOTHING_TO_WAIT_FOR,
    DeclaredReader,
    DeclaredWriter,
    Progress,
)
from streambed.kinds.components.stores.store_protocol import Store
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import Setting
from streambed.kinds.disks import HasDisks, NoDisks
from streambed.plan import ProcessSpec
from streambed.record.events import Event
from streambed.world import Missing, World

Needs = tuple[Need, ...]
AutoPlace = Literal["spread", "round_robin", "nearest"]
ExistingCluster = Literal["bootstrap", "spark_master"]
"""The command-line options that name an existing cluster."""


class Component(HasDisks, Protocol):
    """Something that runs. It answers for itself: no caller checks its kind.

    ComponentBase has the defaults that most kinds share.
    """

    needs: ClassVar[Needs]
    """The artifacts that must have been fetched."""

    @property
    def name(self) -> str:
        """The name that the user gave."""

    @property
    def kind(self) -> str:
        """Its key in the table of kinds; for people and for files, not for decisions."""

    # What it is.

    @property
    def as_broker(self) -> Broker | None:
        """Itself, if it is a broker."""

    @property
    def as_engine(self) -> Engine | None:
        """Itself, if it runs a job that reads and writes topics."""

    @property
    def as_store(self) -> Store | None:
        """Itself, if it is a store."""

    # Where it runs and what it needs.

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node it runs on, such as {"nodes.0": "broker1"}."""

    @property
    def host_keys(self) -> tuple[str, ...]:
        """The keys that name its hosts and may be left to `place`: node, nodes, both or none."""

    @property
    def auto_place(self) -> AutoPlace:
        """What `place: auto` means for it."""

    @property
    def server(self) -> bool:
        """Whether others wait until it is ready."""

    @property
    def limits(self) -> Limits | None:
        """What its processes may use of the machine."""

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that it takes on each of its hosts, as far as they are known."""

    # Records.

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """The consumer groups and jobs that it declares."""

    @property
    def writers(self) -> tuple[DeclaredWriter, ...]:
        """The clients that it declares to write topics, with what they ask of the broker."""

    @property
    def topics_written(self) -> tuple[str, ...]:
        """The topics that it writes."""

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        """The transactional ids of its producers."""

    @property
    def keeps_ledger(self) -> bool:
        """Whether it writes every record that it sends or sees to a ledger."""

    @property
    def hands_in_ledger(self) -> bool:
        """Whether that ledger comes from a program of the user (record/handed_in.py)."""

    @property
    def stores_used(self) -> tuple[str, ...]:
        """The stores that it writes, by name."""

    @property
    def state_places(self) -> dict[str, str]:
        """The state it recovers from, and the component that stores it; "" for its host's disk."""

    @property
    def any_group(self) -> bool:
        """Whether it may join consumer groups that are not declared."""

    @property
    def shows_flow(self) -> bool:
        """Whether its agents count records, which the live view shows."""

    @property
    def shows_output(self) -> bool:
        """Whether its output is shown during the run."""

    # The declaration.

    def problems(self, others: Components, base: Path) -> list[Problem]:
        """What is wrong with the declaration; keys are relative to the component."""

    def answers(self, data: Path) -> dict[str, str]:
        """What references to it become, such as {kafka.bootstrap}; `data` is its folder."""

    def own_answers(self, data: Path, answers: Mapping[str, str]) -> dict[str, str]:
        """What {self.…} becomes, besides name, node and data, given the answers of the others."""

    @property
    def texts(self) -> dict[str, str]:
        """Its texts that may hold references, by key."""

    # Runs on existing clusters, without an emulated network.

    @property
    def existing_address(self) -> str:
        """The address of an existing cluster; empty if it uses none."""

    @property
    def takes_existing(self) -> tuple[ExistingCluster, ...]:
        """Which existing clusters it can use, or which replace it."""

    def on_existing(self, cluster: ExistingCluster, address: str) -> Self | None:
        """Itself on an existing cluster; None if that replaces it."""

    @property
    def box_reason(self) -> str:
        """Why it cannot run outside the emulated network, and what to do; empty if it can."""

    # A server on this machine's loopback, without a run.

    runs_on_loopback: ClassVar[bool]
    """Whether `on_loopback` can be asked."""

    def on_loopback(self, loopback: Loopback) -> Self:
        """Itself as one server that listens on the loopback address only."""

    # Its life.

    def processes(self, context: PlanContext) -> list[ProcessSpec]:
        """Decide its processes, without side effects."""

    def readiness(self, world: World) -> Missing:
        """Begin to wait for it: the returned function says what is still missing."""

    def snapshot(self, world: World) -> tuple[Event, ...]:
        """Its state, to be recorded when all is ready and again after the drain."""

    def timers(self) -> dict[str, tuple[Setting, bool]]:
        """Settings that decide how long a fault takes effect, and whether each was declared."""

    def progress(self, world: World) -> Progress:
        """What the drain must wait for, and the positions of its readers; nothing for the dead."""

    @property
    def may_write_more(self) -> bool:
        """Whether it may write more records after all readers have caught up."""

    def final_problem(self, world: World) -> str:
        """What is not as declared after the drain; empty if nothing."""

    def exit_reason(self, directory: Path, components: Components) -> str:
        """Why a process of it ended unexpectedly, by its report in the run's folder, or empty."""

    # What is looked up on the machine before the planner is called.

    @property
    def own_python(self) -> str:
        """The interpreter that it brings itself, relative to the declaration; empty if none."""


class ComponentBase(NoDisks):
    """Defaults that most components share."""

    name: str
    kind: str
    needs: ClassVar[Needs] = ()
    host_keys: ClassVar[tuple[str, ...]] = ()
    auto_place: ClassVar[AutoPlace] = "nearest"
    takes_existing: ClassVar[tuple[ExistingCluster, ...]] = ()
    any_group: ClassVar[bool] = False
    may_write_more: ClassVar[bool] = False
    shows_flow: ClassVar[bool] = False
    runs_on_loopback: ClassVar[bool] = False

    @property
    def as_broker(self) -> Broker | None:
        """None: most components have no topics."""
        return None

    @property
    def as_engine(self) -> Engine | None:
        """None: most components run no job."""
        return None

    @property
    def as_store(self) -> Store | None:
        """None: most components cannot be queried."""
        return None

    @property
    def server(self) -> bool:
        """False: no other component waits for it."""
        return False

    @property
    def ports(self) -> tuple[int, ...]:
        """Empty: most components listen on no fixed port."""
        return ()

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """It reads no topic."""
        return ()

    @property
    def writers(self) -> tuple[DeclaredWriter, ...]:
        """What its clients ask of the broker is unknown, if it writes at all."""
        return ()

    @property
    def topics_written(self) -> tuple[str, ...]:
        """It writes no topic."""
        return ()

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        """It sends no transactions."""
        return ()

    @property
    def stores_used(self) -> tuple[str, ...]:
        """It writes no store."""
        return ()

    @property
    def state_places(self) -> dict[str, str]:
        """It recovers from no state."""
        return {}

    @property
    def keeps_ledger(self) -> bool:
        """True: agents that send or see records keep a ledger of them."""
        return True

    @property
    def hands_in_ledger(self) -> bool:
        """False: streambed's own agents keep the ledger."""
        return False

    @property
    def shows_output(self) -> bool:
        """False: its output only goes to its log."""
        return False

    @property
    def texts(self) -> dict[str, str]:
        """Empty: none of its texts may hold references."""
        return {}

    def answers(self, data: Path) -> dict[str, str]:
        """Empty: other components cannot refer to its values."""
        return {}

    def own_answers(self, data: Path, answers: Mapping[str, str]) -> dict[str, str]:
        """{self.checkpoint} is a folder of the run."""
        return {"checkpoint": str(data / "checkpoint")}

    @property
    def existing_address(self) -> str:
        """It uses no existing cluster."""
        return ""

    def on_existing(self, cluster: ExistingCluster, address: str) -> Self | None:
        """Unchanged: it does not depend on the cluster."""
        return self

    @property
    def box_reason(self) -> str:
        """Most servers need emulated hosts."""
        return (
            f"a component of kind {self.kind} needs emulated hosts, and there is no box here: "
            "leave it out"
        )

    def on_loopback(self, loopback: Loopback) -> Self:
        """Refused: only kinds with `runs_on_loopback` implement it."""
        raise NotImplementedError(f"{self.kind} does not run on the loopback")

    def snapshot(self, world: World) -> tuple[Event, ...]:
        """Most components have no state to record."""
        return ()

    def timers(self) -> dict[str, tuple[Setting, bool]]:
        """No settings that matter after a fault."""
        return {}

    def progress(self, world: World) -> Progress:
        """The drain need not wait for it."""
        return NOTHING_TO_WAIT_FOR

    def final_problem(self, world: World) -> str:
        """No state is declared for the end of the run."""
        return ""

    def exit_reason(self, directory: Path, components: Components) -> str:
        """It writes no report when it fails."""
        return ""

    @property
    def own_python(self) -> str:
        """It runs in our interpreter, if in any."""
        return ""


class OnOneNode(ComponentBase):
    """A component with one process, on `node`."""

    node: str
    host_keys: ClassVar[tuple[str, ...]] = ("node",)

    @property
    def places(self) -> dict[str, str]:
        """The key that names its node."""
        return {"node": self.node}


def missing_file(path: str, base: Path, key: str) -> list[Problem]:
    """A problem if a file that the declaration names does not exist."""
    file = base / path
    if file.is_file():
        return []
    siblings = [sibling.name for sibling in _siblings(file)]
    known = suggestion(file.name, siblings)
    return [Problem(key=key, says=f"there is no file '{path}' beside the declaration. {known}")]


def missing_folder(path: str, base: Path, key: str) -> list[Problem]:
    """A problem if a folder that the declaration names does not exist."""
    folder = base / path
    if folder.is_dir():
        return []
    siblings = [sibling.name for sibling in _siblings(folder) if sibling.is_dir()]
    known = suggestion(folder.name, siblings)
    return [Problem(key=key, says=f"there is no folder '{path}' beside the declaration. {known}")]


def _siblings(path: Path) -> list[Path]:
    return list(path.parent.glob("*")) if path.parent.is_dir() else []


def when_gauge_is_ready(world: World, component: str) -> Missing:
    """Ready when the gauge of the component's agent says so."""
    return lambda: "" if gauge_is_ready(world, component) else "its agent has not reported yet"


def gauge_is_ready(world: World, process: str) -> bool:
    """Whether the gauge of an agent says that it is ready."""
    gauge = world.gauge(process)
    return gauge is not None and gauge.ready
