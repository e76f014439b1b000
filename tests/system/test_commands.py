"""Commands: signs of readiness on emulated hosts, servers among them, restarts, and how they must
be at the end.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from streambed import Run
from streambed.record.events import ProcessStarted, Ready
from tests.support.running import streambed

pytestmark = [pytest.mark.system, pytest.mark.together(15)]
SERVER = (
    "from http.server import HTTPServer, SimpleHTTPRequestHandler as Handler; "
    "HTTPServer(('web', 8080), Handler).serve_forever()"
)
FETCH = "import urllib.request; print(urllib.request.urlopen('http://web:8080/').status)"
SECOND_TIME = "import os, sys; sys.exit(os.environ['STREAMBED_INCARNATION'] == '1')"


def experiment(**components: dict[str, object]) -> str:
    named = {
        name: {"kind": "command", "argv": [sys.executable, "-c", body.pop("code")], **body}
        for name, body in components.items()
    }
    topology = {"links": [{"ends": ["web", "home"], "delay": "2ms"}]}
    return json.dumps(
        {
            "version": 1,
            "name": "commands",
            "duration": "1s",
            "topology": topology,
            "components": named,
        }
    )


def test_a_server_is_awaited_by_its_sign_and_final_states_are_kept(tmp_path: Path) -> None:
    text = experiment(
        web={
            "code": SERVER,
            "node": "web",
            "starts": "start",
            "ready": {"http": ":8080/"},
            "ends": "running",
        },
        near={"code": "import time; time.sleep(60)", "node": "web", "ready": {"port": 8080}},
        once={"code": FETCH, "node": "home", "ready": {"log": "^200$"}, "ends": "ended"},
        twice={"code": SECOND_TIME, "node": "home", "on_exit": "restart", "ends": "ended"},
    )
    (tmp_path / "experiment.yaml").write_text(text)

    done = streambed("run", "experiment.yaml", "--no-report", cwd=tmp_path)

    history = Run(tmp_path / "runs" / "commands" / "latest").history()
    assert done.returncode == 0, done.stderr
    assert "nothing was checked" in done.stdout
    assert history.of(Ready)[0].component == "web"
    assert [
        event.incarnation for event in history.of(ProcessStarted) if event.process == "twice"
    ] == [1, 2]


def test_a_command_that_should_still_run_and_does_not_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(
        experiment(web={"code": "print('well then')", "node": "web", "ends": "running"})
    )

    done = streambed("run", "experiment.yaml", "--no-report", cwd=tmp_path)

    assert done.returncode == 3
    assert (
        "web on web has ended after the drain, but the declaration says `ends: running`"
        in done.stderr
    )
    assert "| well then" in done.stderr
