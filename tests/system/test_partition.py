"""The partition study in its short form: with acks: 1 the site that is cut off loses what it
acknowledged; with acks: all none.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from streambed import Producer, Run
from streambed.kinds.evidence.readers import IDENTITY
from streambed.record.events import Inject
from streambed.reports.figures import delivery
from streambed.results.runs import find
from tests.support.running import ROOT, streambed

pytestmark = pytest.mark.system
STUDY = ROOT / "examples" / "partition"
TOPIC = "topic-0"


def judged(name: str, folder: Path) -> tuple[int, dict, Run]:
    done = streambed("run", STUDY / f"sites3-{name}.yaml", "--json", "--no-report", cwd=folder)
    assert done.stdout, done.stderr
    summary = json.loads(done.stdout)
    return done.returncode, summary, Run(Path(summary["run"]))


def cut_off(run: Run) -> str:
    """The site that led the topic when the fault came."""
    (inject,) = run.history().of(Inject)
    return next(site for site in ("site1", "site2", "site3") if site in inject.target)


def lost_records(summary: dict, run: Run) -> pl.DataFrame:
    """The lost records, with what the ledger knows of them and whether the site that was cut off
    had sent them.
    """
    named = pl.DataFrame(summary["verdicts"][0]["evidence"]["lost"])
    nodes = {
        name: component.node
        for name, component in run.history().components.items()
        if isinstance(component, Producer)
    }
    here = pl.col("producer").replace_strict(nodes) == cut_off(run)
    return named.join(run.ledger().sent.select(*IDENTITY, "due", "sent"), on=IDENTITY).with_columns(
        here=here
    )


def run_pytest_of_the_docs(folder: Path) -> subprocess.CompletedProcess[str]:
    """The test of docs/testing.md, which runs the short form with acks: all into `kept`."""
    page = (ROOT / "docs" / "testing.md").read_text()
    (snippet,) = re.findall(r"```python\n(def test_.*?)```", page, re.DOTALL)
    (folder / "test_snippet.py").write_text(snippet)
    shutil.copy(STUDY / "sites3-acksall.yaml", folder)
    words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--streambed-into",
        "kept",
        "test_snippet.py",
    ]
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Future, Future, Path]]:
    """Both forms at once, of which neither asks how long anything took: they wait more than they
    compute.
    """
    one, every = (tmp_path_factory.mktemp(name) for name in ("acks1", "acksall"))
    with ThreadPoolExecutor() as pool:
        yield (
            pool.submit(judged, "acks1", one),
            pool.submit(run_pytest_of_the_docs, every),
            every / "kept",
        )


def test_with_acks_1_the_site_that_is_cut_off_loses_what_it_acknowledged(both):
    status, summary, run = both[0].result()

    assert (status, [verdict["answer"] for verdict in summary["verdicts"]]) == (
        1,
        ["fails", "holds"],
    ), summary
    lost = lost_records(summary, run)
    (inject,) = run.history().of(Inject)
    assert (set(lost["where"]), set(lost["topic"])) == ({"lost in the log"}, {TOPIC})
    assert (
        lost.filter(pl.col("here") & (pl.col("during") == "isolate")).height > 100
    )  # Of 150 that were due there while it was cut off.
    # What was sent just before may have been acknowledged and not yet copied; afterwards nobody
    # else reached the old leader.
    assert lost.filter(~pl.col("here") & (pl.col("sent") > inject.time)).is_empty()
    assert lost["due"].min() > inject.time - 3_000_000_000
    table, _ = delivery.records_by_step(run.history())
    assert dict(table.group_by("reader").agg(pl.col("lost").sum()).iter_rows()) == {
        f"c{site}": lost.height for site in (1, 2, 3)
    }


def test_with_acks_all_nothing_that_was_acknowledged_is_lost_and_the_test_of_the_docs_says_so(both):
    done = both[1].result()
    assert done.returncode == 0, done.stdout
    run = find("latest", both[2])

    assert [verdict.answer for verdict in run.verdicts()] == ["holds", "holds"]
    nodes = {
        name: component.node
        for name, component in run.history().components.items()
        if isinstance(component, Producer)
    }
    unacked = run.ledger().sent.filter(pl.col("acked").is_null())
    assert cut_off(run) in {
        nodes[producer] for producer in unacked["producer"]
    }  # Its producer knows that they were not acknowledged.


@pytest.mark.parametrize("short", ["", "sites3-"])
def test_the_two_forms_differ_in_acks_alone(short):
    one, every = (
        (STUDY / f"{short}{name}.yaml").read_text().splitlines() for name in ("acks1", "acksall")
    )

    differing = [
        (before, after) for before, after in zip(one, every, strict=True) if before != after
    ]

    assert len(differing) == 5  # The comment, the name, min.insync.replicas of either topic, acks.
