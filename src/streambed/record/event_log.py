"""The event log of a run: one line of JSON for each event, written without buffering."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from streambed.record import EVENTS, codec, now_ns, write_whole
from streambed.record.events import EVENTS as KINDS
from streambed.record.events import Event, OtherEvent, event_name
from streambed.record.old_form import in_new_form


class EventLog:
    """Writes events; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def record(self, event: Event) -> None:
        """Write one event, with the current time."""
        with self._lock:
            self._file.write(line_of(replace(event, time=now_ns())))

    def close(self) -> None:
        """Close the file; `record` must not be called again."""
        self._file.close()


def append_event(directory: Path, event: Event) -> None:
    """Record an event of a run that is over. It replaces half a line that a killed run may have
    left.
    """
    path = directory / "history" / EVENTS
    before = path.read_bytes() if path.exists() else b""
    whole_lines = before[: before.rfind(b"\n") + 1]
    write_whole(path, whole_lines + line_of(replace(event, time=now_ns())))


def line_of(event: Event) -> bytes:
    """An event as a line of the file."""
    fields = event.fields if isinstance(event, OtherEvent) else codec.fields_of(event)
    return codec.encode({"time": event.time, "event": event_name(event), **fields}) + b"\n"


def event_of(line: bytes) -> Event:
    """The event in a line of the file, which an older version may have written."""
    plain: dict[str, Any] = json.loads(line)
    name = plain.pop("event")
    kind = KINDS.get(name)
    if kind is None:
        return OtherEvent(time=plain.pop("time"), name=name, fields=plain)
    return codec.convert(kind, in_new_form(name, plain))


def read_events(directory: Path) -> tuple[Event, ...]:
    """All events in a run's folder, without half a line at the end."""
    path = directory / "history" / EVENTS
    if not path.exists():
        return ()
    lines = path.read_bytes().split(b"\n")[:-1]
    return tuple(event_of(line) for line in lines if line)
