"""Models on disk: a batch job publishes them, streaming jobs load the newest.

Each version is a folder named by its number, which appears whole or not at all.
"""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.ml import PipelineModel

LOOK_AGAIN_S = 0.2


def publish(model: PipelineModel, models: Path, version: int) -> Path:
    """Save a model as this version. It is written under another name first, so that no reader sees
    half of it.
    """
    unfinished, finished = models / f"unfinished-{version}", models / str(version)
    model.write().overwrite().save(str(unfinished))
    return unfinished.rename(finished)


class Newest:
    """The models of a folder, of which the one that was used last stays loaded."""

    def __init__(self, models: Path) -> None:
        self._models = models
        self._version = 0
        self._model: PipelineModel | None = None

    def version(self) -> int:
        """The largest version that was published; 0 if there is none."""
        names = [folder.name for folder in self._models.glob("*")]
        return max((int(name) for name in names if name.isdigit()), default=0)

    def wait(self, *, limit_s: float = 300) -> int:
        """The newest version, as soon as there is one."""
        end = time.monotonic() + limit_s
        while not (version := self.version()):
            if time.monotonic() > end:
                raise TimeoutError(f"no model in {self._models} within {limit_s:g} s")
            time.sleep(LOOK_AGAIN_S)
        return version

    def load(self, version: int) -> PipelineModel:
        """The model of this version."""
        if self._model is None or version != self._version:
            self._model = PipelineModel.load(str(self._models / str(version)))
            self._version = version
        return self._model
