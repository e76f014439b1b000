"""The job ended because records were gone, its log says so, and nothing was skipped in the table.

said_so.py LOG STORE
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

SAID = "Some data may have been lost"
log, store = sys.argv[1:]
if SAID not in Path(log).read_text():
    sys.exit("the job said nothing of lost data")
query = "select source_partition, count(*), max(source_offset) + 1 from bills group by 1 order by 1"
with sqlite3.connect(store) as connection:
    counts = connection.execute(query).fetchall()
if not counts:
    sys.exit("the table is empty: the job ended before its first batch")
skipped = [partition for partition, rows, end in counts if rows < end]
if skipped:
    sys.exit(f"orders were skipped in partitions {skipped}")
ends = ", ".join(f"{partition}: {end}" for partition, _, end in counts)
print(f"the job said '{SAID}'; the table is whole up to offsets {ends}")
