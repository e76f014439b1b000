"""Fast tests first. A test whose tool is missing is skipped with the reason; in CI it fails.

The hooks imported from held_up list what could not be measured on a busy machine.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from streambed import artifacts
from streambed.errors import StreambedError
from streambed.runner.cgroups import hierarchies
from tests.support.examples import register_profiles
from tests.support.held_up import (  # noqa: F401
    pytest_addoption,
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)
from tests.support.missing_tools import NEEDS, find_browser, lack, lacks_browser

ORDER = ("browser", "kernel", "spark", "system")
"""From quick to slow; tests without any of these markers come first."""


register_profiles()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=slowness)


def slowness(item: pytest.Item) -> tuple[int, int]:
    """Sort key: tests without a marker, then in the order of ORDER; long files before short ones,
    so that at the end none of two workers waits long for the other.
    """
    marks = [mark.name for mark in item.iter_markers()]
    together = item.get_closest_marker("together")
    rank = max((ORDER.index(name) + 1 for name in marks if name in ORDER), default=0)
    seconds = together.args[0] if together and together.args else 0
    return rank, -seconds if rank else 0


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers():
        for lacking in NEEDS.get(mark.name, ()):
            if reason := lacking():
                lack(reason)


@pytest.fixture(scope="session")
def cpu_groups() -> str:
    """The folder in which control groups that cap CPU time can be made."""
    return hierarchies.find()["cpu"] or lack("this user may not make control groups with a cap")


@pytest.fixture
def hangup() -> Iterator[None]:
    """SIGHUP is not ignored by what a test starts, even if the tests themselves run by nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def browser() -> str:
    """Path of the browser; the test also carries the marker of that name."""
    return find_browser() or lack(lacks_browser())


@pytest.fixture(scope="session")
def store_servers() -> None:
    """The servers of stores have been fetched."""
    for kind in ("postgresql", "mariadb", "cassandra", "redis"):
        try:
            artifacts.demand(kind)
        except StreambedError as error:
            lack(str(error))


@pytest.fixture
def no_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan Kafka as if its jars were there: nothing is fetched or started."""
    monkeypatch.setattr(
        artifacts,
        "kafka_command",
        lambda *_, **__: ["java", "-cp", ":".join(f"lib{at}.jar" for at in range(20))],
    )
    monkeypatch.setattr(artifacts, "kafka_checkpoint", lambda: Path("checkpoint"))
