"""Spark job: a PySpark script, unchanged, with Spark's driver in local mode on its host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from streambed import artifacts
from streambed.errors import Problem
from streambed.kinds.components.component import OnOneNode, Site, missing_file, missing_folder, unknown_topics
from streambed.kinds.components.limits import Limits
from streambed.kinds.components.place import Placed
from streambed.kinds.components.spark_log import SparkLog
from streambed.kinds.components.topics import Topics
from streambed.kinds.declaring import Name, Setting, declared, setting_text
from streambed.plan import OnExit, ProcessSpec
from streambed.units import Size
from streambed.world import Missing, World

DRIVER = Path(__file__).parents[2] / "agents" / "spark_driver.py"
"""Run as a file, because the job's own interpreter may not have streambed."""


@declared
class SparkJob(OnOneNode):
    """Runs the PySpark script `job` with `args`; the script need not know of streambed."""

    kind: Literal["spark_job"] = "spark_job"
    name: Name
    node: str = ""
    """The host."""
    place: Placed = None
    """How the host is chosen if `node` does not name it."""
    job: str
    """The script."""
    reads: Topics = ()
    """The topics that it reads: the check of its latency follows them."""
    writes: Topics = ()
    args: tuple[str, ...] = ()
    """May refer to the world: {kafka.bootstrap}, {self.checkpoint}, {edge.address}."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = ""
    """The folder that it runs in; default: one of its own in the run's folder."""
    python: str = ""
    """An interpreter of its own, with pyspark in it."""
    cores: Annotated[int, Field(ge=1, le=1024)] = 2
    """Threads of local[n]; also the number of shuffle partitions unless `settings` says otherwise."""
    memory: Size = Size(1 << 30)
    """Java heap of the driver."""
    start: Literal["quick", "steady"] = "quick"
    """quick: compile lightly, start soon; steady: compile fully, for long runs at high rates."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Any of Spark's settings."""
    limits: Limits | None = None
    """What each of its processes may use of the machine."""
    on_exit: OnExit = "fail"

    @property
    def needs(self) -> tuple[str, ...]:
        """Spark's connectors."""
        return ("spark_job",)

    def problems(self, others: Mapping[str, Any], base: Path) -> list[Problem]:
        """Its script must be there, its topics declared."""
        found = missing_file(self.job, base, "job") + (missing_file(self.python, base, "python") if self.python else [])
        found += missing_folder(self.cwd, base, "cwd") if self.cwd else []
        return found + unknown_topics(self.reads, others, "reads") + unknown_topics(self.writes, others, "writes")

    def processes(self, site: Site) -> list[ProcessSpec]:
        """The driver agent, which starts Spark's Java and then runs the script."""
        bootstrap = site.bootstrap_for((*self.reads, *self.writes))
        interpreter = str(site.base / self.python) if self.python else site.machine.python
        flags = [flag for flag in artifacts.SPARK_FLAGS if self.start == "quick" or not flag.startswith("-XX:TieredStopAtLevel")]
        java = artifacts.spark_command(site.java, pyspark_home=artifacts.find_pyspark(), flags=[*flags, f"-Xmx{self.memory.bytes >> 20}m"])
        order = {
            "java": java,
            "settings": self._settings(site),
            "job": str(site.base / self.job),
            "args": [site.resolve(word, self.name) for word in self.args],
        }
        return [
            ProcessSpec(
                name=self.name,
                component=self.name,
                node=self.node,
                argv=(interpreter, str(DRIVER), json.dumps(order)),
                env={
                    **site.variables(self.name, self.node, bootstrap),
                    **{key: site.resolve(text, self.name) for key, text in self.env.items()},
                },
                cwd=str(site.base / self.cwd if self.cwd else site.data(self.name)),
                on_exit=self.on_exit,
                heap_bytes=self.memory.bytes,
            )
        ]

    def _settings(self, site: Site) -> dict[str, str]:
        home = site.data(self.name)
        settings: dict[str, Setting] = {
            "spark.app.name": self.name,
            "spark.master": f"local[{self.cores}]",
            "spark.driver.host": self.node,
            "spark.driver.bindAddress": self.node,
            "spark.local.dir": f"{home}/local",
            "spark.sql.warehouse.dir": f"{home}/warehouse",
            "spark.sql.shuffle.partitions": self.cores,
            "spark.eventLog.enabled": True,
            "spark.eventLog.dir": f"{home}/events",
            "spark.eventLog.rolling.enabled": False,
            "spark.eventLog.compress": False,
            "spark.ui.enabled": False,  # Nobody outside the box can reach it, and it takes a second to start.
            "spark.ui.showConsoleProgress": False,
            **self.settings,
        }
        return {key: setting_text(setting) for key, setting in settings.items()}

    def log(self, world: World) -> SparkLog:
        """The reader of this job's event log, kept as long as the world."""
        return world.keep(f"spark log {self.name}", lambda: SparkLog(world.directory / "data" / self.name / "events"))

    def readiness(self, world: World) -> Missing:
        """Ready when each streaming query that it started has looked for input, or when a batch job has ended."""
        log = self.log(world)

        def missing() -> str:
            if not world.find(self.name).alive:
                return ""
            return log.missing()

        return missing
