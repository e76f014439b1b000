"""The declaration of an experiment, in Python or as a file."""
