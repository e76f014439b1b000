"""The events of a run that was never made: two faults, one unexpected death."""

from __future__ import annotations

import math

from streambed.record import codec
from streambed.record.events import EVENTS, Batch, Event

SECOND = 1_000_000_000
BEGAN = 5_000 * SECOND
WALL = 1_790_000_000 * SECOND
BROKERS = ("broker1", "broker2", "broker3")
FAULTS = (
    (18, 25, "partition", "{broker1} | {broker2, broker3}"),
    (32, 37, "kill", "broker2 (leader of lines/0)"),
)
CLIENTS = {"poet": "edge", "reader": "edge", "archive": "edge", "counter": "cluster"}


def at(seconds: float) -> int:
    """A moment of the run."""
    return BEGAN + round(seconds * SECOND)


def event(seconds: float, name: str, **fields: object) -> Event:
    """An event this many seconds after the run began."""
    return codec.convert(EVENTS[name], {"time": at(seconds), **codec.fields_of(fields)})


def events_of_a_run(load_s: int) -> list[Event]:
    """All events in order of time; the load begins at second 10."""
    end = 10 + load_s
    events = [event(when, "phase", phase=phase) for phase, when in _phases(end).items()]
    events.append(event(0, "clock", wall_ns=WALL))
    for name, node in CLIENTS.items():
        events.append(_start(1.3, name, name, node, pid=1))
        events.append(_end(end + 4.5, name, name, node))
    for broker in BROKERS:
        events.append(_start(0.7, broker, "kafka", broker, pid=2))
        events.append(_end(end + 4.8, broker, "kafka", broker))
    events += [*_death_of_a_broker(), *_faults()]
    events.append(event(26, "note", says="controller moved to broker3"))
    batches = range(load_s * 2 // 3 - 1)
    events += [batch_of_the_counter(number, 11.5 + 1.5 * number) for number in batches]
    # Stable: the first phase stays the first event.
    return sorted(events, key=lambda one: one.time)


def _phases(end: float) -> dict[str, float]:
    before = {"build": 0, "start": 0.6, "ready": 1.2, "load": 10}
    return before | {"heal": end, "drain": end + 0.2, "stop": end + 4, "destroy": end + 5}


def _start(when: float, process: str, component: str, node: str, *, pid: int) -> Event:
    names = {"process": process, "component": component, "node": node}
    return event(when, "process_started", **names, pid=pid, incarnation=0)


def _end(when: float, process: str, component: str, node: str) -> Event:
    names = {"process": process, "component": component, "node": node}
    return event(when, "process_ended", **names, status=0, expected=True, last_lines=[])


def _death_of_a_broker() -> list[Event]:
    names = {"process": "broker2", "component": "kafka", "node": "broker2"}
    lines = ["INFO Kafka Server started", "WARN <lost> & gone"]
    death = event(32.1, "process_ended", **names, status=-9, expected=False, last_lines=lines)
    return [death, _start(37, "broker2", "kafka", "broker2", pid=2)]


def _faults() -> list[Event]:
    events = []
    for index, (start, stop, kind, target) in enumerate(FAULTS):
        fault = {"fault": index, "kind": kind, "target": target}
        events.append(event(start, "inject", **fault, lasts_ns=(stop - start) * SECOND))
        events.append(event(stop, "heal", **fault))
    return events


def batch_of_the_counter(number: int, start: float) -> Batch:
    took = 0.4 + 0.2 * math.sin(number) + (2.5 if 18 <= start < 25 else 0)
    fields = {
        "component": "counter",
        "query": "counts",
        "batch": number,
        "start": at(start),
        "end": at(start + took),
        "rows": 300,
        "output_rows": 40,
    }
    offsets = {"lines": {"0": [number * 300, number * 300 + 300]}}
    return event(
        start + took,
        "batch",
        durations_ms={"triggerExecution": round(took * 1000)},
        offsets=offsets,
        **fields,
    )
