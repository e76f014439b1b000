"""A sign of readiness: exactly one is given, and it is seen when it is there."""

from __future__ import annotations

import http.server
import socket
import sys
import threading
from pathlib import Path

import pytest
from pydantic import ValidationError

from streambed.kinds.components.command import Command
from streambed.kinds.components.ready_sign import ReadySign
from streambed.record import wait_until
from tests.support.fakes import FakeWorld

NODE = "localhost"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "give one of port, log, http, argv, not none"),
        ({"port": 80, "log": "up"}, "not port and log"),
        ({"log": "("}, r"'\(' is not a regular expression"),
        ({"http": "8080/health"}, "write it so: ':8080/health'"),
    ],
)
def test_an_invalid_ready_sign_is_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ReadySign(**given)


def test_nobody_waits_for_a_command_that_starts_with_the_load() -> None:
    with pytest.raises(ValidationError, match="leave `ready` out"):
        Command(name="late", node="a", argv=["true"], starts="load", ready=ReadySign(port=80))


def test_a_port_is_a_sign_once_it_accepts() -> None:
    with socket.create_server((NODE, 0)) as server:
        port = server.getsockname()[1]
        missing = ReadySign(port=port).missing_sign(FakeWorld(), NODE, Path("log"))
        assert missing() == ""
    assert f"port {port} does not accept connections" in missing()


def test_a_line_of_the_log_is_a_sign(tmp_path: Path) -> None:
    log = tmp_path / "program.log"
    missing = ReadySign(log="^listening on [0-9]+").missing_sign(FakeWorld(), NODE, log)

    assert missing() == "no line of its output matches '^listening on [0-9]+' yet"
    log.write_text("starting\nlistening on 80\n")
    assert missing() == ""


def test_an_answer_over_http_is_a_sign_unless_it_is_an_error(tmp_path: Path) -> None:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def translate_path(self, path: str) -> str:
            return str(tmp_path / path.lstrip("/"))

    (tmp_path / "health").write_text("well")
    with http.server.HTTPServer((NODE, 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        assert ReadySign(http=f":{port}/health").missing_sign(FakeWorld(), NODE, tmp_path)() == ""
        assert (
            ReadySign(http=f":{port}/none").missing_sign(FakeWorld(), NODE, tmp_path)()
            == f":{port}/none answers with status 404"
        )
        server.shutdown()
    assert (
        "does not answer"
        in ReadySign(http=f":{port}/health").missing_sign(FakeWorld(), NODE, tmp_path)()
    )


def test_a_command_is_a_sign_when_it_ends_well_and_is_tried_again(tmp_path: Path) -> None:
    there = tmp_path / "there"
    argv = [
        sys.executable,
        "-S",
        "-c",
        f"import os, sys; sys.exit(not os.path.exists({str(there)!r}))",
    ]
    missing = ReadySign(argv=argv).missing_sign(FakeWorld(), NODE, tmp_path)

    assert missing() == f"{sys.executable} has not ended with status 0 yet"
    there.touch()
    assert wait_until(lambda: not missing(), limit_s=20)
