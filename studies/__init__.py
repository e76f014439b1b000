"""Studies and their results."""
