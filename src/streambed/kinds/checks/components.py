"""What checks ask of declared components when a file is read."""

from __future__ import annotations

from streambed.errors import UNKNOWN_TOPIC, Problem, suggestion
from streambed.kinds.declared_components import Components


def topics_among(components: Components) -> list[str]:
    """All declared topics."""
    brokers = [component.as_broker for component in components.values() if component.as_broker]
    return [topic for broker in brokers for topic in broker.partitions]


def stores_among(components: Components) -> list[str]:
    """All declared stores."""
    return [name for name, component in components.items() if component.as_store]


def jobs_among(components: Components) -> list[str]:
    """All declared jobs."""
    return [name for name, component in components.items() if component.as_engine]


def readers_among(components: Components, topic: str) -> list[str]:
    """The names of the components that read a topic, and of their groups."""
    names: dict[str, None] = {}
    for name, component in components.items():
        for reader in component.readers:
            if topic in reader.topics:
                names |= dict.fromkeys((name, reader.name))
    return list(names)


def topic_problems(components: Components, topic: str, key: str = "topic") -> list[Problem]:
    """A topic must be declared."""
    topics = topics_among(components)
    if topic in topics:
        return []
    says = f"no topic '{topic}'. {suggestion(topic, topics)}"
    return [Problem(key=key, says=says, code=UNKNOWN_TOPIC)]


def store_problems(components: Components, store: str, key: str = "store") -> list[Problem]:
    """A store must be declared."""
    stores = stores_among(components)
    if store in stores:
        return []
    says = f"there is no store '{store}'. {suggestion(store, stores)}"
    return [Problem(key=key, says=says, about=frozenset({store}))]


def topics_read(components: Components, job: str) -> tuple[str, ...]:
    """The topics that a job declares to read."""
    engine = components[job].as_engine
    return tuple(engine.reads) if engine else ()


def job_problems(components: Components, job: str, key: str = "of") -> list[Problem]:
    """A job must be declared, and say which topics it reads."""
    jobs = jobs_among(components)
    if job not in jobs:
        says = f"no job is called '{job}'. {suggestion(job, jobs)}"
        return [Problem(key=key, says=says, about=frozenset({job}))]
    if not topics_read(components, job):
        says = f"'{job}' declares no topic in `reads`: declare what it reads"
        return [Problem(key=key, says=says)]
    return []


def traced_problems(components: Components, name: str, key: str = "of") -> list[Problem]:
    """It must be a consumer, a sink, or a job that declares what it reads and writes."""
    known = [
        other for other, component in components.items() if component.readers or component.as_engine
    ]
    if name not in known:
        says = f"no consumer, sink or job is called '{name}'. {suggestion(name, known)}"
        return [Problem(key=key, says=says, about=frozenset({name}))]
    if not components[name].keeps_ledger:
        says = f"'{name}' keeps no ledger: leave out `ledger: false`"
        return [Problem(key=key, says=says)]
    engine = components[name].as_engine
    if engine and not (engine.reads and engine.writes):
        missing = "reads" if engine.writes else "writes"
        says = f"records are traced through topics, and '{name}' has none in `{missing}`"
        return [Problem(key=key, says=f"{says}: declare it")]
    return []


def ledger_problems(components: Components, topic: str, key: str = "topic") -> list[Problem]:
    """Readers and writers of a topic must keep a ledger: otherwise every answer is unknown."""
    silent = []
    for name, component in components.items():
        read = [each for reader in component.readers for each in reader.topics]
        if not component.keeps_ledger and topic in (*component.topics_written, *read):
            silent.append(name)
    if not silent:
        return []
    says = f"{', '.join(silent)} keeps no ledger of {topic}: leave out `ledger: false`"
    return [Problem(key=key, says=says)]
