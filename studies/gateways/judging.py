"""Judge statements by measured numbers: a statement holds, does not hold, or cannot be told.

A statement is about one number that each repetition measures once, such as the ratio of two batch
times, and has a range in which that number must lie. The 95 % interval of its mean (Student)
decides:

    inside the range                                         holds
    outside                                                  does not hold
    across an end of the range, or only one repetition       cannot be told

A statement about every repetition does not hold if one repetition contradicts it.

An explanation belongs to one outcome, is printed only with that one, and is marked as a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from streambed.record.statistics import Summary, summary_of

ABOUT = 0.2
"""«About» a number is within a fifth of it."""
ALIKE = 0.1
"""Two numbers that differ by no more than a tenth count as equal."""
Show = Callable[[float], str]
Where = Mapping[str, object]


class Answer(StrEnum):
    """The verdict on a statement."""

    HOLDS = "Holds"
    FAILS = "Does not hold"
    OPEN = "Cannot be told"


class Outcome(StrEnum):
    """Where the measured interval lies; an explanation belongs to one of these."""

    INSIDE = "inside"
    BELOW = "below"
    ABOVE = "above"
    ACROSS = "across"


ANSWERS = {
    Outcome.INSIDE: Answer.HOLDS,
    Outcome.BELOW: Answer.FAILS,
    Outcome.ABOVE: Answer.FAILS,
    Outcome.ACROSS: Answer.OPEN,
}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One number, the range in which it must lie, and possible explanations of where it lies."""

    says: str
    values: Sequence[float]
    """One value per repetition."""
    least: float = -math.inf
    most: float = math.inf
    show: Show = "{:.2f}".format
    likely: Mapping[Outcome, str] | None = None
    counted: bool = False
    """Each value is 1 or 0: true or false."""

    @property
    def outcome(self) -> Outcome:
        """Where the interval lies."""
        if self.counted and not all(
            self.values
        ):  # One counterexample refutes a statement about every repetition.
            return Outcome.BELOW
        summary = summary_of(self.values)
        if summary.low is None or summary.high is None:
            return Outcome.ACROSS
        if summary.high < self.least:
            return Outcome.BELOW
        if summary.low > self.most:
            return Outcome.ABOVE
        return (
            Outcome.INSIDE
            if self.least <= summary.low and summary.high <= self.most
            else Outcome.ACROSS
        )

    @property
    def answer(self) -> Answer:
        """The verdict by the rule of this module."""
        return ANSWERS[self.outcome]

    def __str__(self) -> str:
        reason = (self.likely or {}).get(self.outcome)
        measured = (
            self._count()
            if self.counted
            else f"{self._measured(summary_of(self.values))}; wanted {self._wanted()}"
        )
        likely = f" Likely because {reason}." if reason else ""
        return f"- **{self.answer}**: {self.says}: {measured}.{likely}"

    def _count(self) -> str:
        return f"in {sum(self.values):.0f} of {len(self.values)} repetitions"

    def _measured(self, summary: Summary) -> str:
        if summary.low is None or summary.high is None:
            return f"{self.show(summary.mean)} in one repetition"
        return f"{self.show(summary.mean)} ({self.show(summary.low)} to {self.show(summary.high)})"

    def _wanted(self) -> str:
        if math.isinf(self.least):
            return f"at most {self.show(self.most)}"
        return (
            f"at least {self.show(self.least)}"
            if math.isinf(self.most)
            else f"{self.show(self.least)} to {self.show(self.most)}"
        )


def about(
    says: str,
    values: Sequence[float],
    number: float,
    show: Show,
    likely: Mapping[Outcome, str] | None = None,
) -> Statement:
    """State that a number is about another."""
    ends = sorted((number * (1 - ABOUT), number * (1 + ABOUT)))
    return Statement(
        says=says, values=values, least=ends[0], most=ends[1], show=show, likely=likely
    )


def alike(
    says: str, ratios: Sequence[float], likely: Mapping[Outcome, str] | None = None
) -> Statement:
    """State that two numbers with these ratios are nearly equal."""
    return Statement(
        says=says,
        values=[ratio - 1 for ratio in ratios],
        least=-ALIKE,
        most=ALIKE,
        show=change,
        likely=likely,
    )


def always(
    says: str, holds: Sequence[bool], likely: Mapping[Outcome, str] | None = None
) -> Statement:
    """State that something is true in every repetition."""
    return Statement(
        says=says,
        values=[float(each) for each in holds],
        least=1.0,
        most=1.0,
        likely=likely,
        counted=True,
    )


def told(intro: str, statements: Sequence[Statement]) -> str:
    """A verdict: how it was measured, then each statement with its verdict."""
    return "\n".join([intro, "", *map(str, statements)])


def values(measurements: pl.DataFrame, value: str, **where: object) -> list[float]:
    """The values of all repetitions at one point."""
    return [float(each) for each in measurements.filter(**where).sort("repetition")[value]]


def ratios(measurements: pl.DataFrame, value: str, of: Where, to: Where) -> list[float]:
    """One point divided by another, for each repetition."""
    return [
        first / second
        for first, second in zip(
            values(measurements, value, **of), values(measurements, value, **to), strict=True
        )
    ]


def changes(measurements: pl.DataFrame, value: str, of: Where, to: Where) -> list[float]:
    """The relative difference of one point from another, for each repetition."""
    return [ratio - 1 for ratio in ratios(measurements, value, of, to)]


def share(number: float) -> str:
    """0.4 as 40 %."""
    return f"{number:.0%}".replace("%", " %")


def change(number: float) -> str:
    """0.4 as +40 %."""
    return f"{number:+.0%}".replace("%", " %") if number else "0 %"
