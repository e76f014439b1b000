"""What Kafka brings to producers, consumers and sinks: the clients that agents import, and what users may set."""

from __future__ import annotations

from collections.abc import Mapping

from streambed.errors import Problem
from streambed.kinds.declaring import Setting

OFFSET_STORE = "enable.auto.offset.store"


def offset_store_problems(settings: Mapping[str, Setting]) -> list[Problem]:
    """A problem if a reader's settings decide when offsets are stored."""
    if OFFSET_STORE not in settings:
        return []
    says = (
        f"{OFFSET_STORE} cannot be set: offsets are stored once their records are in the ledger. "
        "Otherwise a reader that is killed would seem to have lost records. "
        "Leave it out; use enable.auto.commit: false for no commits at all"
    )
    return [Problem(key="settings", says=says)]
