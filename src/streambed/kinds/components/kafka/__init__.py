"""Kafka: the component, its topics, and how a running cluster is asked and watched."""
