"""The report in a real browser."""

import re
import subprocess
from pathlib import Path

import pytest

from streambed.reports import page
from tests.reports import synthetic

pytestmark = [pytest.mark.browser, pytest.mark.together(15)]
QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def document(browser: str, path: Path, profile: Path, part: str = "") -> str:
    """The page as the browser holds it once its scripts have run; `part` is the address's hash."""
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        *QUIET,
        f"--user-data-dir={profile}",
        "--window-size=1400,1200",
        "--virtual-time-budget=20000",
    )
    done = subprocess.run(
        [browser, *flags, "--dump-dom", path.as_uri() + part],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout


def marks(document: str) -> dict[str, int]:
    """How many marks each figure drew, by its name."""
    parts = re.split(r'id="figure-(\w+)"', document)[1:]
    figures = zip(parts[::2], parts[1::2], strict=True)
    return {
        name: len(re.findall(r'<path [^>]*\bd="M', text.split("<figcaption")[0]))
        for name, text in figures
    }


def test_every_figure_is_drawn_and_no_script_fails(browser: str, tmp_path: Path):
    run = tmp_path / "word-count" / "one"
    synthetic.write_run(run)

    text = document(browser, page.write(run), tmp_path / "profile", "#all")

    drawn = marks(text)
    assert '<div id="script-errors" role="alert"></div>' in text
    assert f'data-drawn="{len(drawn)}"' in text
    assert drawn.keys() == {path.stem for path in (run / "figures").glob("*.svg")}
    assert not [name for name, count in drawn.items() if count < 3]


def test_a_script_that_is_not_of_the_page_does_not_run(browser: str, tmp_path: Path):
    run = tmp_path / "word-count" / "one"
    synthetic.write_run(run)
    report = page.write(run)
    foreign = "<main><script>document.body.dataset.foreign = 'ran'</script>"
    report.write_text(report.read_text().replace("<main>", foreign, 1))

    text = document(browser, report, tmp_path / "profile")

    assert marks(text)["story"] > 10
    assert "dataset.foreign" in text and "data-foreign" not in text


def test_what_is_folded_or_far_below_is_not_drawn_at_first(browser: str, tmp_path: Path):
    run = tmp_path / "word-count" / "one"
    synthetic.write_run(run)

    text = document(browser, page.write(run), tmp_path / "profile")

    drawn = marks(text)
    assert drawn["story"] > 10
    assert (drawn["memory"], drawn["lateness"]) == (0, 0)
    assert "data-first-ms=" in text


def test_a_script_that_fails_is_told_to_the_reader(browser: str, tmp_path: Path):
    run = tmp_path / "word-count" / "one"
    synthetic.write_run(run)
    path = page.write(run)
    path.write_text(path.read_text().replace('id="specs"', 'id="lost"'))

    assert "A script of this page failed" in document(browser, path, tmp_path / "profile")
