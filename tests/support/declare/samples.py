"""A small experiment as a file, to be spoilt by tests in one place at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambed.declare.yaml.reader import read
from streambed.errors import DeclarationError

GOOD = """\
version: 1
name: word-count
duration: 60s
topology:
  switches: [core]
  links:
    - {ends: [edge, core], delay: 20ms, rate: 10Mbit, loss: 1%}
    - {ends: [cluster, core], delay: 2ms}
    - {ends: [broker1, core]}
components:
  kafka: {kind: kafka, nodes: [broker1], topics: {lines: {partitions: 3}, counts: {}}}
  poet: {kind: producer, node: edge, writes: lines, rate: 500/s}
  counter: {kind: spark_job, node: cluster, job: job.py, reads: lines, writes: counts, \
args: ["{kafka.bootstrap}"]}
  reader: {kind: consumer, node: edge, reads: counts}
faults:
  - {kind: cut, at: 20s, lasts: 5s, link: [edge, core]}
checks:
  - {kind: no_loss, topic: lines}
"""


def write(folder: Path, text: str = GOOD) -> Path:
    """The file, and the job that it names."""
    (folder / "job.py").write_text("")
    (folder / "a.yaml").write_text(text)
    return folder / "a.yaml"


def spoilt(old: str, new: str) -> str:
    """The good file with one thing changed."""
    assert GOOD.count(old) == 1, f"{old!r} must be there once"
    return GOOD.replace(old, new)


def complaints(folder: Path, text: str, *overrides: str) -> list[str]:
    """What is wrong with a file, line by line, without the folder's name."""
    with pytest.raises(DeclarationError) as refused:
        read(write(folder, text), overrides)
    return str(refused.value).replace(f"{folder}/", "").splitlines()


FIRST = """\
version: 1
name: first
duration: 1s
topology: {switches: [core], links: [{ends: [a, core]}, {ends: [b, core]}]}
components:
  kafka: {kind: kafka, nodes: [a], topics: {lines: {}}}
  poet: {kind: producer, node: b, writes: lines, rate: 1/s}
  reader: {kind: consumer, node: b, reads: lines}
faults: [{kind: cut, at: 0.1s, lasts: 0.1s, link: [a, core]}]
checks: [{kind: no_loss, topic: lines}, {kind: latency, of: reader, max: 1s}]
"""
