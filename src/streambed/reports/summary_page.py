"""Pages about more than one run, made of sections with text, figures and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import polars as pl

from streambed import record
from streambed.reports import style
from streambed.reports.figure import Absent, Figure
from streambed.reports.page import TEMPLATES, as_script, plain, write_figure
from streambed.reports.page_scripts import page_scripts
from streambed.results.facts import Fact


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of a page: facts of two runs, sentences, figures, then a table."""

    title: str
    facts: Sequence[Fact] = ()
    lines: Sequence[str] = ()
    figures: Sequence[Figure | Absent] = ()
    table: pl.DataFrame | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a page."""

    kind: str
    title: str
    subtitle: str
    """Names the source in every figure."""
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)
    banners: Sequence[str] = ()


def write(page: Page, path: Path) -> Path:
    """Write the page to `path`, and its figures into figures/ beside it."""
    figures = [
        figure
        for section in page.sections
        for figure in section.figures
        if isinstance(figure, Figure)
    ]
    for figure in figures:
        write_figure(figure, path.parent / "figures", page.subtitle)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"plain": plain, "script": as_script}
    text = environment.get_template("summary_page.html").render(
        page=page,
        specs={figure.name: figure.spec(page.subtitle) for figure in figures},
        themes={theme: style.config(theme) for theme in style.INK},
        ink=style.INK,
        font=style.FONT,
        scripts=page_scripts(),
    )
    record.write_whole(path, text)
    return path
