"""Look into HDFS from outside: its live nodes, and files that jobs write there, read where data
nodes keep them.

Only the name node is asked, from its own host, so that looking puts no packet on any link.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from streambed.record import now_ns
from streambed.world import World

if TYPE_CHECKING:
    from streambed.kinds.components.hdfs.hdfs import Hdfs

PAGE_PORT = 9870
ANSWER_LIMIT_S = 1.0
EVERY_NS = 250_000_000
"""How often to look for new parts of files, at most."""


def ask(name_node: str, path: str) -> Any:
    """What the name node's page says; called on its host."""
    with closing(
        http.client.HTTPConnection(name_node, PAGE_PORT, timeout=ANSWER_LIMIT_S)
    ) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return json.load(answer) if answer.status == http.client.OK else {}


def data_nodes_alive(name_node: str) -> tuple[set[str], str]:
    """The data nodes that a name node counts on, and what it says of its safe mode, empty if it is
    not in it.
    """
    beans = ask(name_node, "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo").get("beans")
    if not beans:
        return set(), "its name node is not there yet"
    return {node.partition(":")[0] for node in json.loads(beans[0]["LiveNodes"])}, beans[0][
        "Safemode"
    ]


class Copies:
    """Copies of the files in one folder of HDFS, brought up to date while they are being
    written.
    """

    def __init__(self, world: World, *, hdfs: str, folder: str, into: Path) -> None:
        cluster = cast("Hdfs", world.components[hdfs])
        self._world = world
        self._name_node = cluster.name_node
        self._homes = [
            world.directory / "data" / hdfs / node / "blocks" for node in cluster.data_nodes
        ]
        self._folder = folder
        self._into = into
        self._next_ns = 0

    def renew(self) -> None:
        """Add what is new. What cannot be read now, because a node was killed or moves a block,
        is read the next time.
        """
        if now_ns() < self._next_ns:
            return
        self._into.mkdir(parents=True, exist_ok=True)
        try:
            for name in self._names():
                self._renew_one(name)
        except (OSError, http.client.HTTPException, ValueError):
            pass
        self._next_ns = now_ns() + EVERY_NS

    def _names(self) -> list[str]:
        statuses = (
            self._ask(self._folder, "LISTSTATUS").get("FileStatuses", {}).get("FileStatus", [])
        )
        return [status["pathSuffix"] for status in statuses if status["type"] == "FILE"]

    def _renew_one(self, name: str) -> None:
        copy, earlier = self._into / name, self._into / f"{name}.inprogress"
        if earlier.exists():  # Spark renames the file when the job ends.
            earlier.rename(copy)
        blocks = self._ask(f"{self._folder}/{name}", "GET_BLOCK_LOCATIONS").get("LocatedBlocks", {})
        listed = {
            block["startOffset"]: block["block"]
            for block in (*blocks.get("locatedBlocks", ()), blocks.get("lastLocatedBlock"))
            if block
        }
        with copy.open("ab") as file:
            for start, block in sorted(listed.items()):
                file.write(
                    _rest(
                        _replicas(self._homes, block["blockPoolId"], block["blockId"]),
                        file.tell() - start,
                    )
                )

    def _ask(self, path: str, operation: str) -> Any:
        return self._world.call(
            self._name_node,
            lambda: ask(self._name_node, f"/webhdfs/v1{path}?op={operation}&user.name=streambed"),
        )


def _replicas(homes: Sequence[Path], pool: str, block: int) -> list[Path]:
    """The files in which data nodes keep a block: one that is being written lies apart from the
    others.
    """
    whole = f"finalized/subdir{block >> 16 & 31}/subdir{block >> 8 & 31}"
    places = [
        home / "current" / pool / "current" / folder / f"blk_{block}"
        for home in homes
        for folder in ("rbw", whole)
    ]
    return [place for place in places if place.exists()]


def _rest(replicas: list[Path], start: int) -> bytes:
    """What the longest replica has from there on."""
    longest = max(replicas, key=lambda path: path.stat().st_size, default=None)
    if longest is None or start < 0:
        return b""
    with longest.open("rb") as file:
        file.seek(start, os.SEEK_SET)
        return file.read()
