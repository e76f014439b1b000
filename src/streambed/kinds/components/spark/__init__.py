"""Spark: jobs, clusters, and the event log that tells how far a job has come."""
