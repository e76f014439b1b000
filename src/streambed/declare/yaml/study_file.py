"""Studies from YAML files. Every point is checked before the first run, so that a wrong value at
the last is told at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from streambed.declare import reading
from streambed.declare.experiment import Experiment
from streambed.declare.reading import Declared
from streambed.declare.study import Point, Study, Trial
from streambed.declare.yaml import overrides
from streambed.declare.yaml.document import Document, document_at
from streambed.declare.yaml.messages import complaints
from streambed.declare.yaml.reader import wrong_version
from streambed.errors import DeclarationError, Problem

_STUDY = TypeAdapter(Study)


@dataclass(frozen=True, kw_only=True)
class DeclaredStudy:
    """A study, the file that says so, and the experiment of each of its points."""

    study: Study
    path: Path
    points: tuple[Declared, ...]
    repetitions: int

    @cached_property
    def trials(self) -> list[Trial]:
        """Every trial, in the order in which they run."""
        return self.study.trials(self.repetitions)

    def experiment(self, trial: Trial) -> Declared:
        """The experiment of one trial, with its seed."""
        declared = self.points[trial.point]
        return replace(declared, experiment=replace(declared.experiment, seed=trial.seed))


def read(path: Path, repetitions: int | None = None) -> DeclaredStudy:
    """Read a study and the experiment of each of its points; DeclarationError lists all that is
    wrong.
    """
    document = document_at(path, "a study")
    if wrong := wrong_version(document):
        raise DeclarationError([wrong], str(path))
    if "version" not in document.content:
        document.problems.append(
            Problem(
                key="version", says="is missing: write 'version: 1' at the top", line=1, column=1
            )
        )
    study = _understood(document)
    if study and not (path.parent / study.experiment).is_file():
        document.problems.append(
            document.problem("experiment", f"there is no file '{study.experiment}' beside this one")
        )
    if study is None or document.problems:
        raise DeclarationError(document.problems, str(path))
    points = _points(study, document, path)
    return DeclaredStudy(
        study=study, path=path, points=points, repetitions=repetitions or study.repetitions
    )


def _understood(document: Document) -> Study | None:
    try:
        study = _STUDY.validate_python(document.content)
    except ValidationError as error:
        heard = complaints(error.errors(), document.content, Study)
        document.problems += [document.locate(one.problem, at_key=one.at_key) for one in heard]
        return None
    document.problems += [document.locate(problem) for problem in study.problems()]
    return study


def _points(study: Study, document: Document, path: Path) -> tuple[Declared, ...]:
    found: list[Declared] = []
    told: dict[tuple[str, str], Problem] = {}
    fixed = {overrides.override(key, value): f"set.{key}" for key, value in study.set.items()}
    for point in study.points():
        places = {**fixed, **dict(zip(point.overrides, _places(study.vary, point), strict=True))}
        try:
            declared = reading.read(path.parent / study.experiment, list(places))
        except DeclarationError as error:
            options = {overrides.option_of(override): place for override, place in places.items()}
            wrong = [_at_its_place(problem, options) for problem in error.problems]
            if inside := [problem for problem in wrong if problem.line or not problem.key]:
                raise DeclarationError(
                    inside, error.file
                ) from None  # The experiment itself is wrong, whatever the study changes.
        else:
            wrong = list(_beside(study, declared.experiment))
            found.append(declared)
        told |= {(problem.key, problem.says): problem for problem in wrong}
    if told:
        raise DeclarationError([document.locate(problem) for problem in told.values()], str(path))
    return tuple(found)


def _places(vary: Any, point: Point) -> Iterator[str]:
    """Where the study's file gives each value of a point."""
    for key, value in point.values.items():
        yield (
            f"vary.{key}.{vary[key].index(value)}"
            if isinstance(vary, dict)
            else f"{point.at}.{key}"
        )


def _at_its_place(problem: Problem, options: dict[str, str]) -> Problem:
    """A problem of an override belongs to the line of the study that made the override."""
    place = options.get(problem.option)
    return replace(problem, key=place, line=0, column=0, option="") if place else problem


def _beside(study: Study, experiment: Experiment) -> Iterator[Problem]:
    """What is wrong with a study beside the experiment of one of its points."""
    if study.warm_up >= experiment.duration:
        yield Problem(
            key="warm_up",
            says=f"{study.warm_up} leaves nothing of a load that lasts {experiment.duration}",
        )
    for name, measure in study.measures.items():
        for problem in measure.problems(experiment.components):
            yield replace(problem, key=f"measures.{name}.{problem.key}")
