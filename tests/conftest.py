"""Fast tests first. A test whose tool is missing is skipped with the reason; in CI it fails.

The hooks imported from held_up list what could not be measured on a busy machine.
"""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import NoReturn

import hypothesis
import pytest

from streambed import artifacts
from streambed.errors import StreambedError
from streambed.runner.cgroups import hierarchies
from tests.support.held_up import (  # noqa: F401
    pytest_addoption,
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

ORDER = ("browser", "kernel", "spark", "system")
"""From quick to slow; tests without any of these markers come first."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


# No test asserts how fast anything is.
hypothesis.settings.register_profile("streambed", deadline=None)
hypothesis.settings.load_profile("streambed")


def find_browser() -> str:
    """Path of a browser, empty if there is none."""
    paths = map(shutil.which, BROWSERS)
    return next(filter(None, paths), "")


def lacks_browser() -> str:
    return "" if find_browser() else f"no browser: none of {', '.join(BROWSERS)} is installed"


@functools.cache
def lacks_namespaces() -> str:
    tried = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return tried.stderr.strip() if tried.returncode else ""


@functools.cache
def lacks_spark() -> str:
    try:
        artifacts.find_java()
        artifacts.jars("kafka")
        artifacts.jars("spark_job")
    except StreambedError as error:
        return str(error)
    return ""


NEEDS: dict[str, tuple[Callable[[], str], ...]] = {
    "browser": (lacks_browser,),
    "kernel": (lacks_namespaces,),
    "spark": (lacks_spark,),
    "system": (lacks_namespaces, lacks_spark),
}


def lack(reason: str) -> NoReturn:
    """Skip a test because a tool is missing. In CI fail: there, every test must run."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"in CI nothing may be missing: {reason}", pytrace=False)
    pytest.skip(reason)


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
