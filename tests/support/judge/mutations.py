"""Mutations of correct runs: each makes one thing wrong and names the anomaly that it causes."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from tests.support.judge import changed_clients, changed_records
from tests.support.judge.stories import Story

COUNTED_ONLY = {"A10", "A14", "A16"}


@dataclass(frozen=True)
class Mutation:
    """A change of a ledger; `change` is false if the run has nothing that it applies to."""

    change: Callable[[Story, Random], bool]
    must: frozenset[str]
    may: frozenset[str]

    @property
    def name(self) -> str:
        return self.change.__name__

    def apply(self, run: Story, random: Random) -> Story | None:
        mutant = deepcopy(run)
        return mutant if self.change(mutant, random) else None

    def wrong_answer(self, found: set[str]) -> str:
        """How an answer differs from what it must be; empty if it does not."""
        missed = self.must - found
        invented = found - self.must - self.may - COUNTED_ONLY
        parts = [f"missed {', '.join(sorted(missed))}"] if missed else []
        parts += [f"invented {', '.join(sorted(invented))}"] if invented else []
        return "; ".join(parts)


def _mutation(change: Callable[[Story, Random], bool], must: str, may: str = "") -> Mutation:
    return Mutation(change, frozenset(must.split()), frozenset(may.split()))


MUTATIONS = (
    _mutation(changed_records.drop_log_row, "A1 A18", "A19"),
    _mutation(changed_records.drop_record_of_transaction, "A1 A18 A19"),
    _mutation(changed_records.drop_read_row, "A2", "A6 A8 A17"),
    _mutation(changed_records.double_log_row, "A5"),
    _mutation(changed_records.swap_reads_of_a_poll, "A7", "A6 A8 A9"),
    _mutation(changed_records.read_again, "A9 A20"),
    _mutation(changed_records.refuse_visible_send, "A3"),
    _mutation(changed_records.abort_visible_transaction, "A3"),
    _mutation(changed_records.forget_ack, ""),
    _mutation(changed_records.acknowledge_what_is_not_there, "A1"),
    _mutation(changed_records.change_identity_of_a_read, "A4", "A2"),
    _mutation(changed_records.read_what_nobody_sent, "A21 A4", "A2"),
    _mutation(changed_records.swap_acks, "A4 A12"),
    _mutation(changed_records.raise_start_of_tenure, "A9", "A17 A2"),
    _mutation(changed_records.commit_what_was_not_read, "A17"),
    _mutation(changed_clients.skip_within_a_poll, "A6", "A2"),
    _mutation(changed_clients.skip_between_polls, "A8", "A2"),
    _mutation(changed_clients.move_row_to_another_tenure, "A6", "A2 A7 A8 A9 A17 A20"),
    _mutation(changed_clients.cut_tenure, "A17", "A2"),
    _mutation(changed_clients.rewind_start_of_tenure, "A17", "A8 A20"),
    _mutation(changed_clients.swap_acks_of_a_transaction, "A4 A11", "A12"),
    _mutation(changed_clients.read_own_record, "A13"),
    _mutation(changed_clients.read_each_other, "A15", "A13"),
    _mutation(changed_clients.change_a_replica, "A22"),
    _mutation(changed_clients.hold_back_readers, "A23"),
)
