"""The producer agent: sends each record when it is due."""
