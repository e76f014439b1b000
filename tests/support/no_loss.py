"""Verdicts of the check `no_loss` over hand-written histories."""

from streambed.kinds.checks.no_loss import NoLoss
from tests.support.histories import (
    history_of,
)


def verdict_of(*lines, by=(), **options):
    return NoLoss(topic="lines", by=by).judge(history_of(*lines, **options))
