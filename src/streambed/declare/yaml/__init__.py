"""Declarations as YAML: reading with line and column, messages, overrides, schema, writing."""
