"""HDFS as declared: its processes, what refers to it, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streambed.declare import reading
from streambed.errors import StreambedError
from streambed.kinds.components.hdfs.files import Copies
from streambed.kinds.components.hdfs.hdfs import Hdfs
from streambed.planner.references import resolver
from streambed.reports.figures.spark import state_places

FILE = """
version: 1
name: kept
duration: 5s
topology: {links: [{ends: [engine, names]}, {ends: [names, disk1]}, {ends: [names, disk2]}]}
components:
  hdfs: {kind: hdfs, name_node: names, data_nodes: [disk1, disk2]}
  shout: {kind: spark_job, node: engine, job: job.py, checkpoint: hdfs,
          args: ["{self.checkpoint}", "{hdfs.url}"]}
"""


def read(folder: Path, text: str) -> Any:
    (folder / "job.py").touch()
    (folder / "kept.yaml").write_text(text)
    return reading.read(folder / "kept.yaml").experiment


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("checkpoint: hdfs", "checkpoint: hfds", "there is no hdfs 'hfds'. Did you mean 'hdfs'?"),
        ("checkpoint: hdfs", "event_log: shout", "there is no hdfs 'shout'"),
        ("name_node: names", "name_node: disk1", "'disk1' is a data node too"),
        ("[disk1, disk2]", "[disk1, disk1]", "a node is named twice"),
        (
            "[disk1, disk2]",
            "[disk1, disk2], replicas: 3",
            "3 replicas need as many data nodes, and it has 2",
        ),
    ],
)
def test_impossible_values_are_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(StreambedError, match=says.replace("?", r"\?")):
        read(tmp_path, FILE.replace(old, new))


def test_the_checkpoint_of_a_job_lies_where_it_is_declared(tmp_path: Path) -> None:
    experiment = read(tmp_path, FILE)
    resolve = resolver(experiment, addresses={}, directory=tmp_path, java="java")

    assert resolve("{self.checkpoint}", "shout") == "hdfs://names:8020/shout/checkpoint"
    assert resolve("{self.checkpoint}", "hdfs") == f"{tmp_path}/data/hdfs/checkpoint"


def test_new_parts_of_a_file_are_added_to_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = 1073741825
    rbw = tmp_path / "data" / "hdfs" / "disk2" / "blocks" / "current" / "pool" / "current" / "rbw"
    rbw.mkdir(parents=True)
    (rbw / f"blk_{block}").write_bytes(b"one\n")
    hdfs = Hdfs(name="hdfs", name_node="names", data_nodes=("disk1", "disk2"))
    world: Any = SimpleNamespace(directory=tmp_path, components={"hdfs": hdfs})
    copies = Copies(world, hdfs="hdfs", folder="/shout/events", into=tmp_path / "copies")
    located = {
        "LocatedBlocks": {
            "locatedBlocks": [
                {"startOffset": 0, "block": {"blockPoolId": "pool", "blockId": block}}
            ]
        }
    }
    listed = {"FileStatuses": {"FileStatus": [{"pathSuffix": "app-1.inprogress", "type": "FILE"}]}}
    monkeypatch.setattr(
        copies, "_ask", lambda path, operation: listed if operation == "LISTSTATUS" else located
    )

    copies.renew()
    with (rbw / f"blk_{block}").open("ab") as file:
        file.write(b"two\n")
    listed["FileStatuses"]["FileStatus"][0]["pathSuffix"] = "app-1"
    copies._next_ns = 0
    copies.renew()

    assert os.listdir(tmp_path / "copies") == ["app-1"]
    assert (tmp_path / "copies" / "app-1").read_text() == "one\ntwo\n"


def test_the_report_tells_what_did_not_pass_the_network() -> None:
    jobs = {
        "one": {"kind": "spark_job", "job": "job.py", "checkpoint": "hdfs", "event_log": ""},
        "two": {"kind": "spark_job", "job": "job.py"},
    }

    plan: Any = SimpleNamespace(declaration={"components": jobs})
    assert state_places(plan) == (
        "checkpoint of one in hdfs; event log of one, checkpoint and event log of two "
        "on the driver's disk (no network traffic)"
    )
