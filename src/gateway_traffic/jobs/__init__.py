"""Spark jobs: from the records in Kafka to the traffic of each gateway and day in a store."""
