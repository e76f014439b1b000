"""docs/results.md names what a run's folder holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streambed.record.events import EVENTS

PAGE = (Path(__file__).parents[1] / "docs" / "results.md").read_text()


def test_the_page_lists_every_event_and_no_other():
    section = PAGE.partition("## Events")[2].partition("## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]

    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(EVENTS)


@pytest.mark.parametrize(
    "code",
    re.findall(
        r"```python\n(.*?)```", PAGE.partition("## Events")[2].partition("## ")[0], re.DOTALL
    ),
)
def test_the_code_about_events_runs(code, tmp_path, monkeypatch):
    (tmp_path / "runs" / "word-count").mkdir(parents=True)
    (tmp_path / "runs" / "word-count" / "latest").symlink_to(Path(__file__).parent / "old_run")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    exec(compile(code, "results.md", "exec"), names)

    assert names["history"].of(names["Inject"])
