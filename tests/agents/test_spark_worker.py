"""The agent that becomes a Spark worker once the master takes workers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from streambed.agents import spark_worker


@contextmanager
def page(answers: list[str]) -> Iterator[int]:
    """A master's page that answers so, one after the other; gives its port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answers.pop(0).encode())

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


def test_it_becomes_the_worker_when_the_master_is_in_charge() -> None:
    answers = [
        json.dumps({"status": "RECOVERING"}),
        "not yet",
        json.dumps({"status": "ALIVE"}),
        "never asked",
    ]
    with page(answers) as port:
        argv = [
            sys.executable,
            "-m",
            "streambed.agents.spark_worker",
            "127.0.0.1",
            str(port),
            "/bin/echo",
            "became",
            "it",
        ]
        said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout

    assert said == "became it\n"
    assert answers == ["never asked"]


def test_nobody_there_takes_no_workers() -> None:
    with page([]) as port:
        pass

    assert not spark_worker.takes_workers("127.0.0.1", port)


def test_it_becomes_the_worker_in_the_end_though_nobody_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    became: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(spark_worker, "LIMIT_S", 0.0)
    monkeypatch.setattr(
        spark_worker.os, "execv", lambda program, argv: became.append((program, argv))
    )

    spark_worker.main("no-such-host.invalid", 8080, ["/opt/java", "Worker"])

    assert became == [("/opt/java", ["/opt/java", "Worker"])]
