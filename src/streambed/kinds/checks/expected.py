"""Expect: a check of an experiment that shows a danger holds only if what it judges fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from streambed.kinds.declaring import declared
from streambed.record.history import Verdict


@declared
class MayFail:
    """What all checks share that can fail by one answer; `log` names its anomalies instead."""

    expect: Literal["fails"] | None = None
    """`fails`: for an experiment that shows a danger. The check holds only if it fails; unknown
    stays unknown.
    """


def as_expected(check: Any, verdict: Verdict) -> Verdict:
    """The verdict of a check that is expected to fail, turned round; that of others as it is."""
    if not isinstance(check, MayFail) or check.expect is None or verdict.answer == "unknown":
        return verdict
    if verdict.fails:
        return replace(
            verdict,
            answer="holds",
            says=f"fails as expected: {verdict.says}",
            brief=f"as expected: {verdict.brief}" if verdict.brief else "",
        )
    return replace(
        verdict,
        answer="fails",
        says=f"expected to fail, and holds: {verdict.says}",
        brief=f"not as expected: {verdict.brief}" if verdict.brief else "",
    )
