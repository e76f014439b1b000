"""The command up: real servers on this machine's loopback."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand

from streambed.cli.options import err, out
from streambed.errors import UsageError
from streambed.record import wait_until
from streambed.runner.up.life import Box, running
from streambed.runner.up.servers import Servers

COMMAND_END_S = 10.0
LOOK_S = 0.2
INTERRUPTED = 130


class WithCommand(TyperCommand):
    """A command whose arguments after `--` are a command to run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words after `--` in the context's `obj`."""
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Show the words after `--` too."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


ServersArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SERVER|FILE...",
        help="kafka, postgresql, mariadb, cassandra, redis, mongodb, or an experiment: then "
        "the servers that it declares.",
    ),
]
PortOption = Annotated[
    list[str],
    typer.Option("--port", metavar="SERVER=PORT", help="The port; default: the usual one."),
]
TopicOption = Annotated[
    list[str],
    typer.Option("--topic", metavar="NAME[:PARTITIONS]", help="Create a topic in Kafka."),
]
KeepOption = Annotated[
    Path | None,
    typer.Option("--keep", metavar="DIR", help="Keep data here; default: removed at the end."),
]
EnvOption = Annotated[
    Path | None,
    typer.Option("--env", metavar="FILE", help="Write the addresses as `export` lines."),
]


def up(
    context: typer.Context,
    what: ServersArgument,
    ports: PortOption = [],  # noqa: B006 (typer copies it)
    topics: TopicOption = [],  # noqa: B006
    keep: KeepOption = None,
    env: EnvOption = None,
) -> None:
    """Run real servers on localhost until Ctrl-C, or while a command runs.

    The command gets their addresses as variables such as KAFKA_BOOTSTRAP; the exit status is its
    own.
    """
    command: list[str] = context.obj
    numbers = {name: _number(text, f"--port {name}") for name, text in _pairs(ports, "=")}
    partitions = {name: _number(text or "1", f"--topic {name}") for name, text in _pairs(topics)}
    try:
        with (
            _interrupted_by(signal.SIGTERM),
            running(
                what,
                ports=numbers,
                topics=partitions,
                keep=keep,
                on_start=_show_notes,
                on_ready=_show_ready,
            ) as (servers, box),
        ):
            _show(servers, env)
            if command:
                raise typer.Exit(_run(command, servers, box))
            err.print("Ctrl-C ends them")
            _await_interrupt(box)
    except KeyboardInterrupt:
        err.print("interrupted before all were ready")
        raise typer.Exit(INTERRUPTED) from None
    err.print("ended" if keep else "ended, data removed")


def _pairs(texts: Sequence[str], separator: str = ":") -> Iterator[tuple[str, str]]:
    for text in texts:
        name, _, value = text.partition(separator)
        yield name, value


def _number(text: str, option: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise UsageError(f"{option}: '{text}' is not a number from 1 to 65535")
    return int(text)


@contextlib.contextmanager
def _interrupted_by(number: signal.Signals) -> Iterator[None]:
    """Treat a signal as Ctrl-C during the block."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, interrupt)
    try:
        yield
    finally:
        signal.signal(number, before)


def _show_notes(notes: Sequence[str]) -> None:
    for note in notes:
        err.print(f"note: {escape(note)}")
    err.print("starting")


def _show_ready(name: str, seconds: float) -> None:
    err.print(f"{name} is ready after {seconds:.1f} s")


def _show(servers: Servers, env: Path | None) -> None:
    """Print a line for each server, and write the file of variables."""
    width = max(len(server.name) for server in servers)
    for server in servers:
        url = server.references.get("url", "")
        out.print(escape(f"{server.name:<{width}}  {server.address}  {url}".rstrip()))
    if env:
        lines = [f"export {key}={shlex.quote(text)}" for key, text in servers.variables().items()]
        env.write_text("\n".join(lines) + "\n")
        err.print(f"variables are in {env}: source {env}")


def _await_interrupt(box: Box) -> None:
    """Return at Ctrl-C; ProcessError if a server dies before."""

    def look() -> bool:
        box.refuse_dead()
        return False

    with contextlib.suppress(KeyboardInterrupt):
        while True:
            wait_until(look, limit_s=3600, step_s=LOOK_S)


def _run(command: list[str], servers: Servers, box: Box) -> int:
    """Run a command with the servers' variables; its exit status."""
    try:
        process = subprocess.Popen(command, env={**os.environ, **servers.variables()})
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}") from error

    def ended() -> bool:
        box.refuse_dead()
        return process.poll() is not None

    try:
        while not wait_until(ended, limit_s=3600, step_s=LOOK_S):
            pass
    except KeyboardInterrupt:
        process.terminate()
        wait_until(lambda: process.poll() is not None, limit_s=COMMAND_END_S)
    finally:
        if process.poll() is None:
            process.kill()
        status = process.wait()
    return status if status >= 0 else 128 - status
