"""Fast tests first; a test whose tool is missing is skipped with its reason, and in CI it fails
with it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import NoReturn

import pytest

from streambed import artifacts
from streambed.errors import StreambedError
from streambed.runner.cgroups import hierarchies

ORDER = ("browser", "kernel", "spark", "system")
"""From quick to slow; a test without any of these comes before all."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str:
    """Path of a browser, empty if there is none."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), "")


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
    """Give up on a test for want of a tool. In CI that is a failure: there, what is not tested is
    not known to work.
    """
    if os.environ.get("CI") == "true":
        pytest.fail(f"in CI nothing may be missing: {reason}", pytrace=False)
    pytest.skip(reason)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(
        key=lambda item: max(
            (ORDER.index(mark.name) + 1 for mark in item.iter_markers() if mark.name in ORDER),
            default=0,
        )
    )


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
