"""Where a component runs, if it does not name its hosts itself: the rule by which they are
chosen.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from streambed.kinds.declaring import declared


@declared
class Place:
    """How the hosts of a component are chosen; a bare word means `by`."""

    by: Literal["auto", "round_robin", "spread", "nearest", "random"]
    """In turn, far apart over switches, near to others, at random by the seed; or auto, by what the
    component is to the others.
    """
    to: tuple[str, ...] = ()
    """nearest: the components that it should be near to; default: those that it reads from or
    writes to, or all producers.
    """
    among: tuple[str, ...] = ()
    """The hosts to choose from; default: all."""
    count: Annotated[int, Field(ge=1)] = 1
    """How many hosts, for components that run on several."""


def _a_word_is_a_rule(value: Any) -> Any:
    return {"by": value} if isinstance(value, str) else value


Placed = Annotated[Place | None, BeforeValidator(_a_word_is_a_rule)]
"""The key `place` of a component."""
