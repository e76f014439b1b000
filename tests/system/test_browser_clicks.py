"""Clicking in the report, in a real browser."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from streambed import plan as plans
from streambed.reports import page
from tests.support import synthetic
from tests.support.chromium import Page, open_page

pytestmark = [pytest.mark.browser, pytest.mark.together(20)]
COMMAND = "streambed run word_count.yaml --seed 7"
DECLARATION = "version: 1\nname: word-count  # <b>\n"
CLIPBOARD = ["clipboardReadWrite", "clipboardSanitizedWrite"]
TITLE = "document.querySelector('#delivery h3').getBoundingClientRect().top"
SHOWN = "views.get('delivery').view.signal('{}')"


@pytest.fixture(scope="module")
def report(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("runs")
    run = folder / "word-count" / "one"
    synthetic.write_run(run)
    plans.write(replace(plans.read(run / "plan.json"), command=COMMAND), run / "plan.json")
    (run / "experiment.yaml").write_text(DECLARATION)
    with open_page(browser, folder / "profile") as tab:
        tab.open(page.write(run).as_uri(), ready="document.body && document.body.dataset.firstMs")
        yield tab
        assert tab.evaluate("document.getElementById('script-errors').textContent") == ""


def click_to_copy(report: Page, name: str, *, until: str) -> None:
    report.click(f"button[data-copy={name}]")
    report.wait_for(f"document.querySelector('[data-copy={name}]').textContent === '{until}'")


def copied(report: Page, name: str) -> str:
    """What is on the clipboard after a click."""
    click_to_copy(report, name, until="copied")
    text: str = report.evaluate("navigator.clipboard.readText()")
    return text


def test_a_lost_range_leads_to_the_heat_map_and_is_marked_there(report: Page):
    report.click("a[data-from]")
    report.wait_for(f"views.get('delivery') && {SHOWN.format('shown_from')} > -1")

    link = "document.querySelector('a[data-from]').dataset"
    assert report.evaluate("location.hash") == "#figure-delivery"
    assert report.evaluate(f"{SHOWN.format('shown_from')} === Number({link}.from)")
    assert report.evaluate(f"{SHOWN.format('shown_to')} === Number({link}.to)")
    bands = "[...document.querySelectorAll('#figure-delivery .mark-rect')].at(-1)"
    assert 1 < report.evaluate(f"{bands}.getBoundingClientRect().width") < 50
    report.wait_for(f"{TITLE} >= 0 && {TITLE} < window.innerHeight / 2")


def test_a_click_copies_the_command_and_the_declaration(report: Page):
    report.call("Browser.grantPermissions", permissions=CLIPBOARD)
    report.evaluate("document.querySelector('#repeat details').open = true")

    assert copied(report, "command") == COMMAND
    assert copied(report, "declaration") == DECLARATION


def test_without_a_clipboard_a_click_selects_the_text(report: Page):
    denied = {"permission": {"name": "clipboard-write"}, "setting": "denied"}
    report.call("Browser.setPermission", **denied)

    click_to_copy(report, "command", until="selected: press Ctrl-C")

    assert report.evaluate("String(getSelection())").strip() == COMMAND
