"""The pages name only what exists, and name every environment variable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOMES = [ROOT, *(ROOT / home for home in ("src", "src/streambed", "src/gateway_traffic"))]
FOREIGN = {"job.py", "script.py", "monitor.py", "shout.py"}
"""Scripts of a reader, in examples."""
RUN_FOLDERS = {
    "captures/",
    "data/",
    "failures/",
    "figures/",
    "handed_in/",
    "logs/",
    "orders/",
    "trials/",
}
"""Of a run or a study."""
PATH = re.compile(r"`((?:[\w.-]+/)+|(?:[\w.-]+/)*[\w-]+\.py)(?::\w+)?`")
VARIABLE = re.compile(r"\bSTREAMBED_[A-Z_]+\b")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def outside_code_blocks(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def is_in_the_repository(path: str) -> bool:
    return any((home / path).exists() for home in (*HOMES, ROOT / "tests", ROOT / "benchmarks"))


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_modules_and_packages_that_a_page_names_exist(page):
    paths = set(PATH.findall(outside_code_blocks(page.read_text()))) - FOREIGN - RUN_FOLDERS

    assert sorted(path for path in paths if not is_in_the_repository(path)) == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_between_pages_lead_somewhere(page):
    links = LINK.findall(outside_code_blocks(page.read_text()))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_page_of_environment_variables_names_those_of_the_code_and_no_others():
    page = (ROOT / "docs" / "environment.md").read_text()
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    used = {name for source in sources for name in VARIABLE.findall(source)}

    assert sorted(set(VARIABLE.findall(page))) == sorted(used)
    assert "STREAMBED_HAND_IN" in used
