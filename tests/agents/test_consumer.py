"""A consumer agent takes what has come, and does not wait for more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streambed.agents.agent import Agent
from streambed.agents.consumer import Reading, report
from streambed.record import read_json


class Record:
    """As much of a message as is asked for."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "lines"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_000


class Client:
    """Gives these records, and remembers how long it was told to wait for each lot."""

    def __init__(self, *offsets: int) -> None:
        self.records = [Record(offset) for offset in offsets]
        self.waits: list[float] = []

    def poll(self, wait_s: float) -> Record | None:
        self.waits.append(wait_s)
        return self.records.pop(0) if self.records else None

    def consume(self, count: int, wait_s: float) -> list[Record]:
        self.waits.append(wait_s)
        taken, self.records = self.records, []
        return taken

    def get_watermark_offsets(self, part: Any, cached: bool) -> tuple[int, int]:
        return 0, 10

    def position(self, parts: list[Any]) -> list[Any]:
        return parts


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("STREAMBED_RUN", str(tmp_path))
    monkeypatch.setenv("STREAMBED_PROCESS", "reader")
    (tmp_path / "gauges").mkdir()
    return Agent()


def reading(agent: Agent, client: Client) -> Reading:
    order = {"consumer": "reader", "group": "reader", "topics": ["lines"], "keep": False, "ledger": False, "client": {"group.id": "reader"}}
    found = Reading(agent, order)
    found.client.close()
    found.client, found.ready = client, True  # type: ignore[assignment]
    found.next = {("lines", 0): 0}
    return found


def test_only_the_first_record_is_waited_for(agent: Agent) -> None:
    client = Client(3, 4, 5)
    one = reading(agent, client)

    one.take(0.1)

    assert client.waits == [0.1, 0], "what has come would be kept back until the reader's patience is over"
    assert (one.seen, one.next) == (3, {("lines", 0): 6})


def test_the_gauge_of_many_tells_of_the_slowest(agent: Agent, tmp_path: Path) -> None:
    fast, slow = reading(agent, Client(7)), reading(agent, Client(1, 2))
    for each in (fast, slow):
        each.take(0)

    report(agent, [fast, slow])

    gauge = read_json(tmp_path / "gauges" / "reader.json")
    assert gauge["positions"] == {"lines": {"0": 3}}
    assert (gauge["seen"], gauge["lag"], gauge["ready"]) == (3, 7 + 2, True)
