"""What a component is to the rest of streambed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self

from streambed.artifacts import Need
from streambed.errors import Problem, suggestion
from streambed.kinds.components.broker import Broker
from streambed.kinds.components.engine import Engine
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.progress import NOTHING_TO_WAIT_FOR, DeclaredReader, Progress
from streambed.kinds.components.site import Site
from streambed.kinds.declaring import Setting
from streambed.plan import ProcessSpec
from streambed.stores.store import Address
from streambed.world import Missing, World

Needs = tuple[Need, ...]
AutoPlace = Literal["spread", "round_robin", "nearest"]
ExistingCluster = Literal["bootstrap", "spark_master"]
"""The options of the command line that name a cluster which exists already."""


class Store(Protocol):
    """A component that can be queried, and that a sink can write."""

    @property
    def name(self) -> str:
        """The name that the user gave."""

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node it runs on."""

    def store_address(self, data: Path) -> Address:
        """Where clients find it, given its folder in the run."""


class Component(Protocol):
    """Something that runs. It answers for itself: nobody asks what kind it is.

    ComponentBase answers all of it that most kinds answer alike.
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
        """Itself, if it is a store that can be queried and that a sink can write."""

    # Where it runs and what it needs.

    @property
    def places(self) -> dict[str, str]:
        """The key that names each node it runs on, such as {"node": "edge"} or {"nodes.0":
        "broker1"}.
        """

    @property
    def host_keys(self) -> tuple[str, ...]:
        """The keys that name its hosts and may be left open if `place` chooses them: node, nodes,
        both or none.
        """

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

    # What it says of records.

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """The consumer groups and jobs that it declares."""

    @property
    def topics_written(self) -> tuple[str, ...]:
        """The topics that it writes."""

    @property
    def keeps_ledger(self) -> bool:
        """Whether it notes every record that it sends or sees."""

    @property
    def stores_used(self) -> tuple[str, ...]:
        """The stores that it writes, by name."""

    @property
    def state_places(self) -> dict[str, str]:
        """What it keeps to recover from, and the component that keeps it; empty text for the disk
        of its own host.
        """

    @property
    def any_group(self) -> bool:
        """Whether it may be in consumer groups that nobody declares."""

    @property
    def shows_flow(self) -> bool:
        """Whether its agents count records, which the live view shows."""

    @property
    def shows_output(self) -> bool:
        """Whether what it prints is shown while the run goes on."""

    # The declaration.

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """What is wrong with it beside the others; keys relative to the component."""

    def answers(self, data: Path) -> dict[str, str]:
        """What references such as {kafka.bootstrap} to it become; `data` is its folder in the
        run.
        """

    def own_answers(self, data: Path, answers: Mapping[str, str]) -> dict[str, str]:
        """What {self.…} becomes for it beside name, node and data, given what all others answer."""

    @property
    def texts(self) -> dict[str, str]:
        """Its texts that may hold references, by key."""

    # Runs on clusters that exist already, without an emulated network.

    @property
    def existing_address(self) -> str:
        """Where it finds a cluster that exists already; empty if it needs none."""

    @property
    def takes_existing(self) -> tuple[ExistingCluster, ...]:
        """Which existing clusters it can use, or which take its place."""

    def on_existing(self, cluster: ExistingCluster, address: str) -> Self | None:
        """Itself on a cluster that exists already; None if that takes its place."""

    @property
    def box_reason(self) -> str:
        """Why it cannot run outside the emulated network, and what to do; empty if it can."""

    # Its life.

    def processes(self, site: Site) -> list[ProcessSpec]:
        """Decide its processes; touches nothing."""

    def readiness(self, world: World) -> Missing:
        """Begin to wait for it: the answer says what is still missing."""

    def timers(self) -> dict[str, tuple[Setting, bool]]:
        """Settings that decide how long the effects of a fault last, and whether each was
        declared.
        """

    def progress(self, world: World) -> Progress:
        """What the drain must wait for, and how far its readers have come. The dead are not waited
        for.
        """

    @property
    def may_write_more(self) -> bool:
        """Whether records may still come out of it when all readers have caught up."""

    def final_problem(self, world: World) -> str:
        """What is not as declared when the run is drained; empty if all is."""


class ComponentBase:
    """What most components answer alike."""

    name: str
    kind: str
    needs: ClassVar[Needs] = ()
    host_keys: ClassVar[tuple[str, ...]] = ()
    auto_place: ClassVar[AutoPlace] = "nearest"
    takes_existing: ClassVar[tuple[ExistingCluster, ...]] = ()
    any_group: ClassVar[bool] = False
    may_write_more: ClassVar[bool] = False
    shows_flow: ClassVar[bool] = False

    @property
    def as_broker(self) -> Broker | None:
        """It is none."""
        return None

    @property
    def as_engine(self) -> Engine | None:
        """It is none."""
        return None

    @property
    def as_store(self) -> Store | None:
        """It is none."""
        return None

    @property
    def server(self) -> bool:
        """Nobody waits for it."""
        return False

    @property
    def ports(self) -> tuple[int, ...]:
        """None that are known."""
        return ()

    @property
    def readers(self) -> tuple[DeclaredReader, ...]:
        """It reads no topic."""
        return ()

    @property
    def topics_written(self) -> tuple[str, ...]:
        """It writes no topic."""
        return ()

    @property
    def stores_used(self) -> tuple[str, ...]:
        """It writes none."""
        return ()

    @property
    def state_places(self) -> dict[str, str]:
        """It keeps nothing to recover from."""
        return {}

    @property
    def keeps_ledger(self) -> bool:
        """It keeps one if it handles records at all."""
        return True

    @property
    def shows_output(self) -> bool:
        """What it prints is only kept."""
        return False

    @property
    def texts(self) -> dict[str, str]:
        """It has none."""
        return {}

    def answers(self, data: Path) -> dict[str, str]:
        """Nothing refers to it."""
        return {}

    def own_answers(self, data: Path, answers: Mapping[str, str]) -> dict[str, str]:
        """Its checkpoint is a folder in the run."""
        return {"checkpoint": str(data / "checkpoint")}

    @property
    def existing_address(self) -> str:
        """It uses no existing cluster."""
        return ""

    def on_existing(self, cluster: ExistingCluster, address: str) -> Self | None:
        """It stays as it is."""
        return self

    @property
    def box_reason(self) -> str:
        """Servers need hosts of their own."""
        return f"a component of kind {self.kind} needs emulated hosts, and there is no box here: leave it out"

    def timers(self) -> dict[str, tuple[Setting, bool]]:
        """It has none that matter."""
        return {}

    def progress(self, world: World) -> Progress:
        """The drain waits for nothing of it."""
        return NOTHING_TO_WAIT_FOR

    def final_problem(self, world: World) -> str:
        """Nothing is declared for the end."""
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
    """A problem if a file that the declaration names is not there."""
    asked = base / path
    if asked.is_file():
        return []
    beside = [found.name for found in asked.parent.glob("*")] if asked.parent.is_dir() else []
    return [
        Problem(
            key=key,
            says=f"there is no file '{path}' beside the declaration. {suggestion(asked.name, beside)}",
        )
    ]


def missing_folder(path: str, base: Path, key: str) -> list[Problem]:
    """A problem if a folder that the declaration names is not there."""
    asked = base / path
    if asked.is_dir():
        return []
    beside = (
        [found.name for found in asked.parent.glob("*") if found.is_dir()]
        if asked.parent.is_dir()
        else []
    )
    return [
        Problem(
            key=key,
            says=f"there is no folder '{path}' beside the declaration. {suggestion(asked.name, beside)}",
        )
    ]


def reference_texts(key: str, words: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Words and variables of a program, by the key of each: they may hold references."""
    listed = {f"{key}.{at}": word for at, word in enumerate(words)}
    return listed | {f"env.{name}": text for name, text in variables.items()}


def when_gauge_is_ready(world: World, component: str) -> Missing:
    """Ready when the agent says so in its gauge."""
    return lambda: "" if gauge_is_ready(world, component) else "its agent has not reported yet"


def gauge_is_ready(world: World, process: str) -> bool:
    """Whether an agent says that it is ready."""
    gauge = world.gauge(process)
    return gauge is not None and gauge.ready
