"""How many examples hypothesis tries."""

from __future__ import annotations

from hypothesis import settings

WHOLE = 100
"""Examples of a test that names no number."""
QUICK = 25
"""The same in `make quick`."""


def register_profiles() -> None:
    """Make profile `streambed` the default; `--hypothesis-profile=quick` selects the other one."""
    # No test asserts how fast anything is.
    settings.register_profile("streambed", deadline=None, max_examples=WHOLE)
    settings.register_profile("quick", deadline=None, max_examples=QUICK)
    settings.load_profile("streambed")


def examples(count: int) -> int:
    """`count` examples in the whole suite, and the same share of them as elsewhere in the quick."""
    return max(5, count * settings().max_examples // WHOLE)
