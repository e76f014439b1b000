"""At most once: no record of a topic is doubled in what was made of it."""

from __future__ import annotations

from typing import Literal

from streambed.kinds.checks.delivered import Delivered
from streambed.kinds.checks.delivery_verdict import AT_MOST_ONCE, judge_delivery
from streambed.kinds.declaring import declared
from streambed.record.history import History, Verdict


@declared
class AtMostOnce(Delivered):
    """No record of `topic` reaches `to` more often than the log has it."""

    kind: Literal["at_most_once"] = "at_most_once"

    def judge(self, history: History) -> Verdict:
        """Count how often each record of the log reached the target."""
        return judge_delivery(self, history, AT_MOST_ONCE)
