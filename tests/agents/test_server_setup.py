"""The starter prepares a server's folder once, and becomes the server every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from streambed.record import codec
from streambed.record.orders import ServerSetupOrder


def start(order: Path) -> str:
    command = [sys.executable, "-m", "streambed.agents.server_setup", str(order)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_folder_is_prepared_the_first_time_only(tmp_path: Path) -> None:
    order = ServerSetupOrder(
        made=f"{tmp_path}/made",
        once=(("/bin/echo", "prepared"),),
        stale=(f"{tmp_path}/server.pid",),
        argv=("/bin/echo", "serves"),
    )
    codec.write_message(tmp_path / "order.json", order)
    (tmp_path / "server.pid").touch()

    assert start(tmp_path / "order.json") == "prepared\nserves\n"
    assert start(tmp_path / "order.json") == "serves\n"
    assert not (tmp_path / "server.pid").exists()
