"""Server setup agent: prepares a server's folder the first time, then becomes the server.

A restarted server keeps its folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from streambed.agents.agent import read_order
from streambed.record.orders import ServerSetupOrder


def main(order: ServerSetupOrder) -> None:
    """Run `once` unless the file `made` exists, remove `stale` files, and become `argv`."""
    made = Path(order.made)
    if not made.exists():
        for command in order.once:
            subprocess.run(command, check=True)
        made.touch()
    for path in order.stale:
        Path(path).unlink(missing_ok=True)
    os.execv(order.argv[0], order.argv)


if __name__ == "__main__":
    try:
        main(read_order(ServerSetupOrder))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.cmd[0]} ended with status {error.returncode}")
