"""The judge: every anomaly of a topic's log, found in arrays of numbers (docs/judge.md)."""
