"""Exactly once: every record of a topic is once in what was made of it."""

from __future__ import annotations

from typing import Literal

from streambed.kinds.checks.delivered import Delivered
from streambed.kinds.checks.delivery_verdict import EXACTLY_ONCE, judge_delivery
from streambed.kinds.declaring import declared
from streambed.record.history import History, Verdict


@declared
class ExactlyOnce(Delivered):
    """Every record of `topic` reaches `to` as often as the log has it, and nothing else does."""

    kind: Literal["exactly_once"] = "exactly_once"

    def judge(self, history: History) -> Verdict:
        """Count how often each record of the log reached the target."""
        return judge_delivery(self, history, EXACTLY_ONCE)
