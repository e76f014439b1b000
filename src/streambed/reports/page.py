"""The report of a run: one self-contained page, and each figure as SVG and Parquet beside it."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import polars as pl
import vl_convert

from streambed import plan as plans
from streambed import record
from streambed.declare.yaml.masking import masked_declaration
from streambed.plan import Machine, Plan
from streambed.record import fidelity as fidelities
from streambed.record.codec import fields_of
from streambed.record.events import Clock, Timers
from streambed.record.history import History, Verdict, read_verdicts, worst
from streambed.record.secrets import masked_command
from streambed.reports import cards, style
from streambed.reports.figure import WIDTH_PX, Absent, Figure, doubts, end_s, faults, share_data
from streambed.reports.figures import (
    delivery,
    fidelity,
    handed_in,
    kafka,
    kafka_overview,
    latency,
    network,
    ports,
    processes,
    records,
    spark,
    story,
    timeline,
    topology,
)
from streambed.reports.page_scripts import page_scripts
from streambed.results.masking import Mask
from streambed.results.runs import history_at
from streambed.units import shown as shown_span

Shown = Figure | Absent
TEMPLATES = Path(__file__).parent
LISTED = 60
"""Most items of a list written out in evidence; then the number of the others."""
FOLDED = ("Fidelity",)
"""Sections about the test bed itself: they come last, folded."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The content of a run directory without secrets. A run that failed early may lack all but its
    name.
    """

    directory: Path
    history: History
    plan: Plan | None
    verdicts: list[Verdict]
    status: dict[str, Any]
    versions: dict[str, Any]
    command: str
    """The command that makes the same run again; empty if it is unknown."""
    declaration: str
    """The text of the declaration; empty if it was not recorded."""

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.plan.name if self.plan else self.directory.parent.name

    @property
    def subtitle(self) -> str:
        """Identifies the run in every plot: name, run, seed, and the state unless finished."""
        seed = self.plan.seed if self.plan else "unknown"
        state = self.status.get("state", "unknown")
        subtitle = f"{self.name} · run {self.directory.name} · seed {seed}"
        return subtitle if state == "finished" else f"{subtitle} · {state}"


def read(directory: Path) -> Recorded:
    """Read a run directory; files that do not exist are read as empty."""
    planned, verdicts = directory / "plan.json", directory / "verdicts.json"
    declared = directory / "experiment.yaml"
    plan = plans.read(planned) if planned.exists() else None
    mask = Mask.of(plan.declaration if plan else {})
    return Recorded(
        directory=directory.resolve(),
        history=mask.history(history_at(directory)),
        plan=plan,
        verdicts=mask.verdicts(_verdicts(verdicts, plan)) if verdicts.exists() else [],
        status=mask.value("", record.read_json(directory / "status.json")),
        versions=record.read_json(directory / "versions.json"),
        command=mask.text(masked_command(plan.command)) if plan else "",
        declaration=masked_declaration(declared.read_text()) if declared.exists() else "",
    )


def _verdicts(path: Path, plan: Plan | None) -> list[Verdict]:
    """The verdicts of a run; those of an older version get what they are about from its checks."""
    verdicts = read_verdicts(path)
    checks = plan.declaration.get("checks") or [] if plan else []
    if len(checks) != len(verdicts):
        return verdicts
    return [
        replace(verdict, about=verdict.about or str(check.get("topic") or check.get("of") or ""))
        for verdict, check in zip(verdicts, checks, strict=True)
    ]


def write(directory: Path) -> Path:
    """Write report.html and figures/ into a run directory; returns the page's path."""
    run = read(directory)
    shown = sections(run.history, run.plan, cards.limits_of(run.verdicts))
    shown = {"Story": shown.pop("Story")} | handed_in.section(directory) | shown
    for figures in shown.values():
        for figure in figures:
            if isinstance(figure, Figure):
                write_figure(figure, directory / "figures", run.subtitle)
    path = directory / "report.html"
    record.write_whole(path, page(run, shown))
    return path


def sections(
    history: History, plan: Plan | None, limits_s: dict[str, float] | None = None
) -> dict[str, list[Shown]]:
    """Every figure of a report by section, in page order. `limits_s`: limits of latency by name."""
    return {
        "Story": [story.story(history, limits_s or {})],
        "Delivery": [delivery.heat_map(history)],
        "Latency": [
            latency.over_time(history),
            latency.distribution(history),
            latency.synchronisation(history),
        ],
        "Records": [
            records.record_rates(history),
            *handed_in.record_rates(history),
            records.lag(history),
        ],
        "Kafka": [
            kafka_overview.partitions(history),
            kafka_overview.groups(history),
            kafka.leadership(history),
            kafka.replication(history),
        ],
        "Spark": spark.figures(history),
        "Timeline": [timeline.timeline(history)],
        "Network": [
            topology.topology(plan, history),
            network.throughput(history, plan, "received"),
            network.throughput(history, plan, "sent"),
            *network.traffic(history),
            ports.switch_ports(history, plan, "received"),
            ports.switch_ports(history, plan, "sent"),
        ],
        "Resources": [processes.processors(history, plan), processes.memory(history)],
        "Fidelity": [
            fidelity.calibration(history),
            fidelity.lateness(history),
            fidelity.pressure(history),
        ],
    }


def write_figure(figure: Figure, folder: Path, subtitle: str) -> None:
    """Write a figure as two files: the drawing (SVG) and its table (Parquet)."""
    folder.mkdir(exist_ok=True)
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    svg = vl_convert.vegalite_to_svg(
        figure.spec(subtitle, WIDTH_PX), vl_version=version, config=style.config("light")
    )
    record.write_whole(folder / f"{figure.name}.svg", svg)
    figure.table.write_parquet(folder / f"{figure.name}.parquet")


def page(run: Recorded, shown: dict[str, list[Shown]]) -> str:
    """The report as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"plain": plain, "named": value_text, "script": as_script}
    judged = fidelities.fidelity(run.history)
    folded = {name: shown[name] for name in shown if name in FOLDED}
    unfolded = {name: shown[name] for name in shown if name not in FOLDED}
    return environment.get_template("report.html").render(
        run=run,
        facts=facts(run),
        answer=worst(run.verdicts),
        headline=cards.headline(run.verdicts),
        cards=cards.cards(run.verdicts, run.history, judged),
        sections=unfolded,
        folded=folded,
        specs=pack_figures(_specs(shown)),
        themes={theme: style.config(theme) for theme in style.INK},
        ink=style.INK,
        font=style.FONT,
        faults=faults(run.history),
        fidelity=judged,
        chip=network_chip(judged),
        remedy=fidelities.REMEDY,
        doubts=doubts(run.history),
        timers=timers(run.history),
        lives=processes.lives(run.history),
        logs=_logs(run),
        files=files(run.directory),
        scripts=page_scripts(),
    )


def network_chip(judged: fidelities.Fidelity) -> str:
    """How well the network did, in a few words; empty if it is unknown."""
    if judged.spans:
        return f"network timing off for {fidelities.off_s(judged):.0f} s"
    if judged.within_ms:
        return f"links within {judged.within_ms:.2g} ms"
    return ""


def _specs(shown: dict[str, list[Shown]]) -> dict[str, dict[str, Any]]:
    """The specification of every figure, by its name."""
    specs = {}
    for figures in shown.values():
        for figure in figures:
            if isinstance(figure, Figure):
                specs[figure.name] = share_data(figure.plain_spec())
    return specs


def _logs(run: Recorded) -> dict[str, str]:
    """The log of each process that has one, relative to the run's folder."""
    logs = {}
    for process in processes.lives(run.history)["process"].unique(maintain_order=True):
        log = Path("logs") / f"{process.replace('/', '.')}.log"
        if (run.directory / log).is_file():
            logs[process] = str(log)
    return logs


def facts(run: Recorded) -> dict[str, str]:
    """The names and values beneath the title."""
    date = seed = machine = means = "not recorded"
    spark_state = ""
    clock = next(iter(run.history.of(Clock)), None)
    if clock:
        began = datetime.fromtimestamp(clock.wall_ns / 1e9, UTC)
        date = began.strftime("%Y-%m-%d %H:%M:%S UTC")
    if run.plan:
        seed = str(run.plan.seed)
        machine = _machine_words(run.plan.machine)
        means = run.plan.machine.means.replace("_", " ")
        spark_state = spark.state_places(run.plan)
    names = {
        "run": run.directory.name,
        "seed": seed,
        "began": date,
        "lasted": f"{_lasted_s(run.history):.1f} s",
        "machine": machine,
        "links by": means,
        "state": str(run.status.get("state", "unknown")),
    }
    return names | {"Spark keeps": spark_state} if spark_state else names


def _lasted_s(history: History) -> float:
    return end_s(history) - history.load_seconds(history.start_ns)


def _machine_words(machine: Machine) -> str:
    kernel = machine.kernel or "of unknown version"
    return f"{machine.cores} cores, {machine.memory_mib} MiB, Linux {kernel}"


def timers(history: History) -> pl.DataFrame:
    """The timers that decide how a fault ends, as recorded when the run started."""
    timers = [timer for event in history.of(Timers) for timer in event.timers]
    values = [{**fields_of(timer), "value": plain(timer.value)} for timer in timers]
    return pl.DataFrame(
        values,
        schema={"of": pl.String, "name": pl.String, "value": pl.String, "declared": pl.Boolean},
    )


def files(directory: Path) -> pl.DataFrame:
    """The files of a run with their sizes, without the data of servers and jobs in data/."""
    listed = []
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory)
        if path.is_file() and name.parts[0] != "data":
            listed.append({"file": str(name), "bytes": path.stat().st_size})
    return pl.DataFrame(listed, schema={"file": pl.String, "bytes": pl.Int64})


def plain(value: object) -> str:
    """Render a value for people; a long list ends with the number of items left out."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {value_text(key, item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        more = f" and {len(value) - LISTED} more" if len(value) > LISTED else ""
        return ", ".join(plain(item) for item in value[:LISTED]) + more
    return "" if value is None else str(value)


def value_text(name: object, value: object) -> str:
    """Render the value of a name for people: a name that ends in _ns holds nanoseconds."""
    if str(name).endswith("_ns") and isinstance(value, int | float):
        return shown_span(value)
    return plain(value)


def pack_figures(specs: dict[str, dict[str, Any]]) -> str:
    """Specifications as compressed JSON in base64; the page's script unpacks it."""
    text = json.dumps(specs, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def as_script(value: object) -> str:
    """JSON that is safe inside a script element: no name or log line can close it."""
    return (
        json.dumps(value, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
