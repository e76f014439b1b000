"""The page."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from streambed import plan as plans
from streambed.reports import bundle, page
from tests.support import synthetic

NASTY = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "word-count" / "one"
    synthetic.write_run(directory)
    page.write(directory)
    return directory


class Loads(HTMLParser):
    """Collects every address that a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [
            value or ""
            for name, value in attrs
            if name in ("src", "href", "srcset", "data", "action")
        ]


def test_the_page_loads_nothing_from_a_network(complete: Path):
    text = (complete / "report.html").read_text()
    loads = Loads()
    loads.feed(text)

    assert loads.found
    assert not [address for address in loads.found if re.match(r"(https?:)?//", address)]
    assert not re.search(r"@import|url\(\s*['\"]?https?:", text)
    assert "default-src 'none'" in text


def test_a_browser_runs_the_three_scripts_of_the_page_and_no_others(complete: Path):
    text = (complete / "report.html").read_text()
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    (policy,) = re.findall(r'Policy" content="([^"]*)"', text)
    (allowed,) = re.findall(r"script-src ([^;]*);", policy)

    assert len(scripts) == 3
    assert allowed.split() == [f"'sha256-{base64.b64encode(each).decode()}'" for each in digests]
    assert "base-uri 'none'; form-action 'none'" in policy


def test_every_figure_is_kept_as_svg_and_as_a_table(complete: Path):
    names = {path.stem for path in (complete / "figures").glob("*.svg")}

    assert names == {path.stem for path in (complete / "figures").glob("*.parquet")}
    assert {
        "topology",
        "timeline",
        "throughput_sent",
        "latency",
        "synchronisation",
        "story",
        "batch_durations",
        "lateness",
    } <= names
    assert pl.read_parquet(complete / "figures" / "lag.parquet").columns == [
        "time_s",
        "consumer",
        "records",
    ]


def test_every_chart_is_one_that_vega_lite_knows(complete: Path):
    run = page.read(complete)
    figures = [
        figure
        for section in page.sections(run.history, run.plan).values()
        for figure in section
        if isinstance(figure, page.Figure)
    ]

    for figure in figures:
        figure.chart.to_dict(validate=True)  # Raises what is wrong.
    assert len(figures) > 10


@pytest.mark.parametrize("cache", ["cache", "/proc/nowhere"])
def test_the_script_is_made_once_and_a_page_has_it_even_if_it_cannot_be_cached(
    monkeypatch, tmp_path: Path, cache: str
):
    made: list[str] = []
    monkeypatch.setenv("STREAMBED_CACHE", str(tmp_path / cache))
    monkeypatch.setattr(
        bundle.vl_convert, "javascript_bundle", lambda: made.append("made") or "script"
    )

    assert [bundle.bundle.__wrapped__() for _ in range(2)] == ["script", "script"]

    assert len(made) == (1 if cache == "cache" else 2)
    assert len(list(tmp_path.glob("cache/scripts/*"))) == (cache == "cache")


def test_every_plot_carries_run_and_seed(complete: Path):
    for path in (complete / "figures").glob("*.svg"):
        assert "word-count · run one · seed 7" in path.read_text(), path.name


def test_verdicts_are_words_with_evidence(complete: Path):
    text = (complete / "report.html").read_text()

    # The worst answer is in the headline, too.
    assert [text.count(f">{answer}<") for answer in ("HOLDS", "FAILS", "UNKNOWN")] == [1, 2, 1]
    assert "3 of 6,000 acknowledged records of lines lost" in text.split("</header>")[0]
    assert "no_loss · lines" in text
    assert ">poet 1601–1603</a>" in text


def test_durations_are_in_milliseconds_or_seconds(complete: Path):
    text = (complete / "report.html").read_text().split("</main>")[0]

    assert "1.81 s" in text
    assert '<th scope="row">slack</th><td>188 ms</td>' in text
    assert "187700000" not in text


def test_results_come_before_the_figures_of_the_test_bed_which_are_folded(complete: Path):
    text = (complete / "report.html").read_text()
    order = ["verdicts", "story", "delivery", "latency", "records", "timeline", "network"]
    order += ["resources", "fidelity", "timers", "processes", "versions", "files"]

    places = [text.index(f'id="{name}"') for name in order]

    assert places == sorted(places)
    for name in ("fidelity", "timers", "processes", "versions", "files"):
        assert f'<details class="card" id="{name}">' in text


def test_each_process_has_a_link_to_its_log(complete: Path):
    assert '<a href="logs/poet.log">poet</a>' in (complete / "report.html").read_text()


def test_the_command_and_the_declaration_can_be_copied(tmp_path: Path):
    (tmp_path / "history").mkdir()
    command = "streambed run leader.yaml --set components.shop.acks=all"
    plans.write(replace(synthetic.plan_of(tmp_path), command=command), tmp_path / "plan.json")
    (tmp_path / "experiment.yaml").write_text("name: leader\n")

    text = page.write(tmp_path).read_text()

    assert f'data-copy="command">copy</button></p><pre id="command">{command}</pre>' in text
    assert '<pre id="declaration">name: leader\n</pre>' in text


def test_the_libraries_are_embedded_once(complete: Path):
    assert (complete / "report.html").read_text().count("window.vegaEmbed=") == 1


def test_last_lines_of_a_dead_process_are_escaped(complete: Path):
    assert "WARN &lt;lost&gt; &amp; gone" in (complete / "report.html").read_text()


def test_names_cannot_become_markup(tmp_path: Path):
    tmp_path.joinpath("history").mkdir()
    plan = synthetic.plan_of(tmp_path, name=NASTY)
    node = replace(plan.nodes[-1], name=NASTY)
    plans.write(replace(plan, nodes=(node,), links=(), processes=()), tmp_path / "plan.json")
    (tmp_path / "verdicts.json").write_text(
        json.dumps(
            [{"check": NASTY, "answer": "fails", "says": NASTY, "evidence": {NASTY: [NASTY]}}]
        )
    )
    (tmp_path / "status.json").write_text(json.dumps({"state": "broken", "reason": NASTY}))

    assert NASTY not in page.write(tmp_path).read_text()


def test_an_empty_directory_still_gives_a_page(tmp_path: Path):
    text = page.write(tmp_path).read_text()

    assert "This run is of unknown state." in text
    assert text.count('class="absent"') > 10


def test_a_broken_run_says_so_and_why(tmp_path: Path):
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "events.jsonl").write_text(
        '{"time": 5, "event": "phase", "phase": "build"}\n{"time": 9, "ev'
    )
    (tmp_path / "status.json").write_text(
        json.dumps({"state": "broken", "reason": "the delay line died"})
    )

    text = page.write(tmp_path).read_text()

    assert "This run is broken." in text
    assert "the delay line died" in text


def test_a_long_list_of_evidence_ends_with_how_many_more():
    assert page.plain(list(range(62))).endswith("58, 59 and 2 more")
