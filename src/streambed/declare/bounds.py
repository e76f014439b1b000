"""Bounds of an experiment: names that are taken, and where programs of a run by root may write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streambed.errors import Problem

RESERVED_COMPONENTS = (
    "box",
    "capture",
    "conductor",
    "delay_line",
    "run",
    "self",
    "store_reader",
    "witness",
)
RESERVED_EXPERIMENTS = ("latest",)
ROOT_FOLDER = Path("/")
MACHINE_FOLDERS = ("/boot", "/dev", "/etc", "/proc", "/sys")


def name_problems(name: str) -> list[Problem]:
    """An experiment whose runs could not be distinguished."""
    if name not in RESERVED_EXPERIMENTS:
        return []
    says = f"an experiment cannot be called '{name}': the word means the newest run"
    return [Problem(key="name", says=says)]


def writable_problems(paths: Sequence[str], base: Path) -> list[Problem]:
    """Paths that are not there, or that belong to the machine; keys relative to the experiment."""
    wrong = []
    for at, text in enumerate(paths):
        path = (base / text).resolve()
        says = ""
        if not text or not path.exists():
            says = f"there is no file or folder '{text}': make it first"
        elif path == ROOT_FOLDER or any(map(path.is_relative_to, MACHINE_FOLDERS)):
            says = f"'{text}' belongs to the machine, which no program of a run may change"
            says = f"{says}: name a folder for results"
        if says:
            wrong.append(Problem(key=f"writable.{at}", says=says))
    return wrong
