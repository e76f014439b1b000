"""Studies from YAML files. Every point is checked before the first run, so that a wrong value of
the last point is reported at once.
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
from streambed.declare.yaml.reader import MISSING_VERSION, wrong_version
from streambed.errors import DeclarationError, Problem

_STUDY = TypeAdapter(Study)


@dataclass(frozen=True, kw_only=True)
class DeclaredStudy:
    """A study, its file, and the experiment of each of its points."""

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
        document.problems.append(MISSING_VERSION)
    study = _study_of(document)
    if study and not (path.parent / study.experiment).is_file():
        says = f"there is no file '{study.experiment}' beside this one"
        document.problems.append(document.problem("experiment", says))
    if study is None or document.problems:
        raise DeclarationError(document.problems, str(path))
    points = _points(study, document, path)
    return DeclaredStudy(
        study=study, path=path, points=points, repetitions=repetitions or study.repetitions
    )


def _study_of(document: Document) -> Study | None:
    try:
        study = _STUDY.validate_python(document.content)
    except ValidationError as error:
        for complaint in complaints(error.errors(), document.content, Study):
            located = document.locate(complaint.problem, at_key=complaint.at_key)
            document.problems.append(located)
        return None
    document.problems += [document.locate(problem) for problem in study.problems()]
    return study


def _points(study: Study, document: Document, path: Path) -> tuple[Declared, ...]:
    points: list[Declared] = []
    problems: dict[tuple[str, str], Problem] = {}
    fixed = {overrides.override(key, value): f"set.{key}" for key, value in study.set.items()}
    for point in study.points():
        varied = dict(zip(point.overrides, _keys_of(study.vary, point), strict=True))
        keys_by_override = {**fixed, **varied}
        try:
            declared = reading.read(path.parent / study.experiment, list(keys_by_override))
        except DeclarationError as error:
            wrong = _problems_of_overrides(error, keys_by_override)
        else:
            wrong = list(_beside(study, declared.experiment))
            points.append(declared)
        problems |= {(problem.key, problem.says): problem for problem in wrong}
    if problems:
        located = [document.locate(problem) for problem in problems.values()]
        raise DeclarationError(located, str(path))
    return tuple(points)


def _keys_of(vary: Any, point: Point) -> Iterator[str]:
    """The key of the study's file that gives each value of a point."""
    for key, value in point.values.items():
        if isinstance(vary, dict):
            yield f"vary.{key}.{vary[key].index(value)}"
        else:
            yield f"{point.at}.{key}"


def _problems_of_overrides(
    error: DeclarationError, keys_by_override: dict[str, str]
) -> list[Problem]:
    """The problems of an experiment, each at the key of the study whose override made it.

    DeclarationError if the experiment itself is wrong, with or without the study's changes.
    """
    keys = {overrides.option_of(override): key for override, key in keys_by_override.items()}
    wrong = []
    for problem in error.problems:
        key = keys.get(problem.option)
        if key:
            problem = replace(problem, key=key, line=0, column=0, option="")
        wrong.append(problem)
    inside = [problem for problem in wrong if problem.line or not problem.key]
    if inside:
        raise DeclarationError(inside, error.file) from None
    return wrong


def _beside(study: Study, experiment: Experiment) -> Iterator[Problem]:
    """What is wrong with a study, given the experiment of one of its points."""
    if study.warm_up >= experiment.duration:
        says = f"{study.warm_up} leaves nothing of a load that lasts {experiment.duration}"
        yield Problem(key="warm_up", says=says)
    for name, measure in study.measures.items():
        for problem in measure.problems(experiment.components):
            yield replace(problem, key=f"measures.{name}.{problem.key}")
