"""Processes that read topics and stores on behalf of checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from streambed.kinds.checks import check as needs
from streambed.kinds.checks.check import Check
from streambed.kinds.components.plan_context import PlanContext
from streambed.kinds.declared_components import Components
from streambed.plan import STORE_READER, WITNESS, ProcessSpec, Starts
from streambed.record.ledger.stored_rows import StoreProbe, StoreQuery, path_of
from streambed.record.orders import StoreProbeOrder, StoreQueryOrder


def witnesses(
    checks: Sequence[Check], components: Components, context: PlanContext
) -> Iterator[ProcessSpec]:
    """For each broker one reader of the topics that checks want read back after the drain."""
    wanted: dict[str, None] = {}
    for check in checks:
        wanted |= dict.fromkeys(check.witnessed(components))
    topics_of = {
        name: tuple(topic for topic in wanted if topic in broker.partitions)
        for name, broker in context.brokers.items()
    }
    brokers = [broker for broker in context.brokers.values() if topics_of[broker.name]]
    for broker in brokers:
        name = WITNESS if len(brokers) == 1 else f"{WITNESS}/{broker.name}"
        if process := broker.read_back(context, topics_of[broker.name], name):
            yield process


def kept_topics(checks: Sequence[Check], components: Components) -> frozenset[str]:
    """The topics whose keys and values checks need."""
    topics: set[str] = set()
    for check in checks:
        topics.update(needs.topics_kept(check, components))
    return frozenset(topics)


def store_readers(
    checks: Sequence[Check], components: Components, context: PlanContext
) -> Iterator[ProcessSpec]:
    """A process for each query of a check, run after the drain, and for each probe, run under load;
    all on the store's host.
    """
    queries: dict[StoreQuery, None] = {}
    probes: dict[StoreProbe, None] = {}
    for check in checks:
        queries |= dict.fromkeys(needs.store_queries(check, components))
        probes |= dict.fromkeys(needs.store_probes(check, components))
    for query in queries:
        answer = str(path_of(context.directory, query))
        order = StoreQueryOrder(
            store=context.stores[query.store], text=query.text, answer=answer, read_only=True
        )
        yield _agent(components, context, query, "store_query", order, starts="drain")
    for probe in probes:
        store = context.stores[probe.store]
        watch = StoreProbeOrder(
            name=probe.name, store=store, text=probe.text, every_ns=probe.every_ns
        )
        yield _agent(components, context, probe, "checks.store_probe", watch, starts="load")


def _agent(
    components: Components,
    context: PlanContext,
    query: StoreQuery,
    agent: str,
    order: StoreQueryOrder | StoreProbeOrder,
    *,
    starts: Starts,
) -> ProcessSpec:
    process = f"{STORE_READER}/{starts}-{query.name}"
    file = context.order(process, order)
    node = store_node(components, query.store)
    return ProcessSpec(
        name=process,
        component=STORE_READER,
        node=node,
        argv=(context.machine.python, "-m", f"streambed.agents.{agent}", file.path),
        env=context.variables(STORE_READER, node, ""),
        files=(file,),
        on_exit="record",
        starts=starts,
    )


def store_node(components: Components, store: str) -> str:
    """A host on which a store runs."""
    places: Mapping[str, str] = components[store].places
    return next(iter(places.values()))
