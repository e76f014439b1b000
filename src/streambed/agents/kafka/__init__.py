"""Kafka clients in bulk, through librdkafka."""
