"""Query a store of a run: a running one on the store's host, a finished one on a copy of its data.

    python -m streambed.runner.query.running RUN STORE TEXT

Run as a separate program, which writes the result to stdout as an Arrow file, so that `results`
need not import the runner. It imports little, because it shares the machine with the run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from streambed.errors import (
    QueryError,
    StoreError,
    StreambedError,
    UsageError,
    WorldError,
    suggestion,
)
from streambed.record.codec import read_message, write_message
from streambed.record.event_log import read_events
from streambed.record.events import ProcessEnded, ProcessStarted
from streambed.record.orders import Refusal, StoreQueryOrder
from streambed.record.status import state_of
from streambed.runner.visits.namespaces import command_on
from streambed.stores.store import Address


@dataclass(frozen=True, kw_only=True)
class PlannedStores:
    """The part of plan.json that a query needs: the whole Plan takes longer to import."""

    stores: dict[str, Address] = field(default_factory=dict)


def answer(directory: Path, store: str, text: str) -> bytes:
    """The result of a query, as an Arrow file."""
    stores = read_message(directory / "plan.json", PlannedStores).stores
    if store not in stores:
        raise UsageError(
            f"there is no store '{store}' in {directory} that can be asked. "
            f"{suggestion(store, stores)}"
        )
    address = stores[store]
    with tempfile.TemporaryDirectory(prefix="question-", dir=directory) as folder:
        answer_file = Path(folder) / "answer.arrow"
        if state_of(directory)[0] == "running":
            _ask_live(directory, store, address, text, answer_file)
        else:
            # Only a finished run needs the imports that start a server.
            from streambed.runner.query import finished

            finished.ask(directory, store, address, text, answer_file)
        return read_answer(answer_file, store)


def read_answer(answer_file: Path, store: str) -> bytes:
    """The Arrow file that the query agent wrote; raises what it wrote instead."""
    refusal_file = answer_file.with_suffix(".json")
    if refusal_file.exists():
        refusal = read_message(refusal_file, Refusal)
        says = f"{store}: {refusal.says}"
        raise QueryError(says) if refusal.query_wrong else StoreError(says)
    if not answer_file.exists():
        raise StoreError(f"{store} was asked, but there is no answer")
    return answer_file.read_bytes()


def query_command(address: Address, text: str, answer_file: Path, *, read_only: bool) -> list[str]:
    """Write the order for the query agent beside the answer; returns the command to run."""
    order = answer_file.with_name("order.json")
    query = StoreQueryOrder(store=address, text=text, answer=str(answer_file), read_only=read_only)
    write_message(order, query)
    return [sys.executable, "-m", "streambed.agents.store_query", str(order)]


def _ask_live(directory: Path, store: str, address: Address, text: str, answer_file: Path) -> None:
    """Query on the store's host, so that links and faults do not matter; a file is opened here."""
    command = query_command(address, text, answer_file, read_only=True)
    if address.hosts:
        command = command_on(directory, _node_of(directory, store), command)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorldError(f"'{store}' could not be asked: {done.stderr.strip()}")


def _node_of(directory: Path, store: str) -> str:
    """A node on which a server of the store runs."""
    events = read_events(directory)
    lives = [
        event
        for event in events
        if isinstance(event, ProcessStarted | ProcessEnded) and event.component == store
    ]
    newest = {event.process: event for event in lives}
    nodes = [event.node for event in newest.values() if isinstance(event, ProcessStarted)]
    if not nodes:
        raise StoreError(f"no server of '{store}' runs at this moment")
    return str(nodes[0])


def main(directory: str, store: str, text: str) -> None:
    """Write the result to stdout, an error to stderr."""
    try:
        sys.stdout.buffer.write(answer(Path(directory), store, text))
    except StreambedError as error:
        sys.stderr.write(str(error))
        raise SystemExit(error.exit_status) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
