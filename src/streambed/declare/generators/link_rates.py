"""Rates that labels of links name: "OC-192c", "STM-4", "E3", "10 Gbps", "2 x 155 Mbit/s"."""

from __future__ import annotations

import re

from streambed.units import Bandwidth

OC_BPS = 51_840_000
STM_BPS = 155_520_000
CARRIERS_BPS = {
    "e1": 2_048_000,
    "e2": 8_448_000,
    "e3": 34_368_000,
    "e4": 139_264_000,
    "t1": 1_544_000,
    "t2": 6_312_000,
    "t3": 44_736_000,
    "ds1": 1_544_000,
    "ds2": 6_312_000,
    "ds3": 44_736_000,
    "ethernet": 10_000_000,
    "fastethernet": 100_000_000,
    "fe": 100_000_000,
    "gigabitethernet": 1_000_000_000,
    "gige": 1_000_000_000,
    "ge": 1_000_000_000,
}
"""Rates of lines that have names, by the name without spaces and hyphens."""
PREFIXES = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_TIMES = re.compile(r"(\d+)\s*[x×*]\s*(.+)", re.IGNORECASE)
_OPTICAL = re.compile(r"(oc|stm)(\d+)c?")
_PLAIN = re.compile(
    r"(\d+(?:\.\d+)?)(k|m|g|t)(?:b|bit|bits|bps|b/s|bit/s|bits/s|be|ige|igabitethernet|e)?"
)


def rate_of(label: str) -> Bandwidth | None:
    """The rate that a label names; None if it names none that is known."""
    times = _TIMES.fullmatch(label.strip())
    count = int(times[1]) if times else 1
    name = times[2] if times else label
    # A hyphen between two numbers makes a range, which is no rate.
    bps = _bps(re.sub(r"\s|(?<=[A-Za-z])[-_]", "", name).lower())
    return Bandwidth(round(count * bps)) if count and bps else None


def _bps(name: str) -> float:
    """The rate of one line, 0 if it is unknown."""
    if name in CARRIERS_BPS:
        return CARRIERS_BPS[name]
    optical = _OPTICAL.fullmatch(name)
    if optical:
        return int(optical[2]) * (OC_BPS if optical[1] == "oc" else STM_BPS)
    plain = _PLAIN.fullmatch(name)
    if plain:
        return float(plain[1]) * PREFIXES[plain[2]]
    return 0
