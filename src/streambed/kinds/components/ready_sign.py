"""A sign that a program is ready: a port that accepts, a line in its log, an address that answers,
or a command that ends well.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from streambed.kinds.declaring import declared
from streambed.record import now_ns
from streambed.world import Missing, World

ANSWER_LIMIT_S = 0.5
AGAIN_NS = 200_000_000
"""A failed command is tried again this long after it began."""
SIGNS = ("port", "log", "http", "argv")


@declared
class ReadySign:
    """How to recognise that a program is ready: exactly one of the keys."""

    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Its host accepts connections here."""
    log: str = ""
    """A line of its output matches this regular expression."""
    http: str = ""
    """This path on a port of its host, such as :8080/health, answers with a status below 400."""
    argv: tuple[str, ...] = ()
    """This command, run on its host again and again, ends with status 0."""

    @model_validator(mode="after")
    def _one(self) -> ReadySign:
        signs = [name for name in SIGNS if getattr(self, name)]
        if len(signs) != 1:
            raise ValueError(f"give one of {', '.join(SIGNS)}, not {' and '.join(signs) or 'none'}")
        if self.log:
            _compile(self.log)
        if self.http and not _place(self.http):
            raise ValueError(f"'{self.http}' is no port and path: write it so: ':8080/health'")
        return self

    def missing_sign(self, world: World, node: str, log: Path) -> Missing:
        """What is still missing, each time that it is asked; `log` holds the program's output."""
        if self.log:
            return _line(self.log, log)
        if self.argv:
            return _command(self.argv, world, node)
        place = _place(self.http)
        if place:
            return lambda: world.call(node, lambda: _http(node, *place))
        return lambda: world.call(node, lambda: _port(node, self.port or 0))


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"'{pattern}' is not a regular expression: {error}") from error


def _place(text: str) -> tuple[int, str] | None:
    """The port and the path of such as ":8080/health"."""
    with contextlib.suppress(ValueError):
        address = urlsplit(f"//host{text}")
        if text.startswith(":") and address.port:
            return address.port, address.path or "/"
    return None


def _port(node: str, port: int) -> str:
    try:
        with socket.create_connection((node, port), ANSWER_LIMIT_S):
            return ""
    except OSError as error:
        return f"port {port} does not accept connections ({error})"


def _http(node: str, port: int, path: str) -> str:
    connection = http.client.HTTPConnection(node, port, timeout=ANSWER_LIMIT_S)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
        return "" if status < 400 else f":{port}{path} answers with status {status}"
    except (OSError, http.client.HTTPException) as error:
        return f":{port}{path} does not answer ({error})"
    finally:
        connection.close()


def _line(pattern: str, log: Path) -> Missing:
    compiled = _compile(pattern)

    def missing() -> str:
        lines: Iterable[str] = ()
        if log.exists():
            lines = log.read_text(errors="replace").splitlines()
        if any(compiled.search(line) for line in lines):
            return ""
        return f"no line of its output matches '{pattern}' yet"

    return missing


def _command(argv: tuple[str, ...], world: World, node: str) -> Missing:
    """Run again after a failure; the run does not wait for it in between."""
    tried: list[subprocess.Popen[bytes]] = []
    began: list[int] = [0]

    def start() -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )

    def missing() -> str:
        status = tried[-1].poll() if tried else 1
        if status == 0:
            return ""
        if status is not None and now_ns() - began[0] > AGAIN_NS:
            began[0] = now_ns()
            tried[:] = [world.call(node, start)]
        return f"{argv[0]} has not ended with status 0 yet"

    return missing
