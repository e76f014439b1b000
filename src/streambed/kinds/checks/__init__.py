"""Checks: pure functions of a history, with three answers."""

from streambed.kinds.checks.latency import Latency
from streambed.kinds.checks.no_loss import NoLoss

CHECKS = {"latency": Latency, "no_loss": NoLoss}

__all__ = ["CHECKS", "Latency", "NoLoss"]
