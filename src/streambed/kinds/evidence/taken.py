"""How often a job took records, and of which of them nobody can tell."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, kw_only=True)
class Taken:
    """For each of some records how often a job took it; one value a record in both columns."""

    times: pl.Series
    untold: pl.Series
    """Whether nobody can tell if the job took a record, even when it had caught up."""
    why_untold: str = ""
    """What is missing of those, for people."""
    evident: bool = True
    """Whether there is anything to judge by: without it, no record counts as lost."""
