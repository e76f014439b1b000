"""The script that draws charts in a page: Vega and its dependencies in one file."""

from __future__ import annotations

import contextlib
import functools
import os
from importlib.metadata import version

import vl_convert

from streambed.artifacts.locked_jars import cache


@functools.cache
def bundle() -> str:
    """The script. Building it takes seconds, so it is cached per version of vl-convert."""
    cached = cache() / "scripts" / f"vega-{version('vl-convert-python')}.js"
    if cached.exists():
        return cached.read_text()
    script: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    with contextlib.suppress(OSError):  # A page works without a cached script.
        cached.parent.mkdir(parents=True, exist_ok=True)
        part = cached.with_suffix(f".{os.getpid()}")  # Other processes may be writing it too.
        try:
            part.write_text(script)
            part.replace(cached)
        finally:
            part.unlink(missing_ok=True)
    return script
