"""The page of a comparison."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from streambed.reports import comparison as page
from streambed.results import comparison
from streambed.results.runs import Run
from tests.support import synthetic


def test_the_page_overlays_both_latencies_and_says_what_differs(tmp_path: Path) -> None:
    runs = []
    for name, load_s in (("one", 8), ("two", 6)):
        synthetic.write_run(tmp_path / "words" / name, load_s=load_s)
        runs.append(Run(tmp_path / "words" / name))

    path = page.write(comparison.compare_runs(*runs))

    text = path.read_text()
    assert path == tmp_path / "words" / "two" / "comparison.html"
    assert "Nothing: both declare the same." in text
    assert "median latency of reader" in text
    assert "block bootstrap" in text
    assert "<h1>words/one and words/two</h1>" in text
    assert text.index(">Verdicts</h2>") < text.index(">What differs</h2>")
    assert text.index(">What differs</h2>") < text.index(">Statistics</h2>")
    assert "lost records of lines" in text
    table = pl.read_parquet(path.parent / "figures" / "comparison_latency.parquet")
    assert set(table["run"]) == {"A", "B"}
    assert (
        "A words/one · B words/two"
        in (path.parent / "figures" / "comparison_latency.svg").read_text()
    )
