"""What a program on a host of a run can reach: the run's own folders, and not the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import ROOT, STREAMBED, only_run

pytestmark = [pytest.mark.system, pytest.mark.together(10)]

NOBODY = 65534
ORDINARY = ROOT / "tests" / "support" / "ordinary.py"
READ_ONLY = "Read-only file system"
DENIED = "Permission denied"
EXPERIMENT = """
version: 1
name: confined
duration: 1s
topology: {{links: [{{ends: [left, right]}}]}}
writable: [{results}]
components:
  prober: {{kind: command, node: left, starts: drain, argv: [{python}, prober.py]}}
"""
PROBER = """
import ctypes, json, os
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

def attempt(action, *words):
    try:
        action(*words)
    except OSError as error:
        return error.strerror
    return "allowed"

def open_only(path):
    os.close(os.open(path, os.O_WRONLY))

def make(folder):
    probe = Path(folder, "made-by-a-program")
    probe.touch()
    probe.unlink()

def mount(path, flags):
    if libc.mount(None, path.encode(), None, flags, None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

conductor = os.getppid()
setting = "proc/sys/kernel/core_pattern"
print(json.dumps({
    "setting": attempt(open_only, f"/{setting}"),
    "setting through the conductor": attempt(open_only, f"/proc/{conductor}/root/{setting}"),
    "setting through process 1": attempt(open_only, f"/proc/1/root/{setting}"),
    "control group": attempt(open_only, CGROUP),
    "kernel log": attempt(open_only, "/dev/kmsg"),
    "no device": attempt(open_only, "/dev/null"),
    "own process": attempt(open_only, "/proc/self/oom_score_adj"),
    "code": attempt(make, CODE),
    "home": attempt(make, os.path.expanduser("~")),
    "tmp": attempt(make, "/tmp"),
    "shared memory": attempt(make, "/dev/shm"),
    "declaration": attempt(make, "."),
    "run": attempt(make, os.environ["STREAMBED_RUN"]),
    "writable": attempt(make, WRITABLE),
    "process outside": attempt(os.kill, OUTSIDE, 0),
    "parent's environment": attempt(Path(f"/proc/{conductor}/environ").read_bytes),
    "remount": attempt(mount, "/", 0x20 | 0x1000),
    "token": os.environ.get("MY_TOKEN", ""),
    "wish": os.environ.get("MY_WISH", ""),
    "seen processes": [int(name) for name in os.listdir("/proc") if name.isdigit()],
}))
"""


def probe(home: Path, prefix: list[str], environment: dict[str, str]) -> dict[str, object]:
    """What the program finds in a separate run, started from `home`."""
    outside = subprocess.Popen(["sleep", "120"])
    values = {
        "CGROUP": next(Path("/sys/fs/cgroup").rglob("cgroup.procs"), "/sys"),
        "CODE": ROOT / "src",
        "WRITABLE": home / "results",
        "OUTSIDE": outside.pid,
    }
    lines = [
        f"{name} = {value if name == 'OUTSIDE' else str(value)!r}" for name, value in values.items()
    ]
    (home / "place" / "prober.py").write_text("\n".join([*lines, PROBER]))
    text = EXPERIMENT.format(results=home / "results", python=sys.executable)
    (home / "place" / "confined.yaml").write_text(text)
    try:
        done = subprocess.run(
            [*prefix, *STREAMBED, "run", "place/confined.yaml", "--no-report"],
            cwd=home,
            env={
                **os.environ,
                **environment,
                "MY_TOKEN": "t0p",
                "MY_WISH": "hi",
                "STREAMBED_PASS": "MY_WISH",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        outside.kill()
        outside.wait()
    assert done.returncode == 0, done.stdout + done.stderr
    directory = only_run(home / "runs")
    assert directory
    found: dict[str, object] = json.loads((directory / "logs" / "prober.log").read_text())
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's box has more rights than its user")
def test_a_program_of_roots_run_cannot_change_the_machine(tmp_path: Path) -> None:
    for name in ("place", "results"):
        (tmp_path / name).mkdir()

    found = probe(tmp_path, [], {})

    assert found["setting"] == READ_ONLY
    assert found["setting through the conductor"] == DENIED
    assert found["setting through process 1"] == DENIED
    assert found["parent's environment"] == DENIED
    assert found["control group"] == READ_ONLY
    assert found["kernel log"] == "No such file or directory"
    assert found["code"] == found["home"] == READ_ONLY
    assert found["remount"] == "Operation not permitted"
    assert found["process outside"] == "No such process"
    assert len(found["seen processes"]) < 10
    for name in (
        "no device",
        "own process",
        "tmp",
        "shared memory",
        "declaration",
        "run",
        "writable",
    ):
        assert found[name] == "allowed", name
    assert (found["token"], found["wish"]) == ("", "hi")


def test_an_ordinary_users_run_keeps_that_users_rights(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("ordinary")
    for name in ("place", "results", "cache"):
        (home / name).mkdir()
    prefix: list[str] = []
    if os.geteuid() == 0:
        for path in (home.parent, home, *home.iterdir()):
            os.chmod(path, 0o755)
            os.chown(path, NOBODY, NOBODY)
        needed = map(str, (ROOT, sys.prefix, sys.base_prefix, home))
        prefix = [sys.executable, str(ORDINARY), str(NOBODY), *needed, "--"]

    found = probe(home, prefix, {"HOME": str(home), "STREAMBED_CACHE": str(home / "cache")})

    assert found["setting"] == DENIED
    assert found["control group"] == DENIED
    assert found["process outside"] == "No such process"
    for name in ("no device", "home", "tmp", "declaration", "run", "writable"):
        assert found[name] == "allowed", name
    assert (found["token"], found["wish"]) == ("", "hi")
