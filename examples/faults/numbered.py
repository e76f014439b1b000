"""Orders that name themselves, for a program that copies no headers."""

from __future__ import annotations

import json
import random


def order(number: int, random: random.Random) -> str:
    """The value of one order."""
    return json.dumps({"id": f"shop/{number}"})
