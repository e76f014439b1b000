"""Kinds from outside the package: docs/adding-a-kind.md, followed to the letter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from streambed import Run
from streambed.kinds.installed import GROUP
from tests.support.running import ROOT

pytestmark = [pytest.mark.system, pytest.mark.together(25)]

PAGE = ROOT / "docs" / "adding-a-kind.md"
BLOCK = re.compile(r"```(?:python|toml|yaml)\n# (\S+)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ streambed run experiment\.yaml --set '(.*)'$", re.MULTILINE)
LIMIT_S = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, and the package installed from them."""
    folder = tmp_path_factory.mktemp("outside") / "streambed-nats"
    for name, text in BLOCK.findall(PAGE.read_text()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    # Without an index: what the package depends on is there already, and nothing is fetched in a
    # test.
    install = [
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(folder / "installed"),
        str(folder),
    ]
    subprocess.run([sys.executable, "-m", "pip", "install", *install], check=True, timeout=LIMIT_S)
    return folder


def streambed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line, where the package is installed."""
    program = str(Path(sys.executable).with_name("streambed"))
    env = {**os.environ, "PYTHONPATH": str(folder / "installed")}
    return subprocess.run(
        [program, *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def run(folder: Path, *words: str) -> dict[str, dict[str, str]]:
    """The verdicts of a run, by kind and what they are about."""
    done = streambed(folder, "run", "experiment.yaml", "--no-report", "--json", *words)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads(done.stdout)
    names = ["no_loss:lines", "latency:shouter", "latency:reader", "few_duplicates:shouts"]
    return dict(zip(names, summary["verdicts"], strict=True))


def test_the_page_has_all_files_of_the_package():
    assert [name for name, _ in BLOCK.findall(PAGE.read_text())] == [
        "pyproject.toml",
        "streambed_nats/__init__.py",
        "streambed_nats/freeze.py",
        "streambed_nats/few_duplicates.py",
        "streambed_nats/file_server.py",
        "streambed_nats/nats.py",
        "streambed_nats/client.py",
        "streambed_nats/record_job.py",
        "streambed_nats/run_job.py",
        "shout.py",
        "experiment.yaml",
    ]
    assert f'[project.entry-points."{GROUP}"]' in PAGE.read_text()


def test_a_run_with_them_is_judged(folder):
    verdicts = run(folder)

    assert {name: verdict["answer"] for name, verdict in verdicts.items()} == dict.fromkeys(
        verdicts, "holds"
    ), verdicts
    assert verdicts["no_loss:lines"]["says"] == "500 acked, 500 seen"
    assert "over 500 records" in verdicts["latency:shouter"]["says"]
    assert verdicts["latency:shouter"]["evidence"]["max_ns"] > 500_000_000, (
        "the shouter stood still for a second"
    )


def test_what_is_lost_is_found(folder):
    (change,) = COMMAND.findall(PAGE.read_text())

    verdicts = run(folder, "--set", change)

    assert verdicts["no_loss:lines"]["answer"] == "fails"
    lost = verdicts["no_loss:lines"]["evidence"]["lost"]
    assert 50 < len(lost) < 400
    assert {record["during"] for record in lost} >= {"kill"}
    assert verdicts["latency:shouter"]["answer"] == "fails"
    assert verdicts["latency:shouter"]["evidence"]["lost"] == len(lost)


def test_their_problems_are_reported_like_those_of_built_in_kinds(folder):
    text = (folder / "experiment.yaml").read_text()
    wrong = (
        text.replace("topics: [lines", "topcis: [lines")
        .replace("record_job", "record_jb")
        .replace("kind: freeze", "kind: freze")
    )
    (folder / "wrong.yaml").write_text(wrong.replace("most: 0", "mst: 0"))

    done = streambed(folder, "plan", "wrong.yaml")

    assert done.returncode == 64
    for said in (
        "wrong.yaml:11:36: components.nats.topcis: unknown key 'topcis'. Did you mean 'topics'?",
        "components.shouter.kind: there is no kind 'record_jb' of components. Did you mean "
        "'record_job'?",
        "faults.0.kind: there is no kind 'freze' of faults. Did you mean 'freeze'?",
        "checks.3.mst: unknown key 'mst'. Did you mean 'most'?",
    ):
        assert said in done.stderr


def test_what_their_broker_cannot_do_is_refused(folder):
    changes = [
        "--set",
        "components.poet.transaction={records: 3}",
        "--set",
        "components.reader.settings={fetch.min.bytes: 3}",
    ]

    done = streambed(folder, "plan", "experiment.yaml", *changes)

    assert done.returncode == 64
    assert "NATS has no transactions: leave it out" in done.stderr
    assert "these are Kafka's, but 'nats' is a NATS: leave them out" in done.stderr


def test_their_keys_are_in_the_schema(folder):
    schema = json.loads(streambed(folder, "schema").stdout)

    assert schema["$defs"]["Nats"]["required"] == ["kind", "topics"]
    at = schema["$defs"]["Freeze"]["properties"]["at"]["description"]
    assert at.startswith("When it begins, counted from the start of the load.")


def test_a_run_with_them_needs_them_to_be_judged_again(folder):
    latest = sorted((folder / "runs" / "shouting").glob("2*"))[0]

    assert streambed(folder, "check", str(latest)).returncode == 0
    with pytest.raises(
        Exception, match="the run declares the kind 'nats', which is not installed here"
    ):
        Run(latest).check()


def test_a_package_that_cannot_be_loaded_is_one_message(tmp_path):
    dist = tmp_path / "installed" / "streambed_broken-1.0.dist-info"
    dist.mkdir(parents=True)
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: streambed-broken\nVersion: 1.0\n")
    (dist / "entry_points.txt").write_text(f"[{GROUP}]\nbroken = no_such_module:KINDS\n")

    done = streambed(tmp_path, "doctor")

    assert done.returncode == 64
    assert done.stderr.startswith(
        "the kinds of the package streambed-broken cannot be loaded: ModuleNotFoundError"
    )
    assert "Traceback" not in done.stderr
