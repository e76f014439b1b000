"""Payments as a bank sees them, with a few frauds among them, and records that are none.

A payment is a function of its number and the seed alone, so that it can be sent a second time.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from random import Random

ACCOUNTS = 2000
FRAUD_SHARE = 0.01
SPLURGE_SHARE = 0.01
"""So often somebody honest spends far more than usual."""
MALFORMED_EVERY = 50
REPEATED_EVERY, REPEATED_AFTER = 60, 25
"""Every 60th record is the one of 25 records ago, sent again."""
TYPES = ("PAYMENT", "CASH_OUT", "TRANSFER", "CASH_IN", "DEBIT")
WEIGHTS = (34, 35, 8, 22, 1)
MALFORMED = (
    "{number},1,PAYMENT",
    "{number},1,PAYMENT,-25.00,C7,100.00,125.00,M1,0.00,0.00",
    "{number},1,PAYMENT,0.00,C7,100.00,100.00,M1,0.00,0.00",
    "{number},1,PAYMENT,NaN,C7,100.00,100.00,M1,0.00,0.00",
    "{number},1,PAYMENT,1e300,C7,100.00,100.00,M1,0.00,0.00",
    "{number},1,PAYMENT,99999999999999.00,C7,100.00,100.00,M1,0.00,0.00",
    "{number},1,GIFT,10.00,C7,100.00,90.00,M1,0.00,0.00",
    "{number},1,PAYMENT,10.00,'; FLUSHALL,100.00,90.00,M1,0.00,0.00",
    "{number},1,PAYMENT,10.00,C7,100.00,90.00,M1,0.00,0.00,0,0,extra",
    "minus one,1,PAYMENT,10.00,C7,100.00,90.00,M1,0.00,0.00",
    '"{number},1,PAYMENT,10.00\n',
    "",
    "\x00\x00\x00",
)


@dataclass(frozen=True)
class Payment:
    """A payment, and whether it is a planted fraud; amounts are in cents."""

    number: int
    kind: str
    account: str
    cents: int
    before_cents: int
    fraud: bool

    def row(self) -> str:
        """As CSV: number, step, type, amount, and name and balances of both ends."""
        after = self.before_cents + (self.cents if self.kind == "CASH_IN" else -self.cents)
        amounts = [f"{cents / 100:.2f}" for cents in (self.cents, self.before_cents, after)]
        target = f"M{self.number % 97}"
        ends = [self.account, *amounts[1:], target, "0.00", amounts[0]]
        step = 1 + self.number // 1000
        return ",".join([str(self.number), str(step), self.kind, amounts[0], *ends])


def payment_of(number: int, seed: int) -> Payment:
    """Everybody has a usual amount; a fraud takes many times that, mostly all that is there."""
    random = Random(f"{seed}/{number}")
    account = int(ACCOUNTS * random.random() ** 3)
    usual_cents = Random(f"usual/{account}").lognormvariate(8.5, 1.2)
    fraud = random.random() < FRAUD_SHARE
    times = random.lognormvariate(0, 0.5)
    if fraud or random.random() < SPLURGE_SHARE:
        times *= random.uniform(4, 30)
    cents = 1 + int(usual_cents * times)
    left_cents = 0 if fraud and random.random() < 0.7 else int(random.expovariate(1 / 200_000))
    kind = random.choice(("CASH_OUT", "TRANSFER")) if fraud else random.choices(TYPES, WEIGHTS)[0]
    before_cents = left_cents if kind == "CASH_IN" else left_cents + cents
    return Payment(number, kind, f"C{account}", cents, before_cents, fraud)


def transaction(number: int, random: Random) -> dict[str, object]:
    """A record for the producer: the header alone tells what is fraud."""
    seed = int(os.environ.get("STREAMBED_SEED", "1"))
    if number % MALFORMED_EVERY == MALFORMED_EVERY - 1:
        value = random.choice(MALFORMED).replace("{number}", str(number))
        return {"key": "C7", "value": value, "headers": {"fraud": "none"}}
    repeats = number % REPEATED_EVERY == REPEATED_EVERY - 1
    payment = payment_of(number - REPEATED_AFTER if repeats else number, seed)
    fraud = str(int(payment.fraud))
    return {"key": payment.account, "value": payment.row(), "headers": {"fraud": fraud}}


def history(count: int, seed: int) -> list[tuple[str, float]]:
    """Old payments whose outcome is known: what the model learns from."""
    payments = [payment_of(number, seed) for number in range(count)]
    return [(payment.row(), float(payment.fraud)) for payment in payments]


if __name__ == "__main__":
    for index in range(int(sys.argv[1])):
        sys.stdout.write(f"{transaction(index, Random(index))['value']}\n")
