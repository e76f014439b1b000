"""The exact answer, in plain Python: a score by a given model, or a reason, for each payment."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

OUTGOING = ("CASH_OUT", "TRANSFER")
NUMBER = re.compile("[0-9]{1,18}")
TYPE = re.compile("PAYMENT|CASH_OUT|TRANSFER|CASH_IN|DEBIT")
AMOUNT = re.compile(r"-?[0-9]{1,15}\.[0-9]{2}")
ACCOUNT = re.compile("C[0-9]{1,9}")
FIELDS = 10
CENTS_MAX = 10**12
THRESHOLD = 0.9
"""A payment that is likelier a fraud raises an alert."""


@dataclass(frozen=True)
class Payment:
    """A payment of the log."""

    number: int
    kind: str
    account: str
    cents: int
    left_cents: int


@dataclass
class Profile:
    """What an account has done so far."""

    paid: int = 0
    spent_cents: int = 0
    newest: int = -1

    def add(self, payment: Payment) -> None:
        """One more payment."""
        self.paid += 1
        self.spent_cents += payment.cents
        self.newest = payment.number


class Detector:
    """A saved logistic regression, without Spark: its coefficients alone."""

    def __init__(self, folder: Path) -> None:
        (file,) = folder.glob("stages/1_*/data/*.parquet")
        (model,) = pq.read_table(file).to_pylist()
        self._intercept = model["interceptVector"]["values"][0]
        self._coefficients = model["coefficientMatrix"]["values"]

    def probability(self, payment: Payment, past: Profile) -> float:
        """How likely a payment is fraud. Older detectors look at fewer features."""
        features = features_of(payment, past)
        pairs = zip(self._coefficients, features, strict=False)
        margin = self._intercept + sum(weight * feature for weight, feature in pairs)
        return 1 / (1 + math.exp(-margin))


def features_of(payment: Payment, past: Profile) -> list[float]:
    """What a detector looks at, that of the payment first."""
    newcomer = not past.paid
    usual = 1.0 if newcomer else past.spent_cents / past.paid
    times_usual = 0.0 if newcomer else math.log2(payment.cents / usual)
    of_the_payment = [
        math.log2(payment.cents),
        float(payment.kind in OUTGOING),
        float(payment.left_cents == 0),
    ]
    return [*of_the_payment, times_usual, float(newcomer)]


def payment_of(value: bytes | None) -> Payment | str:
    """A record as a payment, or the first reason why it is none."""
    if value is None:
        return "no value"
    fields = value.decode(errors="replace").split(",")
    if len(fields) != FIELDS:
        return f"not {FIELDS} fields"
    number, _, kind, amount, account, _, left, *_ = fields
    if not NUMBER.fullmatch(number):
        return "number is none"
    if not TYPE.fullmatch(kind):
        return "unknown type"
    if not (AMOUNT.fullmatch(amount) and AMOUNT.fullmatch(left)):
        return "amount is no number"
    cents, left_cents = (int(text.replace(".", "")) for text in (amount, left))
    if cents <= 0:
        return "amount is not positive"
    if cents > CENTS_MAX:
        return "amount is too large"
    if not ACCOUNT.fullmatch(account):
        return "account is none"
    return Payment(int(number), kind, account, cents, left_cents)


class Bank:
    """All profiles, as payments come in the order of each account."""

    def __init__(self) -> None:
        self.profiles: defaultdict[str, Profile] = defaultdict(Profile)

    def outcome(self, value: bytes | None, detector: Detector) -> float | str:
        """The probability of fraud, or the reason; the payment then belongs to the past."""
        payment = payment_of(value)
        if isinstance(payment, str):
            return payment
        past = self.profiles[payment.account]
        if payment.number <= past.newest:
            return "seen before"
        probability = detector.probability(payment, past)
        past.add(payment)
        return probability
