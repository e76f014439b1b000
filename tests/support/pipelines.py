"""Declared components for tests of checks: poet → lines → reader, and shout → shouted, archive."""

from streambed.kinds.declared_parts import components_of
from tests.support.histories import whole

PIPELINE = {
    "kafka": {"kind": "kafka", "nodes": ["broker"], "topics": {"lines": {}, "shouted": {}}},
    "reader": {"kind": "consumer", "node": "home", "reads": ["lines"]},
    "shout": {"kind": "spark_job", "node": "engine", "reads": ["lines"], "writes": ["shouted"]},
    "archive": {"kind": "postgresql", "node": "home"},
}


def declared(components):
    return components_of({"components": whole(components)})
