"""The command that runs the whole pipeline."""

from __future__ import annotations

import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

from rich.console import Console
from typer import Context, Exit, Option

from gateway_traffic import traces
from gateway_traffic.cli.auditing import DIFFERS
from gateway_traffic.cli.jobs import SettingOption, table_of
from gateway_traffic.errors import UsageError
from gateway_traffic.pipeline import Pipeline, carry_out
from gateway_traffic.records import Version
from gateway_traffic.stores.opening import open_store

LOCAL_SPARK = "local[2]"
DECLARED = ("--experiment", "--set")
"""The options of a box; its declaration holds all the rest."""


class Target(StrEnum):
    """Where the pipeline runs."""

    BOX = "box"
    LOCAL = "local"
    CLUSTER = "cluster"


TargetOption = Annotated[
    Target,
    Option(
        help="box: on a network emulated by streambed; local: your Kafka, Spark in a process "
        "here; cluster: your Kafka and Spark."
    ),
]
BootstrapOption = Annotated[str, Option(help="local, cluster: Kafka's address.")]
SparkMasterOption = Annotated[
    str,
    Option(help="cluster: Spark's address, spark://HOST:PORT; local: local[2] unless given."),
]
FolderOption = Annotated[Path, Option(help="Folder for the files of the run; must be empty.")]
StoreOption = Annotated[str, Option(help="The store. Default: traffic.db in --folder.")]
CheckpointOption = Annotated[
    str,
    Option(help="A new folder that all hosts of Spark can write to. Default: in --folder."),
]
VersionOption = Annotated[Version, Option(help="What the numbers of a record mean.")]
GatewaysOption = Annotated[int, Option(help="Number of homes.", min=1)]
DaysOption = Annotated[float, Option(help="Days that the trace covers.")]
SeedOption = Annotated[int, Option(help="Seed of the trace.")]
RateOption = Annotated[float, Option(help="Records a second.", min=1)]
PartitionsOption = Annotated[
    int, Option(help="Partitions of each topic that the run makes.", min=1)
]
PrefixOption = Annotated[
    str, Option(help="Prefix of the topics: use a new one if other runs left records there.")
]
DrainOption = Annotated[float, Option(help="Seconds for the job to catch up.")]
ExperimentOption = Annotated[Path, Option(help="box: the declaration.")]
ChangeOption = Annotated[
    list[str] | None,
    Option("--set", help="box: a change of the declaration, KEY=VALUE; may be repeated."),
]


def run(
    context: Context,
    target: TargetOption,
    bootstrap: BootstrapOption = "",
    spark_master: SparkMasterOption = "",
    folder: FolderOption = Path("gateways-run"),
    store: StoreOption = "",
    checkpoint: CheckpointOption = "",
    version: VersionOption = Version.COUNTER,
    gateways: GatewaysOption = 200,
    days: DaysOption = 0.05,
    seed: SeedOption = 1,
    rate: RateOption = 500.0,
    partitions: PartitionsOption = 2,
    prefix: PrefixOption = "traffic",
    setting: SettingOption = None,
    drain: DrainOption = 180.0,
    experiment: ExperimentOption = Path("examples/gateways/demo.yaml"),
    change: ChangeOption = None,
) -> None:
    """Run the pipeline on a new trace, then compare the store with the exact answer.

    Exit status 1 if they differ.
    """
    _refuse_unused_options(target, context)
    if target is Target.BOX:
        _become_box(experiment, change or [])
    if target is Target.LOCAL:
        spark_master = spark_master or LOCAL_SPARK
    pipeline = Pipeline(
        bootstrap=_require(bootstrap, "bootstrap", target),
        spark_master=_require(spark_master, "spark-master", target),
        store=store or str(folder / "traffic.db"),
        folder=folder,
        checkpoint=checkpoint or str(folder.absolute() / "checkpoint"),
        homes=traces.Homes(gateways=gateways, days=days, seed=seed),
        version=version,
        rate=rate,
        partitions=partitions,
        prefix=prefix,
        settings=tuple(setting or ()),
        drain_s=drain,
    )
    result = carry_out(pipeline, print)
    _show(pipeline.store)
    print(result.says)
    if result.differences:
        raise Exit(DIFFERS)


def _require(address: str, option: str, target: Target) -> str:
    if not address:
        raise UsageError(f"--target {target} needs --{option}, the address of your service")
    return address


def _refuse_unused_options(target: Target, context: Context) -> None:
    """Refuse options that would change nothing with this target."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name == "target" or not source or source.name != "COMMANDLINE":
            continue
        option = parameter.opts[0]
        if target is Target.BOX and option not in DECLARED:
            raise UsageError(
                f"--target {target} takes no {option}: the declaration of a box says that"
            )
        if target is not Target.BOX and option in DECLARED:
            raise UsageError(f"--target {target} takes no {option}: that is for a box")


def _become_box(experiment: Path, changes: list[str]) -> NoReturn:
    """Replace this process by `streambed run`, which then gets signals and sets the exit status."""
    if not experiment.is_file():
        raise UsageError(f"there is no declaration {experiment}: name one with --experiment")
    beside = Path(sys.executable).with_name("streambed")
    program = str(beside) if beside.exists() else shutil.which("streambed")
    if program is None:
        raise UsageError("--target box needs the command streambed: pip install streambed")
    words = [program, "run", str(experiment)]
    for change in changes:
        words += ["--set", change]
    os.execv(program, words)


def _show(store: str) -> None:
    opened = open_store(store, read_only=True)
    try:
        for day in opened.days():
            Console().print(table_of(opened, day.day))
    finally:
        opened.close()
