"""The script that draws charts in a page: Vega, and all that it needs, in one piece."""

from __future__ import annotations

import contextlib
import functools
import os
from importlib.metadata import version

import vl_convert

from streambed.artifacts.locked_jars import cache


@functools.cache
def bundle() -> str:
    """The script. To make it takes seconds, so that it is kept in the cache of this user, one for
    each version.
    """
    kept = cache() / "scripts" / f"vega-{version('vl-convert-python')}.js"
    if kept.exists():
        return kept.read_text()
    made: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    with contextlib.suppress(OSError):  # A page needs the script, and not that it is kept.
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")  # Others may be keeping it at this moment too.
        try:
            part.write_text(made)
            part.replace(kept)
        finally:
            part.unlink(missing_ok=True)
    return made
