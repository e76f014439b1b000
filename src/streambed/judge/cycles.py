"""Cycles of transactions: of writes, of reads, and of writes that a read missed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from streambed.judge.arrays import Log, Reads
from streambed.judge.columns import NONE, Int64s
from streambed.judge.findings import SHOWN, Evidence, Finding
from streambed.judge.transactions import NO_READS_IN_TRANSACTIONS, client_of
from streambed.judge.view import View, partition_of
from streambed.record.ledger.schemas import Outcome

NO_TRANSACTIONS = "nothing was sent in transactions"


@dataclass(frozen=True)
class Edges:
    """An edge from `source` to `target` for each row: the target comes after the source."""

    source: Int64s
    target: Int64s


def cycles(view: View) -> list[Finding]:
    """A14 of writes, A15 of reads, A16 with missed writes."""
    names = ("A14", "A15", "A16")
    if not len(view.topic.transactions):
        return [Finding(anomaly=name, not_judged=NO_TRANSACTIONS) for name in names]
    if not view.reads_in_transactions:
        writes = _write_edges(view)
        unjudged = [
            Finding(anomaly=name, not_judged=NO_READS_IN_TRANSACTIONS) for name in names[1:]
        ]
        return [_finding(view, "A14", components(writes), writes), *unjudged]
    writes, reads, misses = _write_edges(view), _read_edges(view), _miss_edges(view)
    mixed = components(_concatenate(writes, reads))
    with_misses = [
        found for found in components(_concatenate(writes, reads, misses)) if found not in mixed
    ]
    return [
        _finding(view, "A14", components(writes), writes),
        _finding(view, "A15", components(reads), reads),
        _finding(view, "A16", with_misses, _concatenate(writes, reads, misses)),
    ]


def _write_edges(view: View) -> Edges:
    """Neighbours in the log that different transactions sent."""
    log = (view.inferred if view.committed is None else view.committed).distinct
    sent = np.append(view.sends.transaction, np.int32(NONE))
    record = np.where((log.record >= 0) & (log.record < len(view.sends)), log.record, NONE)
    transaction = sent[record].astype(np.int64)
    same_partition = partition_of(log.place[1:]) == partition_of(log.place[:-1])
    return _between(transaction[:-1][same_partition], transaction[1:][same_partition])


def _read_edges(view: View) -> Edges:
    """A transaction that was not aborted polled a record of another one."""
    sources, targets = [], []
    for reads in view.committed_reads:
        rows = np.flatnonzero(
            (reads.transaction >= 0) & (reads.record >= 0) & (reads.record < len(view.sends))
        )
        rows = rows[view.topic.transactions.outcome[reads.transaction[rows]] != Outcome.ABORTED]
        sources.append(view.sends.transaction[reads.record[rows]].astype(np.int64))
        targets.append(reads.transaction[rows].astype(np.int64))
    if not sources:
        return Edges(np.empty(0, np.int64), np.empty(0, np.int64))
    return _between(np.concatenate(sources), np.concatenate(targets))


def _miss_edges(view: View) -> Edges:
    """A transaction read up to a record whose successor another transaction sent."""
    log = (view.inferred if view.committed is None else view.committed).distinct
    sources, targets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for reads in view.committed_reads:
        rows = np.flatnonzero((reads.transaction >= 0) & (reads.place >= 0))
        if not len(rows) or not len(log):
            continue
        readers, highest = _highest_read(log, reads, rows)
        transaction, partition = readers[:, 0], readers[:, 1]
        record = _next_records(log, highest, partition)
        sent = (record >= 0) & (record < len(view.sends))
        sources.append(transaction[sent].astype(np.int64))
        targets.append(view.sends.transaction[record[sent]].astype(np.int64))
    return _between(np.concatenate(sources), np.concatenate(targets))


def _next_records(log: Log, index: Int64s, partition: Int64s) -> Int64s:
    """The record after each index in the same partition of the log; NONE if there is none."""
    following = np.minimum(index + 1, len(log) - 1)
    exists = (index >= 0) & (following > index)
    exists &= partition_of(log.place[following]) == partition
    return np.where(exists, log.record[following], NONE)


def _highest_read(log: Log, reads: Reads, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Each transaction and partition among the rows, and the highest index of the log that it read;
    NONE if the log has none of its places.
    """
    key = np.stack([reads.transaction[rows], partition_of(reads.place[rows])], axis=1)
    readers, inverse = np.unique(key, axis=0, return_inverse=True)
    highest = np.full(len(readers), NONE, np.int64)
    np.maximum.at(highest, inverse, log.index_of(reads.place[rows]))
    return readers, highest


def _between(source: Int64s, target: Int64s) -> Edges:
    """The edges between two different transactions, each once."""
    real = (source >= 0) & (target >= 0) & (source != target)
    if not real.any():
        return Edges(np.empty(0, np.int64), np.empty(0, np.int64))
    pairs = np.unique(np.stack([source[real], target[real]], axis=1), axis=0)
    return Edges(pairs[:, 0], pairs[:, 1])


def _concatenate(*edges: Edges) -> Edges:
    return Edges(
        np.concatenate([found.source for found in edges]),
        np.concatenate([found.target for found in edges]),
    )


def peel(edges: Edges) -> Edges:
    """Drop edges from nodes that nothing leads to, and to nodes that lead nowhere."""
    source, target = edges.source, edges.target
    while len(source):
        count = int(max(source.max(), target.max())) + 1
        entered = np.bincount(target, minlength=count) > 0
        left = np.bincount(source, minlength=count) > 0
        inner = entered[source] & left[target]
        if inner.all():
            break
        source, target = source[inner], target[inner]
    return Edges(source, target)


def components(edges: Edges) -> list[frozenset[int]]:
    """The strongly connected components of more than one node, by Tarjan, without recursion."""
    core = peel(edges)
    following: dict[int, list[int]] = {}
    for source, target in zip(core.source.tolist(), core.target.tolist(), strict=True):
        following.setdefault(source, []).append(target)
        following.setdefault(target, [])
    search = _Tarjan(following)
    for root in following:
        if root not in search.number:
            search.visit(root)
    return [component for component in search.components if len(component) > 1]


class _Tarjan:
    """Tarjan's search: `low` is the least number that a node can reach on the stack."""

    def __init__(self, following: dict[int, list[int]]) -> None:
        self.number: dict[int, int] = {}
        self.components: list[frozenset[int]] = []
        self._following = following
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        self._stacked: set[int] = set()

    def visit(self, root: int) -> None:
        """Search from a node that was not visited yet."""
        path = [(root, self._enter(root))]
        while path:
            node, rest = path[-1]
            step = next(rest, None)
            if step is None:
                path.pop()
                if path:
                    self._lower(path[-1][0], self._low[node])
                if self._low[node] == self.number[node]:
                    self._pop_component(node)
            elif step not in self.number:
                path.append((step, self._enter(step)))
            elif step in self._stacked:
                self._lower(node, self.number[step])

    def _enter(self, node: int) -> Iterator[int]:
        self.number[node] = self._low[node] = len(self.number)
        self._stack.append(node)
        self._stacked.add(node)
        return iter(self._following[node])

    def _lower(self, node: int, number: int) -> None:
        self._low[node] = min(self._low[node], number)

    def _pop_component(self, node: int) -> None:
        at = self._stack.index(node)
        component = frozenset(self._stack[at:])
        del self._stack[at:]
        self._stacked -= component
        self.components.append(component)


def shortest_cycle(edges: Edges, component: frozenset[int]) -> list[int]:
    """A shortest cycle through the smallest node of a component, by breadth-first search."""
    following: dict[int, list[int]] = {}
    for source, target in zip(edges.source.tolist(), edges.target.tolist(), strict=True):
        if source in component and target in component:
            following.setdefault(source, []).append(target)
    best: list[int] = []
    for start in sorted(component)[:SHOWN]:
        path = _path_back(following, start)
        if path and (not best or len(path) < len(best)):
            best = path
    return best


def _path_back(following: dict[int, list[int]], start: int) -> list[int]:
    came: dict[int, int] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for target in following.get(node, []):
            if target == start:
                path = [node]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if target not in came:
                came[target] = node
                queue.append(target)
    return []


def _finding(view: View, name: str, found: list[frozenset[int]], edges: Edges) -> Finding:
    evidence = []
    for component in found[:SHOWN]:
        path = shortest_cycle(edges, component)
        nodes = [client_of(view, node) for node in (*path, path[0])]
        evidence.append(Evidence(text=" → ".join(nodes)))
    return Finding(anomaly=name, count=len(found), evidence=tuple(evidence))
