"""docs/judge.md lists every anomaly, by its number and its name."""

from __future__ import annotations

import re
from pathlib import Path

from streambed.judge.anomalies import ANOMALIES

PAGE = (Path(__file__).parents[2] / "docs" / "judge.md").read_text()


def test_the_page_lists_every_anomaly_in_order_and_no_other():
    rows = re.findall(r"^\| (A\d+) \| `(\w+)` \|", PAGE, re.MULTILINE)

    assert rows == [(anomaly.number, anomaly.name) for anomaly in ANOMALIES]


def test_the_page_says_of_which_anomalies_nothing_can_fail():
    counted = re.findall(r"^\| (A\d+) \|.*Counted only", PAGE, re.MULTILINE)

    assert counted == [anomaly.number for anomaly in ANOMALIES if anomaly.counted_only]
