"""Quantities that keep their unit: "20ms", "10Mbit", "1%", "500/s", "64KiB".

A declaration takes text and keeps a quantity; a bare number is refused, because it hides its unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from streambed.errors import UsageError

Units = dict[str, Fraction]
"""Each unit's exact size in base units."""


_QUANTITY = re.compile(r"\s*([0-9]{1,400}(?:\.[0-9]{1,400})?)\s*([^0-9]*?)\s*")
_NEGATIVE = re.compile(r"\s*-\s*(.*)")


def _units(**sizes: Fraction | int) -> Units:
    return {unit: Fraction(size) for unit, size in sizes.items()}


@dataclass(frozen=True, order=True)
class Quantity:
    """A number of base units. Subclasses name the units; `str` gives text that parses back."""

    value: float

    noun: ClassVar[str] = "a quantity"
    units: ClassVar[Units] = {}
    example: ClassVar[str] = ""
    zero: ClassVar[str] = ""
    most: ClassVar[float] = 2.0**62
    """In base units: any more would not fit where programs and the kernel keep it."""

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read text such as "20ms"; raise UsageError that says what is allowed."""
        if isinstance(text, cls):
            return text
        match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
        if not match or match[2] not in cls.units:
            cls._refuse_negative(text)
            raise UsageError(
                f"{text!r} is not {cls.noun}: write a number and one of {', '.join(cls.units)}, "
                f"such as {cls.example!r}"
            )
        value = Fraction(Decimal(match[1])) * cls.units[match[2]]
        if value > cls.most:
            raise UsageError(f"{text!r} is too large for {cls.noun}")
        return cls(float(value))

    @classmethod
    def _refuse_negative(cls, text: object) -> None:
        """Raise UsageError if text would be right without its minus sign."""
        negative = _NEGATIVE.fullmatch(text) if isinstance(text, str) else None
        if not negative:
            return
        match = _QUANTITY.fullmatch(negative[1])
        if match and match[2] in cls.units:
            raise UsageError(f"{text!r} is negative: write {negative[1]!r} or another {cls.word()}")

    @classmethod
    def word(cls) -> str:
        """The noun without its article: duration."""
        return cls.noun.partition(" ")[2]

    def __str__(self) -> str:
        if not self.value:
            return self.zero
        counts = {unit: round(self.value / size) for unit, size in self.units.items()}
        whole = [
            unit
            for unit, count in counts.items()
            if count and float(count * self.units[unit]) == self.value
        ]
        if whole:
            best = max(whole, key=lambda unit: self.units[unit])
            return f"{counts[best]}{best}"
        # The first unit is a power of ten, so this is exact and ends.
        unit, size = next(iter(self.units.items()))
        count = Decimal(repr(float(self.value))) / (Decimal(size.numerator) / size.denominator)
        return f"{count:f}{unit}"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def read(value: object) -> Quantity:
            try:
                return cls.parse(value)
            except UsageError as error:
                raise PydanticCustomError("quantity", "{says}", {"says": str(error)}) from None

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        units = "|".join(re.escape(unit) for unit in cls.units)
        return {
            "type": "string",
            "pattern": rf"^\s*[0-9]+(\.[0-9]+)?\s*({units})\s*$",
            "description": f"{cls.noun}, such as {cls.example}",
        }


class Duration(Quantity):
    """A span of time, kept in nanoseconds."""

    noun = "a duration"
    units: ClassVar[Units] = _units(
        ns=1, us=10**3, ms=10**6, s=10**9, min=60 * 10**9, h=3600 * 10**9
    )
    zero = "0s"
    example = "20ms"

    @property
    def ns(self) -> int:
        """Whole nanoseconds."""
        return round(self.value)

    @property
    def ms(self) -> float:
        """Milliseconds."""
        return self.value / 1e6

    @property
    def s(self) -> float:
        """Seconds."""
        return self.value / 1e9


class Bandwidth(Quantity):
    """Bits per second."""

    noun = "a bandwidth"
    units: ClassVar[Units] = _units(bit=1, kbit=10**3, Mbit=10**6, Gbit=10**9)
    zero = "0bit"
    example = "10Mbit"

    @property
    def bps(self) -> int:
        """Whole bits per second."""
        return round(self.value)


class Share(Quantity):
    """A part of a whole, kept as a fraction of one."""

    noun = "a share"
    units: ClassVar[Units] = {"%": Fraction(1, 100)}
    zero = "0%"
    example = "1%"

    @property
    def fraction(self) -> float:
        """Between 0 and 1 for shares up to 100 %."""
        return self.value


class Frequency(Quantity):
    """Times per second."""

    noun = "a frequency"
    units: ClassVar[Units] = {"/s": Fraction(1), "/min": Fraction(1, 60), "/h": Fraction(1, 3600)}
    zero = "0/s"
    example = "500/s"

    @property
    def per_s(self) -> float:
        """Times a second."""
        return self.value


class Size(Quantity):
    """A number of bytes."""

    noun = "a size"
    units: ClassVar[Units] = _units(
        B=1, kB=10**3, KiB=1024, MB=10**6, MiB=1024**2, GB=10**9, GiB=1024**3
    )
    zero = "0B"
    example = "64KiB"

    @property
    def bytes(self) -> int:
        """Whole bytes."""
        return round(self.value)


def shown(span_ns: float) -> str:
    """A span for people: 3.1 s, 240 ms."""
    unit_ns, unit = (1e9, "s") if span_ns >= 1e9 else (1e6, "ms")
    value = span_ns / unit_ns
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def clock(seconds: float) -> str:
    """Seconds since the run began as 0:52."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def count_of(number: int, noun: str, plural: str = "s") -> str:
    """A number of things: 1 record, 2 records; `plural` is what the plural adds."""
    return f"{number} {noun}{'' if number == 1 else plural}"
