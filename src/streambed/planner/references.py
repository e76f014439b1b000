"""References such as {kafka.bootstrap} and {self.checkpoint}, by which programs learn where they
are.

{{kafka.bootstrap}} stands for the text {kafka.bootstrap} itself; all other braces are left alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streambed.errors import Problem, UsageError, suggestion

if TYPE_CHECKING:
    from streambed.declare.experiment import Experiment
    from streambed.kinds.components.component import Component

Answers = dict[str, str]
"""What can be referred to, such as kafka.bootstrap, and the text that it becomes."""
Resolve = Callable[[str, str], str]

_WORD = r"\{([A-Za-z][A-Za-z0-9_.-]*\.[A-Za-z_]+)\}"
_REFERENCE = re.compile(rf"\{{{_WORD}\}}|{_WORD}")


def answers(experiment: Experiment, *, addresses: Mapping[str, str], directory: Path) -> Answers:
    """What every component may refer to."""
    found = {
        "run.directory": str(directory),
        "run.seed": str(experiment.seed),
        "run.python": sys.executable,
    }
    for node, address in addresses.items():
        found |= {f"{node}.address": address, f"{node}.name": node}
    for name, component in experiment.components.items():
        found |= {
            f"{name}.{key}": text
            for key, text in component.answers(directory / "data" / name).items()
        }
    return found


def own_answers(component: Component, common: Answers, directory: Path) -> Answers:
    """What a component may refer to as its own."""
    data = directory / "data" / component.name
    node = next(iter(component.places.values()), "")
    own = {
        "name": component.name,
        "node": node,
        "data": str(data),
        **component.own_answers(data, common),
    }
    return {f"self.{key}": text for key, text in own.items()}


def resolver(experiment: Experiment, *, addresses: Mapping[str, str], directory: Path) -> Resolve:
    """The `resolve` of a site."""
    common = answers(experiment, addresses=addresses, directory=directory)
    own = {
        name: own_answers(component, common, directory)
        for name, component in experiment.components.items()
    }

    def resolve(text: str, component: str) -> str:
        known = common | own[component]

        def answer(found: re.Match[str]) -> str:
            if found[1]:
                return f"{{{found[1]}}}"
            if found[2] not in known:
                raise UsageError(_unknown(found[2], known))
            return known[found[2]]

        return _REFERENCE.sub(answer, text)

    return resolve


def reference_problems(experiment: Experiment) -> list[Problem]:
    """A problem for each reference to something that is not there."""
    somewhere = Path("run")
    common = answers(
        experiment, addresses=dict.fromkeys(experiment.topology.nodes(), ""), directory=somewhere
    )
    found = []
    for name, component in experiment.components.items():
        known = common | own_answers(component, common, somewhere)
        for key, text in component.texts.items():
            words = [word for _, word in _REFERENCE.findall(text) if word and word not in known]
            for word in words:
                place, about = f"components.{name}.{key}", frozenset({_owner(word)})
                found.append(Problem(key=place, says=_unknown(word, known), about=about))
    return found


def _owner(word: str) -> str:
    """The component or node that a reference is about."""
    return word.rpartition(".")[0]


def _unknown(word: str, known: Answers) -> str:
    siblings = [name for name in known if _owner(name) == _owner(word)]
    return f"nothing answers to {{{word}}}. {suggestion(word, siblings or known)}"
