"""Ordered: outputs of a key are in the order of its inputs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from streambed.errors import Problem
from streambed.kinds.checks.components import jobs_among, stores_among
from streambed.kinds.checks.delivered import Delivered
from streambed.kinds.checks.delivery_verdict import names_at, silent_clients
from streambed.kinds.declared_components import Components
from streambed.kinds.declaring import declared
from streambed.kinds.evidence.course import load_ended
from streambed.kinds.evidence.outputs.delivery import Delivery, NothingKnown
from streambed.kinds.evidence.outputs.input_log import Flags, InputLog, Numbers, input_log
from streambed.record.history import Answer, History, Verdict
from streambed.units import count_of


@declared
class Ordered(Delivered):
    """For each key of `topic`, what reaches `to` is in the order of the log, each record once.

    The order of outputs is that in which a group saw them, that of an output topic's partitions, or
    that of a column of a store. Records without a key have no order.
    """

    kind: Literal["ordered"] = "ordered"
    order: str = ""
    """The column of a store by which its rows were written, such as a serial number."""

    def problems(self, components: Components) -> list[Problem]:
        """A store must have a column to order by; batches have no order."""
        wrong = super().problems(components)
        in_store = self.to in stores_among(components)
        if in_store and not self.order:
            says = f"rows of '{self.to}' have no order by themselves: name the column that has it"
            wrong.append(Problem(key="order", says=says))
        if self.order and not in_store:
            wrong.append(Problem(key="order", says=f"'{self.to}' has an order: leave it out"))
        if self.to in jobs_among(components):
            says = f"batches of '{self.to}' have no order: name a topic or store that it writes"
            wrong.append(Problem(key="to", says=says))
        return wrong

    def judge(self, history: History) -> Verdict:
        """Compare each output with the one before it of the same key."""
        if not load_ended(history):
            return self._verdict("unknown", "the run broke before the load ended")
        if silent := silent_clients(self, history):
            says = f"{', '.join(silent)} kept no ledger of {self.topic}"
            return self._verdict("unknown", says)
        log = input_log(history, self.topic)
        if log is None or not len(log):
            return self._verdict("unknown", f"{self.topic} was not read back, or holds nothing")
        try:
            delivery = self.delivery(history, log, order=self.order)
        except NothingKnown as error:
            return self._verdict("unknown", str(error))
        return self._verdict_of(log, delivery)

    def _verdict_of(self, log: InputLog, delivery: Delivery) -> Verdict:
        index, lanes = _keyed_outputs(log, delivery)
        if not len(index):
            says = f"no record of {self.topic} with a key reached {self.to}"
            return self._verdict("unknown", says)
        back, again = out_of_order(log, index, lanes)
        unmatched = delivery.absent + delivery.unnamed
        evidence: dict[str, Any] = {
            "outputs": len(index),
            "out_of_order": len(back),
            "repeated": len(again),
            "unmatched": unmatched,
            "records": log.names(np.unique(back)[:1000]).to_dicts(),
        }
        wrong = self._wrong_outputs(log, back, again)
        if wrong:
            return self._verdict("fails", f"{'; '.join(wrong)} (by {delivery.how})", evidence)
        if unmatched:
            count = count_of(unmatched, "output")
            says = f"{count} of {self.to} cannot be matched to a record of {self.topic}"
            return self._verdict("unknown", says, evidence)
        keys = count_of(pl.Series(log.keys[index]).n_unique(), "key")
        says = f"{len(index)} outputs of {keys} in the order of {self.topic} (by {delivery.how})"
        return self._verdict("holds", says, evidence)

    def _wrong_outputs(self, log: InputLog, back: Numbers, again: Numbers) -> list[str]:
        """A phrase for the outputs that went back, and one for those that were repeated."""
        wrong = []
        if len(back):
            names = names_at(log, np.unique(back))
            count = count_of(len(back), "output")
            wrong.append(f"{count} of {self.to} after a later one of the same key: {names}")
        if len(again):
            names = names_at(log, np.unique(again))
            wrong.append(f"{count_of(len(again), 'output')} repeated at once: {names}")
        return wrong

    def _verdict(
        self, answer: Answer, says: str, evidence: dict[str, Any] | None = None
    ) -> Verdict:
        words = {"holds": "in order", "fails": "out of order", "unknown": "in unknown order"}
        brief = f"{self.topic} {words[answer]} in {self.to}"
        return Verdict(
            check=self.kind, answer=answer, says=says, evidence=evidence or {}, brief=brief
        )


def _keyed_outputs(log: InputLog, delivery: Delivery) -> tuple[Numbers, Numbers]:
    """The outputs of known records with a key: their index in the log, and their lane."""
    known = delivery.index >= 0
    index, lanes = delivery.index[known], delivery.lanes[known]
    keyed = log.keys[index] != 0
    return index[keyed], lanes[keyed]


def out_of_order(log: InputLog, index: Numbers, lanes: Numbers) -> tuple[Numbers, Numbers]:
    """The inputs whose output comes after that of a later input of its key, and those whose output
    repeats the one before it.

    Inputs of one key in different partitions have no order.
    """
    suspects = _not_rising(log.partitions[index], index)
    index, lanes = index[suspects], lanes[suspects]
    keys, partitions = log.keys[index], log.partitions[index]
    rows = np.lexsort((np.arange(len(index)), partitions, keys, lanes))
    ordered = index[rows]
    same = (
        (np.diff(keys[rows]) == 0) & (np.diff(partitions[rows]) == 0) & (np.diff(lanes[rows]) == 0)
    )
    step = np.diff(ordered)
    later = ordered[1:]
    return later[same & (step < 0)], later[same & (step == 0)]


def _not_rising(partitions: Numbers, index: Numbers) -> Flags:
    """The rows of partitions whose inputs do not rise. In the others every key is in order."""
    suspects = np.zeros(len(index), dtype=bool)
    for partition in range(int(partitions.max(initial=-1)) + 1):
        rows = partitions == partition
        inputs = index[rows]
        if not (inputs[1:] > inputs[:-1]).all():
            suspects |= rows
    return suspects
