"""HDFS: the component, and reading files out of it."""
