"""The report in a real browser."""

from pathlib import Path

import pytest

from streambed.reports import page
from tests.support import synthetic
from tests.support.browser_pages import document, marks

pytestmark = [pytest.mark.browser, pytest.mark.together(15)]


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


def test_a_script_that_fails_is_shown_on_the_page(browser: str, tmp_path: Path):
    run = tmp_path / "word-count" / "one"
    synthetic.write_run(run)
    path = page.write(run)
    path.write_text(path.read_text().replace('id="specs"', 'id="lost"'))

    assert "A script of this page failed" in document(browser, path, tmp_path / "profile")
