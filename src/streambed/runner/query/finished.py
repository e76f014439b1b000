"""Query a store of a finished run: its server starts again on a copy of its data, in a new box."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from streambed import plan
from streambed.declare.experiment import Experiment
from streambed.declare.link import Link
from streambed.declare.topology import Topology
from streambed.errors import StoreError, WorldError
from streambed.kinds.components.component import Component
from streambed.kinds.declared_parts import components_of
from streambed.plan import Plan, PlannedFile, ProcessSpec
from streambed.planner.planner import plan_for
from streambed.runner import launcher
from streambed.runner.query.running import query_command
from streambed.stores.store import Address
from streambed.units import Duration

ASKER = "asker"
SWITCH = "between"


def ask(directory: Path, store: str, address: Address, text: str, answer: Path) -> None:
    """Copy the data, query the copy and write the result to `answer`; the caller removes both."""
    data = directory / "data" / store
    _demand_room(data)
    if not address.hosts:
        _ask_file(address, text, answer)
        return
    small = _small_plan(directory, store, answer.parent / "run")
    question = ProcessSpec(
        name=ASKER,
        component=ASKER,
        node=address.hosts[0],
        argv=tuple(query_command(address, text, answer, read_only=False)),
        on_exit="record",
        # Processes of the drain start when servers are ready, and the run waits for their end.
        starts="drain",
    )
    done = launcher.launch(replace(small, processes=(*small.processes, question), drain_limit_ns=0))
    if done.state != "finished":
        raise WorldError(f"'{store}' could not be started again: {done.reason}")


def _demand_room(data: Path) -> None:
    needed = sum(path.lstat().st_size for path in data.rglob("*"))
    free = shutil.disk_usage(data).free
    if needed > free:
        raise WorldError(
            f"a copy of {data} is asked, so that it stays as it is, but it has {needed >> 20} MiB "
            f"and {free >> 20} are free"
        )


def _ask_file(address: Address, text: str, answer: Path) -> None:
    """Query a copy of a file, made with the files that its engine keeps beside it."""
    source = Path(address.path)
    if not source.exists():
        raise StoreError(f"nothing was written: there is no {source}")
    copy = answer.parent / "copy"
    shutil.copytree(source.parent, copy)
    address_of_copy = replace(address, path=str(copy / source.name))
    command = query_command(address_of_copy, text, answer, read_only=False)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorldError(f"{source} could not be asked: {done.stderr.strip()}")


def _small_plan(directory: Path, store: str, into: Path) -> Plan:
    """Only that store, on hosts with their old addresses and one switch between them.

    Each server gets a copy of its old folder.
    """
    before = plan.read(directory / "plan.json")
    # The setup has been done: its results are in the data.
    declared = {**before.declaration["components"][store], "setup": []}
    component = components_of({"components": {store: declared}})[store]
    topology = _small_topology(before, component)
    experiment = Experiment(
        name=before.name, duration=Duration(1), topology=topology, components={store: component}
    )
    decided = plan_for(experiment, launcher.examine(), base=directory, directory=into)
    folders = {spec.name: spec.cwd for spec in before.processes}
    copied = [
        replace(spec, files=(PlannedFile(path=spec.cwd, source=folders[spec.name]), *spec.files))
        for spec in decided.processes
    ]
    return replace(decided, processes=tuple(copied))


def _small_topology(before: Plan, component: Component) -> Topology:
    hosts = tuple(dict.fromkeys(component.places.values()))
    addresses = {host: before.node(host).address for host in hosts}
    if len(hosts) == 1:
        return Topology(hosts=hosts, addresses=addresses)
    return Topology(
        switches=(SWITCH,),
        links=tuple(Link(ends=(host, SWITCH)) for host in hosts),
        addresses=addresses,
    )
