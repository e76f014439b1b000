"""Checks: pure functions of a history, with three answers."""

from streambed.kinds.checks.latency import Latency
from streambed.kinds.checks.no_loss import NoLoss
from streambed.kinds.checks.succeeds import Succeeds

CHECKS = {"latency": Latency, "no_loss": NoLoss, "succeeds": Succeeds}

__all__ = ["CHECKS", "Latency", "NoLoss", "Succeeds"]
