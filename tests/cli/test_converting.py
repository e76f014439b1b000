"""`streambed convert` writes a stream2gym experiment as YAML; what is wrong is one message."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from streambed.cli.app import app
from streambed.declare import reading
from streambed.errors import DeclarationError, UsageError
from tests.support.declare.graphs import write


def test_a_graph_is_printed_as_yaml_with_its_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)

    done = CliRunner().invoke(
        app, ["convert", "input.graphml", "--set", "duration=7s", "--seed", "3"]
    )

    assert done.output.startswith("# Converted from input.graphml.\n# - ZooKeeper is gone")
    (tmp_path / "same.yaml").write_text(done.output)
    assert (
        reading.read(Path("same.yaml")).experiment
        == reading.read(Path("input.graphml"), ["duration=7s"], 3).experiment
    )


def test_a_graph_is_written_to_a_file_with_paths_from_there(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    done = CliRunner().invoke(
        app, ["convert", str(write(tmp_path)), "-o", str(tmp_path / "other" / "same.yaml")]
    )

    assert done.exit_code == 0
    assert "note: ZooKeeper is gone" in done.output
    assert (
        reading.read(tmp_path / "other" / "same.yaml").experiment.components["h1-producer-1"].file
        == "../a.txt"
    )


def test_what_cannot_be_converted_is_refused(tmp_path: Path) -> None:
    assert isinstance(
        CliRunner().invoke(app, ["convert", str(tmp_path / "none.graphml")]).exception,
        DeclarationError,
    )
    assert isinstance(
        CliRunner()
        .invoke(app, ["convert", str(write(tmp_path)), "-o", str(tmp_path / "no" / "x.yaml")])
        .exception,
        UsageError,
    )


def test_its_help_names_both_that_it_converts() -> None:
    done = CliRunner().invoke(app, ["convert", "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})

    assert "GraphML of stream2gym or streamline, or YAML with a generated topology" in done.output
