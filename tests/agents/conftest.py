"""An agent in a folder like that of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.agents.agent import Agent


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("STREAMBED_RUN", str(tmp_path))
    monkeypatch.setenv("STREAMBED_PROCESS", "reader")
    (tmp_path / "gauges").mkdir()
    (tmp_path / "history").mkdir()
    return Agent()
