"""docs/results.md names what a run's folder holds."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from streambed.record.events import EVENTS
from streambed.record.handed_in import LEDGERS
from streambed.results import runs

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


def test_the_code_about_handing_in_runs(tmp_path, monkeypatch):
    section = PAGE.partition("## Handing in a ledger")[2].partition("## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    variables = {"HAND_IN": tmp_path, "COMPONENT": "homes", "PROCESS": "homes", "INCARNATION": "1"}
    for name, value in variables.items():
        monkeypatch.setenv(f"STREAMBED_{name}", str(value))

    exec(compile(code, "results.md", "exec"), {})

    assert [path.name for path in tmp_path.iterdir()] == ["sent-homes-1.parquet"]


@pytest.mark.parametrize("ledger", ["sent", "seen"])
def test_the_page_names_every_column_that_can_be_handed_in(ledger):
    section = PAGE.partition(f"| `{ledger}` | type |")[2].partition("\n\n")[0]
    names = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]

    assert sorted(name for row in names for name in re.findall(r"`(\w+)`", row)) == sorted(
        LEDGERS[ledger].names
    )


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A recorded run, where the page expects it."""
    shutil.copytree(
        Path(__file__).parent / "old_run", tmp_path / "runs" / "old" / "20260101-000000"
    )
    monkeypatch.chdir(tmp_path)
    return runs.find("latest")


IN_PYTHON = PAGE.partition("## In Python")[2].partition("## ")[0]
METHODS = [line.split("|") for line in IN_PYTHON.splitlines() if line.startswith("| `run.")]


@pytest.mark.parametrize("cells", METHODS, ids=lambda cells: cells[1].strip())
def test_a_data_frame_begins_with_the_columns_that_the_page_names(recorded, cells):
    method = re.findall(r"run\.(\w+)\(", cells[1])[0]
    columns = re.findall(r"`(\w+)`", cells[3])

    assert getattr(recorded, method)().columns[: len(columns)] == columns


def test_the_python_of_the_page_runs(recorded):
    (code,) = re.findall(r"```python\n(.*?)```", IN_PYTHON, re.DOTALL)
    names: dict[str, object] = {}

    exec(compile(code, "results.md", "exec"), names)

    assert names["run"].directory == recorded.directory
    assert len(METHODS) == 9
