"""The kinds of things that an experiment can declare."""
