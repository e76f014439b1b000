"""Tools that a machine may lack. A test that needs one is skipped; in CI it fails."""

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

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


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
