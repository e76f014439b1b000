"""The script that draws charts in a page: Vega and its dependencies in one file."""

from __future__ import annotations

import contextlib
import functools
import os
from importlib.metadata import version

import vl_convert

from streambed.artifacts import manifests
from streambed.artifacts.locked_jars import cache, make_cache


@functools.cache
def bundle() -> str:
    """The script. Building it takes seconds, so it is cached per version of vl-convert."""
    cached = cache() / "scripts" / f"vega-{version('vl-convert-python')}.js"
    if manifests.is_whole(cached):
        return cached.read_text()
    script: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    with contextlib.suppress(OSError):  # A page works without a cached script.
        make_cache(cached.parent.name)
        part = cached.with_suffix(f".{os.getpid()}")  # Other processes may be writing it too.
        try:
            part.write_text(script)
            part.replace(cached)
            manifests.record(cached)
        finally:
            part.unlink(missing_ok=True)
    return script
