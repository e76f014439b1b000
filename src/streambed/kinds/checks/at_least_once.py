"""At least once: no record of a topic is missing in what was made of it."""

from __future__ import annotations

from typing import Literal

from streambed.kinds.checks.delivered import Delivered
from streambed.kinds.checks.delivery_verdict import AT_LEAST_ONCE, judge_delivery
from streambed.kinds.declaring import declared
from streambed.record.history import History, Verdict


@declared
class AtLeastOnce(Delivered):
    """Every record of `topic` reaches `to`; it may do so more than once."""

    kind: Literal["at_least_once"] = "at_least_once"

    def judge(self, history: History) -> Verdict:
        """Count how often each record of the log reached the target."""
        return judge_delivery(self, history, AT_LEAST_ONCE)
