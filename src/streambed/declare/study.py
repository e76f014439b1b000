"""A study: one experiment run many times with changes, and the points and trials it consists of."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed.declare.yaml import overrides
from streambed.errors import Problem, suggestion
from streambed.kinds.declaring import Name, declared
from streambed.kinds.measures import Measure
from streambed.units import Duration

TRIALS_MAX = 1000
FIXED = {
    "seed": "each repetition has its own seed, drawn from the study's",
    "name": "trials are kept under the experiment's name",
}
"""Keys of an experiment that a study sets itself."""


@declared
class Plot:
    """A measure over a varied key."""

    x: str
    """A varied key."""
    y: str
    """A measure."""
    colour: str = ""
    """Another varied key; without it, all the others together."""


@declared
class Study:
    """One experiment many times, with something changed."""

    version: Literal[1] = 1
    """The version of this format: 1."""
    name: Name
    """Trials and results are kept in a folder of this name."""
    experiment: str
    """The declaration of the experiment, relative to this file."""
    set: dict[str, Any] = Field(default_factory=dict)
    """What is changed for all trials: the keys of `--set`, and their values."""
    vary: Any = Field(default_factory=dict)
    """What differs between trials: a list of values for each key, all combined; or a list of
    points, each with its keys and values.
    """
    repetitions: Annotated[int, Field(strict=True, ge=1)] = 1
    """How many trials each point gets."""
    order: Literal["random", "given"] = "random"
    """In which order trials run; random order keeps a slow drift of the machine from looking like
    an effect.
    """
    seed: Annotated[int, Field(strict=True)] = 1
    """The order is drawn from it, and the seed of each repetition, which is the same for all
    points.
    """
    warm_up: Duration = Duration(0)
    """This much of the load's beginning is left out of latency, throughput and cpu.
    """
    measures: Annotated[dict[Name, Measure], Field(min_length=1)]
    """What is taken from each run, by name."""
    plots: tuple[Plot, ...] = ()
    """What is drawn; without it, each measure over the first varied key."""
    labels: dict[str, str] = Field(default_factory=dict)
    """What varied keys are called on the page and in the terminal, such as `delay of the edge` for
    `topology.links.0.delay`.
    """

    def points(self) -> list[Point]:
        """Every combination of values, in the order of the file."""
        if not isinstance(self.vary, Mapping):
            return [
                Point(at=f"vary.{at}", values=dict(values)) for at, values in enumerate(self.vary)
            ]
        return [
            Point(at="vary", values=dict(zip(self.vary, chosen, strict=True)))
            for chosen in itertools.product(*self.vary.values())
        ]

    def keys(self) -> list[str]:
        """The varied keys, in the order of the file."""
        return list(dict.fromkeys(key for point in self.points() for key in point.values))

    def label(self, key: str) -> str:
        """What people call a varied key; itself unless `labels` has another word."""
        return self.labels.get(key, key)

    def trials(self, repetitions: int) -> list[Trial]:
        """Every trial, in the order in which they run."""
        points = self.points()
        trials = [
            Trial(
                point=at,
                keys=points[at].texts,
                repetition=repetition,
                seed=seed_of(self.seed, repetition),
            )
            for repetition in range(1, repetitions + 1)
            for at in range(len(points))
        ]
        if self.order == "random":
            random.Random(f"order {self.seed}").shuffle(trials)
        return trials

    def problems(self) -> list[Problem]:
        """What is wrong with the study as a whole, after each key was valid by itself."""
        # Points are made only if they are well formed, and not too many.
        first = _wrong_form(self.vary) or self._too_many()
        if first:
            return first
        return [
            *self._wrong_keys(),
            *_repeated_points(self.points()),
            *self._wrong_plots(),
            *self._wrong_labels(),
        ]

    def _wrong_keys(self) -> list[Problem]:
        changed = [("set", key) for key in self.set]
        for point in self.points():
            changed += [(point.at, key) for key in point.values]
        wrong = [
            Problem(key=f"{at}.{key}", says=f"cannot be changed by a study: {FIXED[key]}")
            for at, key in dict.fromkeys(changed)
            if key in FIXED
        ]
        keys = self.keys()
        for key in self.set:
            if key in keys:
                wrong.append(Problem(key=f"set.{key}", says="is varied as well: say it once"))
        return wrong

    def _wrong_labels(self) -> list[Problem]:
        keys = self.keys()
        return [
            Problem(key=f"labels.{key}", says=f"'{key}' is not varied. {suggestion(key, keys)}")
            for key in self.labels
            if key not in keys
        ]

    def _too_many(self) -> list[Problem]:
        points = len(self.vary)
        if isinstance(self.vary, Mapping):
            points = math.prod(map(len, self.vary.values()))
        count = points * self.repetitions
        if count <= TRIALS_MAX:
            return []
        return [Problem(key="vary", says=f"this makes {count} trials: at most {TRIALS_MAX}")]

    def _wrong_plots(self) -> list[Problem]:
        keys = self.keys()
        wrong = []
        for at, plot in enumerate(self.plots):
            varied = {"x": plot.x}
            if plot.colour:
                varied["colour"] = plot.colour
            for axis, name in varied.items():
                if name not in keys:
                    says = f"'{name}' is not varied. {suggestion(name, keys)}"
                    wrong.append(Problem(key=f"plots.{at}.{axis}", says=says))
            if plot.y not in self.measures:
                says = f"there is no measure '{plot.y}'. {suggestion(plot.y, self.measures)}"
                wrong.append(Problem(key=f"plots.{at}.y", says=says))
        return wrong


@dataclass(frozen=True, kw_only=True)
class Point:
    """One combination of values of the varied keys; `at` is where the file says it."""

    at: str
    values: dict[str, Any]

    @property
    def texts(self) -> dict[str, str]:
        """The values as the file writes them."""
        return {
            key: value if isinstance(value, str) else json.dumps(value, default=str)
            for key, value in self.values.items()
        }

    @property
    def overrides(self) -> list[str]:
        """The point as --set options of the command line."""
        return [overrides.override(key, value) for key, value in self.values.items()]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of a study: a point and its repetition number."""

    point: int
    keys: dict[str, str]
    repetition: int
    seed: int

    @property
    def name(self) -> str:
        """Unique in its study, and the same when the study grows."""
        values = [f"{key}={text}" for key, text in self.keys.items()]
        return ", ".join([*values, f"repetition {self.repetition}"])


def seed_of(seed: int, repetition: int) -> int:
    """The seed of a repetition: the same for every point, so that points differ in nothing else."""
    return random.Random(f"repetition {seed} {repetition}").randrange(1, 2**31)


def _wrong_form(vary: Any) -> list[Problem]:
    """What is wrong with the form of `vary`, which may be a grid or a list of points."""
    if isinstance(vary, Mapping):
        wrong = []
        for key, values in vary.items():
            if not isinstance(values, list):
                says = "write a list of values in brackets, such as [10ms, 20ms]"
                wrong.append(Problem(key=f"vary.{key}", says=says))
            elif not values:
                wrong.append(Problem(key=f"vary.{key}", says="has no values: give at least one"))
        return wrong
    if not isinstance(vary, list):
        return [Problem(key="vary", says="write keys with lists of values, or a list of points")]
    if not vary:
        return [Problem(key="vary", says="has no points: give at least one")]
    points = "is not a point: write keys and values, such as {duration: 10s}"
    return [
        Problem(key=f"vary.{at}", says=points)
        for at, point in enumerate(vary)
        if not isinstance(point, Mapping) or not point
    ]


def _repeated_points(points: list[Point]) -> list[Problem]:
    seen: set[tuple[tuple[str, str], ...]] = set()
    wrong = []
    for point in points:
        key = tuple(point.texts.items())
        if key in seen:
            values = ", ".join(f"{name}={text}" for name, text in key)
            wrong.append(Problem(key=point.at, says=f"the point {values} is given twice"))
        seen.add(key)
    return wrong
