"""Ingest servers and Spark jobs in the process of a test."""
