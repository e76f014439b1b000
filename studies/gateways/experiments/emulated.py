"""Runs of platform.yaml on an emulated network, by the command `streambed`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl

from gateway_traffic.client.ledger import summarise
from studies.gateways import harness

PLATFORM = Path(__file__).parents[1] / "platform.yaml"


def run(bench: harness.Bench, seed: int, *changes: str) -> dict[str, Any]:
    """What clients measured in one run, and how many acknowledged records were lost."""
    into = bench.fresh("emulated")
    sets = [word for change in changes for word in ("--set", change)]
    command = [
        sys.executable,
        "-m",
        "streambed",
        "run",
        str(PLATFORM),
        "--seed",
        str(seed),
        "--into",
        str(into),
        "--no-report",
        "--json",
    ]
    done = subprocess.run([*command, *sets], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    summary = json.loads(done.stdout)
    (verdict,) = summary["verdicts"]
    numbers = re.findall(r"(\d+) (?:acknowledged|of them lost|of them twice)", verdict["says"])
    acked, lost, twice = map(int, numbers)
    ledger = summarise(pl.read_parquet(Path(summary["run"]) / "homes.parquet"))
    return {
        "acked": acked,
        "lost": lost,
        "twice": twice,
        "p50_ms": ledger.p50_ms,
        "p99_ms": ledger.p99_ms,
        "longest_ms": ledger.max_ms,
    }
