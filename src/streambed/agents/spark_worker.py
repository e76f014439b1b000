"""Spark worker agent: waits until the master accepts workers, then becomes the worker.

A worker that registers too early is refused and retries only after 5 to 15 s, which cannot be
configured.

python -m streambed.agents.spark_worker HOST PORT java …     (where the master has its page)
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time

ANSWER_LIMIT_S = 1.0
STEP_S = 0.05
LIMIT_S = 60.0


def main(host: str, port: int, argv: list[str]) -> None:
    """Wait for the master at most LIMIT_S, then become the worker: it retries by itself."""
    end = time.monotonic() + LIMIT_S
    while not takes_workers(host, port) and time.monotonic() < end:
        time.sleep(STEP_S)
    os.execv(argv[0], argv)


def takes_workers(host: str, port: int) -> bool:
    """Whether the master is ALIVE; its port is open a while before that."""
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_LIMIT_S)
    try:
        connection.request("GET", "/json/")
        return bool(json.load(connection.getresponse()).get("status") == "ALIVE")
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
